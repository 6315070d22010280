"""Assignment step where sizes are limited: the cheapest clusters for given centres."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from heuristics.kmeans_steps import nearest_labels
from heuristics.sizes.flow_kernels import sized_labels
from sdpbb.packing import packed_exactly, size_bounds
from sdpbb.problem import Contraction
from sdpbb.time_left import TimeLeft, check_time

# Blocks times clusters of integer programmes, which take about a second for these.
MOST_VARIABLES = 5_000
# Orders of listed sizes that are all tried for the first centres.
MOST_ORDERS = 6


class SizedAssignment:
    """Assignment step for one contraction whose sizes are limited."""

    def __init__(self, contraction: Contraction, seconds: float) -> None:
        """seconds : for all integer programmes together."""
        assert contraction.size_limits is not None
        self._contraction = contraction
        self._limits = contraction.size_limits
        self._seconds = seconds
        self.n_steps = 0
        is_single = contraction.n_blocks == contraction.n_points
        self.is_flow = is_single and not len(contraction.cannot_link)
        self.is_possible = self.is_flow or (
            contraction.n_blocks * contraction.k <= MOST_VARIABLES and seconds > 0
        )

    def orders(
        self, centres: NDArray[np.float64], rng: np.random.Generator
    ) -> list[NDArray[np.intp]]:
        """Return orders of listed sizes for centres (k, r); one that says nothing without a list.

        They are all there are where these are few, else that of the sizes of the nearest clusters,
        and one at random.
        """
        listed, k = self._limits.listed, self._contraction.k
        if listed is None or len(set(listed)) == 1:
            return [np.arange(k)]
        if k <= 3:
            orders = {tuple(listed[at] for at in order): order for order in permutations(range(k))}
            return [np.array(orders[sizes]) for sizes in sorted(orders)]
        nearest = nearest_labels(self._contraction.means, centres)
        sizes = np.bincount(nearest, self._contraction.counts, k)
        by_rank = np.empty(k, np.intp)
        by_rank[np.argsort(sizes, kind="stable")] = np.arange(k)
        return [by_rank, rng.permutation(k)]

    def __call__(
        self,
        centres: NDArray[np.float64],
        time_left: TimeLeft,
        order: NDArray[np.intp],
    ) -> NDArray[np.intp] | None:
        """Return the cheapest labels (m,) for centres (k, r), or None where none are found.

        order : (k,) the place of each cluster's size among the listed ones

        Raises
        ------
        OutOfTime
            If no time is left.
        """
        check_time(time_left)
        self.n_steps += 1
        contraction = self._contraction
        costs = _costs(contraction, centres)
        if self.is_flow:
            least, most = (bound[order] for bound in size_bounds(self._limits))
            labels = np.empty(contraction.n_blocks, np.int64)
            return labels if sized_labels(costs, least, most, labels) else None
        if not self.is_possible or self._seconds <= 0.0:
            return None
        # The programme has clusters in the order of the list.
        position = np.argsort(order, kind="stable")
        limit = min(self._seconds, time_left())
        before = time_left()
        found, _ = packed_exactly(
            contraction, costs[:, position], max(0.01, limit), lambda: time_left() <= 0.0
        )
        if np.isfinite(before):
            self._seconds -= before - time_left()
        return None if found is None else position[found]


def _costs(contraction: Contraction, centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each block costs at each centre, (m, k), less the least of each block."""
    means = contraction.means
    squares = (centres**2).sum(axis=1) - 2.0 * (means @ centres.T)
    squares -= squares.min(axis=1, keepdims=True)
    return np.ascontiguousarray(contraction.weights[:, None] * squares)
