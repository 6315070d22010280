"""Pair and triangle cuts (PC-SOS-SDP, equations 8 and 9).

    pair        Z_ii - Z_ij >= 0
    triangle    Z_ii + Z_jh - Z_ij - Z_ih >= 0

Valid: they are stars with one and two leaves (see `stars`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks
from sdpbb.bounds.sdp.cuts.family import SampledCuts, ranges_of_centres
from sdpbb.checker.cuts.stars import Stars
from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.cores import in_pieces
from sdpbb.runtime.declaration import parameter

if TYPE_CHECKING:
    from sdpbb.bounds.sdp.relaxation import Relaxation


@stored
@dataclass(frozen=True)
class TriangleCuts(SampledCuts):
    """Triangle cuts, separated exactly up to the numbers below; some arms of large matrices."""

    per_block: int = parameter(8, "Maximum triangle cuts per block and round.", ge=1)
    per_pair: int = parameter(
        6,
        "Maximum cuts of a round through the same pair of blocks.",
        reason="Many cuts through one entry are redundant.",
        ge=1,
    )
    per_arm: int = parameter(
        2,
        "Maximum candidates per centre i and arm (i, j).",
        reason="Memory for all of them is reserved.",
        ge=1,
        le=1000,
    )
    arms: int = parameter(
        32,
        "Maximum arms (i, j) examined per centre i, evenly spread. All are examined if these "
        "give no cut.",
        reason="Otherwise time grows with the cube of the number of blocks, and neighbouring "
        "arms give similar cuts.",
        ge=1,
    )
    tolerance: float = parameter(
        1e-5, "Minimum violation of a cut, as a share of Z_ii.", ge=0, lt=1
    )

    def _most_violated(
        self, Z: NDArray[np.float64], relaxation: Relaxation, is_exact: bool
    ) -> CutSet:
        from sdpbb.bounds.sdp.cuts import star_kernels

        m, r = relaxation.m, relaxation.inverse_roots
        limits = self.tolerance, self.per_arm

        def step(first: int, last: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
            if is_exact:
                order = np.argsort(-Z[first:last], axis=1)
                return star_kernels.violated_triangles(Z, order, r, *limits, first, last)
            return star_kernels.triangles_of_arms(Z, r, *limits, self.arms, first, last)

        found = in_pieces(step, ranges_of_centres(m))
        ijh, distance = map(np.concatenate, zip(*found, strict=True))
        order = np.argsort(-distance, kind="stable")
        chosen = star_kernels.spread(order, ijh, m, self.per_pair, self.per_block * m)
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
        Stars,
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
