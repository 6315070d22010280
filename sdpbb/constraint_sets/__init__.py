"""Constraint sets drawn from true labels, by the published procedures; repeatable by seed."""

from sdpbb.constraint_sets.procedures import (
    LinkedPairs,
    by_kinds,
    by_number,
    by_percentage,
    number_by_percentage,
    with_confidence,
    with_noise,
)

__all__ = [
    "LinkedPairs",
    "by_kinds",
    "by_number",
    "by_percentage",
    "number_by_percentage",
    "with_confidence",
    "with_noise",
]
