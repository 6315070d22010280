"""Schedule of a decomposition: the next level, its subsets in order, and the memory for them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import matrices_mebibytes
from sdpbb.bounds.method import BoundingMethod
from sdpbb.errors import ParameterError
from sdpbb.problem import Infeasibility, Instance, contract
from sdpbb.run.decomposition.subsets import SubsetBounds

# Seconds of a subset grow like this power of its number of blocks, where that is not seen yet.
POWER = 2.25
LEAST_POWER, MOST_POWER = 1.5, 3.5
# Levels that a step goes up: subsets of four times the blocks. What lies between is not worth its
# time, but where the whole level would take more than what is left, or a single subset of it more
# than this part of that. The first step from an odd level is one level, as the last one is then
# from quarters to the whole: halves would take twice its time for an iteration, and lose more.
STEP, SHARE = 2, 0.3


def smallest_depth(n_blocks: int, smallest: int) -> int:
    """Return the depth of the tree whose smallest subsets have about so many blocks."""
    return max(0, round(math.log2(n_blocks / smallest)))


def next_level(bounds: SubsetBounds, seconds_left: float, n_at_once: int) -> int:
    """Return the level to bound after the present one: of subsets of twice the blocks or more.

    n_at_once : subsets that are bounded at the same time
    """
    above = bounds.level - (bounds.level % STEP or STEP)
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


# MiB that the evidence of a certificate may take, of the 8192 that the checker allows, and its part
# of the memory: a file is compressed in memory.
LARGEST_FILE, EVIDENCE = 7000.0, 0.4
# Matrices over the blocks of a subset that its bounding takes beside those of a root: its state has
# two, which are sent to and fro between slices, and are copied by both processes.
COPIES = 14
# Subsets at the same time where memory does not count.
UNLIMITED = 10**6


@dataclass(frozen=True)
class SubsetMemory:
    """Memory for subsets.

    n_blocks : of all subsets together
    free_mebibytes : for all subsets that are bounded at the same time
    is_certified : whether the evidence of all subsets is kept
    """

    n_blocks: int
    free_mebibytes: float
    is_certified: bool

    def check_certificate(self, most: int) -> None:
        """Check that a certificate holds the evidence of subsets of so many blocks at most.

        Raises
        ------
        ParameterError
            If it does not.
        """
        size = self._evidence_mebibytes(most)
        if self.is_certified and size > LARGEST_FILE:
            raise ParameterError(
                f"certificate = ...: not possible, as the proof takes {size:,.0f} MiB, and a "
                f"certificate holds {LARGEST_FILE:,.0f}"
            )

    def holds_evidence(self, most: int) -> bool:
        """Return whether the evidence of subsets of so many blocks at most fits, if it is kept."""
        largest = min(LARGEST_FILE, EVIDENCE * self.free_mebibytes)
        return not self.is_certified or self._evidence_mebibytes(most) <= largest

    def _evidence_mebibytes(self, most: int) -> float:
        """Return the size of the evidence: a triangle of single-precision numbers for each."""
        return 2.0 * self.n_blocks * most / 2**20

    def most_tasks(self, bounding: BoundingMethod[Any], largest: Instance) -> int:
        """Return how many subsets can be bounded at the same time.

        largest : instance of the largest subset
        """
        contraction = contract(largest)
        if isinstance(contraction, Infeasibility):
            return UNLIMITED
        copies = matrices_mebibytes(COPIES, contraction.n_blocks)
        return int(self.free_mebibytes / (bounding.mebibytes(contraction) + copies))
