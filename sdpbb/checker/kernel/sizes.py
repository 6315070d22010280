"""Measures of clusters, their points and weights: limits as stated, and as they follow.

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
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from heapq import heappop, heappush
from itertools import accumulate
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .arithmetic import down, sum_up, up

LARGEST_SUM = 2**52
"""Largest value of a limit, and of all that counts for it: floats hold it exactly."""

Range = tuple[int, int]
"""The least and the most that one of the clusters has of a measure."""

TOLERANCE = Fraction(1, 10**9)
"""Part of a limit by which the weight of a cluster may be beyond it, if rounding is less."""

# The sum of all weights is about 2^50 of the units that are rounded to.
_BITS = 51
# Part of all weights by which sums of floats may be off here; they are off by a quarter of it.
_ROUNDING = 2.0**-48


def as_range(size: int | Range) -> Range:
    """Return the range that a size of a cluster, or a range of sizes, stands for."""
    return (size, size) if isinstance(size, int) else size


def as_size(ends: Range) -> int | Range:
    """Return what stands for a range: the size, if it is of one size."""
    return ends[0] if ends[0] == ends[1] else ends


@dataclass(frozen=True, eq=False)
class StatedMeasure:
    """Statement about a measure of clusters: their points, or their units of weight.

    Each has `least` to `most` of it; where ranges are listed, there is a cluster for each of them.

    least, most : least >= 1 and most >= 0; at most 2^52, unless points are counted
    listed : in ascending order, of single sizes (s, s); () where they are not
    units : (n,) int64 >= 1, of points (`weights`), whose sum is less than 2^52; None: points
        are counted
    """

    least: int = 1
    most: int = LARGEST_SUM
    listed: tuple[Range, ...] = ()
    units: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        ends = [end for each in self.listed for end in each]
        if not all(type(end) is int and end >= 1 for end in (self.least, *ends)):
            raise ValueError("sizes: expected whole numbers >= 1")
        if any(low > high for low, high in self.listed):
            raise ValueError("sizes: expected ranges from the least to the most")

    def values(self, n: int) -> NDArray[np.int64]:
        """Return the measure (n,) of each of n points."""
        return np.ones(n, np.int64) if self.units is None else self.units


@dataclass(frozen=True)
class SizeLimits:
    """Limits on the sums of a quantity in k clusters: of points, or of units of weight.

    Each cluster has `least` to `most` of the quantity. If ranges are listed, there is a cluster for
    each of them. The limits of `of` are as narrow as possible: some k sums within them add up to n
    and include `least`, and some include `most`, unless no k sums do (`is_empty`).

    n : the quantity of all clusters together
    least : 1 or more
    listed : k ranges in ascending order, not all of them equal, or None
    """

    n: int
    k: int
    least: int
    most: int
    listed: tuple[Range, ...] | None = None

    @classmethod
    def of(
        cls,
        n: int,
        k: int,
        least: int = 1,
        most: int | None = None,
        listed: Iterable[int | Range] | None = None,
    ) -> SizeLimits | None:
        """Return what follows for k clusters; None if all clusterings are within it.

        If a cluster has `least` or more, the k - 1 others leave n - (k - 1) least of them at most
        for each; and so on.

        listed : k sizes or ranges in any order, or None
        """
        most = n if most is None else min(n, most)
        stated = [(least, most)] * k if listed is None else map(as_range, listed)
        ranges = sorted((max(low, least), min(high, most)) for low, high in stated)
        lows, highs = (sum(each) for each in zip(*ranges, strict=True))
        is_possible = len(ranges) == k and all(low <= high for low, high in ranges)
        if is_possible and lows <= n <= highs:
            ranges = sorted(
                (max(low, n - (highs - high)), min(high, n - (lows - low))) for low, high in ranges
            )
            if all(low <= 1 and high >= n - k + 1 for low, high in ranges) or k == 1:
                return None
        least, most = min(low for low, _ in ranges), max(high for _, high in ranges)
        is_list = len(ranges) != k or ranges[0] != ranges[-1]
        return cls(n, k, least, most, tuple(ranges) if is_list else None)

    @property
    def exact(self) -> tuple[int, ...] | None:
        """The k sizes of the clusters in ascending order, if ranges of one size each are listed."""
        if self.listed is None or any(low != high for low, high in self.listed):
            return None
        return tuple(size for size, _ in self.listed)

    @property
    def wide(self) -> tuple[Range, ...]:
        """The k ranges that are listed, if one is of several sizes; () for others, or no list."""
        return () if self.listed is None or self.exact is not None else self.listed

    @property
    def is_empty(self) -> bool:
        """True if no k sums are within the limits."""
        if self.listed is None:
            return not self.k * self.least <= self.n <= self.k * self.most
        bounds = self.listed
        if len(bounds) != self.k or any(low > high for low, high in bounds):
            return True
        return not sum(low for low, _ in bounds) <= self.n <= sum(high for _, high in bounds)

    @property
    def follow_from_most(self) -> bool:
        """True if k clusters with `most` or less each are within the limits.

        The others leave n - (k - 1) most or more for each.
        """
        least = max(1, self.n - (self.k - 1) * self.most)
        return self.listed is None and self.least <= least

    def ranges(self) -> NDArray[np.float64]:
        """Return the different ranges (q, 2) that the sum of a cluster is in one of, ascending."""
        fits = [(low, high) for low, high in sorted(set(self.bounds())) if low <= high]
        return np.array(fits, np.float64).reshape(-1, 2)

    def bounds(self) -> list[Range]:
        """Return the least and the most of each cluster, listed ones in their order."""
        return [(self.least, self.most)] * self.k if self.listed is None else list(self.listed)

    def least_of_some(self) -> list[int]:
        """Return the least that i clusters have together, for i = 0, ..., k.

        That is the sum of the i least ends of ranges, or n less the k - i greatest ones. It grows
        from step to step by more, as each of the two does.
        """
        lows, highs = map(sorted, zip(*self.bounds(), strict=True))
        by_lows = accumulate(lows, initial=0)
        left = list(accumulate(reversed(highs), initial=0))
        return [max(low, self.n - most) for low, most in zip(by_lows, reversed(left), strict=True)]

    def places(self, sums: NDArray[np.integer]) -> NDArray[np.intp] | None:
        """Return the place (k,) among the ranges that each cluster takes; None if there is none.

        The smallest cluster takes the range with the least end of those that it is in; any other
        choice can be exchanged for that one.

        sums : (k,) of the clusters
        """
        if len(sums) != self.k or self.is_empty:
            return None
        bounds, places = self.bounds(), np.empty(self.k, np.intp)
        # Ends and places of the ranges that begin at the size or below, and are not taken.
        begun: list[tuple[int, int]] = []
        n_begun = 0
        for cluster in np.argsort(sums, kind="stable").tolist():
            size = int(sums[cluster])
            while n_begun < self.k and bounds[n_begun][0] <= size:
                heappush(begun, (bounds[n_begun][1], n_begun))
                n_begun += 1
            if not begun or begun[0][0] < size:
                return None
            places[cluster] = heappop(begun)[1]
        return places

    def keeps(self, sums: NDArray[np.integer]) -> bool:
        """Return whether clusters with these sums are within the limits."""
        if self.listed is not None:
            return self.places(sums) is not None
        is_within = len(sums) == self.k and self.least <= sums.min() and sums.max() <= self.most
        return bool(is_within) and not self.is_empty


@dataclass(frozen=True, eq=False)
class Measure:
    """Measure of points or of blocks, and limits on that of clusters: points, or units of weight.

    values : whole numbers >= 1, (n,) of points or (m,) of blocks
    limits : of whole clusters, in the same units
    counts_points : whether it is the number of points
    """

    values: NDArray[np.int64]
    limits: SizeLimits
    counts_points: bool = True

    @cached_property
    def reals(self) -> NDArray[np.float64]:
        """Values as floats, whose sums are exact."""
        return self.values.astype(np.float64)

    @cached_property
    def ranges(self) -> NDArray[np.float64]:
        """Different ranges (q, 2) that the sum of a cluster is in one of, ascending."""
        return self.limits.ranges()

    def over(self, block_of: NDArray[np.intp]) -> Measure:
        """Return the measure of blocks; block_of (n,) as for `sums_over`."""
        return replace(self, values=sums_over(self.values, block_of))


def sums_over(units: NDArray[np.int64], block_of: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the sums (m,) of whole numbers (n,) over blocks.

    block_of : (n,) 0..m-1, or -1 for what is left out
    """
    inside = block_of >= 0
    total = np.zeros(int(block_of.max(initial=-1)) + 1, np.int64)
    np.add.at(total, block_of[inside], units[inside])
    return total


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
