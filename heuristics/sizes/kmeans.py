"""k-means whose assignment step keeps limits on sizes or weights."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from heuristics.kmeans_steps import KMeansLabels, alternate_kmeans, explained
from heuristics.sizes.assignment import SizedAssignment
from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import OutOfTime, TimeLeft


class SizedKMeans:
    """k-means of one contraction whose sizes, or weights, are limited."""

    def __init__(self, contraction: Contraction, max_iterations: int, time_left: TimeLeft) -> None:
        """max_iterations : assignment steps from each set of centres."""
        self._contraction = contraction
        self._assign = SizedAssignment(contraction, math.inf, is_exact=True)
        self._max_iterations = max_iterations
        self._time_left = time_left

    def __call__(
        self, centres: NDArray[np.float64], rng: np.random.Generator
    ) -> Iterator[KMeansLabels]:
        """Yield what k-means ends with from centres (k, r), for each order of listed sizes.

        The sum of squares never increases: labels that a greedy step makes dearer are not taken.

        Raises
        ------
        OutOfTime
            If no time is left before the first labels, or none are found.
        """
        for order in self._assign.orders(centres, rng):
            yield self._in_order(centres, order)

    def _in_order(self, centres: NDArray[np.float64], order: NDArray[np.intp]) -> KMeansLabels:
        prices = np.zeros(len(order))
        last: NDArray[np.intp] | None = None

        def assign(at: NDArray[np.float64]) -> NDArray[np.intp]:
            nonlocal last
            labels = self._assign(at, self._time_left, order, prices)
            if labels is None or not self._contraction.keeps_sizes(labels):
                raise OutOfTime
            if last is None or self._explained(labels) >= self._explained(last):
                last = labels
            return last

        return alternate_kmeans(
            self._contraction, assign, centres, self._max_iterations, time_left=self._time_left
        )

    def _explained(self, labels: NDArray[np.intp]) -> float:
        return explained(self._contraction, labels)
