"""The semidefinite bound of a node by an established conic solver: solve, evaluate, separate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sdpbb.archive.stored import stored
from sdpbb.backends.conic import ConicSolution, ConicSolver, solve_peng_wei
from sdpbb.bounds.bound import BoundProgress, Pairs, ProvenBound, SecondsLeft, endless
from sdpbb.bounds.sdp.bounding import SdpWarmStart
from sdpbb.bounds.sdp.cuts import SeparationParameters, separate
from sdpbb.bounds.sdp.cuts.cut_set import CutSet, ScaledCuts
from sdpbb.bounds.sdp.fixing import far_apart, pairs_apart
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint, safe_bound
from sdpbb.errors import BackendFailure
from sdpbb.problem import Contraction

# Entries of Z below this part of the diagonal are taken for zero before cuts are separated: an
# interior-point method returns no zeros, and separation is fast where there are many.
ZERO = 1e-7
# How far a direction is followed in which the dual function grows without end, in units of its
# multipliers, of which the largest is 1.
STEPS = tuple(10.0**power for power in range(-2, 7))


@stored
@dataclass(frozen=True, eq=False)
class ConicState:
    """Where the bounding of a node was left.

    cuts : of the next relaxation
    dual : what the best bound is proven by; None while that is the scatter inside blocks
    Z : (m, m) of the last relaxation; None before
    best : the best bound so far
    history : the best bound after each round
    is_child : whether it was begun from a warm start
    """

    cuts: CutSet
    dual: DualPoint | None
    Z: NDArray[np.float64] | None
    best: ProvenBound
    history: tuple[float, ...]
    is_child: bool


class ConicRun:
    """The bounding of one node (`sdpbb.bounds.bound.BoundRun`).

    A round solves the relaxation with the present cuts by Clarabel or SCS (`solve_peng_wei`),
    evaluates `safe_bound` at the dual values that come back, whatever the solver says of them,
    adds the `ConicParameters.cuts_per_block` m most violated cuts at most, and drops those whose
    multiplier is smaller than their slack. The node is given up when no cut is violated, the solver
    ends without a solution, or bounds hardly rise any more.

    Where the solver says that there is no solution (fixed pairs may leave none), its dual values
    are a direction in which the dual function grows without end, and it is followed from the best
    dual values so far.

    A round is not interrupted. Its iterations are rounds.
    """

    def __init__(self, contraction: Contraction, parameters: SdpParameters, is_child: bool) -> None:
        """Raises BackendFailure if the contraction has more than `ConicParameters.largest`
        blocks."""
        self.parameters = parameters
        self._contraction = contraction
        self._relaxation = Relaxation.of(contraction)
        m, largest = contraction.n_blocks, parameters.conic.largest
        if m > largest:
            raise BackendFailure(
                f"{parameters.solver}: a relaxation of {m} blocks; expected at most {largest} "
                "(ConicParameters.largest)"
            )
        own = float(contraction.scatter.sum()) - self._relaxation.rounding
        self._best = ProvenBound(max(0.0, own))
        self._cuts = CutSet.empty()
        self._dual: DualPoint | None = None
        self._Z: NDArray[np.float64] | None = None
        self._history: list[float] = []
        self._is_child = is_child

    @property
    def n_iterations(self) -> int:
        """Rounds so far."""
        return len(self._history)

    def start_from(self, warm_start: SdpWarmStart, contraction: Contraction) -> None:
        """Begin with the cuts of the parent, and the bound that its dual values prove here."""
        dual, Z = warm_start.for_child(contraction, self._relaxation.scale)
        self._cuts = dual.cuts.select(dual.multipliers > 0.0)
        self._Z = Z
        self._take(dual)

    @property
    def state(self) -> ConicState:
        history = tuple(self._history)
        return ConicState(self._cuts, self._dual, self._Z, self._best, history, self._is_child)

    def restore(self, state: ConicState) -> None:
        """Go on from the state of a run on the same contraction."""
        self._cuts, self._dual, self._Z = state.cuts, state.dual, state.Z
        self._best, self._history = state.best, list(state.history)

    def advance(self, cutoff: float, seconds_left: SecondsLeft = endless) -> BoundProgress:
        """A round; a conic solver cannot be left in one."""
        n_cuts = len(self._cuts)
        solver = cast(ConicSolver, self.parameters.solver)
        solution, dual = solve_relaxation(self._relaxation, self._cuts, solver)
        if solution.infeasible:
            self._follow(dual, cutoff)
        else:
            self._take(dual)
        self._history.append(self._best.value)
        is_last = solution.Z is None or not self._next_cuts(solution.Z, dual)
        stalled = is_last or self._stalled(cutoff)
        bound = ProvenBound(self._best.value, self._dual)
        return BoundProgress(bound, stalled, n_cuts, self.n_iterations)

    def affinity(self) -> NDArray[np.float64]:
        """Z of the last relaxation, nonnegative, zero on cannot-links; where no solver has returned
        any, as if all blocks were in all clusters."""
        if self._Z is None:
            return np.where(self._relaxation.forbidden, 0.0, 1.0 / self._relaxation.n)
        return self._Z

    def clustering(self) -> None:
        """None: solutions are no clusterings."""

    def fixings(self, cutoff: float) -> tuple[Pairs, Pairs]:
        """No pairs are tried to be proven to be together."""
        relaxation, dual = self._relaxation, self.dual_point()
        bound = safe_bound(relaxation, dual)
        apart = np.concatenate(
            [pairs_apart(relaxation, dual, bound, cutoff), far_apart(self._contraction, cutoff)]
        )
        return np.empty((0, 2), np.intp), np.unique(apart, axis=0)

    @property
    def relaxation(self) -> Relaxation:
        return self._relaxation

    def dual_point(self) -> DualPoint:
        """The dual values of the best bound; zero before there are any."""
        m = self._relaxation.m
        return self._dual or DualPoint(np.zeros((m, m)), CutSet.empty(), np.zeros(0))

    def warm_start(self) -> SdpWarmStart:
        """The dual values of the best bound, and the last solution."""
        dual = self.dual_point()
        return SdpWarmStart(
            block_of=self._contraction.block_of,
            scale=self._relaxation.scale,
            dual=DualPoint(dual.N.astype(np.float32), dual.cuts, dual.multipliers),
            Z=self.affinity().astype(np.float32),
            rho=self.parameters.admm.penalty,
        )

    def _take(self, dual: DualPoint) -> None:
        """Keep the best bound, and what it is proven by."""
        bound = safe_bound(self._relaxation, dual)
        if bound > self._best or self._dual is None:
            self._best, self._dual = max(self._best, bound), dual

    def _follow(self, ray: DualPoint, cutoff: float) -> None:
        """Try dual values along a direction, from the best ones so far."""
        largest = max(np.abs(ray.N).max(initial=0.0), ray.multipliers.max(initial=0.0))
        if not largest > 0.0:
            return
        base = self.dual_point()
        for step in STEPS:
            self._take(_sum(base, ray.scaled(step / float(largest))))
            if self._best.value >= cutoff:
                return

    def _next_cuts(self, Z: NDArray[np.float64], dual: DualPoint) -> bool:
        """Drop the cuts that are not needed and add violated ones; whether there are any."""
        relaxation, conic = self._relaxation, self.parameters.conic
        diagonal = np.maximum(np.diag(Z), 0.0)
        small = ZERO * np.minimum(diagonal[:, None], diagonal)
        self._Z = Z = np.where(relaxation.forbidden | (small > Z), 0.0, Z)
        norm = ScaledCuts.of(self._cuts, relaxation.inverse_roots).norm
        slack = (self._cuts.values(Z) - self._cuts.rhs) / norm
        kept = self._cuts.select(dual.multipliers * norm > slack)
        fresh = violated_cuts(relaxation, Z, self.parameters.separation)
        fresh = fresh.select(~np.isin(fresh.keys, self._cuts.keys))
        norm = ScaledCuts.of(fresh, relaxation.inverse_roots).norm
        distance = (fresh.rhs - fresh.values(Z)) / norm
        worst = np.argsort(-distance, kind="stable")[: conic.cuts_per_block * relaxation.m]
        self._cuts = kept + fresh.select(worst)
        return len(worst) > 0

    def _stalled(self, cutoff: float) -> bool:
        """Whether the distance to the cutoff hardly shrinks any more (see `Patience`)."""
        conic = self.parameters.conic
        patience = conic.child if self._is_child else conic.root
        if self.n_iterations >= conic.max_rounds:
            return True
        best = self._history[-1]
        if self.n_iterations <= patience.iterations or best >= cutoff:
            return False
        if not np.isfinite(cutoff):  # no clustering is known: the bound's own progress counts
            cutoff = best + abs(best)
        earlier = self._history[-1 - patience.iterations]
        return cutoff - best > (1.0 - patience.progress) * (cutoff - earlier)


def solve_relaxation(
    relaxation: Relaxation, cuts: CutSet, solver: ConicSolver
) -> tuple[ConicSolution, DualPoint]:
    """Solve a relaxation with these cuts by a conic solver: what it says, and its dual values.

    Both are in units of the relaxation: by the solver's word (which proves nothing) the bound is
    total - scale * value.

    Raises
    ------
    BackendUnavailable, BackendFailure
    """
    m, roots = relaxation.m, 1.0 / relaxation.inverse_roots
    entry = cuts.row.astype(np.int64) * m + cuts.column
    solution = solve_peng_wei(
        gram=roots[:, None] * relaxation.K * roots,
        sizes=relaxation.sizes,
        k=relaxation.k,
        cannot_link=np.argwhere(np.triu(relaxation.forbidden)),
        cuts=sp.csr_array((cuts.coefficient, (cuts.owner, entry)), shape=(len(cuts), m * m)),
        rhs=cuts.rhs,
        kernel=relaxation.kernel,
        solver=solver,
    )
    return solution, DualPoint(solution.N, cuts, np.maximum(solution.multipliers, 0.0))


def violated_cuts(
    relaxation: Relaxation, Z: NDArray[np.float64], parameters: SeparationParameters
) -> CutSet:
    """The most violated cuts at Z; those of costly families where there are no others."""
    roots = 1.0 / relaxation.inverse_roots
    Y = roots[:, None] * Z * roots
    cuts = separate(relaxation, Y, (each for each in parameters.families if not each.is_costly))
    if len(cuts):
        return cuts
    return separate(relaxation, Y, (each for each in parameters.families if each.is_costly))


def _sum(first: DualPoint, second: DualPoint) -> DualPoint:
    """The sum of two dual points, each cut once."""
    both = np.concatenate([first.multipliers, second.multipliers])
    m = len(first.N)
    return DualPoint(first.N + second.N, first.cuts + second.cuts, both).merged(np.arange(m), m)
