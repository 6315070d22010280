"""Cuts on more blocks than there are clusters of the largest of listed sizes, or of the smallest.

With e the largest of the sizes, not all of them equal, q the number of clusters that have it, s the
next smaller size, and Q any q + 1 blocks,

    (e - s) sum of Z_ij over i < j in Q + s sum of Z_ii over Q >= 1 + q s / e,

and with e the smallest, q the number of clusters that have it, s the next larger size,

    (s - e) sum of Z_ij over i < j in Q - s sum of Z_ii over Q >= - 1 - q s / e.

Valid: a block whose cluster is none of the largest has s Z_ii >= 1, and the others have s / e at
least, so that such a block is enough; without one, two of Q share one of the q largest clusters.
For the smallest it is the same with the opposite signs. Of two clusters, the two say that no
probability of i and j being together in the larger one is negative, nor in the smaller one.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks
from sdpbb.bounds.sdp.cuts.family import CutFamily, ranges_of_centres
from sdpbb.checker.kernel.cuts.measures import ExtremeSizes, extreme_sizes
from sdpbb.runtime.cores import in_pieces

if TYPE_CHECKING:
    from sdpbb.bounds.sdp.relaxation import Relaxation

_EPS = float(np.finfo(np.float64).eps)


# Maximum cuts per block, extreme size and round.
PER_BLOCK = 4
# Last blocks tried for each clique; cliques grow from each block.
LAST = 16
# Minimum violation of a cut, as a share of its right-hand side.
TOLERANCE = 1e-5


class ListedCliqueCuts(CutFamily):
    """Cuts on blocks that are more than the clusters of an extreme size, grown greedily."""

    def separate(self, Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
        """Return the most violated cuts that were grown, each once."""
        limits, found = relaxation.size_limits, CutSet.empty()
        exact = None if limits is None else limits.exact
        if exact is None:
            return found
        for is_largest in (True, False):
            sizes = extreme_sizes(exact, is_largest)
            threshold = sizes.side - TOLERANCE * abs(sizes.side)
            grow = partial(_grown, Z, sizes, LAST, threshold)
            grown = in_pieces(grow, ranges_of_centres(relaxation.m))
            members, values = map(np.concatenate, zip(*grown, strict=True))
            members, first = np.unique(np.sort(members, axis=1), axis=0, return_index=True)
            order = np.argsort(values[first], kind="stable")[: PER_BLOCK * relaxation.m]
            found = found + listed_clique_cuts(members[order], sizes)
        return found


def _grown(
    Z: NDArray[np.float64],
    sizes: ExtremeSizes,
    n_last: int,
    threshold: float,
    first: int,
    last: int,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Grow cliques from the blocks first to last - 1, greedily but for the last block.

    Return members (c, q + 1) and left-hand sides (c,) of those whose left-hand side is below the
    threshold, of each block's with the n_last least ones at most.
    """
    entries = sizes.on_entries * np.diag(Z)
    start, row = np.arange(first, last), np.arange(last - first)
    # What a block adds to the left-hand side of the clique of each row.
    more = sizes.on_pairs * Z[first:last] + entries
    more[row, start] = np.inf
    members, total = [start], entries[first:last].copy()
    for _ in range(1, sizes.count):
        nearest = more.argmin(axis=1)
        total += more[row, nearest]
        members.append(nearest)
        more += sizes.on_pairs * Z[nearest]
        more[row, nearest] = np.inf
    count = min(n_last, len(Z) - sizes.count)
    ends = np.argpartition(more, count - 1, axis=1)[:, :count]
    values = total[:, None] + np.take_along_axis(more, ends, axis=1)
    clique, end = np.nonzero(values < threshold)
    found = np.column_stack([*(member[clique] for member in members), ends[clique, end]])
    return found.astype(np.int32), values[clique, end]


def listed_clique_cuts(members: NDArray[np.int32], sizes: ExtremeSizes) -> CutSet:
    """Return the cuts of the rows of members, (number, q + 1)."""
    width = members.shape[1]
    p, q = np.triu_indices(width, 1)
    first = np.concatenate([members[:, p], members], axis=1)
    second = np.concatenate([members[:, q], members], axis=1)
    on_entries = np.full(width, float(sizes.on_entries))
    coefficient = np.concatenate([np.full(len(p), float(sizes.on_pairs)), on_entries])
    # The checker's, rounded down, is the same up to a unit in the last place.
    rhs = np.full(len(members), sizes.side - 4.0 * _EPS * abs(sizes.side))
    family = "largest_cliques" if sizes.size > sizes.next_size else "smallest_cliques"
    return CutSet.uniform(first, second, coefficient, rhs, DefiningBlocks.uniform(family, members))
