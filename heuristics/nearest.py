"""Nearest centres, and the sums of clusters: the two steps of k-means, in pieces."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from heuristics.time_left import TimeLeft, chunks, no_limit


def nearest_labels(
    rows: NDArray[np.float64], centres: NDArray[np.float64], left: TimeLeft = no_limit
) -> NDArray[np.int64]:
    """(m,) the centre nearest to each of the rows (m, r), the first of those equally near.

    Raises
    ------
    OutOfTime
        If no time is left on the way.
    """
    rows, centres = np.ascontiguousarray(rows), np.ascontiguousarray(centres)
    labels = np.empty(len(rows), np.int64)
    for first, last in chunks(len(rows), centres.size, left):
        _nearest(rows[first:last], centres, labels[first:last])
    return labels


def cluster_sums(
    labels: NDArray[np.integer], weighted: NDArray[np.float64], k: int
) -> NDArray[np.float64]:
    """(k, r) the sum of the rows (m, r) of each cluster of labels (m,)."""
    sums = np.zeros((k, weighted.shape[1]))
    _add(labels, weighted, sums)
    return sums


@njit(cache=True, nogil=True)
def _nearest(rows, centres, labels):
    m, r = rows.shape
    for i in range(m):
        nearest, least = 0, np.inf
        for c in range(len(centres)):
            distance = 0.0
            for t in range(r):
                distance += (rows[i, t] - centres[c, t]) ** 2
            if distance < least:
                nearest, least = c, distance
        labels[i] = nearest


@njit(cache=True, nogil=True)
def _add(labels, rows, sums):
    for i in range(len(labels)):
        for t in range(rows.shape[1]):
            sums[labels[i], t] += rows[i, t]
