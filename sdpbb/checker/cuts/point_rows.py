"""Cuts on rows of Z where sizes of clusters are limited and weights are no numbers of points.

With n_j points in block j, the cluster C of block i has n(C) = sum of n_j over its blocks, and

    sum of n_j Z_ij = n(C) Z_ii.

Where every cluster has a to b points,

    b Z_ii - sum of n_j Z_ij >= 0,    sum of n_j Z_ij - a Z_ii >= 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..fields import ArrayKey
from ..rejection import Rejected
from ..weight_bounds import WeightBounds
from .family import CheckedCuts, ClusterLimits, Marks, Reals, TermSums, require_blocks


@dataclass(frozen=True, eq=False)
class _PointRows(CheckedCuts):
    """Cuts on rows.

    blocks : (number,) the block i of each
    """

    blocks: NDArray[np.int32]

    def check(self, k: int, weights: Reals, adjacency: Marks, limits: ClusterLimits | None) -> None:
        if self.blocks.ndim != 1:
            raise Rejected(f"cuts on rows of shape {self.blocks.shape}, not a list")
        require_blocks(self.blocks, len(weights))
        if len(self.blocks) > 2 * len(weights):
            raise Rejected(f"{len(self.blocks)} cuts on rows of {len(weights)} blocks")
        has_sizes = isinstance(limits, WeightBounds) and limits.sizes is not None
        if len(self) and not has_sizes:
            raise Rejected("a cut on the points of clusters, and these are not limited or weigh 1")

    def _add(self, sums: TermSums, t: Reals, limit: int, sign: float) -> None:
        """Add sign t (limit Z_ii - sum of n_j Z_ij)."""
        assert sums.sizes is not None
        counts = sums.sizes.counts.astype(np.float64)
        others = np.arange(sums.m)
        for block, value in zip(self.blocks.tolist(), t.tolist(), strict=True):
            terms = -0.5 * counts
            terms[block] = limit - counts[block]
            sums.add(np.full(sums.m, block), others, sign * value * terms)


@dataclass(frozen=True, eq=False)
class MostPointRows(_PointRows):
    """b Z_ii - sum of n_j Z_ij >= 0."""

    KEYS: ClassVar = (ArrayKey("most_point_rows", ("<i4",)),)

    def add_to(self, sums: TermSums, t: Reals, weights: Reals, adjacency: Marks) -> None:
        if len(self):
            assert sums.sizes is not None
            self._add(sums, t, sums.sizes.limits.most, 1.0)


@dataclass(frozen=True, eq=False)
class LeastPointRows(_PointRows):
    """sum of n_j Z_ij - a Z_ii >= 0."""

    KEYS: ClassVar = (ArrayKey("least_point_rows", ("<i4",)),)

    def add_to(self, sums: TermSums, t: Reals, weights: Reals, adjacency: Marks) -> None:
        if len(self):
            assert sums.sizes is not None
            self._add(sums, t, sums.sizes.limits.least, -1.0)
