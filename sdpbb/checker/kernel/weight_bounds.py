"""Bounds on the weights of clusters where these are no numbers of points.

Limits are on some measure of clusters, q(C) = sum of q_i over the blocks i of C for whole numbers
q_i: their points, or their units of weight. What is known of the weights e_i of the same blocks,
for any number r >= 0, is

    |C| = sum of e_i = r q(C) + sum of (e_i - r q_i),

so that with a <= q(C) <= b

    r a - sum of max(0, r q_i - e_i) <= |C| <= r b + sum of max(0, e_i - r q_i),

the sums being those over all blocks. r is about the weight of all blocks over their measure. Where
weights are about proportional to the measure, as those in units are, the sums are next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .arithmetic import down, sum_up, up
from .sizes import Measure

# Part of all weights by which sums of floats may be off here; they are off by a quarter of it.
_ROUNDING = 2.0**-48


@dataclass(frozen=True, eq=False)
class WeightBounds:
    """Bounds on the weights |C| of clusters, least <= |C| <= most, and the limits behind them.

    least : >= 0
    most : that of all blocks, or less
    measures : of the blocks: points, units of weight, or both
    """

    least: float
    most: float
    measures: tuple[Measure, ...] = ()
    listed: ClassVar[None] = None

    @classmethod
    def of(cls, weights: NDArray[np.float64], measures: Iterable[Measure]) -> WeightBounds | None:
        """Return what limits say of clusters of blocks of weights (m,); None for nothing."""
        found = tuple(measures)
        if not found:
            return None
        bounds = [_bounds(weights, measure) for measure in found]
        return cls(max(least for least, _ in bounds), min(most for _, most in bounds), found)

    def measure(self, counts_points: bool) -> Measure | None:
        """Return the points of blocks if limits on them are known, or their units of weight."""
        found = (each for each in self.measures if each.counts_points == counts_points)
        return next(found, None)


def _bounds(weights: NDArray[np.float64], measure: Measure) -> tuple[float, float]:
    limits, total = measure.limits, sum_up(weights.tolist())
    rate = total / float(measure.values.sum())
    excess = weights - rate * measure.values
    above = sum_up(np.maximum(excess, 0.0).tolist())
    below = sum_up(np.maximum(-excess, 0.0).tolist())
    error = _ROUNDING * total
    least = down(down(rate * limits.least) - up(below + error))
    most = up(up(rate * limits.most) + up(above + error))
    return max(0.0, least), min(total, most)
