"""Repair of an assignment of blocks to clusters whose sizes and weights are limited.

Where blocks are not all alike the cheapest assignment is an integer programme. This one is greedy:
each block begins in its cheapest cluster; while a cluster is beyond its most, one of its blocks
goes to a cluster that has room for it, and then, while one is below its least, a block comes that
its own can spare, each time where that costs least by what it moves.
"""

from __future__ import annotations

import numpy as np

from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit


@njit(cache=True, nogil=True)
def repaired_labels(
    costs: Reals, measures: Integers, least: Integers, most: Integers, labels: Integers
) -> bool:
    """Write labels (m,) of blocks within the limits; return False where they are not found.

    Parameters
    ----------
    costs : (m, k) of each block in each cluster
    measures : (m, q) of each block, such as its points, > 0
    least, most : (q, k) what clusters have of each at least, at most
    """
    m, k = costs.shape
    sums = np.zeros(least.shape, np.int64)
    for i in range(m):
        labels[i] = np.argmin(costs[i])
        sums[:, labels[i]] += measures[i]
    for _ in range(4 * m + 4 * k):
        c = _worst(sums, most)
        is_over = c >= 0
        if not is_over:
            c = _worst(-sums, -least)
        if c < 0:
            return True
        i, b = _cheapest_move(costs, measures, least, most, labels, sums, c, is_over)
        if i < 0:
            return False
        sums[:, labels[i]] -= measures[i]
        sums[:, b] += measures[i]
        labels[i] = b
    return False


@njit(cache=True, nogil=True)
def _worst(sums: Integers, most: Integers) -> int:
    """Return the cluster that is farthest beyond its most, by some measure; -1 for none."""
    worst, found = 0.0, -1
    for q in range(sums.shape[0]):
        for c in range(sums.shape[1]):
            excess = (sums[q, c] - most[q, c]) / max(1, abs(most[q, c]))
            if excess > worst:
                worst, found = excess, c
    return found


@njit(cache=True, nogil=True)
def _cheapest_move(
    costs: Reals,
    measures: Integers,
    least: Integers,
    most: Integers,
    labels: Integers,
    sums: Integers,
    c: int,
    is_over: bool,
) -> tuple[int, int]:
    """Return a block and the cluster with room for it that it goes to; -1, -1 for none.

    It leaves cluster c if that is over its most, else it comes to c, if its own can spare it.
    """
    lowest, found, target = np.inf, -1, -1
    for i in range(len(labels)):
        a = labels[i]
        if is_over != (a == c):
            continue
        if not is_over and (sums[:, a] - measures[i] < least[:, a]).any():
            continue
        for b in range(costs.shape[1]):
            if b == a or not (is_over or b == c):
                continue
            if (sums[:, b] + measures[i] > most[:, b]).any():
                continue
            price = (costs[i, b] - costs[i, a]) / _share(measures, most, i, c)
            if price < lowest:
                lowest, found, target = price, i, b
    return found, target


@njit(cache=True, nogil=True)
def _share(measures: Integers, most: Integers, i: int, c: int) -> float:
    """Return what part block i is of the most that cluster c may have, by some measure."""
    share = 0.0
    for q in range(measures.shape[1]):
        share = max(share, measures[i, q] / max(1, most[q, c]))
    return share
