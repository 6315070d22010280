"""Star cuts.

For a block i, the centre, and a set T of other blocks, the leaves,

    Z_ii + sum of Z_jl over j < l in T - sum of Z_ij over j in T >= 0.

Valid: if the cluster C of i holds a of the leaves, its terms are 1 - a + a (a - 1) / 2 =
(a - 1)(a - 2) / 2 >= 0, divided by |C|, and the terms of other clusters are not negative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks
from sdpbb.bounds.sdp.cuts.family import SampledCuts, ranges_of_centres
from sdpbb.bounds.sdp.cuts.star_kernels import violated_stars
from sdpbb.runtime.cores import in_pieces

if TYPE_CHECKING:
    from sdpbb.bounds.sdp.relaxation import Relaxation


# Maximum star cuts per block and round. Separating them in every round, not only when triangles
# run out, halves the time on the hard instances.
PER_BLOCK = 3
# Nearest blocks from which the stars of a centre grow.
NEIGHBOURS = 40
# Maximum of these neighbours from which a star starts, evenly spread. All are tried if these give
# no cut. Time grows with the cube of the number of blocks, and stars from neighbouring blocks are
# similar.
STARTS = 10
# Maximum leaves of a star. Memory for all of them is reserved.
LEAVES = 14
# Minimum violation of a cut, as a share of Z_ii.
TOLERANCE = 1e-5


class StarCuts(SampledCuts):
    """Star cuts of three leaves and more, grown greedily; from fewer starts in large matrices."""

    def most_violated(
        self, Z: NDArray[np.float64], relaxation: Relaxation, is_exact: bool
    ) -> CutSet:
        """Return the most violated stars that were grown, each once."""
        r, starts = relaxation.inverse_roots, NEIGHBOURS if is_exact else STARTS

        def step(first: int, last: int) -> tuple[NDArray[Any], ...]:
            near = nearest(Z, NEIGHBOURS, first, last)
            return violated_stars(Z, near, r, TOLERANCE, starts, LEAVES, first, last)

        found = in_pieces(step, ranges_of_centres(relaxation.m))
        centre, n_leaves, leaves, distance = map(np.concatenate, zip(*found, strict=True))
        order = np.argsort(-distance, kind="stable")[: PER_BLOCK * relaxation.m]
        stars = star_cuts(centre[order], leaves[order], n_leaves[order])
        return stars.select(np.unique(stars.keys, return_index=True)[1])


def nearest(Z: NDArray[np.float64], count: int, first: int, last: int) -> NDArray[np.intp]:
    """Return the columns of the largest entries of rows first to last - 1 of Z, off the diagonal.

    A row for each, `count` of them or all, the largest first.
    """
    rows, m = -Z[first:last], len(Z)
    rows[np.arange(last - first), np.arange(first, last)] = np.inf
    count = min(count, m - 1)
    columns = np.argpartition(rows, count, axis=1)[:, :count]
    order = np.argsort(np.take_along_axis(rows, columns, axis=1), axis=1)
    return np.take_along_axis(columns, order, axis=1)


def star_cuts(
    centre: NDArray[np.int32], leaves: NDArray[np.int32], n_leaves: NDArray[np.int32]
) -> CutSet:
    """Return the star cuts with the given centres, (number,), and leaves.

    The leaves are the first n_leaves entries of the rows of leaves, (number, widest).
    """
    cuts = CutSet.empty()
    for size in np.unique(n_leaves):
        T = leaves[n_leaves == size, :size]
        i = np.repeat(centre[n_leaves == size, None], size, axis=1)
        a, b = np.triu_indices(size, 1)
        first = np.concatenate([i[:, :1], T[:, a], i], axis=1)
        second = np.concatenate([i[:, :1], T[:, b], T], axis=1)
        sign = np.concatenate([np.ones(1 + len(a)), -np.ones(size)])
        members = DefiningBlocks.uniform("stars", np.concatenate([i[:, :1], T], axis=1))
        cuts = cuts + CutSet.uniform(first, second, sign, np.zeros(len(T)), members)
    return cuts
