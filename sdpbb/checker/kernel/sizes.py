"""Measures of clusters, their points and weights: limits as stated, and as they follow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heappop, heappush
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

LARGEST_SUM = 2**52
"""Largest value of a limit, and of all that counts for it: floats hold it exactly."""

Range = tuple[int, int]
"""The least and the most that one of the clusters has of a measure."""


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
        least, listed, units = self.least, self.listed, self.units
        what = "sizes" if units is None else "weights"
        ends = [end for each in listed for end in each]
        if not all(type(end) is int and end >= 1 for end in (least, *ends)):
            raise ValueError(f"{what}: expected whole numbers >= 1")
        if list(listed) != sorted(listed) or any(low > high for low, high in listed):
            raise ValueError(f"{what}: expected an ascending list")
        if type(self.most) is not int or not 0 <= self.most <= LARGEST_SUM:
            raise ValueError(f"{what}: expected moderate whole numbers")
        if units is None:
            return
        if units.ndim != 1 or units.dtype != np.int64 or not (units >= 1).all():
            raise ValueError("weights: expected whole units (n,) >= 1")
        if listed or max(sum(units.tolist()), least) > LARGEST_SUM:
            raise ValueError("weights: expected moderate whole numbers")

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
