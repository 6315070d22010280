"""Bounding of a node by a conic solver of CVXPY: solve, evaluate, separate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundProgress
from sdpbb.bounds.sdp.admm import Admm
from sdpbb.bounds.sdp.admm_run import AdmmRun, Patience
from sdpbb.bounds.sdp.cuts import separate
from sdpbb.bounds.sdp.cuts.cut_set import CutSet, ScaledCuts
from sdpbb.bounds.sdp.safe_bound import DualPoint, safe_bound
from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.time_left import TimeLeft, no_limit

# Maximum new cuts per block and round. An interior-point method can use more, but most cuts of a
# round are not needed.
CUTS_PER_BLOCK = 2
# Stall tests without and with a warm start, an iteration being a round; maximum rounds of a node.
ROOT = Patience(iterations=3, progress=0.2)
CHILD = Patience(iterations=2, progress=0.4)
MAX_ROUNDS = 30
# Entries of Z below this part of the diagonal are taken for zero before cuts are separated: an
# interior-point method returns no zeros, and separation is fast where there are many.
ZERO = 1e-7
# How far a direction is followed in which the dual function grows without end, in units of its
# multipliers, of which the largest is 1.
STEPS = tuple(10.0**power for power in range(-2, 7))


@stored
class ConicRun(AdmmRun):
    """Bounding of one node by a conic solver: an iteration solves the relaxation from scratch.

    Solution and dual values of the solver (`RelaxationModel`) take the place of the iterates of the
    ADMM, so bound, fixings and warm start are those of an `AdmmRun`. After an iteration at
    most `CUTS_PER_BLOCK` m violated cuts are added, the most violated first. Before
    the next one, cuts are dropped whose multiplier is smaller than their slack. The run stalls when
    no cut is violated or bounds hardly rise any more.

    If the solver reports that there is no solution (fixed pairs may leave none), its dual values
    are a direction in which the dual function grows without end. The run follows it from the dual
    values before.

    An iteration cannot be interrupted.
    """

    @property
    def _patience(self) -> Patience:
        return CHILD if self.is_child else ROOT

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Solve the relaxation with the present cuts, and separate."""
        bounds = []
        if self.n_iterations == 0:  # dual values of the parent, or of a known clustering
            bounds.append(self._evaluate(cutoff, is_due=False))
        has_solution = self._solve(cutoff)
        bounds.append(self._evaluate(cutoff, is_due=True))
        n_cuts = len(self.admm.cuts)
        fresh = self._violated_cuts() if has_solution else CutSet.empty()
        self.admm.replace_cuts(fresh)
        stalled = not len(fresh) or self._is_stalled(cutoff)
        return BoundProgress(max(bounds), stalled, n_cuts, self.n_iterations)

    def _is_stalled(self, cutoff: float) -> bool:
        is_last = self.n_iterations >= MAX_ROUNDS
        return is_last or self._patience.has_run_out(self.history, cutoff)

    def _solve(self, cutoff: float) -> bool:
        """Replace the iterate by the solver's solution; return whether there is one."""
        from sdpbb.bounds.sdp.model import RelaxationModel  # CVXPY takes most of a second to import

        relaxation, Z = self.relaxation, self.affinity()
        model = RelaxationModel(relaxation, self._needed_cuts(Z))
        has_solution = model.solve(self.parameters.solver) < np.inf
        dual = model.dual_point()
        if has_solution:
            Z = model.Z.value
            diagonal = np.maximum(np.diag(Z), 0.0)
            Z = np.where(ZERO * np.minimum(diagonal[:, None], diagonal) > Z, 0.0, Z)
        else:
            dual = self._along(dual, cutoff)
        n_iterations = self.n_iterations + 1
        self.admm = Admm.at(relaxation, dual, Z, self.admm.rho)
        self.admm.n_iterations = n_iterations
        return has_solution

    def _along(self, ray: DualPoint, cutoff: float) -> DualPoint:
        """Return the best dual values along a direction, from the present ones."""
        best = start = self.dual_point()
        bound = safe_bound(self.relaxation, best)
        largest = max(np.abs(ray.N).max(initial=0.0), ray.multipliers.max(initial=0.0))
        for step in STEPS if largest > 0.0 else ():
            tried = _sum(start, ray.scaled(step / float(largest)))
            of_tried = safe_bound(self.relaxation, tried)
            if of_tried > bound:
                best, bound = tried, of_tried
            if bound.value >= cutoff:
                break
        return best

    def _needed_cuts(self, Z: NDArray[np.float64]) -> CutSet:
        """Return the cuts whose multiplier is at least their slack, and those violated."""
        dual = self.dual_point()
        cuts, norm = dual.cuts, self._norms(dual.cuts)
        return cuts.select(dual.multipliers * norm > (cuts.values(Z) - cuts.rhs) / norm)

    def _violated_cuts(self) -> CutSet:
        """Return new cuts, the most violated first; of costly families only without others."""
        Y, keys = self.admm.polyhedral_iterate(), self.admm.cuts.keys
        found = separate(self.relaxation, Y, lambda family: not family.is_costly)
        found = found.select(~np.isin(found.keys, keys))
        if not len(found):
            found = separate(self.relaxation, Y, lambda family: family.is_costly)
            found = found.select(~np.isin(found.keys, keys))
        distance = (found.rhs - found.values(self.affinity())) / self._norms(found)
        most = CUTS_PER_BLOCK * self.relaxation.m
        return found.select(np.argsort(-distance, kind="stable")[:most])

    def _norms(self, cuts: CutSet) -> NDArray[np.float64]:
        relaxation = self.relaxation
        return ScaledCuts.of(cuts, relaxation.inverse_roots, relaxation.forbidden).norm


def _sum(first: DualPoint, second: DualPoint) -> DualPoint:
    """Return the sum of two dual points, each cut once."""
    both = np.concatenate([first.multipliers, second.multipliers])
    m = len(first.N)
    return DualPoint(first.N + second.N, first.cuts + second.cuts, both).merged(np.arange(m), m)
