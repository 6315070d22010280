"""Measures of clusters, their points and weights: limits as stated, and as they follow."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

LARGEST_SUM = 2**52
"""Largest value of a limit, and of all that counts for it: floats hold it exactly."""


@dataclass(frozen=True, eq=False)
class StatedMeasure:
    """Statement about a measure of clusters: their points, or their units of weight.

    Each has `least` to `most` of it; where sizes are listed, the clusters have these in some order.

    least, most : least >= 1 and most >= 0; at most 2^52, unless points are counted
    listed : in ascending order; () where they are not
    units : (n,) int64 >= 1, of points (`weight_units`), whose sum is less than 2^52; None: points
        are counted
    """

    least: int = 1
    most: int = LARGEST_SUM
    listed: tuple[int, ...] = ()
    units: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        least, listed, units = self.least, self.listed, self.units
        what = "sizes" if units is None else "weights"
        if not all(type(size) is int and size >= 1 for size in (least, *listed)):
            raise ValueError(f"{what}: expected whole numbers >= 1")
        if list(listed) != sorted(listed):
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

    Each cluster has `least` to `most` of the quantity. If sizes are listed, the clusters have these
    in some order. The limits of `of` are as narrow as possible: some k sums within them add up to n
    and include `least`, and some include `most`, unless no k sums do (`is_empty`).

    n : the quantity of all clusters together
    least : 1 or more
    listed : k sizes in ascending order, or None
    """

    n: int
    k: int
    least: int
    most: int
    listed: tuple[int, ...] | None = None

    @classmethod
    def of(
        cls,
        n: int,
        k: int,
        least: int = 1,
        most: int | None = None,
        listed: tuple[int, ...] | None = None,
    ) -> SizeLimits | None:
        """Return what follows for k clusters; None if all clusterings are within it.

        If a cluster has `least` or more, the k - 1 others leave n - (k - 1) least of them at most
        for each; and so on.

        listed : k sizes in any order, or None
        """
        most = n if most is None else min(n, most)
        is_trivial = k == 1 and least <= n <= most
        if listed is not None and not (is_trivial and listed == (n,)):
            listed = tuple(sorted(listed))
            # A size outside of the other limits shows in the sums.
            return cls(n, k, max(least, listed[0]), min(most, listed[-1]), listed)
        if is_trivial or (least <= 1 and most >= n - k + 1):
            return None
        if not k * least <= n <= k * most:
            return cls(n, k, least, most)
        return cls(n, k, max(least, n - (k - 1) * most), min(most, n - (k - 1) * least))

    @property
    def is_empty(self) -> bool:
        """True if no k sums are within the limits."""
        if self.listed is None:
            return not self.k * self.least <= self.n <= self.k * self.most
        fits = self.least <= self.listed[0] and self.listed[-1] <= self.most
        return not (fits and len(self.listed) == self.k and sum(self.listed) == self.n)

    @property
    def is_range(self) -> bool:
        """True if all clusters have the same limits."""
        return self.listed is None or self.listed[0] == self.listed[-1]

    @property
    def follow_from_most(self) -> bool:
        """True if k clusters with `most` or less each are within the limits.

        The others leave n - (k - 1) most or more for each.
        """
        return self.is_range and self.least <= max(1, self.n - (self.k - 1) * self.most)

    def ranges(self) -> NDArray[np.float64]:
        """Return the ranges (q, 2) that the sum of a cluster is in one of, ascending."""
        sizes = sorted(set(self.bounds()))
        fits = [(low, high) for low, high in sizes if self.least <= low and high <= self.most]
        return np.array(fits, np.float64).reshape(-1, 2)

    def bounds(self) -> list[tuple[int, int]]:
        """Return the least and the most of each cluster, listed ones in their order."""
        if self.listed is not None:
            return [(size, size) for size in self.listed]
        return [(self.least, self.most)] * self.k

    def keeps(self, sizes: NDArray[np.integer]) -> bool:
        """Return whether clusters with these sums are within the limits."""
        found = np.sort(sizes).tolist()
        if len(found) != self.k or self.is_empty:
            return False
        if self.listed is not None:
            return bool(found == list(self.listed))
        return bool(found[0] >= self.least and found[-1] <= self.most)


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

    def over(self, block_of: NDArray[np.intp]) -> Measure:
        """Return the measure of blocks; block_of (n,) 0..m-1 are those of the points."""
        return replace(self, values=sums_over(self.values, block_of))

    def select(self, blocks: NDArray[np.intp]) -> Measure:
        """Return the measure of some blocks only, in their order."""
        return replace(self, values=self.values[blocks])


def sums_over(units: NDArray[np.int64], block_of: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the sums (m,) of whole numbers (n,) over blocks; block_of (n,) 0..m-1."""
    total = np.zeros(int(block_of.max()) + 1, np.int64)
    np.add.at(total, block_of, units)
    return total
