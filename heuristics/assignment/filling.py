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


def fill_by_objective(potts: Potts, labels: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return labels (n,) with as few of the k clusters empty as single moves allow.

    The moves are to empty clusters.

    The empty clusters are filled one by one: each by the block, out of a cluster of at least two,
    whose move increases the objective least; and where no such block has it for a candidate, by the
    cheapest chain of moves, each into the cluster that the move before it left empty. Where the
    blocks may have all clusters, none stays empty for n >= k.
    """
    labels = labels.copy()
    count = np.bincount(potts.clusters(labels), minlength=k)
    for empty in np.flatnonzero(count == 0).tolist():
        if not _move_one(potts, labels, empty, k):
            _move_chain(potts, labels, empty, k)
    return labels


def _leaving(potts: Potts, labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the decrease of the objective, (n,), when a block leaves for a cluster of its own.

    That costs nothing.
    """
    clusters = potts.clusters(labels)
    i, j = potts.pairs.T
    same = clusters[i] == clusters[j]
    saved = potts.costs[np.arange(potts.n), labels]
    for end in (i, j):
        saved = saved + np.bincount(end[same], weights=potts.weights[same], minlength=potts.n)
    return saved


def _move_one(potts: Potts, labels: NDArray[np.int64], empty: int, k: int) -> bool:
    clusters = potts.clusters(labels)
    count = np.bincount(clusters, minlength=k)
    if potts.candidates is None:
        blocks, own = np.arange(potts.n), np.full(potts.n, empty)
    else:
        blocks, own = np.nonzero(potts.candidates == empty)
    change = potts.costs[blocks, own] - _leaving(potts, labels)[blocks]
    change[count[clusters[blocks]] < 2] = np.inf
    if not (change < np.inf).any():
        return False
    best = np.argmin(change)
    labels[blocks[best]] = own[best]
    return True


def _move_chain(potts: Potts, labels: NDArray[np.int64], empty: int, k: int) -> None:
    """Move one block each along a chain of clusters of one block, whose last is larger."""
    clusters = potts.clusters(labels)
    count = np.bincount(clusters, minlength=k)
    change = potts.costs - _leaving(potts, labels)[:, None]
    targets = np.tile(np.arange(k), (potts.n, 1)) if potts.candidates is None else potts.candidates
    blocks, own = np.nonzero(np.isfinite(change) & (targets != clusters[:, None]))
    arcs = np.full((k, k), np.inf)  # out of one cluster into another
    arc = (clusters[blocks], targets[blocks, own])
    np.minimum.at(arcs, arc, change[blocks, own])
    # What single blocks gain by a move does not count, so that no chain runs in circles.
    arcs[count == 1] = np.maximum(arcs[count == 1], 0.0)

    distance = np.where(np.arange(k) == empty, 0.0, np.inf)
    following = np.full(k, -1)
    for _ in range(k):
        through = np.where((count <= 1), distance, np.inf)
        longer = arcs + through
        best = np.argmin(longer, axis=1)
        shorter = longer[np.arange(k), best] < distance
        if not shorter.any():
            break
        distance[shorter] = longer[shorter, best[shorter]]
        following[shorter] = best[shorter]
    distance[count < 2] = np.inf
    cluster = int(np.argmin(distance))
    if distance[cluster] == np.inf:
        return
    while cluster != empty:
        target = int(following[cluster])
        mine = np.flatnonzero((arc[0] == cluster) & (arc[1] == target))
        chosen = mine[np.argmin(change[blocks[mine], own[mine]])]
        labels[blocks[chosen]] = own[chosen]
        cluster = target


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
