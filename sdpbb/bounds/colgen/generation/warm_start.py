"""Warm start of column generation: what children of a node begin with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.colgen.columns import Columns, PackedColumns, merged
from sdpbb.bounds.colgen.stabilisation import DualValues
from sdpbb.problem import Contraction
from sdpbb.runtime.archive.stored import stored


@stored
@dataclass(frozen=True, eq=False)
class GenerationWarmStart:
    """Warm start of a child: clusters and dual values of its parent.

    block_of : (n,) the parent's blocks
    columns : clusters of these
    duals : dual values for these, None before the parent's first master programme
    """

    block_of: NDArray[np.intp]
    columns: PackedColumns
    duals: DualValues | None

    def for_child(self, child: Contraction) -> tuple[Columns, DualValues | None]:
        """Return the clusters that the child allows, and dual values, in the blocks of the child.

        Each block of its contraction is a union of the parent's. Prices of merged blocks add up:
        what they prove for the parent they prove for the child.
        """
        columns = merged(self.columns, self.block_of, child)
        if self.duals is None:
            return columns, None
        first = np.unique(self.block_of, return_index=True)[1]
        prices = np.zeros(child.n_blocks)
        np.add.at(prices, child.block_of[first], self.duals.prices)
        return columns, DualValues(prices, self.duals.sigma)
