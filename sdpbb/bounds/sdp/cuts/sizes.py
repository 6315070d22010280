"""Cuts for limits on the sizes or weights of clusters.

The cluster of block i has 1 / Z_ii points; with weights, 1 / Z_ii is its weight. If every cluster
has a to b points,

    Z_ii >= 1 / b,    - Z_ii >= - 1 / a.

If points have weights, but limits are on numbers of points, the cuts are on row sums: with n_j
points in block j,

    b Z_ii - sum of n_j Z_ij >= 0,    sum of n_j Z_ij - a Z_ii >= 0,

as the left sides are (b - |C|) Z_ii and (|C| - a) Z_ii, with |C| the number of points of the
cluster of i. The bounds that limits imply on the weight of a cluster are in
`sdpbb.checker.kernel.cuts.inequalities`.

**Size pairs.** If every cluster has a to b points (or this weight), then for any two blocks i, j,

    b Z_ii - a Z_jj - (b - a) Z_ij >= 0.

Valid: if i and j share a cluster, the terms cancel; if not, b Z_ii >= 1 >= a Z_jj. If Z_jj > Z_ii,
it is stronger than (b - a) times the pair cut Z_ii >= Z_ij, by a (Z_jj - Z_ii). For two points and
two clusters of listed sizes it means: the probability that i is in the smaller cluster and j in the
larger one is not negative.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks, found_by_centres
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.checker.kernel.arithmetic import down
from sdpbb.checker.kernel.cuts.inequalities import ClusterLimits, WeightBounds
from sdpbb.checker.kernel.rules import Measure, find_measure

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


def separate_sizes(Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
    """Return the violated cuts on the diagonal of Z, and the most violated cuts on its rows."""
    limits, entries = relaxation.limits, np.diag(Z)
    if limits is None:
        return CutSet.empty()
    low, high = 1.0 / limits.most, 1.0 / limits.least if limits.least > 0.0 else np.inf
    small = np.flatnonzero(entries < low * (1.0 - TOLERANCE))[:, None]
    large = np.flatnonzero(entries > high * (1.0 + TOLERANCE))[:, None]
    cuts = CutSet.of_rows("most_points", small, ((0, 0, 1.0),), low)
    cuts = cuts + CutSet.of_rows("least_points", large, ((0, 0, -1.0),), -high)
    measures = limits.measures if isinstance(limits, WeightBounds) else ()
    points = find_measure(measures, counts_points=True)
    return cuts if points is None else cuts + _rows(Z, points)


def _rows(Z: NDArray[np.float64], points: Measure) -> CutSet:
    """Return the most violated cuts on the points of clusters, at most two for each row.

    points : the measure that counts points
    """
    cuts, m = CutSet.empty(), len(Z)
    counts, limits = points.values.astype(np.float64), points.limits
    entries, sums = np.diag(Z), Z @ counts
    for kind, sign, limit in (
        ("most_point_rows", 1.0, limits.most),
        ("least_point_rows", -1.0, limits.least),
    ):
        lacking = sign * (sums - limit * entries)
        worst = np.argsort(-lacking, kind="stable")[:ROWS]
        blocks = worst[lacking[worst] > ROW_TOLERANCE * entries[worst]]
        number = len(blocks)
        coefficient = np.tile(-sign * counts, (number, 1))
        coefficient[np.arange(number), blocks] += sign * limit
        cuts = cuts + CutSet.summed(
            np.repeat(np.arange(number), m),
            np.repeat(blocks, m),
            np.tile(np.arange(m), number),
            coefficient.ravel(),
            np.zeros(number),
            DefiningBlocks.of_rows(kind, blocks[:, None]),
        )
    return cuts


def separate_size_pairs(Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
    """Return the most violated size pairs; none if all sizes (or weights) are equal."""
    limits, r = relaxation.limits, relaxation.inverse_roots
    if limits is None or not limits.least < limits.most:
        return CutSet.empty()
    a, b = float(limits.least), float(limits.most)
    i, j, distance = found_by_centres(partial(_violated_pairs, Z, r, a, b), relaxation.m)
    order = np.argsort(-distance, kind="stable")[: PER_BLOCK * relaxation.m]
    rows = np.column_stack([i, j])[order]
    return CutSet.of_rows("size_pairs", rows, size_pair_entries(limits), place=np.arange(2))


def _violated_pairs(
    Z: NDArray[np.float64],
    inverse_roots: NDArray[np.float64],
    a: float,
    b: float,
    first: int,
    last: int,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Return i, j and the distance of Z to the cut, for violated size pairs: first <= i < last."""
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


def size_pair_entries(limits: ClusterLimits) -> tuple[tuple[int, int, float], ...]:
    """Return the terms of a size pair; columns 0 and 1 are i and j."""
    a, b = float(limits.least), float(limits.most)
    return ((0, 0, b), (1, 1, -a), (0, 1, -difference_down(b, a)))


def difference_down(most: float, least: float) -> float:
    """Return most - least, rounded down unless both are whole numbers."""
    # Differences of whole numbers below 2^53 are exact; weights may be larger.
    is_exact = most < 2**53 and float(most).is_integer() and float(least).is_integer()
    return most - least if is_exact else down(most - least)
