"""Weights of points, in units in which the mean weight is near 1.

A sum of squares with weights w is the same for the points 2^q x with the weights 4^-q w. Both
changes are exact, so that no method sees the scale of the weights, and all costs stay in the user's
units.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


def weight_exponent(weights: Reals) -> int:
    """Return the whole number q for which the mean of 4^-q weights is in [1/2, 2)."""
    mean = math.fsum(weights.tolist()) / len(weights)
    # 2^(e - 1) <= mean < 2^e, and one of e and e - 1 is even.
    return math.frexp(mean)[1] // 2


def in_mean_units(points: Reals, weights: Reals) -> tuple[Reals, Reals]:
    """Return the points times 2^q, and the weights times 4^-q."""
    q = weight_exponent(weights)
    return np.ldexp(points, q), np.ldexp(weights, -2 * q)


def block_weights(weights: Reals, block_of: NDArray[np.intp]) -> Reals:
    """Return the weight (m,) of each block, a sum of weights (n,) that is rounded once."""
    _, first, count = np.unique(block_of, return_index=True, return_counts=True)
    total = weights[first]
    shared = np.flatnonzero(count > 1)
    if len(shared):
        order = np.argsort(block_of, kind="stable")
        end = np.cumsum(count)
        for block in shared.tolist():
            members = order[end[block] - count[block] : end[block]]
            total[block] = math.fsum(weights[members].tolist())
    return total
