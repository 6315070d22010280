"""Flow of least cost: the cheapest assignment of single points to clusters of limited sizes.

Each point begins in its cheapest cluster, with a price on each cluster: that of an assignment to
centres near by, so that few sizes are wrong. While a cluster has too many points or too few, one
point after the other is shifted along the cheapest path of clusters c_0, c_1, ..., c_t, of which
c_0 gives one away and c_t gets one more: the edge from c to d costs what the cheapest point of c
costs more in d. At last, paths of negative cost between clusters that may lose and gain a point are
used. Shortest paths leave no cycle of clusters around which shifting would save, so that in the end
nothing would: the assignment is optimal (the successive shortest path method for a transportation
problem, with all points that share a cluster in one node). Prices change no cycle's cost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.arrays import Booleans, Integers, Reals
from sdpbb.runtime.jit import njit

# Part of the greatest cost up to which a saving is mere rounding.
ROUNDING = 1e-12
# Points that are listed for each pair of clusters at most, and the part of the points to shift that
# is enough where these are few. Where a list ends, all points are looked at anew.
MOST_LISTED, PART_LISTED = 48, 4


class Shifts(NamedTuple):
    """Cheapest points to shift from each cluster c to each other cluster d.

    costs, labels : (m, k), (m,) of the points
    points : (k, k, l) points of c that cost least more in d, the dearest ones first; some may
        have left c since
    n : (k, k) how many there are
    rest : (k, k) what all other points of c cost more at least
    price : (k, k) what the last of the points costs more; inf where c has none
    """

    costs: Reals
    labels: Integers
    points: Integers
    n: Integers
    rest: Reals
    price: Reals


def sized_labels(
    costs: Reals, least: Integers, most: Integers, prices: Reals
) -> NDArray[np.intp] | None:
    """Return labels (m,) of least cost among those with least_c to most_c points in cluster c.

    None if no labels exist; the prices mean nothing then.

    Parameters
    ----------
    costs : (m, k)
    prices : (k,) of a point of each cluster, 0 where nothing is known; written are those at which
        each point is in its cheapest cluster
    """
    labels: NDArray[np.intp] = costs.argmin(axis=1)
    sizes = np.bincount(labels, minlength=len(least))
    if ((least <= sizes) & (sizes <= most)).all():
        prices[:] = 0.0
        return labels
    if prices.any():
        labels = (costs + prices).argmin(axis=1)
        sizes = np.bincount(labels, minlength=len(least))
    return labels if _shift_points(costs, least, most, prices, labels, sizes) else None


@njit(cache=True, nogil=True)
def _shift_points(
    costs: Reals, least: Integers, most: Integers, prices: Reals, labels: Integers, sizes: Integers
) -> bool:
    """Shift points until labels (m,) are the cheapest within sizes; return False if none are.

    sizes : (k,) of the clusters, kept up
    """
    m, k = costs.shape
    price, rest = np.full((k, k), np.inf), np.zeros((k, k))
    wrong = np.maximum(sizes - most, 0).sum() + np.maximum(least - sizes, 0).sum()
    n_listed = min(MOST_LISTED, 2 + wrong // PART_LISTED)
    points, n = np.empty((k, k, n_listed), np.int64), np.zeros((k, k), np.int64)
    shifts = Shifts(costs, labels, points, n, rest, price)
    for c in range(k):
        _find_prices(c, shifts)
    gives, takes = np.empty(k, np.bool_), np.empty(k, np.bool_)
    path = np.empty(k + 1, np.int64)
    rounding = ROUNDING * np.abs(costs).max()
    for _ in range(4 * m + 4 * k):
        is_over = bool((sizes > most).any())
        is_under = bool((sizes < least).any())
        for c in range(k):
            gives[c] = sizes[c] > most[c] if is_over else sizes[c] > least[c]
            takes[c] = sizes[c] < least[c] if is_under and not is_over else sizes[c] < most[c]
        is_forced = is_over or is_under
        has_ends = gives.any() and takes.any()
        length = _cheapest_path(price, gives, takes, is_forced, rounding, path) if has_ends else 0
        if length == 0:
            _write_prices(price, sizes < most, prices)
            return not is_forced
        _shift(shifts, path[:length], sizes)
    return False


@njit(cache=True, nogil=True)
def _write_prices(price: Reals, takes: Booleans, prices: Reals) -> None:
    """Write what a point less of each cluster saves: the cheapest path to one that takes a point.

    Where none does, a path may end anywhere.

    price : (k, k) of shifts
    """
    anywhere = not takes.any()
    prices[:] = np.where(takes | anywhere, 0.0, np.inf)
    _shorten(prices, price.T, 0.0, np.full(len(prices), -1, np.int64))
    for c in range(len(prices)):
        if not np.isfinite(prices[c]):
            prices[c] = 0.0


@njit(cache=True, nogil=True)
def _shorten(distance: Reals, price: Reals, rounding: float, before: Integers) -> None:
    """Write the lengths of shortest paths (k,), from those of paths without edges.

    Parameters
    ----------
    price : (k, k) of an edge from each cluster to each other
    rounding : what is saved by less is none: it would make paths cycles
    before : (k,) written, the cluster before the last one of each path that has edges
    """
    k = len(distance)
    # What has not come nearer since it was last looked at leads nowhere sooner.
    is_new = distance < np.inf
    for _ in range(k):
        for c in range(k):
            if not is_new[c]:
                continue
            is_new[c] = False
            for d in range(k):
                if distance[c] + price[c, d] < distance[d] - rounding:
                    distance[d] = distance[c] + price[c, d]
                    before[d] = c
                    is_new[d] = True
        if not is_new.any():
            break


@njit(cache=True, nogil=True)
def _cheapest_path(
    price: Reals,
    gives: Booleans,
    takes: Booleans,
    is_forced: bool,
    rounding: float,
    path: Integers,
) -> int:
    """Write the cheapest path from a cluster that gives a point to one that takes one.

    It is written from its end on. Return how many clusters it has: none where there is no path, and
    where it saves nothing and is not forced.

    rounding : what is saved by less is none
    """
    k = len(price)
    distance, before = np.where(gives, 0.0, np.inf), np.full(k, -1, np.int64)
    _shorten(distance, price, rounding, before)
    end = -1
    for d in range(k):
        if takes[d] and before[d] >= 0 and (end < 0 or distance[d] < distance[end]):
            end = d
    if end < 0 or not (is_forced or distance[end] < -rounding):
        return 0
    length, at = 0, end
    while at >= 0 and length <= k:
        path[length] = at
        length += 1
        at = before[at]
    return length if at < 0 else 0


@njit(cache=True, nogil=True)
def _shift(shifts: Shifts, path: Integers, sizes: Integers) -> None:
    """Shift a point along each edge of a path, which is given from its end on."""
    costs, labels, points, n, rest, _ = shifts
    n_shifts, k = len(path) - 1, len(sizes)
    # All points of the path are known before one is shifted.
    movers = np.empty(n_shifts, np.int64)
    for step in range(n_shifts):
        c, d = path[step + 1], path[step]
        movers[step] = points[c, d, n[c, d] - 1]
    for step in range(n_shifts):
        c = path[step]
        labels[movers[step]] = c
        for d in range(k):
            if d != c:
                _list(movers[step], c, d, costs, points, n, rest)
    sizes[path[n_shifts]] -= 1
    sizes[path[0]] += 1
    for step in range(n_shifts + 1):
        _find_prices(path[step], shifts)


@njit(cache=True, nogil=True)
def _find_prices(c: int, shifts: Shifts) -> None:
    """Find the prices of shifts from cluster c; all its points are looked at where a list ends."""
    costs, labels, points, n, rest, price = shifts
    m, k = costs.shape
    is_over = False
    for d in range(k):
        while n[c, d] > 0 and labels[points[c, d, n[c, d] - 1]] != c:
            n[c, d] -= 1
        is_over |= n[c, d] == 0 and rest[c, d] < np.inf and d != c
    if is_over:
        for d in range(k):
            n[c, d], rest[c, d] = 0, np.inf
        for i in range(m):
            if labels[i] == c:
                for d in range(k):
                    if d != c and costs[i, d] - costs[i, c] < rest[c, d]:
                        _list(i, c, d, costs, points, n, rest)
    for d in range(k):
        price[c, d] = np.inf
        if n[c, d] > 0:
            i = points[c, d, n[c, d] - 1]
            price[c, d] = costs[i, d] - costs[i, c]


@njit(cache=True, nogil=True)
def _list(i: int, c: int, d: int, costs: Reals, points: Integers, n: Integers, rest: Reals) -> None:
    """Put point i of cluster c in the list for d, as of `Shifts`, if it is cheap enough."""
    cost, listed, at = costs[i, d] - costs[i, c], points[c, d], n[c, d]
    if cost >= rest[c, d]:
        return
    if at == len(listed):
        dearest = costs[listed[0], d] - costs[listed[0], c]
        rest[c, d] = max(cost, dearest)
        if cost >= dearest:
            return
        # It takes the place of the dearest one.
        at = 0
        while at + 1 < len(listed) and costs[listed[at + 1], d] - costs[listed[at + 1], c] > cost:
            listed[at] = listed[at + 1]
            at += 1
    else:
        n[c, d] += 1
        while at > 0 and costs[listed[at - 1], d] - costs[listed[at - 1], c] < cost:
            listed[at] = listed[at - 1]
            at -= 1
    listed[at] = i
