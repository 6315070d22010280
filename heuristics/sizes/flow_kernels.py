"""Cheapest assignment of single points to clusters of limited sizes: a flow of least cost.

Each point begins in its cheapest cluster. While a cluster has too many points or too few, one
point after the other is shifted along the cheapest path of clusters c_0, c_1, ..., c_t, of which
c_0 gives one away and c_t gets one more: the edge from c to d costs what the cheapest point of c
costs more in d. At last, paths of negative cost between clusters that may lose and gain a point
are used. Shortest paths leave no cycle of clusters around which shifting would save, so that in the
end nothing would: the assignment is optimal (the successive shortest path method for a
transportation problem, with all points that share a cluster in one node).
"""

from __future__ import annotations

import numpy as np

from sdpbb.arrays import Booleans, Integers, Reals
from sdpbb.jit import njit


@njit(cache=True, nogil=True)
def sized_labels(costs: Reals, least: Integers, most: Integers, labels: Integers) -> bool:
    """Write labels (m,) of least cost among those with least_c to most_c points in cluster c.

    costs : (m, k). Return False, with labels of no meaning, where there are none.
    """
    m, k = costs.shape
    sizes = np.zeros(k, np.int64)
    for i in range(m):
        best = 0
        for c in range(1, k):
            if costs[i, c] < costs[i, best]:
                best = c
        labels[i] = best
        sizes[best] += 1
    price, mover = np.empty((k, k)), np.empty((k, k), np.int64)
    for c in range(k):
        _price_edges(costs, labels, c, price, mover)
    gives, takes = np.empty(k, np.bool_), np.empty(k, np.bool_)
    for _ in range(4 * m + 4 * k):
        is_over = bool((sizes > most).any())
        is_under = bool((sizes < least).any())
        for c in range(k):
            gives[c] = sizes[c] > most[c] if is_over else sizes[c] > least[c]
            takes[c] = sizes[c] < least[c] if is_under and not is_over else sizes[c] < most[c]
        if not gives.any() or not takes.any():
            return not (is_over or is_under)
        if not _shift(costs, labels, sizes, price, mover, gives, takes, is_over or is_under):
            return not (is_over or is_under)
    return False


@njit(cache=True, nogil=True)
def _price_edges(costs: Reals, labels: Integers, c: int, price: Reals, mover: Integers) -> None:
    """Write what it costs at least to shift a point of c to each other cluster, and which point."""
    k = costs.shape[1]
    for d in range(k):
        price[c, d] = np.inf
        mover[c, d] = -1
    for i in range(len(labels)):
        if labels[i] != c:
            continue
        own = costs[i, c]
        for d in range(k):
            if d != c and costs[i, d] - own < price[c, d]:
                price[c, d] = costs[i, d] - own
                mover[c, d] = i


@njit(cache=True, nogil=True)
def _shift(
    costs: Reals,
    labels: Integers,
    sizes: Integers,
    price: Reals,
    mover: Integers,
    gives: Booleans,
    takes: Booleans,
    is_forced: bool,
) -> bool:
    """Shift a point along the cheapest path from a cluster that gives to one that takes.

    Paths that save nothing are taken if that is forced only. Return whether there was one.
    """
    k = len(sizes)
    scale = 0.0
    for c in range(k):
        for d in range(k):
            if np.isfinite(price[c, d]):
                scale = max(scale, abs(price[c, d]))
    rounding = 1e-12 * scale
    distance, before = np.empty(k), np.full(k, -1, np.int64)
    for c in range(k):
        distance[c] = 0.0 if gives[c] else np.inf
    for _ in range(k):
        has_changed = False
        for c in range(k):
            for d in range(k):
                # Savings that are mere rounding would make paths cycles.
                if distance[c] + price[c, d] < distance[d] - rounding:
                    distance[d] = distance[c] + price[c, d]
                    before[d] = c
                    has_changed = True
        if not has_changed:
            break
    end = -1
    for d in range(k):
        is_other = before[d] >= 0
        is_end = takes[d] and is_other and np.isfinite(distance[d])
        if is_end and (end < 0 or distance[d] < distance[end]):
            end = d
    if end < 0 or not (is_forced or distance[end] < -rounding):
        return False
    path = np.full(k + 1, -1, np.int64)
    length, at = 0, end
    while at >= 0 and length <= k:
        path[length] = at
        length += 1
        at = before[at]
    if at >= 0:
        return False
    for position in range(length - 1, 0, -1):
        labels[mover[path[position], path[position - 1]]] = path[position - 1]
    sizes[path[length - 1]] -= 1
    sizes[end] += 1
    for position in range(length):
        _price_edges(costs, labels, path[position], price, mover)
    return True
