"""Compiled loops over points and places: values of places, and how often points are served.

The value of a place c is V(c) = sum_i w_i max(0, y_i - ||x_i - c||^2): the gain of a cluster with
mean c at prices y. These loops prove nothing, so large instances are in single precision. Points
are in pieces of near points. A piece is skipped for places at which none of its points has a
positive gain.

Clusters may have limits, `least` to `most`, on an amount q of the blocks (points, or units of
weight). A place is then filled at some rate t. At any rate, the sum of the gains g is

    sum_X g_i = sum_X (g_i - q_i t) + q(X) t <= sum_i max(0, g_i - q_i t) + U t,

U = most for t > 0 and least for t < 0. The minimum over t is the greatest gain of a cluster within
the limits, of which one block may be fractional: the best blocks by g_i / q_i up to the limit (the
linear relaxation of the knapsack problem).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit

Floats = NDArray[np.float32] | NDArray[np.float64]

PIECE = 128
"""Number of points of a piece."""


class Pieces(NamedTuple):
    """Points in pieces of near ones.

    points, weights : (3, n), (n,)
    rates : (n,) limited amounts by weight; 0 without limits
    low, high : (p, 3) corners of the box around each piece
    heights : (n,) y_i - ||x_i||^2 at the present prices y
    highest : (p,) the highest price of each piece
    """

    points: Floats
    weights: Floats
    rates: Floats
    low: Reals
    high: Reals
    heights: Floats
    highest: Reals


@njit(cache=True, nogil=True)
def fill_prices(of: Pieces, prices: Reals) -> None:
    """Fill in the heights, and the highest prices, at prices (n,)."""
    for piece in range(len(of.highest)):
        of.highest[piece] = -np.inf
        for i in range(piece * PIECE, min(len(prices), (piece + 1) * PIECE)):
            square = 0.0
            for j in range(3):
                square += np.float64(of.points[j, i]) * np.float64(of.points[j, i])
            of.heights[i] = prices[i] - square
            of.highest[piece] = max(of.highest[piece], prices[i])


@njit(cache=True, nogil=True)
def is_near(of: Pieces, piece: int, a: float, b: float, c: float, above: float) -> bool:
    """Return whether a point of a piece may have a gain at a place above a number."""
    p = max(0.0, of.low[piece, 0] - a, a - of.high[piece, 0])
    q = max(0.0, of.low[piece, 1] - b, b - of.high[piece, 1])
    r = max(0.0, of.low[piece, 2] - c, c - of.high[piece, 2])
    return bool(p * p + q * q + r * r < of.highest[piece] - above)


@njit(cache=True, fastmath=True, nogil=True)
def add_values(of: Pieces, places: Reals, to: Reals) -> None:
    """Add V(c) of each place (M, 3) to `to` (M,)."""
    n, real = len(of.heights), of.points.dtype.type
    for piece in range(len(of.highest)):
        first, last = piece * PIECE, min(n, (piece + 1) * PIECE)
        x, y, z = of.points[0, first:last], of.points[1, first:last], of.points[2, first:last]
        w, height = of.weights[first:last], of.heights[first:last]
        for c in range(len(places)):
            a, b, d = places[c, 0], places[c, 1], places[c, 2]
            if not is_near(of, piece, a, b, d, 0.0):
                continue
            p, q, r = real(2.0 * a), real(2.0 * b), real(2.0 * d)
            square, value = real(a * a + b * b + d * d), real(0.0)
            for i in range(last - first):
                worth = height[i] + x[i] * p + y[i] * q + z[i] * r - square
                value += w[i] * max(worth, real(0.0))
            to[c] += value


@njit(cache=True, fastmath=True, nogil=True)
def add_served(of: Pieces, places: Reals, masses: Reals, to: Floats) -> None:
    """Add to `to` (n,) the mass (M,) of all places where a point has a positive gain."""
    n, real = len(of.heights), of.points.dtype.type
    for piece in range(len(of.highest)):
        first, last = piece * PIECE, min(n, (piece + 1) * PIECE)
        x, y, z = of.points[0, first:last], of.points[1, first:last], of.points[2, first:last]
        height, served = of.heights[first:last], to[first:last]
        for c in range(len(places)):
            a, b, d = places[c, 0], places[c, 1], places[c, 2]
            if not is_near(of, piece, a, b, d, 0.0):
                continue
            p, q, r = real(2.0 * a), real(2.0 * b), real(2.0 * d)
            square, mass = real(a * a + b * b + d * d), real(masses[c])
            for i in range(last - first):
                worth = height[i] + x[i] * p + y[i] * q + z[i] * r - square
                served[i] += mass if worth > real(0.0) else real(0.0)


class AmountLimits(NamedTuple):
    """Limits on the amount in a cluster.

    least : >= 0
    most : below 0: no limits
    """

    least: float
    most: float


NO_LIMITS = AmountLimits(0.0, -1.0)


class Rates(NamedTuple):
    """Rates t of places (M,), at which they are filled, and the fractional block of each.

    shared : (M,) position of the fractional block in the pieces, -1: none
    missing : (M,) amount of the fractional block that counts
    """

    rates: Reals
    shared: Integers
    missing: Reals


@njit(cache=True, nogil=True)
def limit_at(limits: AmountLimits, rate: float) -> float:
    """Return U, the limit that holds at a rate."""
    if rate > 0.0:
        return limits.most
    return limits.least if rate < 0.0 else 0.0


@njit(cache=True, nogil=True)
def rate_of(ratios: Reals, amounts: Reals, n: int, limits: AmountLimits) -> float:
    """Return the rate t at which blocks of ratios g / q fill a cluster.

    It is 0 if blocks of positive ratios are within the limits, and -inf if all blocks together
    have too little.

    ratios, amounts : (n,) or longer; the first n entries are reordered
    """
    above = 0.0
    for i in range(n):
        if ratios[i] > 0.0:
            above += amounts[i]
    if limits.least <= above <= limits.most:
        return 0.0
    goal = limits.most if above > limits.most else limits.least
    low, high, before = 0, n, 0.0
    while low < high:
        a, b, c = ratios[low], ratios[(low + high) // 2], ratios[high - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        first, last, at, more, same = low, high, low, 0.0, 0.0
        while at < last:
            if ratios[at] > pivot:
                more += amounts[at]
                ratios[at], ratios[first] = ratios[first], ratios[at]
                amounts[at], amounts[first] = amounts[first], amounts[at]
                first += 1
                at += 1
            elif ratios[at] < pivot:
                last -= 1
                ratios[at], ratios[last] = ratios[last], ratios[at]
                amounts[at], amounts[last] = amounts[last], amounts[at]
            else:
                same += amounts[at]
                at += 1
        if before + more > goal:
            high = first
        elif before + more + same > goal:
            return float(pivot)
        else:
            before += more + same
            low = last
    return -np.inf


@njit(cache=True, nogil=True)
def rate_at(
    data: Reals, limits: AmountLimits, place: Reals, ratios: Reals, amounts: Reals
) -> float:
    """Return the rate t of a place.

    data : (n, 6), as in `BoxProblem`; ratios, amounts : (n,) scratch
    """
    if limits.most < 0.0:
        return 0.0
    for i in range(len(data)):
        worth = data[i, 3]
        for j in range(3):
            u = data[i, j] - place[j]
            worth -= u * u
        ratios[i] = worth / data[i, 5]
        amounts[i] = data[i, 4] * data[i, 5]
    return rate_of(ratios, amounts, len(data), limits)


@njit(cache=True, nogil=True)
def fill_values(
    of: Pieces,
    places: Reals,
    limits: AmountLimits,
    at: Rates,
    values: Reals,
) -> None:
    """Fill in the values (M,) of places within limits, and the rates there, which are 0 before."""
    n = len(of.heights)
    ratios, blocks = np.zeros(n), np.zeros(n, np.int64)
    mixed, amounts = np.zeros(n), np.zeros(n)
    steepest, below = np.float64(of.rates.max()), max(1e-300, 1e-3 * np.abs(of.highest).max())
    for c in range(len(places)):
        count = _fill_ratios(of, places[c], 0.0, ratios, blocks)
        total, value = 0.0, 0.0
        for a in range(count):
            q = of.weights[blocks[a]] * of.rates[blocks[a]]
            total += q
            value += q * ratios[a]
        if limits.least <= total <= limits.most:
            values[c] = value
            continue
        above = -below if total < limits.least else 0.0
        while True:
            if above < 0.0:
                count = _fill_ratios(of, places[c], above, ratios, blocks)
            for a in range(count):
                mixed[a] = ratios[a]
                amounts[a] = of.weights[blocks[a]] * of.rates[blocks[a]]
            rate = rate_of(mixed, amounts, count, limits)
            # Other blocks have gains of at most `above`.
            if above == 0.0 or count == n or rate * steepest >= above:
                break
            above *= 4.0
        if rate == -np.inf:
            rate = ratios[:count].min()
        if rate < 0.0:  # the next place is a near one
            below = max(1e-300, -1.5 * rate * steepest)
        goal = limit_at(limits, rate)
        total, value = 0.0, 0.0
        for a in range(count):
            q = of.weights[blocks[a]] * of.rates[blocks[a]]
            if ratios[a] > rate:
                total += q
                value += q * (ratios[a] - rate)
            elif ratios[a] == rate:
                at.shared[c] = blocks[a]
        values[c] = value + goal * rate
        at.rates[c], at.missing[c] = rate, goal - total


@njit(cache=True, nogil=True)
def _fill_ratios(
    of: Pieces,
    place: Reals,
    above: float,
    ratios: Reals,
    blocks: Integers,
) -> int:
    """Fill in the ratios g / q of the blocks with gains above a number; return their number.

    above : at most 0
    """
    n, count = len(of.heights), 0
    a, b, d = place[0], place[1], place[2]
    square = a * a + b * b + d * d
    for piece in range(len(of.highest)):
        if not is_near(of, piece, a, b, d, above):
            continue
        for i in range(piece * PIECE, min(n, (piece + 1) * PIECE)):
            worth = np.float64(of.heights[i]) - square
            worth += 2.0 * (of.points[0, i] * a + of.points[1, i] * b + of.points[2, i] * d)
            if worth > above:
                ratios[count] = worth / of.rates[i]
                blocks[count] = i
                count += 1
    return count


@njit(cache=True, nogil=True)
def add_served_within(
    of: Pieces,
    places: Reals,
    masses: Reals,
    at: Rates,
    to: Floats,
) -> None:
    """Add to `to` (n,) the mass (M,) of all places where the gain of a point is above its rate.

    `add_shared` adds fractional blocks.
    """
    n, steepest = len(of.heights), np.float64(of.rates.max())
    ratios, blocks = np.zeros(n), np.zeros(n, np.int64)
    for c in range(len(places)):
        rate = at.rates[c]
        # A little less, for rounding.
        above = min(0.0, rate * steepest * (1.0 + 1e-9))
        count = _fill_ratios(of, places[c], above, ratios, blocks)
        for b in range(count):
            if ratios[b] > rate and blocks[b] != at.shared[c]:
                to[blocks[b]] += masses[c]


@njit(cache=True, nogil=True)
def add_shared(of: Pieces, masses: Reals, at: Rates, to: Floats) -> None:
    """Add to `to` (n,) the shares of fractional blocks at the places of masses (M,)."""
    for c in range(len(masses)):
        i = at.shared[c]
        if i >= 0:
            to[i] += masses[c] * at.missing[c] / (of.weights[i] * of.rates[i])
