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
limits say of the weight of a cluster is in `sdpbb.checker.kernel.weights`.

**Size pairs.** Where every cluster has a to b points, or weighs as much, for any two blocks i, j,

    b Z_ii - a Z_jj - (b - a) Z_ij >= 0.

Valid: if i and j share a cluster, the terms cancel; if not, b Z_ii >= 1 >= a Z_jj. It says more
than the pair cut Z_ii >= Z_ij wherever Z_jj > Z_ii, as that times (b - a) is less by
a (Z_jj - Z_ii). Of two points of two clusters of listed sizes, it is that no probability of i being
in the smaller one and j in the larger one is negative.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks
from sdpbb.bounds.sdp.cuts.family import CutFamily, found_by_centres
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.checker.kernel.arithmetic import down
from sdpbb.checker.kernel.cuts.capacities import most_of_some
from sdpbb.checker.kernel.sizes import SizeLimits, WeightBounds

_EPS = float(np.finfo(np.float64).eps)
# Minimum violation of a cut, as a share of its right-hand side.
TOLERANCE = 1e-7
# Maximum cuts of each kind added at once on the points of clusters, if points have weights.
ROWS = 100
# Minimum violation of such a cut, in points of a cluster.
ROW_TOLERANCE = 1e-3
# Maximum cuts on pairs per block and round.
PER_BLOCK = 4
# Minimum violation of one, as a share of its first term.
PAIR_TOLERANCE = 1e-5


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
    number, m = len(blocks), len(counts)
    sign = 1.0 if family == "most_point_rows" else -1.0
    cut = np.arange(number)
    return CutSet.summed(
        np.concatenate([np.repeat(cut, m), cut]),
        np.concatenate([np.repeat(blocks, m), blocks]),
        np.concatenate([np.tile(np.arange(m), number), blocks]),
        np.concatenate([np.tile(-sign * counts, number), np.full(number, sign * limit)]),
        np.zeros(number),
        DefiningBlocks.uniform(family, blocks[:, None]),
    )


def _trace(blocks: NDArray[np.intp], counts: NDArray[np.intp], least: float) -> CutSet:
    """Return the cut of all points of some blocks, whose entries add up to `least` or more."""
    points = np.repeat(blocks, counts)[None]
    # Sums of k terms lose a few units in the last place.
    rhs = np.array([least * (1.0 - 16.0 * _EPS)])
    members = DefiningBlocks.uniform("traces", points)
    owner = np.zeros(len(blocks), np.intp)
    return CutSet.summed(owner, blocks, blocks, counts.astype(np.float64), rhs, members)


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
        step = partial(_violated_pairs, Z, r, a, b)
        i, j, distance = found_by_centres(step, relaxation.m)
        order = np.argsort(-distance, kind="stable")[: PER_BLOCK * relaxation.m]
        return size_pair_cuts(np.column_stack([i[order], j[order]]), a, b)


def _violated_pairs(
    Z: NDArray[np.float64],
    inverse_roots: NDArray[np.float64],
    a: float,
    b: float,
    first: int,
    last: int,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Return i, j and the distances to the cut of the violated ones with first <= i < last."""
    entries, squares = np.diag(Z), inverse_roots**2
    own = b * entries[first:last, None]
    lacking = (b - a) * Z[first:last] - own
    lacking += a * entries
    i, j = np.nonzero(lacking > PAIR_TOLERANCE * own)
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
