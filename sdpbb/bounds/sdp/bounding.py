"""Bounding method: the contracted Peng-Wei relaxation with cuts, by ADMM or a conic solver."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundingMethod, BoundProgress, matrices_mebibytes
from sdpbb.bounds.sdp.admm import Admm
from sdpbb.bounds.sdp.admm_run import AdmmRun, Patience
from sdpbb.bounds.sdp.cuts import separate
from sdpbb.bounds.sdp.cuts.cut_set import CutSet, ScaledCuts
from sdpbb.bounds.sdp.first_duals import SdpWarmStart
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.sdp.safe_bound import DualPoint, safe_bound
from sdpbb.problem import Contraction
from sdpbb.runtime.archive import stored
from sdpbb.runtime.time_left import TimeLeft, no_limit

# Maximum matrices over the blocks at the same time, in the method and in its bound.
MATRICES = 14
# Another process does rounds of a conic solver on more blocks: Clarabel takes half a second for 40
# blocks, and 3 seconds for 60.
MOST_CONIC = 30
# Evaluations of the bound that call all loops: the first cuts are found after one.
_EXERCISED = 4
# Maximum new cuts per block and round. Most cuts of a round are not needed.
CUTS_PER_BLOCK = 2
# Maximum rounds of a node.
MAX_ROUNDS = 30
# Entries of Z below this part of the diagonal count as zero when cuts are separated: interior-point
# methods return no zeros, which make separation fast.
ZERO = 1e-7


class SdpBounding(BoundingMethod[SdpWarmStart]):
    """Bounding method that solves the contracted Peng-Wei relaxation with cuts.

    Source: PC-SOS-SDP, sections 3.1-3.2, with a first-order method and a bound of this project. A
    conic solver may replace the method (`SdpParameters.solver`).
    """

    def __init__(self, parameters: SdpParameters | None = None) -> None:
        self.parameters = parameters or SdpParameters()
        self._run: type[AdmmRun] = AdmmRun
        if self.parameters.solver != "admm":
            self._run, self.most_blocks_here = ConicRun, MOST_CONIC

    def mebibytes(self, contraction: Contraction) -> float:
        """Estimate the memory that bounding a node takes at its peak, in MiB."""
        return matrices_mebibytes(MATRICES, contraction.n_blocks)

    @staticmethod
    def exercise(contraction: Contraction) -> None:
        run = AdmmRun.begin(contraction, SdpParameters())
        for _ in range(_EXERCISED):
            run.advance(np.inf)
        separate(run.relaxation, run.admm.polyhedral_iterate())  # late families, too
        run.fixings(contraction.total)

    def start(
        self,
        contraction: Contraction,
        warm_start: SdpWarmStart | None,
        known: NDArray[np.intp] | None = None,
    ) -> AdmmRun:
        """Return a new run on a node."""
        return self._run.begin(contraction, self.parameters, warm_start, known)


@stored
class ConicRun(AdmmRun):
    """Bounding of one node by a conic solver: an iteration solves the relaxation from scratch.

    Solution and dual values of the solver (`RelaxationModel`) replace the iterates of the ADMM;
    bound, fixings and warm start are as in `AdmmRun`. After an iteration at most `CUTS_PER_BLOCK` m
    violated cuts are added, the most violated first. Before the next one, cuts are dropped if their
    multiplier is smaller than their slack. The run stalls if no cut is violated, or bounds hardly
    rise.

    If the solver reports that there is no solution, its dual values are a direction in which the
    dual function grows without limit. The run follows it from the dual values before.

    An iteration cannot be interrupted.
    """

    ROOT, CHILD = Patience(iterations=3, progress=0.2), Patience(iterations=2, progress=0.4)

    @property
    def _max_iterations(self) -> int:
        return MAX_ROUNDS

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Solve the relaxation with the present cuts, and separate."""
        bounds = []
        if self.n_iterations == 0:  # dual values of the parent, or of a known clustering
            bounds.append(self._best_bound(cutoff, is_due=False))
        has_solution = self._solve()
        bounds.append(self._best_bound(cutoff, is_due=True))
        n_cuts = len(self.admm.cuts)
        fresh = self._violated_cuts() if has_solution else CutSet.empty()
        self.admm.replace_cuts(fresh)
        stalled = not len(fresh) or self._is_stalled(cutoff)
        return BoundProgress(max(bounds), stalled, n_cuts)

    def _solve(self) -> bool:
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
            dual = self._along(dual)
        n_iterations = self.n_iterations + 1
        self.admm = Admm.at(relaxation, dual, Z, self.admm.rho)
        self.admm.n_iterations = n_iterations
        return has_solution

    def _along(self, ray: DualPoint) -> DualPoint:
        """Return the best dual values along a direction, from the present ones."""
        start, m = self.dual_point(), self.relaxation.m
        largest = max(np.abs(ray.N).max(initial=0.0), ray.multipliers.max(initial=0.0), 1e-300)
        tried = [start]
        for step in (0.01, 1.0, 1e2, 1e4, 1e6):
            more = ray.scaled(step / float(largest))
            both = np.concatenate([start.multipliers, more.multipliers])
            sums = DualPoint(start.N + more.N, start.cuts + more.cuts, both)
            tried.append(sums.merged(np.arange(m), m))  # which makes equal cuts one
        return max(tried, key=lambda dual: safe_bound(self.relaxation, dual))

    def _needed_cuts(self, Z: NDArray[np.float64]) -> CutSet:
        """Return the violated cuts, and the cuts whose multiplier is above their slack."""
        dual = self.dual_point()
        cuts, norm = dual.cuts, self._norms(dual.cuts)
        return cuts.select(dual.multipliers * norm > (cuts.values(Z) - cuts.rhs) / norm)

    def _violated_cuts(self) -> CutSet:
        """Return new cuts, the most violated first; late families if the others find none."""
        for n_iterations in (0, np.inf):
            found = separate(self.relaxation, self.admm.polyhedral_iterate(), n_iterations)
            found = found.select(~np.isin(found.keys, self.admm.cuts.keys))
            if len(found):
                break
        distance = (found.rhs - found.values(self.affinity())) / self._norms(found)
        most = CUTS_PER_BLOCK * self.relaxation.m
        return found.select(np.argsort(-distance, kind="stable")[:most])

    def _norms(self, cuts: CutSet) -> NDArray[np.float64]:
        relaxation = self.relaxation
        return ScaledCuts.of(cuts, relaxation.inverse_roots, relaxation.forbidden).norm
