"""Complement cuts.

Where k = 2 and the blocks j and h are cannot-linked, for any block i,

    Z_ij + Z_ih - Z_ii >= 0.

The two clusters hold one of j and h each, so that i shares its own with one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..fields import ArrayKey
from ..rejection import Rejected
from .family import CheckedCuts, ClusterLimits, Marks, Reals, TermSums, require_blocks


@dataclass(frozen=True, eq=False)
class Complements(CheckedCuts):
    """Complement cuts.

    blocks : (number, 3), rows i, j, h
    """

    blocks: NDArray[np.int32]

    KEYS: ClassVar = (ArrayKey("complements", ("<i4",), 3),)
    IS_OPTIONAL: ClassVar = False

    def check(self, k: int, weights: Reals, adjacency: Marks, limits: ClusterLimits | None) -> None:
        if self.blocks.ndim != 2 or self.blocks.shape[1] != 3:
            raise Rejected(f"complements of shape {self.blocks.shape}, not rows of 3")
        require_blocks(self.blocks, len(weights))
        _, j, h = self.blocks.T
        if len(self.blocks) and (k != 2 or not adjacency[j, h].all()):
            raise Rejected("a complement cut needs two clusters, and a cannot-linked pair")

    def add_to(self, sums: TermSums, t: Reals, weights: Reals, adjacency: Marks) -> None:
        i, j, h = self.blocks.T
        sums.add(i, i, -t)
        for other in (j, h):
            sums.add(i, other, np.where(i == other, t, 0.5 * t))
