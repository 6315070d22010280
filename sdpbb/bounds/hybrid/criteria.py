"""Methods that a node begins with in the hybrid bound. Light: nothing is imported that compiles."""

from __future__ import annotations

from sdpbb.bounds.colgen.effort import is_easy_to_price
from sdpbb.bounds.colgen.pricing.dimension import effective_dimension, neighbour_dimension
from sdpbb.bounds.places.reach import has_one_quantity, is_within_reach
from sdpbb.problem import Contraction

# Columns are generated without a step limit up to these blocks per cluster and effective dimensions
# of all blocks and of neighbours: where the semidefinite bound has stalled, or first where pricing
# looks easy besides. Ratio of the semidefinite bound's seconds to those of column generation, 100
# to 500 points, k = n / 8 to n / 4, median: 6.5 in 2 dimensions, 2.5 in 4, 0.7 in 8
# (docs/benchmarks/column_generation.md).
MAX_BLOCKS_PER_CLUSTER, FEW_DIMENSIONS = 8.5, 5.0
# The same if sizes or weights of clusters are limited, where the semidefinite bound is weaker.
# For 60 points in the plane in 6 clusters of about equal weight it leaves a gap of 2.7 percent,
# columns none.
MAX_BLOCKS_PER_CLUSTER_WITH_LIMITS = 10.0
# In two dimensions: maximum blocks per cluster for enumerating clusters at the prices of places, if
# these leave a gap. With 6.7 (gr666, k = 100) it takes 5 seconds, columns 18 and branching 16. With
# 21 (u2152, k = 100, 430 links) it does not end.
MAX_BLOCKS_PER_CLUSTER_AT_PLACES = 12.0
# In two dimensions: maximum blocks per cluster for generating columns if that leaves a gap. Nodes
# with more are branched. With 9 (1,000 points in the plane with 200 links, k = 100) columns take 11
# seconds and branching 50. With 9.7 (u2152 with 430 links, k = 200) columns take more than 120 and
# branching 46.
MAX_BLOCKS_PER_CLUSTER_AFTER_PLACES = 9.5

# Minimum blocks for bounding nodes by places alone. With fewer than 200 the other bounds are as
# fast; with few large clusters in three dimensions they take half the time.
MIN_PLACE_BLOCKS = 200
# The same if clusters have at most the second number of blocks on average. Columns alone take 7
# seconds for 1,000 uniform points in the plane, k = 250, and more than 8 after places. With columns
# alone, larger instances have no bound for a long time.
MIN_PLACE_BLOCKS_IF_SMALL, SMALL_CLUSTER = 1500, 4.5
# Maximum blocks for bounding nodes by places alone: branching examines all pairs of blocks.
MAX_PLACE_BLOCKS = 8000
# Maximum cannot-links per block for it: the bound loses part of what chains of them prove.
MAX_CANNOT_LINKS_PER_BLOCK = 4.0


def has_easy_columns(contraction: Contraction) -> bool:
    """Return whether pricing looks easy, so that columns come before the relaxation."""
    return is_easy_to_price(contraction) and is_low(contraction)


def is_enumerated_at_places(contraction: Contraction) -> bool:
    """Return whether clusters are enumerated at the prices that places leave a gap with."""
    per_cluster = contraction.n_blocks / contraction.k
    return per_cluster <= MAX_BLOCKS_PER_CLUSTER_AT_PLACES and has_easy_columns(contraction)


def has_small_columns(contraction: Contraction) -> bool:
    """Return whether column generation is to close what prices and places leave."""
    per_cluster = contraction.n_blocks / contraction.k
    return per_cluster <= MAX_BLOCKS_PER_CLUSTER_AFTER_PLACES and has_easy_columns(contraction)


def is_for_places(contraction: Contraction) -> bool:
    """Return whether prices and places come first."""
    m, k = contraction.n_blocks, contraction.k
    if not is_within_reach(contraction):
        return False
    # Of constraints on clusters they know limits on one measure.
    if contraction.instance is not None and not has_one_quantity(contraction):
        return False
    if contraction.soft or contraction.soft.constant > 0.0:  # and prices of soft pairs
        return False
    # Where small clusters have limits, columns are the same bound, and end.
    if contraction.has_limits and m <= MAX_BLOCKS_PER_CLUSTER_AT_PLACES * k:
        return False
    fewest = MIN_PLACE_BLOCKS if m > SMALL_CLUSTER * k else MIN_PLACE_BLOCKS_IF_SMALL
    if not fewest <= m <= MAX_PLACE_BLOCKS:
        return False
    return len(contraction.cannot_link) <= MAX_CANNOT_LINKS_PER_BLOCK * m


def is_low(contraction: Contraction) -> bool:
    """Return whether all blocks, and neighbours, have few effective dimensions."""
    means, weights = contraction.means, contraction.weights
    n_neighbours = max(1, round(contraction.n_blocks / contraction.k))
    return (
        effective_dimension(means, weights) <= FEW_DIMENSIONS
        and neighbour_dimension(means, weights, n_neighbours) <= FEW_DIMENSIONS
    )


def is_small(contraction: Contraction) -> bool:
    """Return whether clusters are so small, in so few dimensions, that column generation ends."""
    most = MAX_BLOCKS_PER_CLUSTER
    if contraction.has_limits:
        most = MAX_BLOCKS_PER_CLUSTER_WITH_LIMITS
    return contraction.n_blocks <= most * contraction.k and is_low(contraction)
