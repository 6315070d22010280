"""Terms of the prices of soft pairs: inequalities that a clustering may violate at a price.

With Z_ih = 1/|C| where i and h share the cluster C, of the weight |C| = the sum of its e_h,

    [i and j share a cluster] = sum_h e_h max(0, Z_ih + Z_jh - Z_hh),
    [they do not]             = sum_h (e_h / 2) (max(0, Z_ih - Z_jh) + max(0, Z_jh - Z_ih)),

as the terms of the first sum are positive for h in the cluster of both only, where they are e_h /
|C|, and those of the second for h in exactly one of their clusters. So a price w of a pair is at
least t times what is violated of

    soft cannot-link ij    Z_hh - Z_ih - Z_jh >= 0,    0 <= t <= w e_h,
    soft must-link ij      Z_jh - Z_ih >= 0,           0 <= t <= w e_h / 2,

added up over different h and, for must-links, both orders of i and j. For h = i and h = j the
first is -Z_ij >= 0, a single one with t <= w (e_i + e_j). Terms that are stated several times share
what t may be, and a multiplier above it counts as it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import TINY, gamma
from ..fields import ArrayKey
from ..rejection import Rejected
from ..soft import SoftPrices
from .family import CheckedCuts, ClusterLimits, Marks, Reals, TermSums, require_blocks


@dataclass(frozen=True, eq=False)
class _SoftTerms(CheckedCuts):
    """Terms of soft pairs.

    blocks : (number, 3), rows i, j, h
    """

    blocks: NDArray[np.int32]

    def check(self, k: int, weights: Reals, adjacency: Marks, limits: ClusterLimits | None) -> None:
        if self.blocks.ndim != 2 or self.blocks.shape[1] != 3:
            raise Rejected(f"terms of soft pairs of shape {self.blocks.shape}, not rows of 3")
        require_blocks(self.blocks, len(weights))
        if (self.blocks[:, 0] == self.blocks[:, 1]).any():
            raise Rejected("a term of a soft pair of one block")

    def _shared(self, terms: NDArray[np.integer], most: Reals, m: int) -> Reals:
        """Return what each multiplier may be, rounded down: equal terms (number, 3) share."""
        i, j, h = terms.astype(np.int64).T
        _, which, count = np.unique((i * m + j) * m + h, return_inverse=True, return_counts=True)
        shared = most / count[which.reshape(-1)] * (1.0 - gamma(8.0))
        return np.where(shared < TINY, 0.0, shared)


@dataclass(frozen=True, eq=False)
class SoftCannotLinkTerms(_SoftTerms):
    """Terms of soft cannot-links: Z_hh - Z_ih - Z_jh >= 0."""

    KEYS: ClassVar = (ArrayKey("soft_cannot_links", ("<i4",), 3),)

    def caps(self, soft: SoftPrices | None, weights: Reals) -> Reals:
        if soft is None:
            return np.zeros(len(self))
        i, j, h = self.blocks.T
        i, j = np.minimum(i, j), np.maximum(i, j)
        single = (h == i) | (h == j)
        h = np.where(single, i, h)
        most = soft.cannot[i, j] * (weights[h] + np.where(single, weights[j], 0.0))
        return self._shared(np.column_stack([i, j, h]), most, len(weights))

    def add_to(self, sums: TermSums, t: Reals, weights: Reals, adjacency: Marks) -> None:
        i, j, h = self.blocks.T
        single = (h == i) | (h == j)
        sums.add(i[single], j[single], -0.5 * t[single])
        i, j, h, t = (values[~single] for values in (i, j, h, t))
        sums.add(h, h, t)
        sums.add(i, h, -0.5 * t)
        sums.add(j, h, -0.5 * t)


@dataclass(frozen=True, eq=False)
class SoftMustLinkTerms(_SoftTerms):
    """Terms of soft must-links: Z_jh - Z_ih >= 0."""

    KEYS: ClassVar = (ArrayKey("soft_must_links", ("<i4",), 3),)

    def caps(self, soft: SoftPrices | None, weights: Reals) -> Reals:
        if soft is None:
            return np.zeros(len(self))
        i, j, h = self.blocks.T
        most = soft.must[i, j] * (0.5 * weights[h])
        return self._shared(self.blocks, most, len(weights))

    def add_to(self, sums: TermSums, t: Reals, weights: Reals, adjacency: Marks) -> None:
        i, j, h = self.blocks.T
        sums.add(j, h, np.where(j == h, t, 0.5 * t))
        sums.add(i, h, -np.where(i == h, t, 0.5 * t))
