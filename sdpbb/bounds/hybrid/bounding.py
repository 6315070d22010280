"""Bounding method in stages: prices and places, columns, the semidefinite bound; a run of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundProgress, PairFixings, matrices_mebibytes
from sdpbb.bounds.colgen.effort import is_easy_to_price, pricing_mebibytes
from sdpbb.bounds.hybrid.criteria import (
    has_easy_columns,
    has_small_columns,
    is_enumerated_at_places,
    is_for_places,
)
from sdpbb.bounds.hybrid.parts import HybridParts, HybridState, HybridWarmStart
from sdpbb.bounds.hybrid.stages import STAGES, RelaxationStage, Stage
from sdpbb.bounds.method import BoundingMethod
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.errors import BackendFailure
from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import TimeLeft, no_limit


class HybridRun:
    """Run of the hybrid bound on one node (`sdpbb.bounds.bound.BoundRun`)."""

    def __init__(
        self,
        contraction: Contraction,
        sdp: SdpBounding,
        state: HybridState,
        max_pricing_slices: int | None,
    ) -> None:
        self._parts = HybridParts(contraction, sdp, state, max_pricing_slices)
        self.state = state

    @property
    def n_iterations(self) -> int:
        return self._parts.n_iterations

    def advance(self, cutoff: float, time_left: TimeLeft = no_limit) -> BoundProgress:
        """Take a step of the current stage."""
        stage = STAGES[self.state.stage]
        if stage.is_overdue(self._parts):
            return self._give_up(stage, cutoff, time_left)
        try:
            progress = stage.advance(self._parts, cutoff, time_left)
        except BackendFailure:
            if isinstance(stage, RelaxationStage):
                raise
            return self._give_up(stage, cutoff, time_left)
        if (
            progress.stalled
            and progress.bound.value < cutoff
            and not stage.leaves_node(self._parts, cutoff)
        ):
            progress = replace(progress, stalled=not self.go_on(cutoff))
        return self._with_best_bound(progress)

    def _give_up(self, stage: Stage, cutoff: float, time_left: TimeLeft) -> BoundProgress:
        """Give the current stage up, and take a step of the next one if there is any."""
        stage.give_up(self._parts)
        self._parts.skip(stage.name)
        if self.go_on(cutoff):
            return self.advance(cutoff, time_left)
        return self._with_best_bound(BoundProgress(self.state.bound, True, 0, 0))

    def go_on(self, cutoff: float) -> bool:
        """Begin the next stage that is worth its time; return whether there is any."""
        for position in range(self.state.stage + 1, len(STAGES)):
            if STAGES[position].begins(self._parts, cutoff):
                self.state.stage = position
                return True
        return False

    def _with_best_bound(self, progress: BoundProgress) -> BoundProgress:
        """Return the progress with the best bound of all parts so far."""
        best = max(progress.bound, self.state.bound)
        self.state.bound = best.bare()
        return replace(progress, bound=best, n_iterations=self.n_iterations)

    def affinity(self) -> NDArray[np.float64]:
        return self._parts.begun[0].affinity()

    def clustering(self) -> NDArray[np.intp] | None:
        columns, enumeration = self._parts.columns, self._parts.enumeration
        labels = None if columns is None else columns.clustering()
        if labels is None and enumeration is not None:
            return enumeration.labels
        return labels

    def fixings(self, cutoff: float) -> PairFixings:
        relaxation = self._parts.relaxation
        if relaxation is None or not relaxation.n_iterations:
            return PairFixings(np.empty((0, 2), np.intp))
        return relaxation.fixings(cutoff)

    def warm_start(self) -> HybridWarmStart:
        return self._parts.warm_start()


# Matrices over the blocks that branching by places holds.
PLACE_MATRICES = 6


class HybridBounding(BoundingMethod[HybridWarmStart]):
    """Bounding method in stages: prices and places, columns, and the semidefinite relaxation.

    The stages, in order. One begins where the one before ends without having closed the node, or is
    given up:

    1. Places. Prices and places, where blocks are many in few dimensions. The node is branched on
       where they leave a gap, unless clusters are small.
    2. Enumeration at places. Where clusters are small, all that a better clustering can have are
       enumerated at the prices of places, if they are few. The node is branched on where they are
       not, unless clusters are smaller still.
    3. Easy columns. Where pricing looks easy: column generation alone, unless that takes long.
    4. Relaxation. The semidefinite bound, until the node is closed or the bound has stalled.
    5. Enumeration. Its dual values are dual values of the master programme
       (`sdp_dual.master_dual`): all clusters that a better clustering can have are enumerated at
       these, if they are few.
    6. Columns. Column generation goes on from these dual values: to its end where clusters are
       small, and for a while elsewhere.

    What counts as few, small and long is in `criteria.py`, `stages.py` and `colgen/effort.py`.

    Where HiGHS cannot solve a linear programme, as its numbers differ too much in size, the stage
    is given up. Bounds that were proven stay.
    """

    def __init__(
        self, sdp: SdpParameters | None = None, max_pricing_slices: int | None = None
    ) -> None:
        """max_pricing_slices : of enumeration; None for `enumeration.MAX_PRICING_SLICES`"""
        self.sdp, self.max_pricing_slices = SdpBounding(sdp), max_pricing_slices
        self.most_blocks_here = self.sdp.most_blocks_here

    def is_quick(self, contraction: Contraction) -> bool:
        """Return whether places come first, or columns."""
        return is_for_places(contraction) or has_easy_columns(contraction)

    def lighter(self, contraction: Contraction) -> str | None:
        """Return the bounding by columns alone where pricing is easy."""
        return "colgen" if is_easy_to_price(contraction) else None

    def mebibytes(self, contraction: Contraction) -> float:
        """Return the memory that bounding a node takes at its peak, in MiB, about.

        It is that of places, which look at all pairs of blocks to branch, where the node is left
        with them; else that of the relaxation and of pricing, as it may come to both.
        """
        if is_for_places(contraction) and not has_small_columns(contraction):
            enumerates = is_enumerated_at_places(contraction)
            pricing = pricing_mebibytes(contraction) if enumerates else 0.0
            return pricing + matrices_mebibytes(PLACE_MATRICES, contraction.n_blocks)
        return self.sdp.mebibytes(contraction) + pricing_mebibytes(contraction)

    def checkable(self, contraction: Contraction, evidence: Any) -> Iterator[Any]:
        """Yield the forms of the semidefinite bound's evidence; other evidence as it is."""
        return self.sdp.checkable(contraction, evidence)

    def is_quickly_checked(self, evidence: Any) -> bool:
        return self.sdp.is_quickly_checked(evidence)

    def start(
        self,
        contraction: Contraction,
        warm_start: HybridWarmStart | None,
        known: NDArray[np.intp] | None = None,
    ) -> HybridRun:
        """Return a new `HybridRun` on a node."""
        inherited = warm_start or HybridWarmStart()
        run = self.resume(contraction, HybridState(inherited, known, inherited.skipped))
        run.go_on(math.inf)
        return run

    def resume(self, contraction: Contraction, state: HybridState) -> HybridRun:
        """Return a `HybridRun` that goes on from its state on the same contraction."""
        return HybridRun(contraction, self.sdp, state, self.max_pricing_slices)
