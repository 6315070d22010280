"""Compiled loop that grows violated stars of three leaves and more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit

# Entries of a row that are looked at together.
CHUNK = 64


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

    For each centre i, from the first to before the last, and each of its nearest j, T starts as {j}
    and takes the h with the largest Z_ih - sum of Z_lh over l in T while that is positive. Where
    there are more than `starts` such j, it starts with so many, evenly spread.

    nearest : (last - first, n) for each i the n nearest j, other than i, the nearest first

    Returns centre (c,), n_leaves (c,), leaves (c, max_leaves), distance (c,) for those with at
    least three leaves that are violated by more than tolerance times Z_ii; distance is that of Y to
    the cut's hyperplane.
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
