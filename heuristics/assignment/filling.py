"""Filling of empty clusters.

A block may move to an empty cluster without breaking a cannot-link. Out of cluster a, it changes
the objective of `Potts` by the difference of its costs less the weights of its pairs within a.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.potts import Potts
from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import TimeLeft, check_time, no_limit


def fill_by_objective(potts: Potts, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return labels (n,) without empty clusters, if there are k blocks.

    Each empty cluster gets the block, out of a cluster of at least two, whose move increases the
    objective least.

    potts : with all labels allowed
    """
    labels = labels.copy()
    count = np.bincount(labels, minlength=potts.k)
    for empty in np.flatnonzero(count == 0).tolist():
        i, j = potts.pairs.T
        same = labels[i] == labels[j]
        change = potts.costs[:, empty] - potts.costs[np.arange(potts.n), labels]
        for end in (i[same], j[same]):
            change -= np.bincount(end, weights=potts.weights[same], minlength=potts.n)
        change[count[labels] < 2] = np.inf
        chosen = int(np.argmin(change))
        if change[chosen] < np.inf:
            count[labels[chosen]] -= 1
            count[empty] = 1
            labels[chosen] = empty
    return labels


def fill_empty_clusters(
    labels: NDArray[np.int64],
    weights: NDArray[np.float64],
    means: NDArray[np.float64],
    k: int,
    time_left: TimeLeft = no_limit,
) -> NDArray[np.int64]:
    """Move single blocks into empty clusters, the one that saves most first.

    It reduces the sum of squares most; the labels (m,) are changed in place.

    Raises
    ------
    OutOfTime
        If no time is left before none is empty.
    """
    count = np.bincount(labels, minlength=k)
    for empty in np.flatnonzero(count == 0).tolist():
        check_time(time_left)
        _fill(labels, weights, means, count, empty)
    return labels


@njit(cache=True, nogil=True)
def _fill(labels: Integers, weights: Reals, means: Reals, count: Integers, empty: int) -> None:
    """Move the block of largest gain into an empty cluster.

    The gain is e_i N_a / (N_a - e_i) || c_i - mean_a ||^2 for block i of cluster a of N_a points.
    """
    m, r = means.shape
    k = len(count)
    weight = np.zeros(k)
    centre = np.zeros((k, r))
    for i in range(m):
        weight[labels[i]] += weights[i]
        for t in range(r):
            centre[labels[i], t] += weights[i] * means[i, t]
    chosen = -1
    largest = -1.0
    for i in range(m):
        a = labels[i]
        if count[a] < 2:
            continue
        distance = 0.0
        for t in range(r):
            distance += (means[i, t] - centre[a, t] / weight[a]) ** 2
        gain = weights[i] * weight[a] / (weight[a] - weights[i]) * distance
        if gain > largest:
            largest = gain
            chosen = i
    count[labels[chosen]] -= 1
    count[empty] = 1
    labels[chosen] = empty
