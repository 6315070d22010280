"""Questions of a proof that numbers decide: bounds of nodes, pairs that are apart, costs of labels.

The judge answers them by floating-point arithmetic with bounds on its rounding errors. `exact` has
one that relies on none.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .blocks import Blocks
from .dual import Semidefinite
from .evidence import FULL, Effort, Evidence
from .exclusion import excluded_pairs, far_pairs
from .geometry import Contracted, Geometry

# How many contractions are kept: a node and its child often have the same blocks.
_KEPT = 4


class Prices(Protocol):
    """Evidence that may prove that there is no clustering."""

    def proves_infeasible(
        self, contracted: Contracted, blocks: Blocks, effort: Effort = FULL
    ) -> bool:
        """Return whether no k clusters hold all blocks."""


class Judge:
    """Answers about the points of an instance, or of a subset."""

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry
        self._contractions: list[tuple[Blocks, Contracted]] = []

    def bound(self, evidence: Evidence, blocks: Blocks) -> float:
        """Return a lower bound on the cost of every clustering of the blocks."""
        return evidence.bound(self.contracted(blocks), blocks)

    def proves_infeasible(self, prices: Prices, blocks: Blocks) -> bool:
        """Return whether prices prove that the blocks have no clustering."""
        return prices.proves_infeasible(self.contracted(blocks), blocks)

    def excluded(self, evidence: Semidefinite, blocks: Blocks, below: float) -> NDArray[np.bool_]:
        """Return pairs of blocks, (m, m), that are apart in all clusterings cheaper than below."""
        return excluded_pairs(self.contracted(blocks), blocks, evidence, below)

    def far(self, blocks: Blocks, below: float) -> NDArray[np.bool_]:
        """Return pairs of blocks, (m, m), whose distance alone keeps them apart below that cost."""
        return far_pairs(self.contracted(blocks), below)

    def cost_at_most(self, labels: NDArray[np.int64]) -> float:
        """Return what labels (n,) cost, rounded up."""
        return self.geometry.cost_at_most(labels)

    def contracted(self, blocks: Blocks) -> Contracted:
        """Return the geometry of blocks."""
        for known, contracted in self._contractions:
            if _have_same_components(known, blocks):
                return contracted
        contracted = self.geometry.contracted(blocks.block_of, blocks.component_of)
        self._contractions = [(blocks, contracted), *self._contractions[: _KEPT - 1]]
        return contracted


def _have_same_components(one: Blocks, other: Blocks) -> bool:
    if not np.array_equal(one.block_of, other.block_of):
        return False
    if one.component_of is None or other.component_of is None:
        return one.component_of is other.component_of
    return np.array_equal(one.component_of, other.component_of)
