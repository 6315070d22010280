"""The best clustering of a few points, found by looking at all of them. Compiled.

A cluster C costs  sum_{i < j in C} ||p_i - p_j||^2 / |C|.  All terms are at least zero, and each is
computed with a relative error of a few units in the last place, so that the cost has one, too:
whatever the offset and the scale. Adding a point to a cluster never makes it cheaper (its centre
was the best one for those before), which is what cuts the search off.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

# What cuts off is that much above the best, so that rounding cannot hide a better clustering.
SLACK = 1e-12


def squared_distances(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, n) from points (n, d)."""
    return ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)


def cost_of(points: NDArray[np.float64], labels: NDArray[np.intp]) -> float:
    """The sum of squares of labels (n,), by squared distances."""
    distances = squared_distances(points)
    clusters = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    return float(sum(distances[np.ix_(c, c)].sum() / (2.0 * len(c)) for c in clusters))


def relations(
    n: int, must_link: NDArray[np.intp], cannot_link: NDArray[np.intp]
) -> NDArray[np.int8]:
    """(n, n): 1 for must-links, -1 for cannot-links, 2 for both, which nothing can keep."""
    relation = np.zeros((n, n), np.int8)
    for i, j in must_link:
        relation[i, j] = relation[j, i] = 1
    for i, j in cannot_link:
        relation[i, j] = relation[j, i] = 2 if relation[i, j] > 0 else -1
    return relation


def best_clustering(
    points: NDArray[np.float64],
    k: int,
    must_link: NDArray[np.intp],
    cannot_link: NDArray[np.intp],
) -> tuple[float, NDArray[np.intp]] | None:
    """The least cost of a clustering into exactly k clusters that keeps the links, and one that
    has it; None if there is none."""
    relation = relations(len(points), must_link, cannot_link)
    cost, labels = _best(squared_distances(points), k, relation)
    return None if labels[0] < 0 else (float(cost), labels)


@numba.njit(cache=True)
def _best(distances, k, relation):  # type: ignore[no-untyped-def]
    """Depth first over restricted growth strings."""
    n = len(distances)
    best, best_labels = np.inf, np.full(n, -1, np.intp)
    labels = np.full(n, -1, np.intp)
    sums, sizes = np.zeros((n + 1, k)), np.zeros(k, np.intp)
    costs = np.zeros(n + 1)
    used = np.zeros(n + 1, np.intp)
    i = 0
    while i >= 0:
        if labels[i] >= 0:
            sizes[labels[i]] -= 1
        labels[i] += 1
        c = labels[i]
        # A new cluster at most; and enough points left for those that are still empty.
        if c > used[i] or c >= k:
            labels[i] = -1
            i -= 1
            continue
        sizes[c] += 1
        used[i + 1] = max(used[i], c + 1)
        if k - used[i + 1] > n - 1 - i:
            continue
        added, allowed = 0.0, True
        for j in range(i):
            together = labels[j] == c
            r = relation[i, j]
            if r == 2 or (r == 1 and not together) or (r == -1 and together):
                allowed = False
                break
            if together:
                added += distances[i, j]
        if not allowed:
            continue
        total = 0.0
        for other in range(used[i + 1]):
            sums[i + 1, other] = sums[i, other] + (added if other == c else 0.0)
            total += sums[i + 1, other] / sizes[other]
        for other in range(used[i + 1], k):
            sums[i + 1, other] = 0.0
        costs[i + 1] = total
        if total > best * (1.0 + SLACK):
            continue
        if i + 1 < n:
            i += 1
        elif total < best:
            best = total
            best_labels[:] = labels
    return best, best_labels
