"""Limits on the sizes and weights of clusters: as given, and as they follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LARGEST_SUM = 2**52
"""Largest value of a limit, and of all that counts for it: floats hold it exactly."""


@dataclass(frozen=True)
class StatedSizes:
    """Statement about the numbers of points of clusters.

    Each has `least` or more; where sizes are listed, the clusters have these in some order.

    least : >= 1
    listed : in ascending order; () where they are not
    """

    least: int = 1
    listed: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        numbers = [self.least, *self.listed]
        if not all(type(size) is int and size >= 1 for size in numbers):
            raise ValueError("sizes: expected whole numbers >= 1")
        if list(self.listed) != sorted(self.listed):
            raise ValueError("sizes: expected an ascending list")


@dataclass(frozen=True, eq=False)
class StatedWeights:
    """Statement about the weights of clusters, in whole units (`weight_units`).

    Each has `least` to `most` of them.

    units : (n,) int64 >= 1, of points; their sum is less than 2^52
    least, most : least >= 1 and most >= 0; at most 2^52
    """

    units: NDArray[np.int64]
    least: int = 1
    most: int = LARGEST_SUM

    def __post_init__(self) -> None:
        units, limits = self.units, (self.least, self.most)
        if units.ndim != 1 or units.dtype != np.int64 or not (units >= 1).all():
            raise ValueError("weights: expected whole units (n,) >= 1")
        is_moderate = sum(units.tolist()) <= LARGEST_SUM
        if not is_moderate or not all(type(x) is int and 0 <= x <= LARGEST_SUM for x in limits):
            raise ValueError("weights: expected moderate whole numbers")


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
class CheckedWeights:
    """Limits on the weights of clusters, in whole units.

    units : (n,) of points, or (m,) of blocks
    limits : of clusters, in these units
    """

    units: NDArray[np.int64]
    limits: SizeLimits

    def over(self, block_of: NDArray[np.intp]) -> CheckedWeights:
        """Return the limits on clusters of blocks; block_of (n,) 0..m-1 are those of the points."""
        return CheckedWeights(sums_over(self.units, block_of), self.limits)


def sums_over(units: NDArray[np.int64], block_of: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the sums (m,) of whole numbers (n,) over blocks; block_of (n,) 0..m-1."""
    total = np.zeros(int(block_of.max()) + 1, np.int64)
    np.add.at(total, block_of, units)
    return total
