"""Questions of a proof that numbers decide: bounds of nodes, pairs that are apart, costs of labels.

The judge answers them by floating-point arithmetic with bounds on its rounding errors. `exact` has
one that relies on none.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .blocks import Blocks
from .dual import Semidefinite
from .evidence import Evidence
from .exclusion import excluded_pairs, far_pairs
from .geometry import Contracted, Geometry

# Contractions that are kept: a node and its child often have the same blocks.
_KEPT = 2


class Judge:
    """Answers about the points of an instance, or of a subset."""

    def __init__(self, geometry: Geometry) -> None:
        self.geometry = geometry
        self._contractions: list[tuple[NDArray[np.intp], Contracted]] = []

    def bound(self, evidence: Evidence, blocks: Blocks) -> float:
        """Return a lower bound on the cost of every clustering of the blocks."""
        return evidence.bound(self.contracted(blocks), blocks)

    def proves_infeasible(self, evidence: Evidence, blocks: Blocks) -> bool:
        """Return whether evidence proves that the blocks have no clustering."""
        return evidence.proves_infeasible(self.contracted(blocks), blocks)

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
        of, inside = blocks.block_of, blocks.component_of
        key = of if inside is None else np.stack([of, inside[of]])
        for known, contracted in self._contractions:
            if np.array_equal(known, key):
                return contracted
        contracted = self.geometry.contracted(of, inside)
        self._contractions = [(key, contracted), *self._contractions[: _KEPT - 1]]
        return contracted
