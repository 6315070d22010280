"""Pair and triangle cuts (PC-SOS-SDP, equations 8 and 9).

    pair        Z_ii - Z_ij >= 0
    triangle    Z_ii + Z_jh - Z_ij - Z_ih >= 0

Valid: they are stars with one and two leaves (see `stars`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks
from sdpbb.bounds.sdp.cuts.family import SampledCuts, ranges_of_centres
from sdpbb.bounds.sdp.cuts.triangle_kernels import spread, triangles_of_arms, violated_triangles
from sdpbb.runtime.cores import in_pieces

if TYPE_CHECKING:
    from sdpbb.bounds.sdp.relaxation import Relaxation


# Maximum triangle cuts per block and round.
PER_BLOCK = 8
# Maximum cuts of a round through the same pair of blocks. Many cuts through one entry are
# redundant.
PER_PAIR = 6
# Maximum candidates per centre i and arm (i, j). Memory for all of them is reserved.
PER_ARM = 2
# Maximum arms (i, j) examined per centre i, evenly spread. All are examined if these give no cut.
# Otherwise time grows with the cube of the number of blocks, and neighbouring arms give similar
# cuts.
ARMS = 32
# Minimum violation of a cut, as a share of Z_ii.
TOLERANCE = 1e-5


class TriangleCuts(SampledCuts):
    """Triangle cuts, separated exactly up to the numbers below; some arms of large matrices."""

    def most_violated(
        self, Z: NDArray[np.float64], relaxation: Relaxation, is_exact: bool
    ) -> CutSet:
        m, r = relaxation.m, relaxation.inverse_roots
        limits = TOLERANCE, PER_ARM

        def step(first: int, last: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
            if is_exact:
                order = np.argsort(-Z[first:last], axis=1)
                return violated_triangles(Z, order, r, *limits, first, last)
            return triangles_of_arms(Z, r, *limits, ARMS, first, last)

        found = in_pieces(step, ranges_of_centres(m))
        ijh, distance = map(np.concatenate, zip(*found, strict=True))
        order = np.argsort(-distance, kind="stable")
        chosen = spread(order, ijh, m, PER_PAIR, PER_BLOCK * m)
        return triangle_cuts(ijh[chosen])


def triangle_cuts(ijh: NDArray[np.int32]) -> CutSet:
    """Return the triangle cuts of the rows (i, j, h) of ijh; a pair cut where h = j."""
    i, j, h = ijh.T
    pair = j == h
    first = np.stack([i, j, i, i], axis=1)
    second = np.stack([i, h, j, h], axis=1)
    kept = np.ones(first.shape, dtype=bool)
    kept[pair, 1] = kept[pair, 3] = False
    coefficient = np.broadcast_to([1.0, 1.0, -1.0, -1.0], first.shape)
    n_blocks = np.where(pair, 2, 3)
    members = DefiningBlocks.without_parts(
        "stars",
        np.concatenate([[0], np.cumsum(n_blocks)]).astype(np.int64),
        ijh[np.arange(3) < n_blocks[:, None]].astype(np.int32),
    )
    return CutSet(
        start=np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64),
        row=np.minimum(first, second)[kept].astype(np.int32),
        column=np.maximum(first, second)[kept].astype(np.int32),
        coefficient=coefficient[kept].copy(),
        rhs=np.zeros(len(ijh)),
        members=members,
    )
