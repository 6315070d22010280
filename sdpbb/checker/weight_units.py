"""Weights of points in whole units, in which limits on the weights of clusters are exact.

Floats are rounded where they are added up, and what is within a limit would depend on the order. So
with u the power of two for which the sum of all weights is in [2^50, 2^51) u, a weight w counts as
max(1, w / u rounded to a whole number) units; what all of these have for a common factor makes the
unit larger. Sums of units are exact in 64-bit integers and in doubles. A cluster of U units keeps

    min_weight  if  U unit >= min_weight (1 - 1e-9),
    max_weight  if  U unit <= max_weight (1 + 1e-9),

both in exact arithmetic. Rounding to units changes the weight of a cluster of s points by
s 2^-51 of the weight of all points at the most. Whole weights that add up to less than 2^50 are
not rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

TOLERANCE = Fraction(1, 10**9)
"""Part of a limit by which the weight of a cluster may be beyond it."""

# The sum of all weights is about 2^50 of the units that are rounded to.
_BITS = 51


@dataclass(frozen=True, eq=False)
class WeightUnits:
    """Weights of points in whole units.

    units : (n,) >= 1, whose sum is less than 2^52
    unit : what one of them weighs
    """

    units: NDArray[np.int64]
    unit: float

    @classmethod
    def of(cls, weights: NDArray[np.float64] | None, n: int) -> WeightUnits:
        """Return the units of n points of these weights > 0, moderate ones; None for 1 each."""
        if weights is None:
            return cls(np.ones(n, np.int64), 1.0)
        exponent = math.frexp(math.fsum(weights.tolist()))[1] - _BITS
        scaled = np.rint(np.ldexp(weights, -exponent))
        units = np.maximum(scaled, 1.0).astype(np.int64)
        factor = int(np.gcd.reduce(units))
        return cls(units // factor, math.ldexp(factor, exponent))

    @property
    def total(self) -> int:
        """Units of all points."""
        return int(self.units.sum())

    def least(self, min_weight: float) -> int:
        """Return the least units of a cluster that keeps min_weight; those of all and 1 at most."""
        bound = Fraction(min_weight) * (1 - TOLERANCE) / Fraction(self.unit)
        return min(math.ceil(bound), self.total + 1)

    def most(self, max_weight: float) -> int:
        """Return the most units of a cluster that keeps max_weight, those of all points at most."""
        bound = Fraction(max_weight) * (1 + TOLERANCE) / Fraction(self.unit)
        return min(math.floor(bound), self.total)
