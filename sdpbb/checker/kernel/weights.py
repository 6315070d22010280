"""Weights of points in whole units, and bounds on the weights of clusters that follow from limits.

*Units.* Floats are rounded where they are added up, and what is within a limit would depend on the
order. So with u the power of two for which the sum of all weights is in [2^50, 2^51) u, a weight w
counts as max(1, w / u rounded to a whole number) units; what all of these have for a common factor
makes the unit larger. Sums of units are exact in 64-bit integers and in doubles. A cluster of U
units keeps

    min_weight  if  U unit >= min_weight - max(1e-9 min_weight, r),
    max_weight  if  U unit <= max_weight + max(1e-9 max_weight, r),

both in exact arithmetic, where r is what rounding changes: the sum over all points of the
difference of a weight and its units. So whatever is within a limit keeps it. r is 2^-50 of the
weight of all points for each of them at the most, and more than the other tolerance only where a
limit is a tiny part of that. Whole weights that add up to less than 2^50 are not rounded.

*Bounds.* Limits are on some measure of clusters, q(C) = sum of q_i over the blocks i of C for whole
numbers q_i: their points, or their units of weight. What is known of the weights e_i of the same
blocks, for any number r >= 0, is

    |C| = sum of e_i = r q(C) + sum of (e_i - r q_i),

so that with a <= q(C) <= b

    r a - sum of max(0, r q_i - e_i) <= |C| <= r b + sum of max(0, e_i - r q_i),

the sums being those over all blocks. r is about the weight of all blocks over their measure. Where
weights are about proportional to the measure, as those in units are, the sums are next to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .arithmetic import down, sum_up, up
from .sizes import Measure

TOLERANCE = Fraction(1, 10**9)
"""Part of a limit by which the weight of a cluster may be beyond it, if rounding is less."""

# The sum of all weights is about 2^50 of the units that are rounded to.
_BITS = 51
# Part of all weights by which sums of floats may be off here; they are off by a quarter of it.
_ROUNDING = 2.0**-48


@dataclass(frozen=True, eq=False)
class WeightUnits:
    """Weights of points in whole units.

    units : (n,) >= 1, whose sum is less than 2^52
    unit : what one of them weighs
    rounding : the sum of the differences of weights and their units, in units, or a little more
    """

    units: NDArray[np.int64]
    unit: float
    rounding: float = 0.0

    @classmethod
    def of(cls, weights: NDArray[np.float64] | None, n: int) -> WeightUnits:
        """Return the units of n points of these weights > 0, moderate ones; None for 1 each."""
        if weights is None:
            return cls(np.ones(n, np.int64), 1.0)
        exponent = math.frexp(math.fsum(weights.tolist()))[1] - _BITS
        scaled = np.ldexp(weights, -exponent)
        units = np.maximum(np.rint(scaled), 1.0).astype(np.int64)
        factor = int(np.gcd.reduce(units))
        rounding = math.fsum(np.abs(scaled - units).tolist()) * (1.0 + 2.0**-50) / factor
        return cls(units // factor, math.ldexp(factor, exponent), rounding)

    @property
    def total(self) -> int:
        """Units of all points."""
        return int(self.units.sum())

    def least(self, min_weight: float) -> int:
        """Return the least units of a cluster that keeps min_weight, 1 to those of all and 1."""
        limit = Fraction(min_weight) / Fraction(self.unit)
        return min(max(1, math.ceil(limit - self._tolerance(limit))), self.total + 1)

    def most(self, max_weight: float) -> int:
        """Return the most units of a cluster that keeps max_weight, those of all points at most."""
        limit = Fraction(max_weight) / Fraction(self.unit)
        return min(math.floor(limit + self._tolerance(limit)), self.total)

    def _tolerance(self, limit: Fraction) -> Fraction:
        """Return by how many units a cluster may be beyond a limit in units."""
        return max(TOLERANCE * limit, Fraction(self.rounding))


@dataclass(frozen=True, eq=False)
class WeightBounds:
    """Bounds on the weights |C| of clusters, least <= |C| <= most, and the limits behind them.

    least : >= 0
    most : that of all blocks, or less
    measures : of the blocks: points, units of weight, or both
    """

    least: float
    most: float
    measures: tuple[Measure, ...] = ()
    listed: ClassVar[None] = None

    @classmethod
    def of(cls, weights: NDArray[np.float64], measures: Iterable[Measure]) -> WeightBounds | None:
        """Return what limits say of clusters of blocks of weights (m,); None for nothing."""
        found = tuple(measures)
        if not found:
            return None
        bounds = [_bounds(weights, measure) for measure in found]
        return cls(max(least for least, _ in bounds), min(most for _, most in bounds), found)

    def measure(self, counts_points: bool) -> Measure | None:
        """Return the points of blocks if limits on them are known, or their units of weight."""
        found = (each for each in self.measures if each.counts_points == counts_points)
        return next(found, None)


def _bounds(weights: NDArray[np.float64], measure: Measure) -> tuple[float, float]:
    limits, total = measure.limits, sum_up(weights.tolist())
    rate = total / float(measure.values.sum())
    excess = weights - rate * measure.values
    above = sum_up(np.maximum(excess, 0.0).tolist())
    below = sum_up(np.maximum(-excess, 0.0).tolist())
    error = _ROUNDING * total
    least = down(down(rate * limits.least) - up(below + error))
    most = up(up(rate * limits.most) + up(above + error))
    return max(0.0, least), min(total, most)
