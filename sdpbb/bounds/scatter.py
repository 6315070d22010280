"""The scatter inside blocks as a bound: where memory holds no better one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundProgress, Pairs, SecondsLeft, endless
from sdpbb.bounds.colgen.safe_bound import scatter_bound
from sdpbb.problem import Contraction


class ScatterBounding:
    """Bounds nodes by sum_i w_i, what the points of each block cost among themselves
    (`sdpbb.bounds.bound.Bounding`). Takes no time and no memory, and leads nowhere: every step says
    that it was the last."""

    def start(
        self,
        contraction: Contraction,
        warm_start: None,
        known: NDArray[np.intp] | None = None,
    ) -> ScatterRun:
        """Bound a node."""
        return ScatterRun(contraction)

    def resume(self, contraction: Contraction, state: Any) -> ScatterRun:
        """The same, whatever had been begun."""
        return ScatterRun(contraction)

    def mebibytes(self, contraction: Contraction) -> float:
        """Memory that bounding a node takes."""
        return 0.0


class ScatterRun:
    """The bounding of one node."""

    n_iterations = 0

    def __init__(self, contraction: Contraction) -> None:
        self._bound = scatter_bound(contraction)

    def advance(self, cutoff: float, seconds_left: SecondsLeft = endless) -> BoundProgress:
        """The bound, at once."""
        return BoundProgress(self._bound, stalled=False, n_cuts=0, n_iterations=0, is_cut=True)

    def affinity(self) -> NDArray[np.float64]:
        """None is known: nothing is looked for after a step that was the last."""
        raise NotImplementedError

    def clustering(self) -> None:
        """None."""

    def fixings(self, cutoff: float) -> tuple[Pairs, Pairs]:
        """No pairs."""
        none = np.empty((0, 2), np.intp)
        return none, none

    def warm_start(self) -> None:
        """None."""

    def argument(self) -> None:
        """None: it is the scatter."""

    def state(self) -> None:
        """None: there is nothing to go on from."""
