"""Distances from blocks to centres, and the few nearest centres of each block (PCCC, section 4.3).

No array of a number per block, centre and coordinate is ever built: 60,000 blocks and 100 centres
in 100 coordinates take some tens of megabytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import WORK, TimeLeft, check_time, chunks, no_limit

# Up to here a k-d tree over the centres is faster than all distances; beyond, it visits most of
# them.
TREE_COORDINATES = 8
# Entries of the distance matrix that are held at a time: 32 MiB.
ENTRIES = 4_194_304
# Steps that a k-d tree takes for each of the nearest centres of a point, about.
LOOKS = 300


def nearest_centres(
    points: NDArray[np.float64],
    centres: NDArray[np.float64],
    q: int,
    time_left: TimeLeft = no_limit,
) -> NDArray[np.intp]:
    """Return the q nearest centres of each point, (m, q), nearest first, all k represented.

    There are k points with one each of the k centres in their lists: no cluster need be empty.

    Where the nearest ones are not so, a centre without such a point takes the last place in the
    list of the closest point that can be spared. The reduced programme of the paper adds a centre
    in no list to that of the closest point; as no cluster may be empty, the point then has to join
    it, so that the rest of its list has no meaning; and two centres for one point make it
    infeasible.

    Parameters
    ----------
    points : (m, d), m >= k
    centres : (k, d)
    q : 1 <= q <= k

    Raises
    ------
    OutOfTime
        If no time is left on the way; the same holds for what is told the time below.
    """
    found = []
    if points.shape[1] <= TREE_COORDINATES:
        from scipy.spatial import cKDTree  # a tenth of a second, and not needed by every run

        tree, numbers = cKDTree(centres), np.arange(1, q + 1)
        for first, last in chunks(len(points), LOOKS * q, time_left):
            found.append(tree.query(points[first:last], k=numbers)[1].astype(np.intp))
    else:
        norms = (centres**2).sum(axis=1)
        for first, last in chunks(len(points), _steps(centres), time_left):
            found.append(_nearest_by_products(points[first:last], centres, norms, q))
    lists = np.concatenate(found)
    _represent(lists, points, centres, time_left)
    return lists


def distances_to(
    points: NDArray[np.float64], centres: NDArray[np.float64], lists: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the squared distances (m, q) from point i to the centres lists[i].

    They are computed by differences: the square of a short distance between points far from the
    origin keeps its digits.
    """
    return _distances_to(np.ascontiguousarray(points), np.ascontiguousarray(centres), lists)


def all_distances(
    points: NDArray[np.float64], centres: NDArray[np.float64], time_left: TimeLeft = no_limit
) -> NDArray[np.float64]:
    """Return the squared distances (m, k) between all points and centres, by differences."""
    from scipy.spatial.distance import cdist

    distances = np.empty((len(points), len(centres)))
    for first, last in chunks(len(points), centres.size, time_left):
        distances[first:last] = cdist(points[first:last], centres, "sqeuclidean")
    return distances


def sum_of_squared_distances(points: NDArray[np.float64], centres: NDArray[np.float64]) -> float:
    """Return the sum over all pairs of a point and a centre, in a time that is linear in both:

        k sum_i || x_i - x ||^2 + m sum_l || o_l - o ||^2 + m k || x - o ||^2,

    x and o the means of the points and of the centres.
    """
    m, k = len(points), len(centres)
    x, o = points.mean(axis=0), centres.mean(axis=0)
    spread = k * ((points - x) ** 2).sum() + m * ((centres - o) ** 2).sum()
    return float(spread + m * k * ((x - o) ** 2).sum())


def sum_of_distances(
    points: NDArray[np.float64], centres: NDArray[np.float64], time_left: TimeLeft = no_limit
) -> float:
    """Return the sum of the Euclidean distances over all pairs of a point and a centre."""
    from scipy.spatial.distance import cdist

    each = max(centres.size, len(centres) * (WORK // ENTRIES))
    return sum(
        float(cdist(points[first:last], centres).sum())
        for first, last in chunks(len(points), each, time_left)
    )


def _nearest_by_products(
    points: NDArray[np.float64],
    centres: NDArray[np.float64],
    norms: NDArray[np.float64],
    q: int,
) -> NDArray[np.intp]:
    """Return the q nearest centres by inner products.

    Which of two is nearer is decided up to rounding.
    """
    # || x ||^2 is the same for all centres, and left out.
    ranks = norms - 2.0 * (points @ centres.T)
    nearest = np.argpartition(ranks, q - 1, axis=1)[:, :q]
    order = np.argsort(np.take_along_axis(ranks, nearest, axis=1), axis=1, kind="stable")
    return np.take_along_axis(nearest, order, axis=1).astype(np.intp, copy=False)


def _steps(centres: NDArray[np.float64]) -> int:
    """Return the steps that ranking all centres takes for a point.

    No more than ENTRIES ranks are held at a time.
    """
    return max(centres.size // 10, len(centres) * (WORK // ENTRIES))


def _represent(
    lists: NDArray[np.intp],
    points: NDArray[np.float64],
    centres: NDArray[np.float64],
    time_left: TimeLeft,
) -> None:
    """Change the lists so that every centre is in the list of a point of its own.

    As many as possible are from the outset: by a maximum matching.
    """
    m, q = lists.shape
    from scipy.sparse.csgraph import maximum_bipartite_matching  # a tenth of a second

    holders = csr_array(
        (np.ones(m * q, np.int8), (lists.reshape(-1), np.repeat(np.arange(m), q))),
        shape=(len(centres), m),
    )
    representative = maximum_bipartite_matching(holders, perm_type="column")
    stands_for = np.full(m, -1)
    matched = np.flatnonzero(representative >= 0)
    stands_for[representative[matched]] = matched
    for centre in np.flatnonzero(representative < 0):
        check_time(time_left)
        for point in np.argsort(((points - centres[centre]) ** 2).sum(axis=1), kind="stable"):
            before = stands_for[point]
            if before >= 0:
                check_time(time_left)
                others = np.flatnonzero((lists == before).any(axis=1) & (stands_for < 0))
                if not len(others):
                    continue
                stands_for[others[0]] = before
            if centre not in lists[point]:
                lists[point, -1] = centre
            stands_for[point] = centre
            break


@njit(cache=True, nogil=True)
def _distances_to(points: Reals, centres: Reals, lists: Integers) -> Reals:
    m, q = lists.shape
    distances = np.empty((m, q))
    for i in range(m):
        for position in range(q):
            centre = lists[i, position]
            total = 0.0
            for t in range(points.shape[1]):
                total += (points[i, t] - centres[centre, t]) ** 2
            distances[i, position] = total
    return distances
