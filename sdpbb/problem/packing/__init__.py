"""Packing: blocks put into k clusters of allowed sizes and weights, cannot-linked ones apart."""

from sdpbb.problem.packing.in_units import UndecidedPacking
from sdpbb.problem.packing.packings import (
    Packing,
    packed_exactly,
    packed_greedily,
    packed_in_units,
)
from sdpbb.problem.packing.rows import (
    assignment_rows,
    clique_cover,
    size_bounds,
    size_rows,
    with_soft_pairs,
)

__all__ = [
    "Packing",
    "UndecidedPacking",
    "assignment_rows",
    "clique_cover",
    "packed_exactly",
    "packed_greedily",
    "packed_in_units",
    "size_bounds",
    "size_rows",
    "with_soft_pairs",
]
