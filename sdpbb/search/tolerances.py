"""The one owner of comparisons between bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sdpbb.bounds.bound import SafeBound
from sdpbb.problem import Contraction


@dataclass(frozen=True)
class Tolerances:
    """When a bound meets an upper bound.

    gap : relative, as (upper - lower) / upper
    resolution : differences up to this, in squared units of the data, are rounding
    """

    gap: float
    resolution: float

    @classmethod
    def of(cls, gap: float, contraction: Contraction) -> Tolerances:
        """The resolution is what the safe bound gives away to rounding, and the sums it is made
        of: a small multiple of eps (k m + d) times the total sum of squares."""
        eps = float(np.finfo(np.float64).eps)
        terms = contraction.k * contraction.n_blocks + contraction.means.shape[1] + 16
        return cls(gap, 16.0 * eps * terms * contraction.total)

    def cutoff(self, upper: float) -> float:
        """The least bound that closes a node when `upper` is the cost of the incumbent."""
        return upper - max(self.gap * upper, self.resolution) if np.isfinite(upper) else upper

    def closes(self, bound: SafeBound, upper: float) -> bool:
        """Whether no clustering of a node with this bound is better than the incumbent by more
        than the tolerance."""
        return bound.value >= self.cutoff(upper)

    def improves(self, cost: float, upper: float) -> bool:
        """Whether a clustering is a new incumbent, and not the old one summed in another order."""
        return cost < upper - 1e-12 * abs(upper) if np.isfinite(upper) else cost < upper
