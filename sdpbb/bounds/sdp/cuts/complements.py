"""Complement cuts, for instances of two clusters.

Where k = 2 and the blocks j and h are cannot-linked, for any block i,

    Z_ij + Z_ih - Z_ii >= 0.

Valid: j and h are in the two different clusters, so i shares its cluster C with one of them, and
the left-hand side is 1 / |C| - 1 / |C| (for i = j or i = h as well).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks
from sdpbb.bounds.sdp.cuts.family import CutFamily
from sdpbb.checker.cuts.complements import Complements
from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.declaration import parameter

if TYPE_CHECKING:
    from sdpbb.bounds.sdp.relaxation import Relaxation


@stored
@dataclass(frozen=True)
class ComplementCuts(CutFamily):
    """Complement cuts, for instances of two clusters."""

    per_pair: int = parameter(10, "Maximum cuts per cannot-linked pair. 0: none.", ge=0)
    per_block: int = parameter(3, "Maximum cuts per block and round. 0: none.", ge=0)
    tolerance: float = parameter(
        1e-4, "Minimum violation of a cut, as a share of Z_ii.", ge=0, lt=1
    )

    def separate(self, Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
        """Return cuts of the blocks that share least with both blocks of a cannot-linked pair.

        The worst come first.
        """
        if relaxation.k != 2 or self.per_pair == 0:
            return CutSet.empty()
        j, h = np.nonzero(np.triu(relaxation.forbidden))
        diagonal = np.diag(Z)
        with np.errstate(over="ignore"):  # an iterate can have Z_ii = 0 < Z_ij: nothing is lacking
            lacking = (diagonal - Z[j] - Z[h]) / np.maximum(diagonal, np.finfo(np.float64).tiny)
        per_pair = min(self.per_pair, relaxation.m)
        i = np.argsort(-lacking, axis=1, kind="stable")[:, :per_pair]
        worst = np.take_along_axis(lacking, i, axis=1).ravel()
        ijh = np.column_stack([i.ravel(), np.repeat(j, per_pair), np.repeat(h, per_pair)])
        order = np.argsort(-worst, kind="stable")[: self.per_block * relaxation.m]
        violated = order[worst[order] > self.tolerance]
        return complement_cuts(ijh[violated].astype(np.int32))


def complement_cuts(ijh: NDArray[np.int32]) -> CutSet:
    """Return the complement cuts of the rows (i, j, h) of ijh, (number, 3)."""
    first = np.repeat(ijh[:, :1], 3, axis=1)
    sign, rhs = np.array([-1.0, 1.0, 1.0]), np.zeros(len(ijh))
    return CutSet.uniform(first, ijh, sign, rhs, DefiningBlocks.uniform(Complements, ijh))
