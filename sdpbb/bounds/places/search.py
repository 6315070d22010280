"""Search over all places: a number that no value of a place exceeds, at given prices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.places.box_kernels import DEPTH, FINISHED, FULL, BoxStack, search_boxes
from sdpbb.time_left import WORK, TimeLeft, check_time

_EPS = float(np.finfo(np.float64).eps)
# Places that are kept: those worth nearly as much as the best.
_KEPT, NEARLY = 20_000, 0.985


class PlaceSearch:
    """Search for the greatest value sum_i w_i max(0, y_i - ||x_i - c||^2) of a place c.

    Attributes
    ----------
    points : (n, 3)
    weights, prices : (n,); weights > 0
    """

    def __init__(
        self,
        points: NDArray[np.float64],
        weights: NDArray[np.float64],
        prices: NDArray[np.float64],
        known: float,
        tolerance: float,
    ) -> None:
        """
        Parameters
        ----------
        known : a value that some place has, about
        tolerance : the result is at most so much above the greatest value
        """
        n = len(points)
        self._data = np.column_stack([points, prices, weights])
        self._tolerance = tolerance
        low, high = points.min(axis=0), points.max(axis=0)
        # Sums of n terms; and the middles of boxes, from which points are looked at.
        self._rounding = _EPS * (4.0 * n + 256.0)
        square = float(((high - low) ** 2).sum())
        self._margin = 256.0 * _EPS * float(weights.sum()) * square
        self._candidates = np.arange(4 * n + 64)
        self._stack = BoxStack(
            low=np.zeros((DEPTH, 3)),
            high=np.zeros((DEPTH, 3)),
            bound=np.full(DEPTH, np.inf),
            first=np.zeros(DEPTH, np.int64),
            n_open=np.zeros(DEPTH, np.int64),
            end=np.zeros(DEPTH, np.int64),
            inside=np.zeros((DEPTH, 6)),
            major=np.zeros((DEPTH, 2, 7)),
        )
        # Means lie among the points.
        self._stack.low[0], self._stack.high[0] = low, high
        self._stack.n_open[0] = self._stack.end[0] = n
        self._stack.major[0, :, 0] = np.inf
        self._values = np.zeros(9)
        self._values[0] = known
        self._counts = np.array([1, 0, 0])
        self._met = np.zeros((_KEPT, 4))

    def run(self, time_left: TimeLeft) -> float:
        """Return a number that no value exceeds, in exact arithmetic.

        Raises
        ------
        OutOfTime
        """
        while True:
            status = search_boxes(
                self._data,
                self._candidates,
                self._stack,
                self._values,
                self._counts,
                self._met,
                self._tolerance,
                NEARLY,
                self._rounding,
                WORK // 4,
            )
            if status == FINISHED:
                return float(max(self._values[1], 0.0) + self._margin)
            if status == FULL:
                self._candidates = np.concatenate([self._candidates, self._candidates])
            check_time(time_left)

    @property
    def n_boxes(self) -> int:
        """Number of boxes looked at."""
        return int(self._counts[1])

    @property
    def met(self) -> NDArray[np.float64]:
        """Places (p, 3) met that are worth nearly as much as the best, the best first."""
        met = self._met[: min(int(self._counts[2]), _KEPT)]
        met = met[met[:, 3] >= NEARLY * self._values[0]]
        return np.asarray(met[np.argsort(-met[:, 3], kind="stable"), :3])
