"""Tolerance of the search: when a bound closes a node, when a clustering improves the incumbent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sdpbb.bounds.bound import ProvenBound
from sdpbb.runtime.archive.stored import stored
from sdpbb.search.result import PRECISION


@stored
@dataclass(frozen=True)
class Tolerances:
    """Comparisons between bounds and costs, relative to the cost, and to nothing else.

    Coordinates are exact numbers, so that a cost is 0 where points coincide, and only there.

    gap : relative, as (upper - lower) / upper; below PRECISION it counts as PRECISION
    """

    gap: float

    def cutoff(self, upper: float) -> float:
        """Return the least bound that closes a node when `upper` is the cost of the incumbent."""
        if not np.isfinite(upper):
            return upper
        # A few units in the last place inside, so that the gap, computed again, is not above it.
        relative = max(self.gap, PRECISION) - 8.0 * float(np.finfo(np.float64).eps)
        return upper - relative * upper

    def closes(self, bound: ProvenBound, upper: float) -> bool:
        """Return whether a bound closes a node.

        Then none of its clusterings beats the incumbent by more than the tolerance.
        """
        return bound.value >= self.cutoff(upper)

    def improves(self, cost: float, upper: float) -> bool:
        """Return whether a clustering is to replace the incumbent."""
        return cost < upper
