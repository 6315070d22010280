"""Bounding of a node by a conic solver of CVXPY: solve, evaluate, separate."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sdpbb.archive.stored import stored
from sdpbb.bounds.bound import BoundProgress, ProvenBound
from sdpbb.bounds.sdp.cuts import separate
from sdpbb.bounds.sdp.cuts.cut_set import CutSet, ScaledCuts
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.sdp.relaxation_run import RelaxationRun, RelaxationState, SdpWarmStart
from sdpbb.bounds.sdp.safe_bound import DualPoint, safe_bound
from sdpbb.problem import Contraction
from sdpbb.time_left import TimeLeft, no_limit

# Entries of Z below this part of the diagonal are taken for zero before cuts are separated: an
# interior-point method returns no zeros, and separation is fast where there are many.
ZERO = 1e-7
# How far a direction is followed in which the dual function grows without end, in units of its
# multipliers, of which the largest is 1.
STEPS = tuple(10.0**power for power in range(-2, 7))


@stored
@dataclass(eq=False)
class ConicRunState(RelaxationState):
    """Resumable state of a `ConicRun`; its history has an entry for each round.

    cuts : of the next relaxation
    dual : what the best bound is proven by; None while that is the scatter inside blocks
    Z : (m, m) of the last relaxation; None before
    """

    cuts: CutSet = field(default_factory=CutSet.empty)
    dual: DualPoint | None = None
    Z: NDArray[np.float64] | None = None


class ConicRun(RelaxationRun):
    """Bounding of one node by a conic solver.

    A round solves the relaxation with the present cuts (`RelaxationModel`) and evaluates
    `safe_bound` at the dual values, whatever the solver's status. It adds at most
    `ConicParameters.cuts_per_block` m violated cuts, the most violated first, and drops cuts whose
    multiplier is smaller than their slack. The run stalls when no cut is violated or bounds hardly
    rise any more.

    If the solver reports that there is no solution (fixed pairs may leave none), its dual values
    are a direction in which the dual function grows without end. The run follows it from the best
    dual values so far.

    A round is not interrupted. Its iterations are rounds.
    """

    state: ConicRunState

    def __init__(
        self,
        contraction: Contraction,
        parameters: SdpParameters,
        state: ConicRunState | None = None,
        warm_start: SdpWarmStart | None = None,
    ) -> None:
        """
        Parameters
        ----------
        state : to resume from; None: start, from the warm start if there is one
        """
        super().__init__(contraction, parameters)
        best = self._scatter_inside_blocks()
        self.state = ConicRunState(warm_start is not None, best) if state is None else state
        if warm_start is not None:
            dual, self.state.Z = warm_start.for_child(contraction, self.relaxation.scale)
            self.state.cuts = dual.cuts.select(dual.multipliers > 0.0)
            self._take(dual)
        conic = parameters.conic
        self._patience = conic.child if self.state.is_child else conic.root

    @property
    def n_iterations(self) -> int:
        """Rounds so far."""
        return len(self.state.history)

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Complete a round; a conic solver cannot be interrupted in one."""
        from sdpbb.bounds.sdp.model import RelaxationModel  # CVXPY takes most of a second to import

        n_cuts = len(self.state.cuts)
        model = RelaxationModel(self.relaxation, self.state.cuts)
        value = model.solve(self.parameters.solver)
        dual = model.dual_point()
        if value == np.inf:
            self._follow(dual, cutoff)
        else:
            self._take(dual)
        self.state.history.append((self.n_iterations + 1, self.state.best.value))
        has_cuts = model.Z.value is not None and self._next_cuts(model.Z.value, dual)
        stalled = not has_cuts or self._is_stalled(cutoff)
        bound = ProvenBound(self.state.best.value, self.state.dual)
        return BoundProgress(bound, stalled, n_cuts, self.n_iterations)

    def _is_stalled(self, cutoff: float) -> bool:
        is_last = self.n_iterations >= self.parameters.conic.max_rounds
        return is_last or self._patience.has_run_out(self.state.history, cutoff)

    def affinity(self) -> NDArray[np.float64]:
        """Return Z of the last relaxation, nonnegative, zero on cannot-links.

        Before there is one, all blocks count as one cluster.
        """
        if self.state.Z is None:
            return np.where(self.relaxation.forbidden, 0.0, 1.0 / self.relaxation.n)
        return self.state.Z

    def dual_point(self) -> DualPoint:
        """Return the dual values of the best bound; zero before there are any."""
        m = self.relaxation.m
        return self.state.dual or DualPoint(np.zeros((m, m)), CutSet.empty(), np.zeros(0))

    @property
    def _penalty(self) -> float:
        return self.parameters.admm.penalty

    def _take(self, dual: DualPoint) -> None:
        """Keep the best bound, and its evidence."""
        bound = safe_bound(self.relaxation, dual)
        if bound > self.state.best or self.state.dual is None:
            self.state.best, self.state.dual = max(self.state.best, bound), dual

    def _follow(self, ray: DualPoint, cutoff: float) -> None:
        """Try dual values along a direction, from the best ones so far."""
        largest = max(np.abs(ray.N).max(initial=0.0), ray.multipliers.max(initial=0.0))
        if not largest > 0.0:
            return
        base = self.dual_point()
        for step in STEPS:
            self._take(_sum(base, ray.scaled(step / float(largest))))
            if self.state.best.value >= cutoff:
                return

    def _next_cuts(self, Z: NDArray[np.float64], dual: DualPoint) -> bool:
        """Drop the cuts that are not needed and add violated ones; return whether there are any."""
        relaxation, conic = self.relaxation, self.parameters.conic
        diagonal = np.maximum(np.diag(Z), 0.0)
        small = ZERO * np.minimum(diagonal[:, None], diagonal)
        self.state.Z = Z = np.where(relaxation.forbidden | (small > Z), 0.0, Z)
        norm = ScaledCuts.of(self.state.cuts, relaxation.inverse_roots, relaxation.forbidden).norm
        slack = (self.state.cuts.values(Z) - self.state.cuts.rhs) / norm
        kept = self.state.cuts.select(dual.multipliers * norm > slack)
        fresh = self._violated_cuts(Z)
        fresh = fresh.select(~np.isin(fresh.keys, self.state.cuts.keys))
        norm = ScaledCuts.of(fresh, relaxation.inverse_roots, relaxation.forbidden).norm
        distance = (fresh.rhs - fresh.values(Z)) / norm
        worst = np.argsort(-distance, kind="stable")[: conic.cuts_per_block * relaxation.m]
        self.state.cuts = kept + fresh.select(worst)
        return len(worst) > 0

    def _violated_cuts(self, Z: NDArray[np.float64]) -> CutSet:
        """Return the most violated cuts at Z; of costly families only if there are no others."""
        roots = 1.0 / self.relaxation.inverse_roots
        Y, families = roots[:, None] * Z * roots, self.parameters.separation.families
        quick = separate(self.relaxation, Y, [each for each in families if not each.is_costly])
        if len(quick):
            return quick
        return separate(self.relaxation, Y, [each for each in families if each.is_costly])


def _sum(first: DualPoint, second: DualPoint) -> DualPoint:
    """Return the sum of two dual points, each cut once."""
    both = np.concatenate([first.multipliers, second.multipliers])
    m = len(first.N)
    return DualPoint(first.N + second.N, first.cuts + second.cuts, both).merged(np.arange(m), m)
