"""Compiled loops over cannot-links: how much they lower the value of a place.

A cluster has at most one of two cannot-linked blocks. With gains r_i >= 0 of the blocks at a place,
a cluster loses the least weight of blocks that meet every pair (a vertex cover). Each pair in turn
is charged t = min(r_i, r_j), which lowers both gains. The sum of the charges is at most that weight
(a packing of edges), and equal to it if no two pairs share a block. With limits on clusters, gains
are above the rate of the place (`value_kernels.py`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.lagrangian.places.value_kernels import (
    AmountLimits,
    Floats,
    Pieces,
    Rates,
    rate_at,
)
from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit


@njit(cache=True, nogil=True)
def charge(value: float, pairs: Integers, left: Reals) -> float:
    """Charge pairs (p, 2) to a value, one after the other; return the rest of the value.

    left : (n,) gains >= 0; each charge lowers two of them
    """
    for e in range(len(pairs)):
        i, j = pairs[e, 0], pairs[e, 1]
        least = min(left[i], left[j])
        if least > 0.0:
            value -= least
            left[i] -= least
            left[j] -= least
    return value


@njit(cache=True, nogil=True)
def lost_in_box(
    data: Reals,
    pairs: Integers,
    ends: Integers,
    middle: Reals,
    half: Reals,
    rate: float,
    left: Reals,
) -> tuple[float, float]:
    """Return a lower bound on the charges at every place of a box, and the charges in its middle.

    data : (n, 6), as in `BoxProblem`; ends : the blocks of pairs; half : (3,) half-widths
    rate : of the whole box; left : (n,) scratch
    """
    square = 0.0
    for j in range(3):
        square += half[j] * half[j]
    for i in ends:
        own = data[i, 5] * rate
        a, reach = data[i, 3] - own, 0.0
        for j in range(3):
            u = data[i, j] - middle[j]
            a -= u * u
            reach += 2.0 * abs(u) * half[j]
        # Rounding changes a positive gain by less than 1e-14 of the price.
        rounded = 1e-14 * (abs(data[i, 3]) + 2.0 * abs(own))
        left[i] = data[i, 4] * max(0.0, a - (reach + square) * (1.0 + 1e-12) - rounded)
    # Each charge is rounded, and each sum.
    everywhere = -charge(0.0, pairs, left) * (1.0 - 1e-12 - 1e-15 * len(pairs))
    for i in ends:
        a = data[i, 3] - data[i, 5] * rate
        for j in range(3):
            u = data[i, j] - middle[j]
            a -= u * u
        left[i] = data[i, 4] * max(0.0, a)
    return everywhere, -charge(0.0, pairs, left)


@njit(cache=True, nogil=True)
def subtract_lost(of: Pieces, places: Reals, at: Rates, pairs: Integers, values: Reals) -> None:
    """Subtract the charges of pairs from the values (M,) of places.

    at : the rates of the places
    pairs : by the positions of points in the pieces
    """
    left, active = np.zeros(len(of.heights)), np.empty_like(pairs)
    for c in range(len(places)):
        n_active = _fill_active(of, places[c], at.rates[c], pairs, active, left)
        values[c] = charge(values[c], active[:n_active], left)


@njit(cache=True, nogil=True)
def subtract_unserved(
    of: Pieces,
    places: Reals,
    masses: Reals,
    at: Rates,
    pairs: Integers,
    served: Floats,
) -> None:
    """Subtract from `served` (n,) the derivatives of the charges by prices.

    A pair charges the lesser gain of its blocks, which earlier charges have lowered. The amount of
    a block that leaves is then missing at the place (`at`).
    """
    left, adjoint = np.zeros(len(of.heights)), np.zeros(len(of.heights))
    active, lesser = np.empty_like(pairs), np.zeros(len(pairs), np.int64)
    for c in range(len(places)):
        n_active = _fill_active(of, places[c], at.rates[c], pairs, active, left)
        for a in range(n_active):
            i, j = active[a, 0], active[a, 1]
            least = min(left[i], left[j])
            lesser[a] = -1 if least <= 0.0 else i if left[i] <= left[j] else j
            left[i] -= least
            left[j] -= least
            adjoint[i] = adjoint[j] = 0.0
        for a in range(n_active - 1, -1, -1):
            if lesser[a] >= 0:
                adjoint[lesser[a]] -= 1.0 + adjoint[active[a, 0]] + adjoint[active[a, 1]]
        for a in range(n_active):
            for i in active[a]:
                served[i] += masses[c] * adjoint[i]
                at.missing[c] -= of.weights[i] * of.rates[i] * adjoint[i]
                adjoint[i] = 0.0


@njit(cache=True, nogil=True)
def _fill_active(
    of: Pieces,
    place: Reals,
    rate: float,
    pairs: Integers,
    active: Integers,
    worths: Reals,
) -> int:
    """Fill in the pairs (p, 2) of blocks with positive gains at a place, and the gains.

    Return the number of these pairs.
    """
    a, b, c = 2.0 * place[0], 2.0 * place[1], 2.0 * place[2]
    square = 0.25 * (a * a + b * b + c * c)
    x, y, z, count = of.points[0], of.points[1], of.points[2], 0
    for e in range(len(pairs)):
        i, j = pairs[e, 0], pairs[e, 1]
        first = of.heights[i] + a * x[i] + b * y[i] + c * z[i] - square - rate * of.rates[i]
        if first <= 0.0:
            continue
        second = of.heights[j] + a * x[j] + b * y[j] + c * z[j] - square - rate * of.rates[j]
        if second <= 0.0:
            continue
        active[count, 0], active[count, 1] = i, j
        worths[i], worths[j] = of.weights[i] * first, of.weights[j] * second
        count += 1
    return count


@njit(cache=True, nogil=True)
def mark_members(
    data: Reals,
    pairs: Integers,
    limits: AmountLimits,
    place: Reals,
    worths: Reals,
    is_member: NDArray[np.bool_],
    scratch: Reals,
) -> None:
    """Mark the blocks (n,) of a cluster at a place: blocks with gains above the rate of the place.

    The rate is 0 without limits. Of two cannot-linked blocks the one with less gain leaves. worths
    : (n,) receives the gains; scratch : (2, n)
    """
    rate = rate_at(data, limits, place, scratch[0], scratch[1])
    for i in range(len(data)):
        worth = data[i, 3]
        for j in range(3):
            u = data[i, j] - place[j]
            worth -= u * u
        worths[i] = data[i, 4] * worth
        is_member[i] = worth > data[i, 5] * rate
    for e in range(len(pairs)):
        i, j = pairs[e, 0], pairs[e, 1]
        if is_member[i] and is_member[j]:
            is_member[i if worths[i] <= worths[j] else j] = False


@njit(cache=True, nogil=True)
def climb(data: Reals, pairs: Integers, limits: AmountLimits, place: Reals, most: int) -> float:
    """Move a place to the mean of its cluster, repeatedly; return the last value.

    data : (n, 6), as in `BoxProblem`; most : maximum steps. Without pairs no step lowers the value.
    """
    n = len(data)
    worths, is_member, scratch = np.zeros(n), np.zeros(n, np.bool_), np.zeros((2, n))
    value, mean = 0.0, np.zeros(3)
    for _ in range(most):
        mark_members(data, pairs, limits, place, worths, is_member, scratch)
        weight, value = 0.0, 0.0
        mean[:] = 0.0
        for i in range(n):
            if is_member[i]:
                weight += data[i, 4]
                value += worths[i]
                for j in range(3):
                    mean[j] += data[i, 4] * (data[i, j] - place[j])
        if weight == 0.0:
            break
        step, size = 0.0, 0.0
        for j in range(3):
            mean[j] /= weight
            step += mean[j] * mean[j]
            size += abs(place[j])
        if step <= 1e-18 * size * size:
            break
        for j in range(3):
            place[j] += mean[j]
    return value
