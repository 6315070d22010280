"""Reach of prices and places, as it is known before. Light: nothing is imported that compiles."""

from __future__ import annotations

from sdpbb.problem import Contraction

# Maximum dimensions in which places are searched.
DIMENSIONS = 3


def is_within_reach(contraction: Contraction) -> bool:
    """Return whether the blocks lie in few enough dimensions, and are clustered at all."""
    return contraction.means.shape[1] <= DIMENSIONS and 1 < contraction.k < contraction.n_blocks


def has_one_quantity(contraction: Contraction) -> bool:
    """Return whether all constraints on clusters are limits on sizes, or all are on weights."""
    return len(contraction.quantities) == 1 and contraction.has_limits and not contraction.oracles


def place_mebibytes(n_blocks: int) -> float:
    """Estimate the memory of the bound in MiB: 100 numbers for each block."""
    return 8e-4 * n_blocks
