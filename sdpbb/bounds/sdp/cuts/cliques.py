"""Clique cuts (PC-SOS-SDP, equation 10).

For a set Q of k + 1 blocks,

    sum of Z_ij over i < j in Q >= 1 / (n - k + 1).

Valid: two blocks of Q share one of the k clusters, which has at most n - k + 1 points, as each of
the others has one at least. Where weights are no whole numbers, the place of n - k + 1 is taken by
the weight of all blocks but the k - 1 lightest ones (`Relaxation.heaviest_cluster`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks
from sdpbb.bounds.sdp.cuts.family import CutFamily, ranges_of_centres
from sdpbb.runtime.cores import in_pieces

if TYPE_CHECKING:
    from sdpbb.bounds.sdp.relaxation import Relaxation


# Minimum violation of a cut, as a share of its right-hand side.
TOLERANCE = 1e-5


class CliqueCuts(CutFamily):
    """Clique cuts, one grown greedily from each block (PC-SOS-SDP, section 3.2)."""

    def separate(self, Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
        """Return the violated cliques that were grown, each once."""
        k, heaviest = relaxation.k, relaxation.heaviest_cluster
        if k >= relaxation.m:
            return CutSet.empty()
        rhs = 1.0 / heaviest
        grow = partial(_grown_cliques, Z, k + 1, rhs * (1.0 - TOLERANCE))
        members = np.concatenate(in_pieces(grow, ranges_of_centres(relaxation.m)))
        return clique_cuts(np.unique(np.sort(members, axis=1), axis=0), heaviest)


def _grown_cliques(
    Z: NDArray[np.float64], order: int, threshold: float, first: int, last: int
) -> NDArray[np.int32]:
    """Grow cliques of `order` blocks greedily by the least sum of Z, which is to the blocks taken.

    They begin from the blocks first to last - 1. Return members (c, order) of those whose sum is
    below threshold.
    """
    centre, row = np.arange(first, last), np.arange(last - first)
    weight = Z[first:last].copy()
    weight[row, centre] = np.inf
    members = [centre]
    total = np.zeros(len(row))
    for _ in range(1, order):
        nearest = weight.argmin(axis=1)
        total += weight[row, nearest]
        members.append(nearest)
        weight += Z[nearest]
        weight[row, nearest] = np.inf
    return np.column_stack(members)[total < threshold].astype(np.int32)


def clique_cuts(members: NDArray[np.int32], heaviest: float) -> CutSet:
    """Return the clique cuts of the rows of members, (number, k + 1).

    heaviest : no cluster has a greater weight
    """
    a, b = np.triu_indices(members.shape[1], 1)
    first, second = members[:, a], members[:, b]
    rhs = np.full(len(members), 1.0 / heaviest)
    made_of = DefiningBlocks.uniform("cliques", members)
    return CutSet.uniform(first, second, np.ones(len(a)), rhs, made_of)
