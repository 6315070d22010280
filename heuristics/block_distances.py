"""Distances of blocks to centres, and the clusters that each may join, in alternating methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heuristics.candidates import (
    all_distances,
    distances_to,
    nearest_centres,
    sum_of_distances,
    sum_of_squared_distances,
)
from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import TimeLeft, no_limit

Distance = Literal["squared", "euclidean"]
"""Distance from a block to a centre."""


@dataclass(frozen=True, eq=False)
class BlockDistances:
    """Distances of the blocks of a contraction, and the clusters that each may join.

    Attributes
    ----------
    n_candidates : how many clusters, the nearest ones, a block may join; k for all
    time_left : time left; the methods raise OutOfTime where there is none
    """

    contraction: Contraction
    distance: Distance
    n_candidates: int
    time_left: TimeLeft = no_limit

    def candidates(self, centres: NDArray[np.float64]) -> NDArray[np.intp] | None:
        """Return the clusters (m, q) of each block, or None for all of them."""
        if self.n_candidates >= self.contraction.k:
            return None
        return nearest_centres(self.contraction.means, centres, self.n_candidates, self.time_left)

    def distances(
        self, centres: NDArray[np.float64], candidates: NDArray[np.intp] | None
    ) -> NDArray[np.float64]:
        """Return d from each block to its candidates, (m, q), or to all centres, (m, k)."""
        means = self.contraction.means
        if candidates is None:
            return self._root(all_distances(means, centres, self.time_left))
        return self._root(distances_to(means, centres, candidates))

    def mean_sum(self, centres: NDArray[np.float64]) -> float:
        """Return the sum over all blocks and centres of d, over the number of blocks."""
        means = self.contraction.means
        if self.distance == "squared":
            return sum_of_squared_distances(means, centres) / len(means)
        return sum_of_distances(means, centres, self.time_left) / len(means)

    def cost(self, labels: NDArray[np.intp], centres: NDArray[np.float64]) -> float:
        """Return W + sum_i s_i d(x_i, o_l(i)) of the objective."""
        inside = self.contraction.scatter.sum() if self.distance == "squared" else 0.0
        distances = self.distances(centres, labels[:, None])[:, 0]
        return float(inside + self.contraction.weights @ distances)

    def _root(self, squared: NDArray[np.float64]) -> NDArray[np.float64]:
        return squared if self.distance == "squared" else np.sqrt(squared)


# Rule for the penalty P of an iteration, from its distances, its centres (k, r), and the distances
# d in its programme, (m, q).
PenaltyRule = Callable[[BlockDistances, NDArray[np.float64], NDArray[np.float64]], float]
