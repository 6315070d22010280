"""Limits on the points and weights of clusters: as stated, and the narrowest that follow.

*Units.* A sum of floats depends on the order of addition. So weights become whole units. Let u be
the power of two for which the sum of all weights is in [2^50, 2^51) u. A weight w counts as
max(1, w / u rounded to a whole number) units; a common factor of all of these makes the unit
larger. Sums of units are exact in 64-bit integers and in doubles. A cluster of U units satisfies

    min_weight  if  U unit >= min_weight - max(1e-9 min_weight, r),
    max_weight  if  U unit <= max_weight + max(1e-9 max_weight, r),

both in exact arithmetic, where r is the sum over all points of |weight - its units|. So a cluster
that is within a limit satisfies it. For n points, r is at most n 2^-50 of the weight of all points,
and above the other tolerance only if the limit is a tiny part of that weight. Whole weights that
add up to less than 2^50 are not rounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from heapq import heappop, heappush
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

LARGEST_SUM = 2**52
"""Largest value of a limit, and of all that counts for it: floats hold it exactly."""

Range = tuple[int, int]
"""Least and greatest value of the measure of a cluster."""

TOLERANCE = Fraction(1, 10**9)
"""Part of a limit by which the weight of a cluster may be beyond it; or r, if that is more."""

# The sum of all weights is about 2^50 of the units that are rounded to.
_BITS = 51


def as_range(size: int | Range) -> Range:
    """Return the range that a size of a cluster, or a range of sizes, stands for."""
    return (size, size) if isinstance(size, int) else size


def as_size(ends: Range) -> int | Range:
    """Return a range; or its size, if it has only one."""
    return ends[0] if ends[0] == ends[1] else ends


@dataclass(frozen=True, eq=False)
class StatedMeasure:
    """Statement about a measure of clusters: their points, or their units of weight.

    Each cluster has `least` to `most` of it. If ranges are listed, there is a cluster for each.

    least, most : least >= 1 and most >= 0; at most 2^52, unless points are counted
    listed : ranges in ascending order, (s, s) for a single size; (): no list
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
    """Limits on the sums of a quantity in k clusters: of points, units of weight, or pairs.

    Each cluster has `least` to `most` of the quantity. If ranges are listed, there is a cluster for
    each of them. The limits of `of` are as narrow as possible: some k sums within them add up to n
    and include `least`, and some include `most`, unless no k sums do (`is_empty`).

    n : the quantity of all clusters together
    least : 0 or more; 1 or more of points and weights, as no cluster is empty
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
        """Return the narrowest limits that follow for k clusters; None if all are within them.

        For example, a cluster has at most n - (k - 1) least, as the others have `least` or more.

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
        """The k listed ranges, if one has several sizes; otherwise ()."""
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
        """True if `most` implies the limits: a cluster has n - (k - 1) most or more anyway."""
        least = max(1, self.n - (self.k - 1) * self.most)
        return self.listed is None and self.least <= least

    def ranges(self) -> NDArray[np.float64]:
        """Return the different ranges (q, 2), ascending; the sum of a cluster is in one of them."""
        fits = [(low, high) for low, high in sorted(set(self.bounds())) if low <= high]
        return np.array(fits, np.float64).reshape(-1, 2)

    def bounds(self) -> list[Range]:
        """Return the least and the most of each cluster, listed ones in their order."""
        return [(self.least, self.most)] * self.k if self.listed is None else list(self.listed)

    def least_of_some(self) -> list[int]:
        """Return a lower bound on the sum of any i clusters, for i = 0, ..., k.

        It is the sum of the i least lower ends, or n less the k - i greatest upper ends if that is
        more. It is convex in i, as both are.
        """
        lows, highs = map(sorted, zip(*self.bounds(), strict=True))
        by_lows = accumulate(lows, initial=0)
        left = list(accumulate(reversed(highs), initial=0))
        return [max(low, self.n - most) for low, most in zip(by_lows, reversed(left), strict=True)]

    def keeps(self, sums: NDArray[np.integer]) -> bool:
        """Return whether clusters with these sums, (q,), are within the limits.

        Of listed ranges, the smallest cluster takes the one with the least end that it is in. Any
        other choice can be exchanged for that one.
        """
        if len(sums) != self.k or self.is_empty:
            return False
        bounds, begun, n_begun = self.bounds(), list[int](), 0  # ends of ranges not taken yet
        for size in sorted(sums.tolist()):
            while n_begun < self.k and bounds[n_begun][0] <= size:
                heappush(begun, bounds[n_begun][1])
                n_begun += 1
            if not begun or heappop(begun) < size:
                return False
        return True


def sums_over(units: NDArray[np.int64], block_of: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the sums (m,) of whole numbers (n,) over blocks.

    block_of : (n,) 0..m-1, or -1: left out
    """
    inside = block_of >= 0
    total = np.zeros(int(block_of.max(initial=-1)) + 1, np.int64)
    np.add.at(total, block_of[inside], units[inside])
    return total


@dataclass(frozen=True, eq=False)
class WeightUnits:
    """Weights of points in whole units.

    units : (n,) >= 1, whose sum is less than 2^52
    unit : weight of one unit
    rounding : upper bound on the sum of |weight - its units|, in units
    """

    units: NDArray[np.int64]
    unit: float
    rounding: float = 0.0

    @classmethod
    def of(cls, weights: NDArray[np.float64] | None, n: int) -> WeightUnits:
        """Return the units of n points with moderate weights > 0; None: 1 each."""
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
        """Return the least units of a cluster that satisfies min_weight, in 1..total + 1."""
        limit = Fraction(min_weight) / Fraction(self.unit)
        return min(max(1, math.ceil(limit - self._tolerance(limit))), self.total + 1)

    def most(self, max_weight: float) -> int:
        """Return the most units of a cluster that satisfies max_weight, at most the total."""
        limit = Fraction(max_weight) / Fraction(self.unit)
        return min(math.floor(limit + self._tolerance(limit)), self.total)

    def _tolerance(self, limit: Fraction) -> Fraction:
        """Return the number of units by which a cluster may be beyond a limit in units."""
        return max(TOLERANCE * limit, Fraction(self.rounding))
