"""Effort of pricing, as it is known before any begins. Light: a run may end without pricing."""

from __future__ import annotations

from sdpbb.bounds.bound import matrices_mebibytes
from sdpbb.bounds.colgen.pricing.dimension import effective_dimension
from sdpbb.problem import Contraction

# Matrices over the blocks that pricing holds, those of what clusters may spend besides.
PRICING_MATRICES = 4

# Pricing is easy with few blocks per cluster, with more of them in few effective dimensions, or by
# regions of the mean, with many blocks in all. Elsewhere the first prices are those of the
# semidefinite bound. With these Iris with k = 3 and two constraints takes two seconds, without it
# is not solved in two minutes. Seconds without and with, 200 points: k = 50 0.7 and 1.0 in 4
# dimensions, 0.3 and 0.6 in 8; k = 25 3.0 and 2.4, 0.8 and 0.5.
MAX_BLOCKS_PER_CLUSTER = 5.0
MAX_BLOCKS_PER_CLUSTER_IN_FEW, FEW_DIMENSIONS = 8.5, 3.0
MAX_BLOCKS_PER_CLUSTER_BY_REGIONS, REGIONAL_DIMENSIONS, MIN_REGIONAL_BLOCKS = 25.0, 2.5, 256


def is_easy_to_price(contraction: Contraction) -> bool:
    """Return whether pricing needs no good prices to begin with."""
    per_cluster = contraction.n_blocks / contraction.k
    if per_cluster <= MAX_BLOCKS_PER_CLUSTER:
        return True
    dimension = effective_dimension(contraction.means, contraction.weights)
    is_regional = contraction.n_blocks >= MIN_REGIONAL_BLOCKS and dimension <= REGIONAL_DIMENSIONS
    is_regional &= contraction.is_monotone  # elsewhere clusters are not of one region
    if is_regional and per_cluster <= MAX_BLOCKS_PER_CLUSTER_BY_REGIONS:
        return True
    return per_cluster <= MAX_BLOCKS_PER_CLUSTER_IN_FEW and dimension <= FEW_DIMENSIONS


def pricing_mebibytes(contraction: Contraction) -> float:
    """Return the memory that pricing takes, in MiB, about."""
    return matrices_mebibytes(
        PRICING_MATRICES + contraction.upper_limits.n_matrices, contraction.n_blocks
    )
