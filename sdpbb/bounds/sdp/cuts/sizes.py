"""Cuts where the sizes of clusters are limited, or their weights.

The cluster of block i has 1 / Z_ii points, or weighs as much where points have weights. Where every
cluster has a to b points,

    Z_ii >= 1 / b,    - Z_ii >= - 1 / a.

With M_i the most points that i clusters have together, the entries Z_ii of any t points, each that
of its block, add up to L(t) at least,

    sum of Z_ii over t points >= L(t) = i + (t - M_i) / (M_(i+1) - M_i) for M_i <= t <= M_(i+1)

(proof: `sdpbb.checker.kernel.cuts.measures`). Upper bounds follow, as all entries add up to k.
Where the k sizes are listed, the entries are s_c times 1 / s_c for each size s_c, and L(t) is the
sum of the t least of them: for single points this is the convex hull of all orders of these numbers
(Rado 1952), so that no other inequality over the diagonal says more.

Where points have weights, and their numbers are limited, these are row sums: with n_j points in
block j,

    b Z_ii - sum of n_j Z_ij >= 0,    sum of n_j Z_ij - a Z_ii >= 0,

as both sides are (b - |C|) Z_ii and (|C| - a) Z_ii, |C| being the points of the cluster of i. What
limits say of the weight of a cluster is in `sdpbb.checker.kernel.weight_bounds`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks
from sdpbb.bounds.sdp.cuts.family import CutFamily
from sdpbb.checker.kernel.cuts.measures import most_of_some
from sdpbb.checker.kernel.sizes import SizeLimits
from sdpbb.checker.kernel.weight_bounds import WeightBounds

if TYPE_CHECKING:
    from sdpbb.bounds.sdp.relaxation import Relaxation

_EPS = float(np.finfo(np.float64).eps)


# Minimum violation of a cut, as a share of its right-hand side.
TOLERANCE = 1e-7
# Maximum cuts of each kind added at once on the points of clusters, if points have weights.
ROWS = 100
# Minimum violation of such a cut, in points of a cluster.
ROW_TOLERANCE = 1e-3


class SizeCuts(CutFamily):
    """Cuts on the diagonal and the rows of Z where sizes or weights of clusters are limited."""

    def separate(self, Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
        """Return all violated cuts of one term, and of traces the most violated of each slope."""
        limits, bounds = relaxation.size_limits, relaxation.weight_bounds
        entries = np.diag(Z)
        if limits is not None:
            low, high = 1.0 / limits.most, 1.0 / limits.least
        elif bounds is not None:
            low, high = 1.0 / bounds.most, 1.0 / bounds.least if bounds.least > 0.0 else np.inf
        else:
            return CutSet.empty()
        small = np.flatnonzero(entries < low * (1.0 - TOLERANCE))
        large = np.flatnonzero(entries > high * (1.0 + TOLERANCE))
        cuts = _one_term("most_points", small, 1.0, low) + _one_term(
            "least_points", large, -1.0, -high
        )
        if limits is None:
            return cuts + self._of_rows(Z, bounds)
        return cuts + self._traces(entries, relaxation, limits)

    def _of_rows(self, Z: NDArray[np.float64], bounds: WeightBounds | None) -> CutSet:
        """Return the most violated cuts on the points of clusters, of each row two at most."""
        points = None if bounds is None else bounds.measure(counts_points=True)
        if points is None:
            return CutSet.empty()
        counts, limits = points.values.astype(np.float64), points.limits
        entries, sums = np.diag(Z), Z @ counts
        cuts = CutSet.empty()
        for family, limit, lacking in (
            ("most_point_rows", limits.most, sums - limits.most * entries),
            ("least_point_rows", limits.least, limits.least * entries - sums),
        ):
            worst = np.argsort(-lacking, kind="stable")[:ROWS]
            blocks = worst[lacking[worst] > ROW_TOLERANCE * entries[worst]]
            cuts = cuts + _row_cuts(family, blocks, counts, limit)
        return cuts

    def _traces(
        self, entries: NDArray[np.float64], relaxation: Relaxation, limits: SizeLimits
    ) -> CutSet:
        """Return the most violated cut of those whose t are where L has the same slope."""
        order = np.argsort(entries, kind="stable")
        counts = np.rint(relaxation.weights[order]).astype(np.intp)
        points = np.cumsum(counts)
        ends = np.array(most_of_some(limits), np.float64)
        falling = np.diff(ends)
        least = np.interp(points, ends, np.arange(len(ends)))
        lacking = least - np.cumsum(counts * entries[order])
        # Steps that are alike share their range of points.
        last = np.concatenate([np.flatnonzero(np.diff(falling)) + 1, [len(falling)]])
        begins, found = 0, CutSet.empty()
        for end in ends[last].tolist():
            inside = np.flatnonzero((points >= begins) & (points <= end))
            begins = end
            if not len(inside):
                continue
            at = inside[np.argmax(lacking[inside])]
            if lacking[at] > TOLERANCE * least[at]:
                found = found + _trace(order[: at + 1], counts[: at + 1], float(least[at]))
        return found


def _one_term(family: str, blocks: NDArray[np.intp], sign: float, side: float) -> CutSet:
    """Return sign Z_ii >= side for each block."""
    pairs = blocks[:, None]
    members = DefiningBlocks.uniform(family, pairs)
    return CutSet.uniform(pairs, pairs, np.array([sign]), np.full(len(blocks), side), members)


def _row_cuts(
    family: str, blocks: NDArray[np.intp], counts: NDArray[np.float64], limit: int
) -> CutSet:
    """Return the cuts on the rows of some blocks.

    counts : (m,) points of all blocks
    """
    m, number = len(counts), len(blocks)
    sign = 1.0 if family == "most_point_rows" else -1.0
    coefficient = np.tile(-sign * counts, (number, 1))
    coefficient[np.arange(number), blocks] += sign * limit
    others = np.tile(np.arange(m), number)
    own = np.repeat(blocks, m)
    return CutSet(
        start=np.arange(number + 1, dtype=np.int64) * m,
        row=np.minimum(own, others).astype(np.int32),
        column=np.maximum(own, others).astype(np.int32),
        coefficient=coefficient.reshape(-1),
        rhs=np.zeros(number),
        members=DefiningBlocks.uniform(family, blocks[:, None]),
    )


def _trace(blocks: NDArray[np.intp], counts: NDArray[np.intp], least: float) -> CutSet:
    """Return the cut of all points of some blocks, whose entries add up to `least` or more."""
    listed = np.repeat(blocks, counts).astype(np.int32)
    members = DefiningBlocks.without_parts("traces", np.array([0, len(listed)], np.int64), listed)
    rows = blocks.astype(np.int32)
    return CutSet(
        start=np.array([0, len(rows)], np.int64),
        row=rows,
        column=rows,
        coefficient=counts.astype(np.float64),
        # Sums of k terms lose a few units in the last place.
        rhs=np.array([least * (1.0 - 16.0 * _EPS)]),
        members=members,
    )
