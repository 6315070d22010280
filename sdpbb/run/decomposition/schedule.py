"""Schedule of a decomposition: the level that comes next, and its subsets in their order."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sdpbb.run.decomposition.bounds import SubsetBounds

# Seconds of a subset grow like this power of its number of blocks, where that is not seen yet.
POWER = 2.25
LEAST_POWER, MOST_POWER = 1.5, 3.5
# Levels that a step goes up: subsets of four times the blocks. What lies between is not worth its
# time, but where the whole level would take more than what is left, or a single subset of it more
# than this part of that.
STEP, SHARE = 2, 0.3


def smallest_depth(n_blocks: int, smallest: int) -> int:
    """Return the depth of the tree whose smallest subsets have about so many blocks."""
    return max(0, round(math.log2(n_blocks / smallest)))


def next_level(bounds: SubsetBounds, seconds_left: float, n_at_once: int) -> int:
    """Return the level to bound after the present one: of subsets of twice the blocks or more.

    n_at_once : subsets that are bounded at the same time
    """
    above = bounds.level - STEP
    if above >= 0:
        of_one = predicted_seconds(bounds, above)
        of_all = of_one * math.ceil(2**above / n_at_once)
        if of_one <= SHARE * seconds_left and of_all <= seconds_left:
            return above
    return bounds.level - 1


def predicted_seconds(bounds: SubsetBounds, level: int) -> float:
    """Return the seconds that a subset of a level will take, from those of the levels below."""
    seen = [(below, bounds.mean_seconds(below)) for below in range(level, bounds.tree.depth + 1)]
    known = [(below, seconds) for below, seconds in seen if seconds > 0.0]
    if not known:
        return math.nan
    (last, seconds), *before = known
    power = POWER
    if before:
        earlier, less = before[0]
        power = math.log2(seconds / less) / (earlier - last)
    return float(seconds * 2.0 ** ((last - level) * min(max(power, LEAST_POWER), MOST_POWER)))


def in_order(bounds: SubsetBounds, costs: NDArray[np.float64]) -> list[int]:
    """Return the subsets of the present level that are left, those with the largest gaps first.

    costs : of the clustering's restrictions to the subsets
    """
    todo = np.array(bounds.todo(bounds.level), dtype=np.intp)
    gaps = costs[todo] - bounds.of_each()[todo]
    return [int(subset) for subset in todo[np.argsort(-gaps, kind="stable")]]
