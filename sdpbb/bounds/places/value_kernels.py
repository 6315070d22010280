"""Compiled loops over points and places: values of places, and how often points are served.

The value of a place c is V(c) = sum_i w_i max(0, y_i - ||x_i - c||^2): what the points are worth
at their prices y to a cluster whose mean is c. These loops steer, so that they are in single
precision, with the points in pieces that fit the cache.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.arrays import Reals
from sdpbb.jit import njit

Singles = NDArray[np.float32]

# Points of a piece.
_PIECE = 1024


@njit(cache=True, fastmath=True, nogil=True)
def add_values(
    points: Singles, weights: Singles, heights: Singles, places: Reals, to: Reals
) -> None:
    """Add V(c) of each place to `to` (M,).

    points : (3, n); heights : (n,) y_i - ||x_i||^2; places : (M, 3)
    """
    n = len(weights)
    for first in range(0, n, _PIECE):
        last = min(n, first + _PIECE)
        x, y, z = points[0, first:last], points[1, first:last], points[2, first:last]
        w, height = weights[first:last], heights[first:last]
        for c in range(len(places)):
            a, b, d = places[c, 0], places[c, 1], places[c, 2]
            p, q, r = np.float32(2.0 * a), np.float32(2.0 * b), np.float32(2.0 * d)
            square, value = np.float32(a * a + b * b + d * d), np.float32(0.0)
            for i in range(last - first):
                worth = height[i] + x[i] * p + y[i] * q + z[i] * r - square
                value += w[i] * max(worth, np.float32(0.0))
            to[c] += value


@njit(cache=True, fastmath=True, nogil=True)
def add_served(
    points: Singles, heights: Singles, places: Reals, masses: Reals, to: Singles
) -> None:
    """Add to `to` (n,) the mass of all places where a point is worth its price.

    points, heights, places : as for `add_values`; masses : (M,)
    """
    n = len(heights)
    for first in range(0, n, _PIECE):
        last = min(n, first + _PIECE)
        x, y, z = points[0, first:last], points[1, first:last], points[2, first:last]
        height, served = heights[first:last], to[first:last]
        for c in range(len(places)):
            a, b, d = places[c, 0], places[c, 1], places[c, 2]
            p, q, r = np.float32(2.0 * a), np.float32(2.0 * b), np.float32(2.0 * d)
            square, mass = np.float32(a * a + b * b + d * d), np.float32(masses[c])
            for i in range(last - first):
                worth = height[i] + x[i] * p + y[i] * q + z[i] * r - square
                served[i] += mass if worth > np.float32(0.0) else np.float32(0.0)


@njit(cache=True, nogil=True)
def climb(points: Reals, weights: Reals, prices: Reals, place: Reals, most: int) -> float:
    """Move a place to the mean of the points that are worth their prices there, again and again.

    No step lowers its value, which is returned. points : (n, 3); most : steps.
    """
    value = 0.0
    for _ in range(most):
        weight, x, y, z, value = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(len(weights)):
            a, b, c = points[i, 0] - place[0], points[i, 1] - place[1], points[i, 2] - place[2]
            worth = prices[i] - (a * a + b * b + c * c)
            if worth > 0.0:
                w = weights[i]
                weight += w
                x += w * a
                y += w * b
                z += w * c
                value += w * worth
        if weight == 0.0:
            break
        x, y, z = x / weight, y / weight, z / weight
        if x * x + y * y + z * z <= 1e-18 * (abs(place[0]) + abs(place[1]) + abs(place[2])) ** 2:
            break
        place[0] += x
        place[1] += y
        place[2] += z
    return value
