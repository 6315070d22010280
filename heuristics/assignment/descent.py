"""Descent and tabu search in an assignment programme, from labels that keep its hard pairs.

Single blocks and Kempe chains are moved as long as the objective decreases, and single blocks
further on by tabu search. The Kempe chain of block i and cluster b holds the blocks of the clusters
l(i) and b that are linked to i by hard pairs among them; exchanging both clusters on it breaks no
hard pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.potts import Potts
from heuristics.cluster_state import Neighbours
from sdpbb.runtime.arrays import NONE, Booleans, Integers
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, check_time, chunks, no_limit

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


# Moves of the tabu search over the objective without an improvement, at most: for each block, and
# in all; and no more than about a second takes.
PATIENCE_PER_BLOCK, PATIENCE = 100, 20_000
# A block rests for this share of as many moves as there are blocks: with shorter rests the search
# stays where it is, and ends a tenth higher on graphs of thousands of soft pairs.
TENURE = 8
# Longer Kempe chains are left alone: they turn half of the labelling round, and rarely pay.
LONGEST_CHAIN = 64


def improve(
    potts: Potts, labels: NDArray[np.int64], time_left: TimeLeft = no_limit, by_tabu: bool = True
) -> NDArray[np.int64]:
    """Return labels at most as costly, from labels (n,) that keep the hard pairs.

    They come from descent and, if wanted, tabu search and descent once more. Repeatable, unless the
    time cuts in.
    """
    descended = _descend(potts, labels, time_left)
    if not by_tabu:
        return descended
    found = _tabu_search(potts, descended, time_left)
    if np.array_equal(found, descended):
        return found
    return _descend(potts, found, time_left)


def _descend(potts: Potts, labels: NDArray[np.int64], time_left: TimeLeft) -> NDArray[np.int64]:
    found = labels
    is_waiting, least = np.ones(potts.n, np.bool_), least_improvement(potts)
    # A few chains are looked at for each block.
    each = 4 * potts.k + LONGEST_CHAIN * (1 + 2 * len(potts.pairs) // max(1, potts.n))
    try:
        check_time(time_left)
        tally = tally_of(potts, labels, time_left)
        found, changed = tally.labels, True
        while changed:
            changed = False
            for first, last in chunks(potts.n, each, time_left):
                changed |= _descent_pass(first, last, tally, is_waiting, least)
            check_time(time_left)
    except OutOfTime:
        pass  # every move counts by itself
    return found


def _tabu_search(potts: Potts, labels: NDArray[np.int64], time_left: TimeLeft) -> NDArray[np.int64]:
    """Return the best labels that the tabu search over the objective meets."""
    best, until = labels.copy(), np.zeros(potts.n, np.int64)
    looks = potts.n + 2 * len(potts.pairs) // potts.n * potts.n_labels  # of one move
    patience = min(PATIENCE_PER_BLOCK * potts.n, PATIENCE, 10 * LOOKS // looks)
    since, moves, excess, least = 0, 0, 0.0, least_improvement(potts)
    try:
        check_time(time_left)
        tally = tally_of(potts, labels, time_left)
    except OutOfTime:
        return best
    while since < patience and time_left() > 0.0:
        count = min(patience - since, 1 + LOOKS // looks)
        since, excess = _tabu_over_costs(tally, best, until, moves, count, since, excess, least)
        moves += count
    return best


class _Chain(NamedTuple):
    """Room for one Kempe chain: its blocks.

    stamp : (n,) the number of the last chain that a block was in
    """

    blocks: NDArray[np.int64]
    stamp: NDArray[np.int64]


@njit(cache=True, nogil=True)
def _cheapest_move(i: int, tally: Tally) -> tuple[int, float]:
    """Return the cheapest label of block i that breaks no hard pair, and the change of cost.

    It is another one than its own; -1 for none.
    """
    gamma, broken, labels = tally.gamma, tally.broken, tally.labels
    best, least = NONE, np.inf
    for a in range(gamma.shape[1]):
        if gamma[i, a] < least and a != labels[i] and broken[i, a] == 0:
            best, least = a, gamma[i, a]
    return best, least - gamma[i, labels[i]]


@njit(cache=True, nogil=True)
def _tabu_over_costs(
    tally: Tally,
    best: Integers,
    until: Integers,
    moves: int,
    count: int,
    since: int,
    below: float,
    threshold: float,
) -> tuple[int, float]:
    """Run tabu search over the objective.

    `count` times, the cheapest move is made of a block that has not been moved lately, unless it
    leads below the best so far. `below` is by how much the objective of labels exceeds that of
    `best`, and `since` how long that is ago; both are returned.
    """
    starts, neighbour, labels = tally.links.starts, tally.links.block, tally.labels
    n = len(labels)
    state = np.uint64(88172645463325252 + moves)
    target = np.empty(n, np.int64)
    change = np.empty(n)
    for i in range(n):
        target[i], change[i] = _cheapest_move(i, tally)
    excess = below
    for move in range(moves, moves + count):
        chosen = NONE
        for i in range(n):
            if (until[i] <= move or excess + change[i] < -threshold) and (
                chosen < 0 or change[i] < change[chosen]
            ):
                chosen = i
        since += 1
        if chosen < 0 or target[chosen] < 0:
            continue
        state = next_random(state)
        until[chosen] = move + 1 + n // TENURE + np.int64(state % np.uint64(10))
        excess += change[chosen]
        relabel(chosen, target[chosen], tally)
        target[chosen], change[chosen] = _cheapest_move(chosen, tally)
        for position in range(starts[chosen], starts[chosen + 1]):
            j = neighbour[position]
            target[j], change[j] = _cheapest_move(j, tally)
        if excess < -threshold:
            for i in range(n):
                best[i] = labels[i]
            excess = 0.0
            since = 0
    return since, excess


@njit(cache=True, nogil=True)
def _descent_pass(
    first: int, last: int, tally: Tally, is_waiting: Booleans, threshold: float
) -> bool:
    """Go over the blocks from the first to before the last that wait to be looked at.

    Return whether any labels were changed.
    """
    starts, neighbour = tally.links.starts, tally.links.block
    gamma, broken, labels = tally.gamma, tally.broken, tally.labels
    n, k = gamma.shape
    chain = _Chain(np.empty(LONGEST_CHAIN, np.int64), np.full(n, -1))
    stamped = 0
    any_changed = False
    for i in range(first, last):
        if not is_waiting[i]:
            continue
        is_waiting[i] = False
        own = labels[i]
        best, least = NONE, -threshold
        for a in range(k):
            if gamma[i, a] - gamma[i, own] < least and a != own and broken[i, a] == 0:
                best, least = a, gamma[i, a] - gamma[i, own]
        for a in range(k):
            # Some block of a chain that improves gains by itself, soft pairs within aside.
            if gamma[i, a] >= gamma[i, own] or broken[i, a] == 0:
                continue
            stamped += 1
            length, change = _collect(i, a, tally, chain, stamped)
            if length and change < least:
                best, least = a, change
        if best < 0:
            continue
        # A chain of one block where no hard pair would be broken.
        stamped += 1
        length, _ = _collect(i, best, tally, chain, stamped)
        any_changed = True
        for number in range(length):
            j = chain.blocks[number]
            relabel(j, best if labels[j] == own else own, tally)
            is_waiting[j] = True
            for position in range(starts[j], starts[j + 1]):
                is_waiting[neighbour[position]] = True
    return any_changed


@njit(cache=True, nogil=True)
def _collect(i: int, other: int, tally: Tally, chain: _Chain, stamped: int) -> tuple[int, float]:
    """Collect the Kempe chain of block i with another label.

    Return its length, 0 if it is too long or a block must not have the other label, and the change
    of the objective when it is exchanged.
    """
    starts, neighbour, weight = tally.links
    gamma, labels = tally.gamma, tally.labels
    blocks, stamp = chain
    own = labels[i]
    blocks[0] = i
    stamp[i] = stamped
    length, first = 1, 0
    change = 0.0
    while first < length:
        j = blocks[first]
        target = other if labels[j] == own else own
        change += gamma[j, target] - gamma[j, labels[j]]
        first += 1
        for position in range(starts[j], starts[j + 1]):
            u = neighbour[position]
            if weight[position] < np.inf or stamp[u] == stamped or labels[u] != target:
                continue
            if gamma[u, labels[j]] == np.inf or length == len(blocks):
                return 0, 0.0
            stamp[u] = stamped
            blocks[length] = u
            length += 1
    # Soft pairs within the chain stay as they are, whereas each end saw the other one unmoved.
    for number in range(length):
        j = blocks[number]
        for position in range(starts[j], starts[j + 1]):
            u = neighbour[position]
            if stamp[u] == stamped and weight[position] < np.inf:
                same = labels[u] == labels[j]
                change += weight[position] if same else -weight[position]
    return length, change
