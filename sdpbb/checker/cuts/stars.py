"""Star cuts.

For a block i, the centre, and a list T of blocks, the leaves,

    Z_ii + sum of Z_jl over j < l in T - sum of Z_ij over j in T >= 0.

For a vector y of whole numbers, one per block, and any clustering, with y(C) the sum over C,

    y'Z y - sum of y_i Z_ii = sum over the clusters C of y(C) (y(C) - 1) / |C|,

where no summand is negative, as y(C) is a whole number. Stars are half of this for y = 1_T - 1_i.
Blocks may occur more than once in T, and i among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..fields import ArrayKey
from ..rejection import Rejected
from .family import (
    BlockLists,
    CheckedCuts,
    Marks,
    Reals,
    TermSums,
    require_blocks,
    require_starts,
)

_LONGEST = 2**12


@dataclass(frozen=True, eq=False)
class Stars(CheckedCuts):
    """Star cuts; pairs and triangles are stars with one and two leaves.

    start : (number of stars + 1,) int64
    blocks : star c is blocks[start[c] : start[c + 1]], the centre first and then the leaves, at
        least one
    """

    start: NDArray[np.int64]
    blocks: NDArray[np.int32]

    KEYS: ClassVar = (ArrayKey("star_start", ("<i8",)), ArrayKey("star_blocks", ("<i4",)))
    IS_OPTIONAL: ClassVar = False

    @classmethod
    def none(cls, k: int) -> Stars:
        return cls(np.zeros(1, np.int64), np.empty(0, np.int32))

    @classmethod
    def of_lists(cls, lists: BlockLists, k: int) -> Stars:
        return cls(lists.start, lists.blocks)

    @classmethod
    def count(cls, shapes: Sequence[tuple[int, ...]]) -> int:
        return shapes[0][0] - 1

    def check(self, k: int, weights: Reals, adjacency: Marks) -> None:
        start, blocks = self.start, self.blocks
        if start.ndim != 1 or start.dtype.kind != "i" or len(start) == 0 or start[0] != 0:
            raise Rejected("the starts of stars are no list of whole numbers that begins with 0")
        require_starts(start, blocks.size, "star_start")
        if (self._lengths < 2).any() or blocks.shape != (start[-1],):
            raise Rejected("a star has no leaves, or the starts of stars do not fit their blocks")
        if self._lengths.max(initial=0) > _LONGEST:
            raise Rejected(f"a star of more than {_LONGEST} blocks")
        require_blocks(blocks, len(weights))

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
