"""Cuts on pairs of blocks where the sizes of clusters are limited, or their weights.

Where every cluster has a to b points, or weighs as much, for any two blocks i and j,

    b Z_ii - a Z_jj - (b - a) Z_ij >= 0.

Valid: if i and j share a cluster, the terms cancel; if not, b Z_ii >= 1 >= a Z_jj. It says more
than the pair cut Z_ii >= Z_ij wherever Z_jj > Z_ii, as that times (b - a) is less by
a (Z_jj - Z_ii). Of two points of two clusters of listed sizes, it is that no probability of i being
in the smaller one and j in the larger one is negative.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks
from sdpbb.bounds.sdp.cuts.family import CutFamily, ranges_of_centres
from sdpbb.checker.kernel.arithmetic import down
from sdpbb.runtime.cores import in_pieces

if TYPE_CHECKING:
    from sdpbb.bounds.sdp.relaxation import Relaxation


# Maximum cuts per block and round.
PER_BLOCK = 4
# Minimum violation of a cut, as a share of its first term.
TOLERANCE = 1e-5


class SizePairCuts(CutFamily):
    """Cuts on pairs of blocks where sizes or weights are limited, and may differ."""

    def separate(self, Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
        """Return the most violated cuts, the worst first."""
        limits, r = relaxation.cluster_limits, relaxation.inverse_roots
        if limits is None:
            return CutSet.empty()
        a, b = float(limits.least), float(limits.most)
        if not a < b:
            return CutSet.empty()
        step = partial(_violated_pairs, Z, r, a, b, TOLERANCE)
        found = in_pieces(step, ranges_of_centres(relaxation.m))
        i, j, distance = map(np.concatenate, zip(*found, strict=True))
        order = np.argsort(-distance, kind="stable")[: PER_BLOCK * relaxation.m]
        return size_pair_cuts(np.column_stack([i[order], j[order]]), a, b)


def _violated_pairs(
    Z: NDArray[np.float64],
    inverse_roots: NDArray[np.float64],
    a: float,
    b: float,
    tolerance: float,
    first: int,
    last: int,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Return i, j and the distances to the cut of the violated ones with first <= i < last."""
    entries, squares = np.diag(Z), inverse_roots**2
    own = b * entries[first:last, None]
    lacking = (b - a) * Z[first:last] - own
    lacking += a * entries
    i, j = np.nonzero(lacking > tolerance * own)
    values = lacking[i, j]
    i = i + first
    kept = i != j
    i, j, values = i[kept], j[kept], values[kept]
    norm = np.sqrt(
        (b * squares[i]) ** 2 + (a * squares[j]) ** 2 + 0.5 * (b - a) ** 2 * squares[i] * squares[j]
    )
    return i, j, values / norm


def size_pair_cuts(ij: NDArray[np.intp], a: float, b: float) -> CutSet:
    """Return the cuts of the rows (i, j) of ij, (number, 2), for clusters that weigh a to b."""
    first, second = ij[:, [0, 1, 0]], ij[:, [0, 1, 1]]
    members = DefiningBlocks.uniform("size_pairs", ij)
    return CutSet.uniform(
        first, second, np.array([b, -a, -difference_down(b, a)]), np.zeros(len(ij)), members
    )


def difference_down(most: float, least: float) -> float:
    """Return at most most - least; the difference itself of whole numbers."""
    # Those of a `SizeLimits` are below 2^53, where differences are exact; weights may be beyond.
    is_exact = most < 2**53 and float(most).is_integer() and float(least).is_integer()
    return most - least if is_exact else down(most - least)
