"""Distances of blocks to centres, and the clusters that each may join, in alternating methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heuristics.kmeans_steps import cluster_means
from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import TimeLeft, chunks, no_limit

Distance = Literal["squared", "euclidean"]
"""Distance from a block to a centre."""


@dataclass(frozen=True, eq=False)
class BlockDistances:
    """Distances d of the blocks of a contraction, and the clusters that each may join.

    Attributes
    ----------
    n_candidates : how many clusters, the nearest ones, a block may join; k for all
    time_left : time left; the methods raise OutOfTime where there is none
    """

    contraction: Contraction
    distance: Distance
    n_candidates: int
    time_left: TimeLeft = no_limit

    def distances(self, centres: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return d from each block to each centre, (m, k)."""
        from scipy.spatial.distance import cdist  # a tenth of a second, and not needed by every run

        means = self.contraction.means
        distances = np.empty((len(means), len(centres)))
        metric = "sqeuclidean" if self.distance == "squared" else "euclidean"
        for first, last in chunks(len(means), centres.size, self.time_left):
            distances[first:last] = cdist(means[first:last], centres, metric)
        return distances

    def candidates(self, distances: NDArray[np.float64]) -> NDArray[np.bool_] | None:
        """Return marks (m, k) of the nearest clusters of each block, or None for all of them."""
        q = self.n_candidates
        if q >= distances.shape[1]:
            return None
        nearest = np.argpartition(distances, q - 1, axis=1)[:, :q]
        marks = np.zeros(distances.shape, np.bool_)
        np.put_along_axis(marks, nearest, True, axis=1)
        return marks

    def cost(self, labels: NDArray[np.intp]) -> float:
        """Return W + sum_i s_i d(x_i, o_l(i)) of the objective, at the means of the clusters."""
        contraction = self.contraction
        away = contraction.means - cluster_means(contraction, labels)[labels]
        squares: NDArray[np.float64] = np.einsum("ij,ij->i", away, away)
        if self.distance == "squared":
            return float(contraction.scatter.sum() + contraction.weights @ squares)
        return float(contraction.weights @ np.sqrt(squares))
