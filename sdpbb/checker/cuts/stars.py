"""Star cuts.

For a block i, the centre, and a list T of blocks, the leaves,

    Z_ii + sum of Z_jl over j < l in T - sum of Z_ij over j in T >= 0.

For a vector y of whole numbers, one per block, and any clustering, with y(C) the sum over C,

    y'Z y - sum of y_i Z_ii = sum over the clusters C of y(C) (y(C) - 1) / |C|,

where no summand is negative, as y(C) is a whole number. Stars are half of this for y = 1_T - 1_i.
Blocks may occur more than once in T, and i among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..fields import ArrayKey
from ..rejection import Rejected
from .family import (
    ClusterLimits,
    CutsOnLists,
    Marks,
    Reals,
    TermSums,
    require_blocks,
    require_lists,
)

_LONGEST = 2**12


@dataclass(frozen=True, eq=False)
class Stars(CutsOnLists):
    """Star cuts; pairs and triangles are stars with one and two leaves.

    start : (number of stars + 1,) int64
    blocks : star c is blocks[start[c] : start[c + 1]], the centre first and then the leaves, at
        least one
    """

    KEYS: ClassVar = (ArrayKey("star_start", ("<i8",)), ArrayKey("star_blocks", ("<i4",)))
    IS_OPTIONAL: ClassVar = False

    def check(self, k: int, weights: Reals, adjacency: Marks, limits: ClusterLimits | None) -> None:
        require_lists(self.start, self.blocks.shape, "stars")
        if (self._lengths < 2).any():
            raise Rejected("a star has no leaves")
        if self._lengths.max(initial=0) > _LONGEST:
            raise Rejected(f"a star of more than {_LONGEST} blocks")
        require_blocks(self.blocks, len(weights))

    @cached_property
    def _lengths(self) -> NDArray[np.int64]:
        return np.diff(self.start)

    @property
    def n_products(self) -> int:
        return int(np.square(self._lengths).sum())

    def add_to(self, sums: TermSums, t: Reals, weights: Reals, adjacency: Marks) -> None:
        for length in np.unique(self._lengths).tolist():
            chosen = np.flatnonzero(self._lengths == length)
            signs = np.ones(length)
            signs[0] = -1.0
            blocks = self.blocks[self.start[chosen, None] + np.arange(length)]
            sums.add_products(blocks, signs, t[chosen])
