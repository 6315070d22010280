"""Compiled loops over points and places: values of places, and how often points are served.

The value of a place c is V(c) = sum_i w_i max(0, y_i - ||x_i - c||^2): what the points are worth
at their prices y to a cluster whose mean is c. These loops steer, so that single precision does
where points are many. Points are in pieces of near ones: a piece is skipped for places at which
none of its points can be worth anything.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.arrays import Reals
from sdpbb.runtime.jit import njit

Floats = NDArray[np.float32] | NDArray[np.float64]

PIECE = 128
"""Points of a piece."""


class Pieces(NamedTuple):
    """Points in pieces of near ones.

    points, weights : (3, n), (n,)
    rates : (n,) of the measure whose limits clusters keep, by weight; 0 without limits
    low, high : (p, 3) corners of the box around each piece
    """

    points: Floats
    weights: Floats
    rates: Floats
    low: Reals
    high: Reals


@njit(cache=True, nogil=True)
def fill_prices(of: Pieces, prices: Reals, heights: Floats, highest: Reals) -> None:
    """Fill in the heights (n,) y_i - ||x_i||^2, and the highest price (p,) of each piece."""
    for piece in range(len(highest)):
        highest[piece] = -np.inf
        for i in range(piece * PIECE, min(len(prices), (piece + 1) * PIECE)):
            square = 0.0
            for j in range(3):
                square += np.float64(of.points[j, i]) * np.float64(of.points[j, i])
            heights[i] = prices[i] - square
            highest[piece] = max(highest[piece], prices[i])


@njit(cache=True, nogil=True)
def is_near(
    of: Pieces, highest: Reals, piece: int, a: float, b: float, c: float, above: float
) -> bool:
    """Return whether a point of a piece may be worth its price at a place, and so much more."""
    p = max(0.0, of.low[piece, 0] - a, a - of.high[piece, 0])
    q = max(0.0, of.low[piece, 1] - b, b - of.high[piece, 1])
    r = max(0.0, of.low[piece, 2] - c, c - of.high[piece, 2])
    return bool(p * p + q * q + r * r < highest[piece] - above)


@njit(cache=True, fastmath=True, nogil=True)
def add_values(of: Pieces, heights: Floats, highest: Reals, places: Reals, to: Reals) -> None:
    """Add V(c) of each place (M, 3) to `to` (M,)."""
    n, real = len(heights), of.points.dtype.type
    for piece in range(len(highest)):
        first, last = piece * PIECE, min(n, (piece + 1) * PIECE)
        x, y, z = of.points[0, first:last], of.points[1, first:last], of.points[2, first:last]
        w, height = of.weights[first:last], heights[first:last]
        for c in range(len(places)):
            a, b, d = places[c, 0], places[c, 1], places[c, 2]
            if not is_near(of, highest, piece, a, b, d, 0.0):
                continue
            p, q, r = real(2.0 * a), real(2.0 * b), real(2.0 * d)
            square, value = real(a * a + b * b + d * d), real(0.0)
            for i in range(last - first):
                worth = height[i] + x[i] * p + y[i] * q + z[i] * r - square
                value += w[i] * max(worth, real(0.0))
            to[c] += value


@njit(cache=True, fastmath=True, nogil=True)
def add_served(
    of: Pieces, heights: Floats, highest: Reals, places: Reals, masses: Reals, to: Floats
) -> None:
    """Add to `to` (n,) the mass (M,) of all places where a point is worth its price."""
    n, real = len(heights), of.points.dtype.type
    for piece in range(len(highest)):
        first, last = piece * PIECE, min(n, (piece + 1) * PIECE)
        x, y, z = of.points[0, first:last], of.points[1, first:last], of.points[2, first:last]
        height, served = heights[first:last], to[first:last]
        for c in range(len(places)):
            a, b, d = places[c, 0], places[c, 1], places[c, 2]
            if not is_near(of, highest, piece, a, b, d, 0.0):
                continue
            p, q, r = real(2.0 * a), real(2.0 * b), real(2.0 * d)
            square, mass = real(a * a + b * b + d * d), real(masses[c])
            for i in range(last - first):
                worth = height[i] + x[i] * p + y[i] * q + z[i] * r - square
                served[i] += mass if worth > real(0.0) else real(0.0)
