"""What the cost of a clustering and a lower bound on all costs say of each other."""

from __future__ import annotations

import math

# How far the stated cost of the labels may be from the one that is computed here, relatively.
COST_WITHIN = 1e-9
# Gaps below this are not told from 0, and what their own computation may lose.
PRECISION = 1e-12
_EPS = 2.0**-52


def is_cost(stated: float, upper: float) -> bool:
    """Whether a stated cost may stand for the computed one: within 1e-9 of it, relatively."""
    return abs(stated - upper) <= COST_WITHIN * upper


def is_optimal(upper: float, lower: float, tolerance: float) -> bool:
    """Whether a clustering that costs at most `upper` may be called optimal, where none costs less
    than `lower`: the gap is at most `tolerance`. A cost of 0 is: points coincide then."""
    return upper - lower <= (max(tolerance, PRECISION) + PRECISION) * upper


def relative_gap(upper: float, lower: float) -> float:
    """(upper - lower) / upper, rounded up and at most 1; 0 where nothing is between the two, and
    nowhere else."""
    if upper <= lower:
        return 0.0
    # The difference and the quotient each round by half a unit at most.
    gap = math.nextafter((upper - lower) / upper * (1.0 + _EPS), math.inf)
    return min(gap, 1.0)
