"""Cuts on more blocks than there are clusters of the largest of listed sizes, or of the smallest.

Let sizes be listed, not all of them equal. Let e be the largest, q the number of clusters that
have it, and s the next smaller one. For a list Q of q + 1 blocks, in which blocks may occur more
than once,

    (e - s) sum of Z_ij over i < j in Q + s sum of Z_ii over Q >= 1 + q s / e.

Each block has s Z_ii >= s / e, and s Z_ii >= 1 if its cluster is none of the largest: where there
is such a block, the right-hand side is reached without the others' pairs. Where there is none, two
of the q + 1 share one of the q largest clusters, and the left-hand side is at least
(e - s) / e + (q + 1) s / e, which is the same.

Let e be the smallest size, q the number of clusters that have it, and s the next larger one. Then

    (s - e) sum of Z_ij over i < j in Q - s sum of Z_ii over Q >= - 1 - q s / e.

Each block has - s Z_ii >= - s / e, and - s Z_ii >= - 1 if its cluster is none of the smallest;
where all are, two share one, and the left-hand side is at least (s - e) / e - (q + 1) s / e.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..arithmetic import down, up
from ..fields import ArrayKey
from ..rejection import Rejected
from ..sizes import SizeLimits
from .family import (
    ClusterLimits,
    CutsOnLists,
    Marks,
    Reals,
    TermSums,
    require_blocks,
    require_lists,
)


@dataclass(frozen=True, eq=False)
class _ListedCliques(CutsOnLists):
    """Cuts on q + 1 blocks."""

    IS_LARGEST: ClassVar[bool]

    def check(self, k: int, weights: Reals, adjacency: Marks, limits: ClusterLimits | None) -> None:
        require_lists(self.start, self.blocks.shape, "cliques of listed sizes")
        require_blocks(self.blocks, len(weights))
        lengths = np.diff(self.start)
        if (lengths != lengths[:1]).any():
            raise Rejected("cliques of listed sizes are not of one length")
        if not len(self):
            return
        listed = limits.listed if isinstance(limits, SizeLimits) else None
        if listed is None or listed[0] == listed[-1]:
            raise Rejected("a clique of listed sizes, and there are none that differ")
        expected = 1 + extreme_sizes(listed, self.IS_LARGEST).count
        if self.start[1] != expected:
            raise Rejected(f"a clique of listed sizes of {self.start[1]} blocks, not {expected}")

    @property
    def n_products(self) -> int:
        return 0 if not len(self) else len(self) * int(self.start[1]) ** 2

    def add_to(self, sums: TermSums, t: Reals, weights: Reals, adjacency: Marks) -> None:
        if not len(self):
            return
        assert isinstance(sums.limits, SizeLimits)
        assert sums.limits.listed is not None
        sizes = extreme_sizes(sums.limits.listed, self.IS_LARGEST)
        blocks = self.blocks.reshape(len(self), -1)
        sums.add_products(blocks, np.ones(blocks.shape[1]), sizes.on_pairs * t)
        for column in blocks.T:
            sums.add(column, column, sizes.on_entries * t)

    def sides_within(self, t: Reals, weights: Reals, k: int, limits: ClusterLimits) -> list[float]:
        if not len(self):
            return []
        assert isinstance(limits, SizeLimits)
        assert limits.listed is not None
        side = extreme_sizes(limits.listed, self.IS_LARGEST).side
        return [down(value * side) for value in t.tolist()]


@dataclass(frozen=True)
class ExtremeSizes:
    """The largest of listed sizes or the smallest, and what the cuts on them are made of.

    size, count : e, and q, how many clusters have it
    next_size : s
    """

    size: int
    count: int
    next_size: int

    @property
    def on_pairs(self) -> int:
        """Coefficient of the entries of pairs."""
        return abs(self.size - self.next_size)

    @property
    def on_entries(self) -> int:
        """Coefficient of the entries of the diagonal."""
        return self.next_size if self.size > self.next_size else -self.next_size

    @property
    def side(self) -> float:
        """Right-hand side, rounded down."""
        if self.size > self.next_size:
            return down(1.0 + down(self.count * self.next_size / self.size))
        return -up(1.0 + up(self.count * self.next_size / self.size))


def extreme_sizes(listed: Sequence[int], is_largest: bool) -> ExtremeSizes:
    """Return the largest of listed sizes, not all of them equal, or the smallest."""
    outermost = max if is_largest else min
    size = outermost(listed)
    others = [other for other in listed if other != size]
    return ExtremeSizes(size, len(listed) - len(others), outermost(others))


@dataclass(frozen=True, eq=False)
class LargestCliques(_ListedCliques):
    """Cuts on more blocks than there are largest clusters."""

    KEYS: ClassVar = (ArrayKey("largest_start", ("<i8",)), ArrayKey("largest_blocks", ("<i4",)))
    IS_LARGEST: ClassVar = True


@dataclass(frozen=True, eq=False)
class SmallestCliques(_ListedCliques):
    """Cuts on more blocks than there are smallest clusters."""

    KEYS: ClassVar = (ArrayKey("smallest_start", ("<i8",)), ArrayKey("smallest_blocks", ("<i4",)))
    IS_LARGEST: ClassVar = False
