"""Run of the hybrid bound on one node: its stages, one after the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundProgress, PairFixings
from sdpbb.bounds.hybrid.parts import HybridParts
from sdpbb.bounds.hybrid.stages import STAGES, RelaxationStage, Stage
from sdpbb.bounds.hybrid.state import HybridState, HybridWarmStart
from sdpbb.bounds.sdp.bounding import SdpBounding
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
