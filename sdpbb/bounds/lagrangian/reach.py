"""Table of the bounds of a node: the oracle, the price update, and the nodes of each stage.

| stage of the hybrid bound | exact pricing | prices | nodes |
| --- | --- | --- | --- |
| places | over places | ascent over known places | FOR_PLACES |
| enumeration at places | over sets | of places | ENUMERATED_AT_PLACES |
| easy columns | over sets | master programme | EASY_TO_PRICE, in FEW_DIMENSIONS |
| relaxation | none | none | all |
| enumeration | over sets | of the relaxation | without soft pairs, a clustering known |
| columns | over sets | master programme | SMALL_CLUSTERS; other nodes for a while |

Stages are tried in this order (`sdpbb.bounds.staged.methods`). Each continues from the prices of
the one before. Master programmes are solved by the interior point method in nodes of FOR_INTERIOR,
and by the simplex method in others.

Light: nothing is imported that compiles, as a run may end without any of these bounds.

Both dimensions of a node are (sum of s)^2 / sum of s^2 for the standard deviations s along
principal axes. This is their number if they are all equal, and less if some hardly count. Far rows
are pulled in: otherwise one block at a hundred times the distance of the others would be the only
deviation that counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import matrices_mebibytes
from sdpbb.problem import Contraction


@dataclass(frozen=True)
class Reach:
    """Row of the table: limits on nodes, all of which a node within the row satisfies.

    blocks, max_blocks : minimum and maximum number of blocks
    above_per_cluster, per_cluster : blocks per cluster are above the first, at most the second
    links : maximum cannot-links per block
    dimension, neighbours : maximum effective dimension of all blocks, and of neighbours
    monotone : whether parts of clusters must be allowed and cost no more
    """

    blocks: int = 0
    max_blocks: float = math.inf
    above_per_cluster: float = 0.0
    per_cluster: float = math.inf
    links: float = math.inf
    dimension: float = math.inf
    neighbours: float = math.inf
    monotone: bool = False


# Oracle over sets: pricing is easy within one of these rows, and needs no good first prices. Other
# nodes start from prices of the semidefinite bound: Iris with k = 3 and two constraints takes two
# seconds with them, and more than two minutes without. Seconds without and with, 200 points: k = 50
# 0.7 and 1.0 in 4 dimensions, 0.3 and 0.6 in 8; k = 25 3.0 and 2.4, 0.8 and 0.5. The last row is
# for pricing by regions of the mean.
EASY_TO_PRICE = (
    Reach(per_cluster=5.0),
    Reach(per_cluster=8.5, dimension=3.0),
    Reach(per_cluster=25.0, dimension=2.5, blocks=256, monotone=True),
)
# Columns come before the relaxation if pricing is easy in few dimensions. The semidefinite bound
# takes 6.5 times as long as column generation in 2 dimensions, 2.5 in 4, 0.7 in 8: medians of 100
# to 500 points, k = n / 8 to n / 4 (docs/benchmarks/column_generation.md).
FEW_DIMENSIONS = Reach(dimension=5.0, neighbours=5.0)
# Columns are generated without a step limit, in few dimensions, after the relaxation has stalled.
SMALL_CLUSTERS = Reach(per_cluster=8.5)
# The same if sizes or weights of clusters are limited, which makes the semidefinite bound weaker.
# It leaves a gap of 2.7 percent for 60 points in the plane in 6 clusters of about equal weight,
# columns no gap.
SMALL_CLUSTERS_IF_LIMITED = Reach(per_cluster=10.0)
# Minimum blocks for the interior point method, if a clustering is known. u1060 in the plane, k =
# 100: 16 programmes of a tenth of a second each.
FOR_INTERIOR = Reach(blocks=256, monotone=True)
# Oracle over places: nodes within one of these rows begin with it. With fewer than 200 blocks the
# other bounds are as fast. Columns take 7 seconds for 1,000 uniform points in the plane, k = 250,
# and more than 8 after places; larger instances have no bound by columns for a long time. Branching
# after places examines all pairs of blocks. The bound is weaker with chains of cannot-links.
FOR_PLACES = (
    Reach(blocks=200, max_blocks=8000, above_per_cluster=4.5, links=4.0),
    Reach(blocks=1500, max_blocks=8000, links=4.0),
)
# Clusters are enumerated at the prices of places if pricing is easy in few dimensions. With 6.7
# blocks (gr666, k = 100) it takes 5 seconds, columns 18 and branching 16. With 21 (u2152, k = 100,
# 430 links) it does not end. If small clusters have limits, columns give the same bound, and end.
ENUMERATED_AT_PLACES = Reach(per_cluster=12.0)
# Columns follow if a gap remains; other nodes are branched. With 9 blocks (1,000 points in the
# plane with 200 links, k = 100) columns take 11 seconds and branching 50. With 9.7 (u2152 with 430
# links, k = 200) columns take more than 120 and branching 46.
COLUMNS_AFTER_PLACES = Reach(per_cluster=9.5)
# Maximum dimensions in which places are searched.
PLACE_DIMENSIONS = 3


def is_within(node: Contraction, *rows: Reach) -> bool:
    """Return whether a node is within one of the rows."""
    return any(_is_within(node, row) for row in rows)


def _is_within(node: Contraction, row: Reach) -> bool:
    """Return whether a node is within a row. Dimensions are computed only if they are limited."""
    means, weights, per_cluster = node.means, node.weights, node.n_blocks / node.k
    if not (
        row.above_per_cluster < per_cluster <= row.per_cluster
        and row.blocks <= node.n_blocks <= row.max_blocks
        and len(node.cannot_link) <= row.links * node.n_blocks
        and (node.is_monotone or not row.monotone)
    ):
        return False
    if row.dimension < math.inf and effective_dimension(means, weights) > row.dimension:
        return False
    n_others = max(1, round(per_cluster))
    return (
        row.neighbours == math.inf
        or neighbour_dimension(means, weights, n_others) <= row.neighbours
    )


def is_easy_to_price(contraction: Contraction) -> bool:
    """Return whether pricing needs no good first prices."""
    return is_within(contraction, *EASY_TO_PRICE)


def has_easy_columns(contraction: Contraction) -> bool:
    """Return whether pricing is easy in few dimensions, so that columns precede the relaxation."""
    return is_within(contraction, *EASY_TO_PRICE) and is_within(contraction, FEW_DIMENSIONS)


def is_enumerated_at_places(contraction: Contraction) -> bool:
    """Return whether clusters are enumerated at prices of places if these leave a gap."""
    return is_within(contraction, ENUMERATED_AT_PLACES) and has_easy_columns(contraction)


def has_columns_after_places(contraction: Contraction) -> bool:
    """Return whether column generation follows if places leave a gap."""
    return is_within(contraction, COLUMNS_AFTER_PLACES) and has_easy_columns(contraction)


def is_small(contraction: Contraction) -> bool:
    """Return whether clusters are so small, in so few dimensions, that column generation ends."""
    row = SMALL_CLUSTERS_IF_LIMITED if contraction.has_limits else SMALL_CLUSTERS
    return is_within(contraction, row) and is_within(contraction, FEW_DIMENSIONS)


def uses_interior(contraction: Contraction) -> bool:
    """Return whether the interior point method solves master programmes, a clustering known."""
    return is_within(contraction, FOR_INTERIOR)


def is_for_places(contraction: Contraction) -> bool:
    """Return whether a node begins with prices and places."""
    # Places support limits on one quantity, and no other constraints on clusters or soft pairs.
    if contraction.instance is not None and not has_one_quantity(contraction):
        return False
    if contraction.soft or contraction.soft.constant > 0.0:
        return False
    if contraction.has_limits and is_within(contraction, ENUMERATED_AT_PLACES):
        return False
    return has_places(contraction) and is_within(contraction, *FOR_PLACES)


def has_places(contraction: Contraction) -> bool:
    """Return whether the blocks have few enough dimensions, and 1 < k < m."""
    few = contraction.means.shape[1] <= PLACE_DIMENSIONS
    return few and 1 < contraction.k < contraction.n_blocks


def has_one_quantity(contraction: Contraction) -> bool:
    """Return whether all constraints on clusters are limits on sizes, or all are on weights."""
    return len(contraction.quantities) == 1 and contraction.has_limits and not contraction.oracles


def place_mebibytes(n_blocks: int) -> float:
    """Estimate the memory of the bound by places in MiB: 100 numbers for each block."""
    return 8e-4 * n_blocks


# Matrices over the blocks in pricing, besides the matrices of upper limits.
PRICING_MATRICES = 4


def pricing_mebibytes(contraction: Contraction) -> float:
    """Estimate the memory of pricing over sets in MiB."""
    return matrices_mebibytes(
        PRICING_MATRICES + contraction.upper_limits.n_matrices, contraction.n_blocks
    )


# Rows are pulled in to this many times the median length. In a normal cloud in two dimensions one
# row of 500 is longer, in more dimensions hardly any. Ten blocks in nine dimensions, one of them a
# hundred times as far away as the others, count as 6.8 dimensions; with FAR = 4 as 5.8, with 10 as
# 3.0, and as 1.1 without this.
FAR = 3.0


def effective_dimension(means: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Return the dimension of all blocks around their mean, outliers pulled in to the median.

    Parameters
    ----------
    means, weights : (m, d), (m,); rows are sqrt(e_i) (c_i - median)
    """
    if not len(means):
        return 0.0
    roots = np.sqrt(weights)
    rows = _pulled_in(roots[:, None] * (means - np.median(means, axis=0)))
    return _dimension(rows - roots[:, None] * (roots @ rows / weights.sum()))


def neighbour_dimension(
    means: NDArray[np.float64], weights: NDArray[np.float64], n_neighbours: int
) -> float:
    """Return the dimension of the differences between each block and its nearest blocks.

    About as many as a cluster has. Groups of clusters that are far apart do not change the
    dimension.

    Parameters
    ----------
    means, weights : (m, d), (m,); rows are (e_i e_j / (e_i + e_j))^1/2 (c_j - c_i), whose square is
        the cost of both in one cluster
    n_neighbours : number of nearest blocks, >= 1
    """
    m = len(means)
    if m < 2 or means.shape[1] == 0:
        return 0.0
    from scipy.spatial import KDTree  # takes a tenth of a second

    nearest = KDTree(means).query(means, min(n_neighbours + 1, m))[1]
    i, j = np.repeat(np.arange(m), nearest.shape[1]), nearest.ravel()
    roots = np.sqrt(weights[i] * weights[j] / (weights[i] + weights[j]))
    return _dimension(_pulled_in(roots[:, None] * (means[j] - means[i])))


def _pulled_in(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows, none longer than FAR times the median length of the rows that are not 0."""
    longest = float(np.abs(rows).max(initial=0.0))
    if longest == 0.0:
        return rows
    rows = rows / longest
    lengths = np.sqrt((rows**2).sum(axis=1))
    cap = FAR * float(np.median(lengths[lengths > 0.0]))
    return np.asarray(rows * np.minimum(1.0, cap / np.maximum(lengths, cap))[:, None])


def _dimension(rows: NDArray[np.float64]) -> float:
    if rows.shape[1] > rows.shape[0]:
        rows = rows.T
    deviations = np.sqrt(np.maximum(np.linalg.eigvalsh(rows.T @ rows), 0.0))
    squares = float(deviations @ deviations)
    return float(deviations.sum() ** 2 / squares) if squares > 0.0 else 0.0
