"""Sums of the clusters in a local search, and the formula of an exchange."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.kmeans_steps import cluster_sums
from sdpbb.runtime.arrays import Reals
from sdpbb.runtime.jit import njit


class ClusterSums(NamedTuple):
    """For each cluster its number of blocks, N, s and ||s||^2."""

    n_blocks: NDArray[np.int64]
    weight: NDArray[np.float64]
    sums: NDArray[np.float64]
    square: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        labels: NDArray[np.int64],
        k: int,
        weights: NDArray[np.float64],
        means: NDArray[np.float64],
    ) -> ClusterSums:
        sums = cluster_sums(labels, weights, means, k)
        count = np.bincount(labels, minlength=k).astype(np.int64)
        weight = np.asarray(np.bincount(labels, weights=weights, minlength=k), np.float64)
        return cls(count, weight, sums, (sums**2).sum(axis=1))


@njit(cache=True, nogil=True)
def change_of_exchange(
    a: int, b: int, w: float, d_a: float, d_b: float, d_d: float, weight: Reals, square: Reals
) -> float:
    """Return the change of the sum of squares, from d's_a, d's_b and ||d||^2."""
    change: float = (
        square[a] / weight[a]
        + square[b] / weight[b]
        - (square[a] - 2.0 * d_a + d_d) / (weight[a] - w)
        - (square[b] + 2.0 * d_b + d_d) / (weight[b] + w)
    )
    return change
