"""Compiled loops that find violated pairs and triangles, and choose among them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit

# Entries of a row that are looked at together.
CHUNK = 64
# Multiples of it are spread evenly modulo 1.
GOLDEN = 0.6180339887498949


@njit(cache=True, nogil=True)
def violated_triangles(
    Z: Reals, order: Integers, r: Reals, tolerance: float, per_arm: int, first: int, last: int
) -> tuple[NDArray[np.int32], Reals]:
    """Separate triangle cuts: of each arm (i, j) the `per_arm` most violated, and the pair cut.

    The cuts of an arm are (i, j, h) with h after j in the order of decreasing Z_i.; its violated
    pair cut is returned with h = j.

    Z : (m, m) affinity
    order : (last - first, m) columns of its rows by decreasing entries
    r : (m,) 1/sqrt(size)
    first, last : the centres are those from the first to before the last

    A violation counts when it is above tolerance times Z_ii, and is measured as the distance of Y
    to the cut's hyperplane. Exact up to that: a triangle can only be violated if Z_ij + Z_ih >
    Z_ii, so sorted rows end the loops early.

    Returns ijh (c, 3) int32 and distance (c,).
    """
    m = Z.shape[0]
    capacity = _number_of_arms(Z, tolerance, m, first, last) * (per_arm + 1)
    count = 0
    ijh = np.empty((capacity, 3), np.int32)
    distance = np.empty(capacity)
    best_h = np.empty(per_arm, np.int64)
    best_v = np.empty(per_arm)
    reachable = np.empty(m, np.int64)
    for i in range(first, last):
        Zii = Z[i, i]
        slack = tolerance * Zii
        rii = r[i] * r[i]
        nearest = order[i - first]
        largest = 0.0
        for j in nearest[:2]:
            if j != i:
                largest = max(largest, Z[i, j])
        n_reachable = 0
        for j in nearest:
            if Z[i, j] + largest <= Zii + slack:
                break
            if j != i:
                reachable[n_reachable] = j
                n_reachable += 1
        for a in range(n_reachable):
            j = reachable[a]
            Zij = Z[i, j]
            if 2.0 * Zij <= (1.0 + tolerance) * Zii:
                break  # h comes after j, so Z_ih <= Z_ij
            rij = r[i] * r[j]
            found = 0
            shortest = np.sqrt(rii * rii + 0.5 * rij * rij)  # no norm below is less
            for b in range(a + 1, n_reachable):
                h = reachable[b]
                Zih = Z[i, h]
                over = Zij + Zih - Zii
                if over <= slack:
                    break
                if found == per_arm and over <= best_v[found - 1] * shortest:
                    break  # Z_ih only falls, and Z_jh >= 0
                v = over - Z[j, h]
                if v > slack:
                    rjh = r[j] * r[h]
                    rih = r[i] * r[h]
                    norm2 = rii * rii + 0.5 * (rij * rij + rih * rih + rjh * rjh)
                    if found == per_arm and v * v <= best_v[found - 1] ** 2 * norm2:
                        continue
                    found = _insert(best_h, best_v, found, h, v / np.sqrt(norm2))
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
def triangles_of_arms(
    Z: Reals, r: Reals, tolerance: float, per_arm: int, arms: int, first: int, last: int
) -> tuple[NDArray[np.int32], Reals]:
    """Separate triangle cuts as `violated_triangles`, of so many arms of each centre.

    They are spread evenly over those with Z_ij > Z_ii / 2, from different ones on for each centre.
    As the h of an arm are all looked at, in the order of the blocks, rows need no sorting, and
    loops compile to vector instructions.
    """
    m = Z.shape[0]
    capacity = _number_of_arms(Z, tolerance, arms, first, last) * (per_arm + 1)
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
            least = slack  # violations up to this are none, or not among the best
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
def _number_of_arms(Z: Reals, tolerance: float, arms: int, first: int, last: int) -> int:
    """Return how many arms of centres first to last - 1 are looked at, `arms` of each at most."""
    total = 0
    for i in range(first, last):
        n_arms = 0
        for j in range(len(Z)):
            if j != i and 2.0 * Z[i, j] > (1.0 + tolerance) * Z[i, i]:
                n_arms += 1
        total += min(arms, n_arms)
    return total


@njit(cache=True, nogil=True)
def _insert(best_h: Integers, best_v: Reals, found: int, h: int, v: float) -> int:
    """Insert h among the best so far, in place of the last one if there are enough.

    Returns how many there are.
    """
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
    """Select triangles such that no pair of blocks is in too many; return their positions.

    They are the first `quota` in the given order with no pair of blocks in more than `per_pair` of
    them.
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
