"""Effort of pricing, as it is known before any begins. Light: a run may end without pricing."""

from __future__ import annotations

from sdpbb.bounds.bound import matrices_mebibytes
from sdpbb.bounds.colgen.parameters import CentreParameters
from sdpbb.bounds.colgen.pricing.dimension import effective_dimension
from sdpbb.problem import Contraction

# Matrices over the blocks that pricing holds, those of what clusters may spend besides.
PRICING_MATRICES = 4


def is_easy_to_price(contraction: Contraction, parameters: CentreParameters) -> bool:
    """Return whether pricing needs no good prices to begin with (see `CentreParameters`)."""
    per_cluster = contraction.n_blocks / contraction.k
    if per_cluster <= parameters.small:
        return True
    dimension = effective_dimension(contraction.means, contraction.weights)
    is_regional = contraction.n_blocks >= parameters.many and dimension <= parameters.low
    is_regional &= contraction.is_monotone  # elsewhere clusters are not of one region
    if is_regional and per_cluster <= parameters.largest:
        return True
    return per_cluster <= parameters.large and dimension <= parameters.high


def pricing_mebibytes(contraction: Contraction) -> float:
    """Return the memory that pricing takes, in MiB, about."""
    return matrices_mebibytes(
        PRICING_MATRICES + contraction.budgets.n_matrices, contraction.n_blocks
    )
