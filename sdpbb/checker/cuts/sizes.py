"""Cuts where the sizes of clusters are limited, or their weights.

A cluster of block i has 1 / Z_ii points, or weighs as much. Where every cluster has a to b of them,

    Z_ii >= 1 / b,    - Z_ii >= - 1 / a.

Where the k sizes are listed, s_1 >= s_2 >= ..., take any list T of different points, and let t be
their number. Of the n points, s_1 have 1 / s_1 for the entry of their block, s_2 others 1 / s_2,
and so on, so that those of T have the t least of these numbers at the least:

    sum of Z_ii over the points of T, i being their block, >= L(t) = sum_c min(s_c, rest) / s_c,

where the rest is what the larger clusters leave of t. A block i that is listed several times, no
more often than it has points, stands for as many of its points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import down, sum_down
from ..fields import ArrayKey
from ..rejection import Rejected
from ..sizes import SizeLimits
from .family import (
    CheckedCuts,
    ClusterLimits,
    CutsOnLists,
    Marks,
    Reals,
    TermSums,
    require_blocks,
    require_lists,
)


@dataclass(frozen=True, eq=False)
class _OneSize(CheckedCuts):
    """Cuts of one term.

    blocks : (number,) the block i of each
    """

    blocks: NDArray[np.int32]

    def check(self, k: int, weights: Reals, adjacency: Marks, limits: ClusterLimits | None) -> None:
        if self.blocks.ndim != 1:
            raise Rejected(f"cuts on sizes of shape {self.blocks.shape}, not a list")
        require_blocks(self.blocks, len(weights))
        if len(self) and limits is None:
            raise Rejected("a cut on sizes, and these are not limited")


@dataclass(frozen=True, eq=False)
class MostPoints(_OneSize):
    """Z_ii >= 1 / b."""

    KEYS: ClassVar = (ArrayKey("most_points", ("<i4",)),)

    def add_to(self, sums: TermSums, t: Reals, weights: Reals, adjacency: Marks) -> None:
        sums.add(self.blocks, self.blocks, t)

    def sides_within(self, t: Reals, weights: Reals, k: int, limits: ClusterLimits) -> list[float]:
        return [down(sum_down(t.tolist()) / limits.most)]


@dataclass(frozen=True, eq=False)
class LeastPoints(_OneSize):
    """- Z_ii >= - 1 / a."""

    KEYS: ClassVar = (ArrayKey("least_points", ("<i4",)),)

    def check(self, k: int, weights: Reals, adjacency: Marks, limits: ClusterLimits | None) -> None:
        super().check(k, weights, adjacency, limits)
        if len(self) and (limits is None or not limits.least > 0):
            raise Rejected("a cut on least sizes, and there are none")

    def add_to(self, sums: TermSums, t: Reals, weights: Reals, adjacency: Marks) -> None:
        sums.add(self.blocks, self.blocks, -t)

    def sides_within(self, t: Reals, weights: Reals, k: int, limits: ClusterLimits) -> list[float]:
        return [down(sum_down((-t).tolist()) / limits.least)] if len(t) else []


@dataclass(frozen=True, eq=False)
class ListedSizes(CutsOnLists):
    """Cuts of points in clusters of listed sizes."""

    KEYS: ClassVar = (ArrayKey("listed_start", ("<i8",)), ArrayKey("listed_blocks", ("<i4",)))

    def check(self, k: int, weights: Reals, adjacency: Marks, limits: ClusterLimits | None) -> None:
        start, blocks, m = self.start, self.blocks, len(weights)
        require_lists(start, blocks.shape, "listed sizes")
        require_blocks(blocks, m)
        for first, last in zip(start[:-1].tolist(), start[1:].tolist(), strict=True):
            if (np.bincount(blocks[first:last], minlength=m) > weights).any():
                raise Rejected("a cut on sizes has more points of a block than there are")
        if len(self) and (limits is None or limits.listed is None):
            raise Rejected("a cut on listed sizes, and there are none")

    def add_to(self, sums: TermSums, t: Reals, weights: Reals, adjacency: Marks) -> None:
        sums.add(self.blocks, self.blocks, np.repeat(t, np.diff(self.start)))

    def sides_within(self, t: Reals, weights: Reals, k: int, limits: ClusterLimits) -> list[float]:
        if not isinstance(limits, SizeLimits):
            return []  # there are none
        counts = np.diff(self.start).tolist()
        return [
            down(value * least_entries(limits, count))
            for value, count in zip(t.tolist(), counts, strict=True)
        ]


def least_entries(limits: SizeLimits, count: int) -> float:
    """Return L(count) of listed sizes, rounded down."""
    assert limits.listed is not None
    parts, rest = [], count
    for size in sorted(limits.listed, reverse=True):
        parts.append(down(min(size, rest) / size))
        rest -= min(size, rest)
    return sum_down(parts)
