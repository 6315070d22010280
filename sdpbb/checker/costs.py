"""What the cost of a clustering and a lower bound on all costs say of each other."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

# How far the stated cost of the labels may be from the one that is computed here, relatively.
COST_WITHIN = 1e-9
# Gaps below this are not told from 0, and what their own computation may lose.
PRECISION = 1e-12
_EPS = float(np.finfo(np.float64).eps)


def zero(points: NDArray[np.float64], labels: NDArray[np.intp]) -> float:
    """What labels (n,) cost up to this is rounding of the coordinates: 16 eps^2 times the sum of
    |x_i|^2 over the points (n, d), as they are given, of the clusters that have at least two.

    Points that are a cluster by themselves cost nothing, however far away they are: their rounding
    is none of the cost.
    """
    _, inverse, counts = np.unique(labels, return_inverse=True, return_counts=True)
    shared = counts[inverse.reshape(-1)] > 1
    return 16.0 * _EPS**2 * float(np.square(points[shared]).sum())


def is_cost(stated: float, upper: float, rounding: float) -> bool:
    """Whether a stated cost may stand for the computed one: within 1e-9 of it, relatively, or both
    are rounding of the coordinates, at most `rounding` (see `zero`)."""
    return abs(stated - upper) <= COST_WITHIN * upper or max(abs(stated), upper) <= rounding


def is_optimal(upper: float, lower: float, tolerance: float, rounding: float) -> bool:
    """Whether a clustering that costs at most `upper` may be called optimal, where none costs less
    than `lower`: the gap is at most `tolerance`, or all of the cost is rounding."""
    share = max(tolerance, PRECISION) + PRECISION
    return upper - lower <= share * upper or upper <= rounding


def relative_gap(upper: float, lower: float, rounding: float) -> float:
    """(upper - lower) / upper, rounded up and at most 1; 0 where nothing is between the two, or all
    of the cost is rounding, and nowhere else."""
    if upper <= max(lower, rounding):
        return 0.0
    # The difference and the quotient each round by half a unit at most.
    gap = math.nextafter((upper - lower) / upper * (1.0 + _EPS), math.inf)
    return min(gap, 1.0)
