"""Limits on the sizes of clusters: as they are stated, and as they follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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


@dataclass(frozen=True)
class CheckedSizes:
    """Limits on the numbers of points of k clusters of n points in all.

    least <= |C| <= most for every cluster C; where sizes are listed, the clusters have these in
    some order.

    least : 1 or more
    listed : in ascending order, or None
    """

    n: int
    k: int
    least: int
    most: int
    listed: tuple[int, ...] | None = None

    @classmethod
    def of(
        cls, n: int, k: int, least: int, most: int, lists: list[tuple[int, ...]]
    ) -> CheckedSizes | None:
        """Return what follows for k clusters of n points; None if all clusterings are within it.

        If a cluster has `least` points or more, the k - 1 others leave n - (k - 1) least of them at
        most for each; and so on.
        """
        if lists:
            listed = lists[0]
            if any(other != listed for other in lists):
                return cls(n, k, n + 1, 0, listed)
            return cls(n, k, max(least, listed[0]), min(most, listed[-1]), listed)
        if (least <= 1 and most >= n - k + 1) or (k == 1 and least <= n <= most):
            return None
        if not k * least <= n <= k * most:
            return cls(n, k, least, most)
        return cls(n, k, max(least, n - (k - 1) * most), min(most, n - (k - 1) * least))

    @property
    def is_empty(self) -> bool:
        """True if no k sizes are within the limits."""
        if self.listed is None:
            return not self.k * self.least <= self.n <= self.k * self.most
        fits = self.least <= self.listed[0] and self.listed[-1] <= self.most
        return not (fits and len(self.listed) == self.k and sum(self.listed) == self.n)

    def bounds(self) -> list[tuple[int, int]]:
        """Return the least and the most points of each cluster, listed ones in their order."""
        if self.listed is not None:
            return [(size, size) for size in self.listed]
        return [(self.least, self.most)] * self.k

    def keeps(self, sizes: NDArray[np.integer]) -> bool:
        """Return whether clusters of these sizes (k,) are within the limits."""
        found = np.sort(sizes).tolist()
        if self.listed is not None:
            return bool(found == list(self.listed))
        return bool(found[0] >= self.least and found[-1] <= self.most)
