"""Cheapest assignment of single points to clusters of limited sizes: a flow of least cost.

Each point begins in its cheapest cluster. While a cluster has too many points or too few, one
point after the other is shifted along the cheapest path of clusters c_0, c_1, ..., c_t, of which
c_0 gives one away and c_t gets one more: the edge from c to d costs what the cheapest point of c
costs more in d (`shift_heaps.py`). At last, paths of negative cost between clusters that may lose
and gain a point are used. Shortest paths leave no cycle of clusters around which shifting would
save, so that in the end nothing would: the assignment is optimal (the successive shortest path
method for a transportation problem, with all points that share a cluster in one node).
"""

from __future__ import annotations

import numpy as np

from heuristics.sizes.shift_heaps import ShiftHeaps, fill_heaps, put_in, shift_price, take_out
from sdpbb.arrays import Booleans, Integers, Reals
from sdpbb.jit import njit

# Part of the greatest cost up to which a saving is mere rounding.
ROUNDING = 1e-12


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
    if (sizes <= most).all() and (sizes >= least).all():
        return True
    top, child = np.empty((k, k), np.int64), np.empty((m, k), np.int32)
    following, before = np.empty((m, k), np.int32), np.empty((m, k), np.int32)
    heaps = ShiftHeaps(costs, labels, top, child, following, before)
    fill_heaps(heaps)
    price = np.full((k, k), np.inf)
    for c in range(k):
        _price_shifts(heaps, c, price)
    gives, takes = np.empty(k, np.bool_), np.empty(k, np.bool_)
    rounding = ROUNDING * np.abs(costs).max()
    for _ in range(4 * m + 4 * k):
        is_over = bool((sizes > most).any())
        is_under = bool((sizes < least).any())
        for c in range(k):
            gives[c] = sizes[c] > most[c] if is_over else sizes[c] > least[c]
            takes[c] = sizes[c] < least[c] if is_under and not is_over else sizes[c] < most[c]
        if not gives.any() or not takes.any():
            return not (is_over or is_under)
        if not _shift(heaps, sizes, price, gives, takes, is_over or is_under, rounding):
            return not (is_over or is_under)
    return False


@njit(cache=True, nogil=True)
def _price_shifts(heaps: ShiftHeaps, c: int, price: Reals) -> None:
    """Write what it costs at least to shift a point of c to each other cluster."""
    for d in range(len(price)):
        if d != c:
            price[c, d] = shift_price(heaps, c, d)


@njit(cache=True, nogil=True)
def _shift(
    heaps: ShiftHeaps,
    sizes: Integers,
    price: Reals,
    gives: Booleans,
    takes: Booleans,
    is_forced: bool,
    rounding: float,
) -> bool:
    """Shift a point along the cheapest path from a cluster that gives to one that takes.

    Paths that save nothing are taken if that is forced only. Return whether there was one.

    rounding : what is saved by less is none
    """
    k = len(sizes)
    distance, before = np.empty(k), np.full(k, -1, np.int64)
    is_new, was_new = np.empty(k, np.bool_), np.empty(k, np.bool_)
    for c in range(k):
        distance[c] = 0.0 if gives[c] else np.inf
        is_new[c] = gives[c]
    for _ in range(k):
        for c in range(k):
            was_new[c] = is_new[c]
            is_new[c] = False
        for c in range(k):
            # What has not come nearer since it was last looked at leads nowhere sooner.
            if not (was_new[c] or is_new[c]):
                continue
            is_new[c] = False
            for d in range(k):
                # Savings that are mere rounding would make paths cycles.
                if distance[c] + price[c, d] < distance[d] - rounding:
                    distance[d] = distance[c] + price[c, d]
                    before[d] = c
                    is_new[d] = True
        if not is_new.any():
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
    # All points of the path are known before one is shifted.
    movers = np.empty(k, np.int64)
    for step in range(length - 1):
        movers[step] = heaps.top[path[step + 1], path[step]]
    for step in range(length - 1):
        take_out(heaps, movers[step])
        heaps.labels[movers[step]] = path[step]
        put_in(heaps, movers[step])
    sizes[path[length - 1]] -= 1
    sizes[end] += 1
    for step in range(length):
        _price_shifts(heaps, path[step], price)
    return True
