"""The semidefinite bound of a node: iterate, separate, evaluate, until closed or stalled."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.archive.stored import stored
from sdpbb.backends.conic import require
from sdpbb.bounds.bound import (
    BoundingMethod,
    BoundProgress,
    Pairs,
    ProvenBound,
    SecondsLeft,
    endless,
    matrices_mebibytes,
)
from sdpbb.bounds.sdp.admm import Admm, AdmmState
from sdpbb.bounds.sdp.cuts import separate
from sdpbb.bounds.sdp.evidence import semidefinite_evidence
from sdpbb.bounds.sdp.fixing import far_apart, pairs_apart, pairs_together, tied_pairs
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint, safe_bound
from sdpbb.problem import Contraction

# Matrices over the blocks that exist at the same time at most: those of the method, and sums behind
# its bound.
MATRICES = 14
# An iteration and a bound are taken to last this many times as long as the longest before.
LATE = 1.5

if TYPE_CHECKING:
    from sdpbb.bounds.sdp.conic_run import ConicRun, ConicState


@stored
@dataclass(frozen=True, eq=False)
class SdpWarmStart:
    """What a child starts from: its parent's last iterate, in the coordinates of Z.

    block_of : (n,) the parent's blocks, by which its matrices are mapped to the child's
    scale : of the parent's relaxation, the unit of dual
    dual : dual values, N in single precision (any N >= 0 proves something)
    Z : (m, m) affinity, in single precision
    rho : penalty
    """

    block_of: NDArray[np.intp]
    scale: float
    dual: DualPoint
    Z: NDArray[np.float32]
    rho: float

    def for_child(self, child: Contraction, scale: float) -> tuple[DualPoint, NDArray[np.float64]]:
        """Dual values, in units of `scale`, and affinity in the blocks of a contraction each of
        whose blocks is a union of the parent's (see `contract`)."""
        first = np.unique(self.block_of, return_index=True)[1]
        block_of = child.block_of[first]
        assert np.array_equal(block_of[self.block_of], child.block_of)
        dual = DualPoint(self.dual.N.astype(np.float64), self.dual.cuts, self.dual.multipliers)
        dual = dual.scaled(self.scale / scale).merged(block_of, child.n_blocks)
        # The weighted mean over merged blocks keeps Z e = 1.
        weights = np.zeros((child.n_blocks, len(first)))
        weights[block_of, np.arange(len(first))] = np.bincount(self.block_of)
        weights /= child.sizes[:, None]
        return dual, weights @ self.Z.astype(np.float64) @ weights.T


@stored
@dataclass(frozen=True, eq=False)
class SdpState:
    """Where the bounding of a node was left.

    admm : the first-order method's state
    best : the best bound so far
    history : (iteration, best bound) after each evaluation of the bound
    is_child : whether it was begun from a warm start
    separated_at : iterations when cuts were last looked for
    """

    admm: AdmmState
    best: ProvenBound
    history: tuple[tuple[int, float], ...]
    is_child: bool
    separated_at: int


class SdpBounding(BoundingMethod[SdpWarmStart]):
    """Bounds nodes by the contracted Peng-Wei relaxation with cuts.

    Source: PC-SOS-SDP, sections 3.1-3.2, with a first-order method and a bound of this project; or
    with a conic solver in the method's place (`SdpParameters.solver`).
    """

    def __init__(self, parameters: SdpParameters | None = None) -> None:
        """Raises BackendUnavailable if the solver asked for is not installed."""
        self.parameters = parameters or SdpParameters()
        if self.parameters.solver != "admm":
            require(self.parameters.solver)

    def mebibytes(self, contraction: Contraction) -> float:
        """Memory that bounding a node takes at its peak, in MiB, about."""
        return matrices_mebibytes(MATRICES, contraction.n_blocks)

    def checkable(self, contraction: Contraction, evidence: Any) -> Iterator[Any]:
        """Dual values in single precision, then in double precision; other evidence as it is."""
        if not isinstance(evidence, DualPoint):
            yield evidence
            return
        relaxation = Relaxation.of(contraction)
        for precision in (np.float32, np.float64):
            yield semidefinite_evidence(relaxation, evidence, precision)

    def is_quickly_checked(self, evidence: Any) -> bool:
        return isinstance(evidence, DualPoint)

    def start(
        self,
        contraction: Contraction,
        warm_start: SdpWarmStart | None,
        known: NDArray[np.intp] | None = None,
    ) -> SdpRun | ConicRun:
        """Begin to bound a node; a known clustering is of no use here."""
        run = self._run(contraction, is_child=warm_start is not None)
        if warm_start is not None:
            run.start_from(warm_start, contraction)
        return run

    def resume(self, contraction: Contraction, state: SdpState | ConicState) -> SdpRun | ConicRun:
        """Go on where the bounding of the same contraction was left, by the same solver."""
        run = self._run(contraction, state.is_child)
        run.restore(state)  # type: ignore[arg-type]
        return run

    def _run(self, contraction: Contraction, is_child: bool) -> SdpRun | ConicRun:
        if self.parameters.solver == "admm":
            return SdpRun(contraction, self.parameters, is_child)
        from sdpbb.bounds.sdp.conic_run import ConicRun  # which needs this module

        return ConicRun(contraction, self.parameters, is_child)


class SdpRun:
    """The bounding of one node."""

    def __init__(self, contraction: Contraction, parameters: SdpParameters, is_child: bool) -> None:
        self.parameters = parameters
        self._contraction = contraction
        self._relaxation = Relaxation.of(contraction)
        self._admm = Admm(self._relaxation, parameters.admm, parameters.spectrum)
        # The scatter inside blocks, less what rounding can have added to it.
        own = float(contraction.scatter.sum()) - self._relaxation.rounding
        self._best = ProvenBound(max(0.0, own))
        self._is_child = is_child
        self._patience = parameters.child if is_child else parameters.root
        self._history: list[tuple[int, float]] = []
        self._separated_at = 0
        self._iteration_seconds = self._bound_seconds = 0.0

    @property
    def n_iterations(self) -> int:
        return self._admm.n_iterations

    def start_from(self, warm_start: SdpWarmStart, contraction: Contraction) -> None:
        """Begin where the parent ended."""
        dual, Z = warm_start.for_child(contraction, self._relaxation.scale)
        self._admm.start_from(dual, Z, warm_start.rho)

    @property
    def state(self) -> SdpState:
        history = tuple(self._history)
        return SdpState(self._admm.state(), self._best, history, self._is_child, self._separated_at)

    def restore(self, state: SdpState) -> None:
        """Go on from the state of a run on the same contraction."""
        self._admm.restore(state.admm)
        self._best = state.best
        self._history = list(state.history)
        self._separated_at = state.separated_at

    def advance(self, cutoff: float, seconds_left: SecondsLeft = endless) -> BoundProgress:
        """Iterate until the next evaluation of the safe bound."""
        p, admm = self.parameters, self._admm
        self._separate_if_due()
        while True:
            self._iterate()
            is_late = self._is_late(seconds_left())
            if is_late or admm.n_iterations % p.bound_period == 0:
                break
            self._separate_if_due()
        bound = self._evaluate(counts=not is_late)
        if not is_late:
            self._separate_if_due()
        return BoundProgress(
            bound=bound,
            stalled=not is_late and self._stalled(cutoff),
            n_cuts=len(admm.cuts),
            n_iterations=admm.n_iterations,
            is_cut=is_late,
        )

    def _iterate(self) -> None:
        begun = time.perf_counter()
        self._admm.iterate()
        if self._admm.n_iterations % self.parameters.balance_period == 0:
            self._admm.balance()
        self._iteration_seconds = max(self._iteration_seconds, time.perf_counter() - begun)

    def _evaluate(self, counts: bool) -> ProvenBound:
        """Take the safe bound of the last iterate; return the best, with evidence if that is it.

        counts : whether it says how fast bounds rise, or was not due yet
        """
        begun = time.perf_counter()
        dual = self._admm.dual_point()
        bound = safe_bound(self._relaxation, dual)
        best = self._best if bound <= self._best else ProvenBound(bound.value, dual)
        self._best = best.bare()
        if counts:
            self._history.append((self._admm.n_iterations, self._best.value))
        self._bound_seconds = max(self._bound_seconds, time.perf_counter() - begun)
        return best

    def _is_late(self, seconds_left: float) -> bool:
        """Whether the bound is to be evaluated now, before the next iteration. Both need a full
        eigendecomposition at the worst, so one of them tells of the other."""
        iteration, bound = self._iteration_seconds, self._bound_seconds
        return seconds_left < LATE * (iteration + max(bound, iteration))

    def affinity(self) -> NDArray[np.float64]:
        """Z of the polyhedral iterate: nonnegative, zero on cannot-links."""
        return self._relaxation.to_affinity(self._admm.W)

    def clustering(self) -> None:
        """None: the iterates are no clusterings."""

    def fixings(self, cutoff: float) -> tuple[Pairs, Pairs]:
        relaxation, n_candidates = self._relaxation, self.parameters.together_candidates
        dual = self._admm.dual_point()
        # Not the best bound so far: that may belong to other dual values.
        bound = safe_bound(relaxation, dual)
        apart = np.concatenate(
            [pairs_apart(relaxation, dual, bound, cutoff), far_apart(self._contraction, cutoff)]
        )
        together = np.empty((0, 2), np.intp)
        if n_candidates:
            tied = tied_pairs(relaxation, self.affinity())[:n_candidates]
            state = self._admm.state()
            together = pairs_together(relaxation, state, self.parameters, cutoff, tied)
        return together, np.unique(apart, axis=0)

    @property
    def relaxation(self) -> Relaxation:
        return self._relaxation

    def dual_point(self) -> DualPoint:
        """The dual values of the last iterate."""
        return self._admm.dual_point()

    def warm_start(self) -> SdpWarmStart:
        """The last iterate."""
        dual = self._admm.dual_point()
        return SdpWarmStart(
            block_of=self._contraction.block_of,
            scale=self._relaxation.scale,
            dual=DualPoint(dual.N.astype(np.float32), dual.cuts, dual.multipliers),
            Z=self.affinity().astype(np.float32),
            rho=self._admm.rho,
        )

    def _separate_if_due(self) -> None:
        now = self._admm.n_iterations
        if now == self._separated_at or now % self.parameters.round_period:
            return
        self._separated_at = now
        families = self.parameters.separation.families
        due = [family for family in families if self._is_child or family.is_due(now)]
        self._admm.replace_cuts(separate(self._relaxation, self._admm.W, due))

    def _stalled(self, cutoff: float) -> bool:
        """Whether the distance to the cutoff hardly shrinks any more (see `Patience`)."""
        now, best = self._history[-1]
        if now >= self.parameters.max_iterations:
            return True
        earlier = [
            b for iteration, b in self._history if iteration <= now - self._patience.iterations
        ]
        if not earlier or best >= cutoff:
            return False
        if not np.isfinite(cutoff):  # no clustering is known: the bound's own progress counts
            cutoff = best + abs(best)
        return cutoff - best > (1.0 - self._patience.progress) * (cutoff - earlier[-1])
