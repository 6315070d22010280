"""Flow of least cost: the cheapest assignment of single points to clusters of limited sizes.

Each point starts in its cheapest cluster, after adding a price for each cluster. Prices come from
an assignment to centres near by, so that few sizes are wrong. While a cluster has too many or too
few points, one point moves along each edge of the cheapest path of clusters c_0, c_1, ..., c_t: c_0
loses a point, c_t gains one. The edge from c to d costs the least increase of cost of a point of c
in d. At last, paths of negative cost are used as well, between clusters that may lose and gain a
point. Shortest paths leave no cycle of negative cost, so the assignment is optimal: this is the
successive shortest path method for a transportation problem, with one node for all points of a
cluster. Prices do not change the cost of a cycle.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.arrays import Booleans, Integers, Reals
from sdpbb.runtime.jit import njit

# Savings of less than this share of the largest cost are rounding.
ROUNDING = 1e-12
# Maximum length of the list of points for each pair of clusters, and the share of the points to
# shift that suffices if these are few. At the end of a list, all points are scanned again.
MOST_LISTED, PART_LISTED = 48, 4


class Shifts(NamedTuple):
    """Cheapest points to shift from each cluster c to each other cluster d.

    costs, labels : (m, k), (m,) of the points
    points : (k, k, l) points of c with the least increase of cost in d, the largest increase first;
        some may have left c since
    n : (k, k) lengths of the lists
    rest : (k, k) lower bound on the increase for all other points of c
    price : (k, k) increase for the last of the points; inf if c has none
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
    """Return the cheapest labels (m,) with least_c to most_c points in each cluster c.

    None if no such labels exist; the prices are meaningless then.

    Parameters
    ----------
    costs : (m, k)
    prices : (k,) of a point of each cluster, 0 if unknown. They are replaced by prices at which
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
    """Shift points until labels (m,) are the cheapest within sizes; return False if none exist.

    sizes : (k,) of the clusters, updated
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
    """Write the cheapest cost of moving one point out of each cluster, along a path.

    The path ends in a cluster with room. If no cluster has room, a path may end anywhere.

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
    """Write the lengths of shortest paths (k,), given the lengths of paths without edges.

    Parameters
    ----------
    price : (k, k) of an edge from each cluster to each other
    rounding : smaller savings are ignored, as they would make cycles
    before : (k,) written, the second to last cluster of each path that has edges
    """
    k = len(distance)
    # A cluster that is not nearer than at its last visit shortens no other path.
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
    """Write the cheapest path from a cluster that gives a point to a cluster that takes one.

    It is written from its end. Return its number of clusters: 0 if no path exists, or if it saves
    nothing and is not forced.

    rounding : smaller savings are ignored
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
    """Shift a point along each edge of a path, which is given from its end."""
    costs, labels, points, n, rest, _ = shifts
    n_shifts, k = len(path) - 1, len(sizes)
    # All points are chosen before the first is shifted.
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
    """Find the prices of shifts from cluster c; scan all its points if a list ended."""
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
    """Insert point i of cluster c in the list for d of `Shifts` if it is cheap enough."""
    cost, listed, at = costs[i, d] - costs[i, c], points[c, d], n[c, d]
    if cost >= rest[c, d]:
        return
    if at == len(listed):
        dearest = costs[listed[0], d] - costs[listed[0], c]
        rest[c, d] = max(cost, dearest)
        if cost >= dearest:
            return
        # It replaces the most expensive point.
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
