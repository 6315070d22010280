"""Bounding method: the contracted Peng-Wei relaxation with cuts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import matrices_mebibytes
from sdpbb.bounds.method import BoundingMethod
from sdpbb.bounds.sdp.admm_run import AdmmRun
from sdpbb.bounds.sdp.conic_run import ConicRun
from sdpbb.bounds.sdp.cuts.capacities import CapacityCuts
from sdpbb.bounds.sdp.cuts.pentagons import PentagonCuts
from sdpbb.bounds.sdp.cuts.stars import TriangleCuts
from sdpbb.bounds.sdp.first_duals import SdpWarmStart
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.problem import Contraction

# Matrices over the blocks that exist at the same time at most: those of the method, and sums behind
# its bound.
MATRICES = 14
# Rounds of a conic solver on more blocks are the work of another process: Clarabel takes half a
# second for 40 blocks, and 3 seconds for 60.
MOST_CONIC = 30


# Evaluations of the bound that call all loops: the first cuts are found after one.
_EXERCISED = 4


class SdpBounding(BoundingMethod[SdpWarmStart]):
    """Bounding method that solves the contracted Peng-Wei relaxation with cuts.

    Source: PC-SOS-SDP, sections 3.1-3.2, with a first-order method and a bound of this project; or
    with a conic solver instead of the method (`SdpParameters.solver`).
    """

    def __init__(self, parameters: SdpParameters | None = None) -> None:
        self.parameters = parameters or SdpParameters()
        self._run: type[AdmmRun] = AdmmRun
        if self.parameters.solver != "admm":
            self._run, self.most_blocks_here = ConicRun, MOST_CONIC

    def mebibytes(self, contraction: Contraction) -> float:
        """Return the memory that bounding a node takes at its peak, in MiB, about."""
        return matrices_mebibytes(MATRICES, contraction.n_blocks)

    @staticmethod
    def exercise(contraction: Contraction) -> None:
        run = AdmmRun.begin(contraction, SdpParameters())
        for _ in range(_EXERCISED):
            run.advance(np.inf)
        run.affinity()

    @staticmethod
    def exercise_rare(contraction: Contraction) -> None:
        run = AdmmRun.begin(contraction, SdpParameters())
        run.advance(np.inf)
        PentagonCuts().separate(run.affinity(), run.relaxation)
        TriangleCuts().most_violated(run.affinity(), run.relaxation, is_exact=False)
        run.fixings(contraction.total)
        CapacityCuts().separate(run.affinity(), run.relaxation)

    def start(
        self,
        contraction: Contraction,
        warm_start: SdpWarmStart | None,
        known: NDArray[np.intp] | None = None,
    ) -> AdmmRun:
        """Return a new run on a node."""
        return self._run.begin(contraction, self.parameters, warm_start, known)

    def resume(self, contraction: Contraction, run: AdmmRun) -> AdmmRun:
        """Return the run, attached to the contraction that it has started with."""
        return run.attach(contraction, self.parameters)
