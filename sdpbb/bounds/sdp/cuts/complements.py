"""Complement cuts, for instances of two clusters.

Where k = 2 and the blocks j and h are cannot-linked, for any block i,

    Z_ij + Z_ih - Z_ii >= 0.

Valid: j and h are in the two different clusters, so i shares its cluster C with one of them, and
the left-hand side is 1 / |C| - 1 / |C| (for i = j or i = h as well).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks
from sdpbb.bounds.sdp.cuts.family import CutFamily

if TYPE_CHECKING:
    from sdpbb.bounds.sdp.relaxation import Relaxation


# Maximum cuts per cannot-linked pair.
PER_PAIR = 10
# Maximum cuts per block and round.
PER_BLOCK = 3
# Minimum violation of a cut, as a share of Z_ii.
TOLERANCE = 1e-4


class ComplementCuts(CutFamily):
    """Complement cuts, for instances of two clusters."""

    def separate(self, Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
        """Return cuts of the blocks that share least with both blocks of a cannot-linked pair.

        The worst come first.
        """
        if relaxation.k != 2:
            return CutSet.empty()
        j, h = np.nonzero(np.triu(relaxation.forbidden))
        diagonal = np.diag(Z)
        with np.errstate(over="ignore"):  # an iterate can have Z_ii = 0 < Z_ij: nothing is lacking
            lacking = (diagonal - Z[j] - Z[h]) / np.maximum(diagonal, np.finfo(np.float64).tiny)
        per_pair = min(PER_PAIR, relaxation.m)
        i = np.argsort(-lacking, axis=1, kind="stable")[:, :per_pair]
        worst = np.take_along_axis(lacking, i, axis=1).ravel()
        ijh = np.column_stack([i.ravel(), np.repeat(j, per_pair), np.repeat(h, per_pair)])
        order = np.argsort(-worst, kind="stable")[: PER_BLOCK * relaxation.m]
        violated = order[worst[order] > TOLERANCE]
        return complement_cuts(ijh[violated].astype(np.int32))


def complement_cuts(ijh: NDArray[np.int32]) -> CutSet:
    """Return the complement cuts of the rows (i, j, h) of ijh, (number, 3)."""
    first = np.repeat(ijh[:, :1], 3, axis=1)
    sign, rhs = np.array([-1.0, 1.0, 1.0]), np.zeros(len(ijh))
    return CutSet.uniform(first, ijh, sign, rhs, DefiningBlocks.uniform("complements", ijh))
