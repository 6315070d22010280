"""Cuts on pairs of blocks where the sizes of clusters are limited, or their weights.

Where every cluster has a to b points, or weighs as much, for any two blocks i and j,

    b Z_ii - a Z_jj - (b - a) Z_ij >= 0.

If i and j share a cluster C, it is (b - a - (b - a)) / |C| = 0. If they do not, Z_ij = 0, b Z_ii is
at least 1, and a Z_jj at most 1. For i = j all terms cancel. A number in the place of b - a that is
less does as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import down
from ..fields import ArrayKey
from ..rejection import Rejected
from .family import CheckedCuts, ClusterLimits, Marks, Reals, TermSums, require_blocks


@dataclass(frozen=True, eq=False)
class SizePairs(CheckedCuts):
    """b Z_ii - a Z_jj - (b - a) Z_ij >= 0.

    blocks : (number, 2) the blocks i and j of each
    """

    blocks: NDArray[np.int32]

    KEYS: ClassVar = (ArrayKey("size_pairs", ("<i4",), lambda k: 2),)

    def check(self, k: int, weights: Reals, adjacency: Marks, limits: ClusterLimits | None) -> None:
        if self.blocks.ndim != 2 or self.blocks.shape[1] != 2:
            raise Rejected(f"cuts on pairs and sizes of shape {self.blocks.shape}, not pairs")
        require_blocks(self.blocks, len(weights))
        if len(self) and limits is None:
            raise Rejected("a cut on pairs and sizes, and these are not limited")

    def add_to(self, sums: TermSums, t: Reals, weights: Reals, adjacency: Marks) -> None:
        if not len(self):
            return
        assert sums.limits is not None
        least, most = sums.limits.least, sums.limits.most
        i, j = self.blocks.T
        sums.add(i, i, most * t)
        sums.add(j, j, -(least * t))
        # Entries off the diagonal count twice.
        half = np.where(i == j, 1.0, 0.5)
        sums.add(i, j, -(difference_down(most, least) * t) * half)


def difference_down(most: float, least: float) -> float:
    """Return at most most - least; the difference itself of whole numbers."""
    # Those of a `SizeLimits` are below 2^53, where differences are exact; weights may be beyond.
    is_exact = most < 2**53 and float(most).is_integer() and float(least).is_integer()
    return most - least if is_exact else down(most - least)
