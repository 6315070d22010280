"""Star cuts, and pairs and triangles, which are stars with one and two leaves.

For a block i, the centre, and a set T of other blocks, the leaves,

    Z_ii + sum of Z_jl over j < l in T - sum of Z_ij over j in T >= 0.

Valid: if the cluster C of i holds a of the leaves, its terms are 1 - a + a (a - 1) / 2 =
(a - 1)(a - 2) / 2 >= 0, divided by |C|, and the terms of other clusters are not negative.

Pairs and triangles are equations 8 and 9 of PC-SOS-SDP.
"""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet, Found, found_by_centres
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit

# Minimum violation of a cut, as a share of Z_ii.
TOLERANCE = 1e-5
# Maximum triangle cuts per block and round.
TRIANGLES_PER_BLOCK = 8
# Maximum triangles of a round through the same pair of blocks. Many cuts through one entry are
# redundant.
PER_PAIR = 6
# Maximum candidates per centre i and arm (i, j). Memory for all of them is reserved.
PER_ARM = 2
# Maximum arms (i, j) examined per centre i, evenly spread. All are examined if these give no cut.
# Otherwise time grows with the cube of the number of blocks, and neighbouring arms give similar
# cuts.
ARMS = 32
# Maximum star cuts per block and round. Separating them in every round, not only when triangles
# run out, halves the time on the hard instances.
PER_BLOCK = 3
# Nearest blocks from which the stars of a centre grow.
NEIGHBOURS = 40
# Maximum of these neighbours from which a star starts, evenly spread. All are tried if these give
# no cut. Time grows with the cube of the number of blocks, and stars from neighbouring blocks are
# similar.
STARTS = 10
# Maximum leaves of a star. Memory for all of them is reserved.
LEAVES = 14


def separate_triangles(Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
    """Return the most violated pair and triangle cuts of some arms, or of all if these give none.

    With all arms the separation is exact up to TOLERANCE.
    """
    m, r = relaxation.m, relaxation.inverse_roots
    for arms in (ARMS, m):
        step = partial(violated_triangles, Z, r, TOLERANCE, PER_ARM, arms)
        ijh, distance = found_by_centres(step, m)
        if len(ijh):
            break
    order = np.argsort(-distance, kind="stable")
    return triangle_cuts(ijh[spread(order, ijh, m, PER_PAIR, TRIANGLES_PER_BLOCK * m)])


def separate_stars(Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
    """Return the most violated stars of three leaves or more, each once.

    They grow greedily from some neighbours of each centre, or from all if these give none.
    """
    m, r = relaxation.m, relaxation.inverse_roots

    def step(starts: int, first: int, last: int) -> Found:
        near = nearest(Z, NEIGHBOURS, first, last)
        return violated_stars(Z, near, r, TOLERANCE, starts, LEAVES, first, last)

    for starts in (STARTS, NEIGHBOURS):
        centre, n_leaves, leaves, distance = found_by_centres(partial(step, starts), m)
        if len(centre):
            break
    order = np.argsort(-distance, kind="stable")[: PER_BLOCK * m]
    return star_cuts(centre[order], leaves[order], n_leaves[order]).unique()


def star_cuts(
    centre: NDArray[np.int32], leaves: NDArray[np.int32], n_leaves: NDArray[np.integer]
) -> CutSet:
    """Return the star cuts with the given centres, (number,), and leaves.

    The leaves are the first n_leaves entries of the rows of leaves, (number, widest).
    """
    cuts, places = CutSet.empty(), [np.empty(0, np.intp)]
    for size in np.unique(n_leaves).tolist():
        own = np.flatnonzero(n_leaves == size)
        places.append(own)
        rows = np.column_stack([centre[own], leaves[own, :size]])
        of_leaves = range(1, size + 1)
        shared = [(a, b, 1.0) for a, b in combinations(of_leaves, 2)]
        entries = [(0, 0, 1.0), *shared, *((0, leaf, -1.0) for leaf in of_leaves)]
        vector = np.array([-1] + [1] * size)  # the same cut for the checker: an integer vector
        cuts = cuts + CutSet.of_rows("vectors", rows, entries, number=vector)
    return cuts.select(np.argsort(np.concatenate(places)))


def triangle_cuts(ijh: NDArray[np.int32]) -> CutSet:
    """Return the triangle cuts of the rows (i, j, h) of ijh; h = j: the pair cut."""
    return star_cuts(ijh[:, 0], ijh[:, 1:], np.where(ijh[:, 1] == ijh[:, 2], 1, 2))


def nearest(Z: NDArray[np.float64], count: int, first: int, last: int) -> NDArray[np.intp]:
    """Return the columns of the largest entries of rows first to last - 1 of Z, off the diagonal.

    Each row has `count` columns, or all, the largest entries first.
    """
    rows, m = -Z[first:last], len(Z)
    rows[np.arange(last - first), np.arange(first, last)] = np.inf
    count = min(count, m - 1)
    columns = np.argpartition(rows, count, axis=1)[:, :count]
    order = np.argsort(np.take_along_axis(rows, columns, axis=1), axis=1)
    return np.take_along_axis(columns, order, axis=1)


# Entries of a row that are examined together.
CHUNK = 64
# Its multiples are spread evenly modulo 1.
GOLDEN = 0.6180339887498949


@njit(cache=True, nogil=True)
def violated_triangles(
    Z: Reals, r: Reals, tolerance: float, per_arm: int, arms: int, first: int, last: int
) -> tuple[NDArray[np.int32], Reals]:
    """Separate triangle cuts: the `per_arm` most violated of each arm (i, j), and its pair cut.

    The cuts of an arm are (i, j, h) with Z_ih <= Z_ij; its violated pair cut has h = j. Every
    violated triangle has an arm with Z_ij > Z_ii / 2. The arms examined are spread evenly over
    these, with a different first one for each centre. All h of an arm are examined in the order of
    the blocks, so that loops compile to vector instructions.

    Z : (m, m) affinity
    r : (m,) 1/sqrt(size)
    arms : maximum number for each centre
    first, last : the centres are first to last - 1

    A violation must be above tolerance times Z_ii. It is measured as the distance of Y to the cut's
    hyperplane.

    Returns ijh (c, 3) int32 and distance (c,).
    """
    m = Z.shape[0]
    capacity = (last - first) * min(arms, m) * (per_arm + 1)
    count = 0
    ijh = np.empty((capacity, 3), np.int32)
    distance = np.empty(capacity)
    best_h = np.empty(per_arm, np.int64)
    best_v = np.empty(per_arm)
    arm = np.empty(m, np.int64)
    for i in range(first, last):
        Zi, Zii = Z[i], Z[i, i]
        slack = tolerance * Zii
        rii = r[i] * r[i]
        n_arms = 0
        for j in range(m):
            if j != i and 2.0 * Zi[j] > (1.0 + tolerance) * Zii:
                arm[n_arms] = j
                n_arms += 1
        shift = int(n_arms * (GOLDEN * i % 1.0))
        for number in range(min(arms, n_arms)):
            j = arm[number if n_arms <= arms else (number * n_arms + shift) // arms]
            Zj, Zij = Z[j], Zi[j]
            rij = r[i] * r[j]
            found = 0
            shortest = np.sqrt(rii * rii + 0.5 * rij * rij)  # no norm below is less
            least = slack  # violations up to this do not count, or are not among the best
            for start in range(0, m, CHUNK):
                a, b = Zi[start : start + CHUNK], Zj[start : start + CHUNK]
                n_above = 0
                for s in range(len(a)):
                    n_above += (Zij + a[s] - Zii - b[s] > least) & (a[s] <= Zij)
                if n_above == 0:
                    continue
                for s in range(len(a)):
                    v = Zij + a[s] - Zii - b[s]
                    h = start + s
                    if v <= least or h == i or a[s] > Zij or (a[s] == Zij and h <= j):
                        continue
                    rjh = r[j] * r[h]
                    rih = r[i] * r[h]
                    v /= np.sqrt(rii * rii + 0.5 * (rij * rij + rih * rih + rjh * rjh))
                    if found == per_arm and v <= best_v[found - 1]:
                        continue
                    found = _insert(best_h, best_v, found, h, v)
                    if found == per_arm:
                        least = max(slack, best_v[found - 1] * shortest)
            if Zij > Zii + slack:
                ijh[count] = i, j, j
                distance[count] = (Zij - Zii) / shortest
                count += 1
            for s in range(found):
                ijh[count] = i, j, best_h[s]
                distance[count] = best_v[s]
                count += 1
    return ijh[:count], distance[:count]


@njit(cache=True, nogil=True)
def _insert(best_h: Integers, best_v: Reals, found: int, h: int, v: float) -> int:
    """Insert h among the best so far, dropping the last if there are too many; return how many."""
    found = min(found + 1, len(best_h))
    s = found - 1
    while s > 0 and best_v[s - 1] < v:
        best_v[s] = best_v[s - 1]
        best_h[s] = best_h[s - 1]
        s -= 1
    best_v[s] = v
    best_h[s] = h
    return found


@njit(cache=True)
def spread(order: Integers, ijh: NDArray[np.int32], m: int, per_pair: int, quota: int) -> Integers:
    """Return the positions of the first `quota` triangles in an order.

    A triangle is skipped if it has a pair of blocks that `per_pair` selected triangles have.
    """
    used = np.zeros((m, m), np.int16)
    chosen = np.empty(min(quota, len(order)), np.int64)
    count = 0
    for p in order:
        if count == len(chosen):
            break
        i, j, h = ijh[p, 0], ijh[p, 1], ijh[p, 2]
        jh = (min(j, h), max(j, h))
        ij = (min(i, j), max(i, j))
        ih = (min(i, h), max(i, h))
        if used[ij] >= per_pair or used[ih] >= per_pair or used[jh] >= per_pair:
            continue
        used[ij] += 1
        used[ih] += 1
        used[jh] += 1
        chosen[count] = p
        count += 1
    return chosen[:count]


@njit(cache=True, nogil=True)
def violated_stars(
    Z: Reals,
    nearest: Integers,
    r: Reals,
    tolerance: float,
    starts: int,
    max_leaves: int,
    first: int,
    last: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], Reals]:
    """Grow star cuts greedily.

    For each centre i, first to last - 1, and each of its nearest j, T starts as {j}. It grows by
    the h with the largest Z_ih - sum of Z_lh over l in T while that is positive. At most `starts`
    of the j are tried, evenly spread.

    nearest : (last - first, n) for each i the n nearest j, other than i, the nearest first

    Returns centre (c,), n_leaves (c,), leaves (c, max_leaves), distance (c,) of the stars with at
    least three leaves that are violated by more than tolerance times Z_ii. The distance is from Y
    to the cut's hyperplane.
    """
    m = Z.shape[0]
    capacity = (last - first) * min(nearest.shape[1], starts)
    centre = np.empty(capacity, np.int32)
    n_leaves = np.empty(capacity, np.int32)
    leaves = np.empty((capacity, max_leaves), np.int32)
    distance = np.empty(capacity)
    count = 0
    share = np.empty(m)
    gain = np.empty(m)
    near = np.empty(nearest.shape[1], np.int64)
    for i in range(first, last):
        slack = tolerance * Z[i, i]
        for h in range(m):
            share[h] = Z[i, h] if Z[i, h] > slack else -np.inf
        share[i] = -np.inf
        n_near = 0
        for j in nearest[i - first]:
            if share[j] > 0.0:
                near[n_near] = j
                n_near += 1
        for number in range(min(starts, n_near)):
            j = near[number if n_near <= starts else number * n_near // starts]
            total = Z[i, j] - Z[i, i]
            leaves[count, 0] = j
            size = 1
            gain[:] = share
            while size < max_leaves:
                gain[j] = -np.inf
                best = -1
                best_gain = slack
                for start in range(0, m, CHUNK):
                    a, b = gain[start : start + CHUNK], Z[j, start : start + CHUNK]
                    n_above = 0
                    for s in range(len(a)):
                        a[s] -= b[s]
                    for s in range(len(a)):
                        n_above += a[s] > best_gain
                    if n_above == 0:
                        continue
                    for s in range(len(a)):
                        if a[s] > best_gain:
                            best = start + s
                            best_gain = a[s]
                if best < 0:
                    break
                j = best
                total += best_gain
                leaves[count, size] = j
                size += 1
            if size < 3 or total <= slack:
                continue
            norm = r[i] ** 4
            for s in range(size):
                norm += 0.5 * (r[i] * r[leaves[count, s]]) ** 2
                for q in range(s + 1, size):
                    norm += 0.5 * (r[leaves[count, s]] * r[leaves[count, q]]) ** 2
            centre[count] = i
            n_leaves[count] = size
            distance[count] = total / np.sqrt(norm)
            count += 1
    return centre[:count], n_leaves[:count], leaves[:count], distance[:count]
