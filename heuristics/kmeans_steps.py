"""The two steps of k-means, assignment and means."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Contraction
from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import TimeLeft, chunks, no_limit


def nearest_labels(
    rows: NDArray[np.float64], centres: NDArray[np.float64], time_left: TimeLeft = no_limit
) -> NDArray[np.int64]:
    """Return the centre nearest to each of the rows (m, r), the first of those equally near.

    Raises
    ------
    OutOfTime
        If no time is left on the way.
    """
    rows, columns = np.ascontiguousarray(rows), np.ascontiguousarray(centres.T)
    labels = np.empty(len(rows), np.int64)
    for first, last in chunks(len(rows), centres.size, time_left):
        _nearest(rows[first:last], columns, labels[first:last])
    return labels


@njit(cache=True, nogil=True)
def _nearest(rows: Reals, columns: Reals, labels: Integers) -> None:
    """Write the nearest of the centres, whose coordinates are columns (r, k), for each row.

    The distances of a row to all centres are summed side by side, in vectors.
    """
    m, r = rows.shape
    k = columns.shape[1]
    distances = np.empty(k)
    for i in range(m):
        distances[:] = 0.0
        for t in range(r):
            for c in range(k):
                distances[c] += (rows[i, t] - columns[t, c]) ** 2
        nearest = 0
        for c in range(1, k):
            if distances[c] < distances[nearest]:
                nearest = c
        labels[i] = nearest


def cluster_sums(
    labels: NDArray[np.integer], weights: NDArray[np.float64], rows: NDArray[np.float64], k: int
) -> NDArray[np.float64]:
    """Return the sum of weight times row (m, r) over each cluster of labels (m,), (k, r)."""
    sums = np.zeros((k, rows.shape[1]))
    _add(labels, weights, rows, sums)
    return sums


@njit(cache=True, nogil=True)
def _add(labels: NDArray[np.integer], weights: Reals, rows: Reals, sums: Reals) -> None:
    for i in range(len(labels)):
        for t in range(rows.shape[1]):
            sums[labels[i], t] += weights[i] * rows[i, t]


def cluster_means(
    contraction: Contraction,
    labels: NDArray[np.intp],
    centres: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the mean of each cluster, (k, r); an empty one keeps its centre of (k, r).

    None is empty without centres.
    """
    weights = np.bincount(labels, weights=contraction.weights, minlength=contraction.k)
    sums = cluster_sums(labels, contraction.weights, contraction.means, contraction.k)
    if centres is None or weights.all():
        return sums / weights[:, None]
    return np.where((weights > 0)[:, None], sums / np.maximum(weights, 1e-300)[:, None], centres)


def explained(contraction: Contraction, labels: NDArray[np.intp]) -> float:
    """Return sum_c N_c || m_c ||^2, the part of the total that the labels (m,) do not cost."""
    weights = np.bincount(labels, weights=contraction.weights, minlength=contraction.k)
    return float(weights @ (cluster_means(contraction, labels) ** 2).sum(axis=1))
