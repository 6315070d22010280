"""Labels of an assignment programme with incremental costs of relabelling."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.potts import Potts
from heuristics.neighbours import Neighbours
from sdpbb.runtime.arrays import Integers
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import TimeLeft, chunks, no_limit

# Steps of a tabu search between two looks at the time, about 0.1 s.
LOOKS = 10_000_000
# A share of the costs.
MINIMUM_IMPROVEMENT = 1e-12


class Tally(NamedTuple):
    """Labels, costs of other labels, and the pairs to update them by.

    gamma : (n, k) cost of label b of block j and its soft pairs, given the labels of the others
    broken : (n, k) number of hard pairs that it breaks
    labels : (n,), -1 for none yet
    """

    links: Neighbours
    gamma: NDArray[np.float64]
    broken: NDArray[np.int64]
    labels: NDArray[np.int64]

    @property
    def n_broken(self) -> int:
        """Number of blocks in a broken hard pair."""
        return int((self.broken[np.arange(len(self.labels)), self.labels] > 0).sum())


def empty_tally(potts: Potts) -> Tally:
    """Return the tally before any block has a label."""
    broken = np.zeros(potts.costs.shape, np.int64)
    return Tally(potts.links, potts.costs.copy(), broken, np.full(potts.n, -1, np.int64))


def tally_of(potts: Potts, labels: NDArray[np.int64], time_left: TimeLeft = no_limit) -> Tally:
    """Return the tally of a copy of the labels (n,).

    Raises
    ------
    OutOfTime
        If no time is left on the way.
    """
    tally = empty_tally(potts)
    for first, last in chunks(potts.n, steps_of_relabelling(potts), time_left):
        _label(first, last, labels, tally)
    return tally


def steps_of_relabelling(potts: Potts) -> int:
    """Return the steps that giving a label to a block takes on average."""
    return 1 + 2 * len(potts.pairs) // max(1, potts.n)


def least_improvement(potts: Potts) -> float:
    """Return the least improvement that counts.

    It is far above the rounding of a change, so that a descent ends.
    """
    soft = np.abs(potts.weights[np.isfinite(potts.weights)]).sum()
    return MINIMUM_IMPROVEMENT * float(np.abs(potts.costs[potts.allowed]).max() + soft / potts.n)


@njit(cache=True, nogil=True)
def next_random(state: np.uint64) -> np.uint64:
    """Return the next number, of 64 bits, of Marsaglia's xorshift generator."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@njit(cache=True, nogil=True)
def relabel(i: int, new: int, tally: Tally) -> None:
    """Give block i a label, and keep the tally up with it."""
    starts, neighbour, weight = tally.links
    gamma, broken, old = tally.gamma, tally.broken, tally.labels[i]
    tally.labels[i] = new
    for position in range(starts[i], starts[i + 1]):
        j, w = neighbour[position], weight[position]
        if w == np.inf:
            broken[j, new] += 1
            if old >= 0:
                broken[j, old] -= 1
        else:
            if old >= 0:
                gamma[j, old] -= w
            gamma[j, new] += w


@njit(cache=True, nogil=True)
def _label(first: int, last: int, given: Integers, tally: Tally) -> None:
    for i in range(first, last):
        relabel(i, given[i], tally)
