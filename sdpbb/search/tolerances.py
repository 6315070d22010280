"""The one owner of comparisons between bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sdpbb.bounds.bound import SafeBound
from sdpbb.problem import Contraction
from sdpbb.result import PRECISION, relative_gap


@dataclass(frozen=True)
class Tolerances:
    """When a bound meets an upper bound.

    gap : relative, as (upper - lower) / upper; below PRECISION it counts as PRECISION
    zero : costs up to this are rounding of the coordinates, in squared units of the data
    """

    gap: float
    zero: float

    @classmethod
    def of(cls, gap: float, contraction: Contraction) -> Tolerances:
        """Equal points have centred coordinates that differ by rounding, relative to the largest;
        costs hold the squares of these differences."""
        eps = float(np.finfo(np.float64).eps)
        return cls(gap, 16.0 * contraction.n_points * eps**2 * contraction.total)

    def cutoff(self, upper: float) -> float:
        """The least bound that closes a node when `upper` is the cost of the incumbent."""
        if not np.isfinite(upper):
            return upper
        # A few units in the last place inside, so that the gap, computed again, is not above it.
        relative = max(self.gap, PRECISION) - 8.0 * float(np.finfo(np.float64).eps)
        return upper - max(relative * upper, self.zero)

    def closes(self, bound: SafeBound, upper: float) -> bool:
        """Whether no clustering of a node with this bound is better than the incumbent by more
        than the tolerance."""
        return bound.value >= self.cutoff(upper)

    def improves(self, cost: float, upper: float) -> bool:
        """Whether a clustering is to replace the incumbent."""
        return cost < upper

    def relative_gap(self, lower: float, upper: float) -> float:
        """(upper - lower) / upper, and 0 where the difference is rounding; inf for upper = inf."""
        # The same expression as in `cutoff`: the two differences may round differently.
        is_rounding = upper < np.inf and lower >= upper - self.zero
        return 0.0 if is_rounding else relative_gap(lower, upper)
