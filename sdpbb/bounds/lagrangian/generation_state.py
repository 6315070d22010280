"""Unfinished exact pricing of column generation, and the warm start of children."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.lagrangian.columns import Columns, merged
from sdpbb.bounds.lagrangian.duals import DualValues, inherited_prices
from sdpbb.problem import Contraction
from sdpbb.runtime.archive.stored import stored


@stored
@dataclass(frozen=True, eq=False)
class ExactPricing:
    """Unfinished exact pricing.

    at : the dual values
    target : only values below it are of interest
    settles : whether the master programme is solved if nothing is found
    repairs : how often prices may be lowered yet, until no cluster is below the target; None where
        they are those of the master programme
    rung : a lower target, which proves less, sooner; None on the way to the target itself
    has_climbed : whether such targets have been tried
    for_cover : whether the pool has no cover: clusters cost nothing, and prices are whole numbers
    """

    at: DualValues
    target: float
    settles: bool
    repairs: int | None = None
    rung: float | None = None
    has_climbed: bool = False
    for_cover: bool = False


@stored
@dataclass(frozen=True, eq=False)
class GenerationWarmStart:
    """Warm start of a child: clusters and dual values of its parent.

    block_of : (n,) the parent's blocks
    columns : clusters of these
    duals : dual values for these, None before the parent's first master programme
    """

    block_of: NDArray[np.intp]
    columns: Columns
    duals: DualValues | None

    def for_child(self, child: Contraction) -> tuple[Columns, DualValues | None]:
        """Return the clusters that the child allows, and dual values, in the blocks of the child.

        Each block of its contraction is a union of the parent's.
        """
        packed = replace(self.columns)  # members are not kept with the warm start
        columns = merged(packed, self.block_of, child)
        if self.duals is None:
            return columns, None
        prices = inherited_prices(self.duals.prices, self.block_of, child)
        return columns, DualValues(prices, self.duals.sigma)
