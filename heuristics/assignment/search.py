"""Local search in a Potts model: labels that satisfy its hard pairs, and better ones.

Labels are constructed block by block. Next is the block with the fewest labels that violate no hard
pair (the saturation of D. Brélaz, New methods to color the vertices of a graph, Comm. ACM 22
(1979)); among equals, the block with the largest regret. Hard pairs that are still violated are
mended by tabu search over the number of violated pairs (A. Hertz, D. de Werra, Using tabu search
techniques for graph coloring, Computing 39 (1987)).

Then single blocks and Kempe chains move as long as the objective decreases. At last, tabu search
moves single blocks. The Kempe chain of block i and cluster b holds the blocks of clusters l(i) and
b that are connected to i by hard pairs. Exchanging both clusters on it violates no hard
pair.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.potts import Potts
from heuristics.cluster_state import Neighbours, change_of_prices, kempe_chain
from sdpbb.runtime.arrays import NONE, Booleans, Integers
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, check_time, chunks, no_limit

# Steps of a tabu search between two looks at the time, about 0.1 s.
LOOKS = 10_000_000
# Least improvement that counts, as a share of the largest cost.
LEAST_IMPROVEMENT = 1e-12


class Tally(NamedTuple):
    """Labels, costs of all labels given the others, and the pairs for updates.

    costs : (n, k) of the Potts model
    gamma : (n, k) cost of label b of block j and its soft pairs, given the other blocks' labels
    broken : (n, k) number of hard pairs that label b of block j violates
    labels : (n,), -1: none yet
    """

    links: Neighbours
    costs: NDArray[np.float64]
    gamma: NDArray[np.float64]
    broken: NDArray[np.int64]
    labels: NDArray[np.int64]


def empty_tally(potts: Potts) -> Tally:
    """Return the tally before any block has a label."""
    broken = np.zeros(potts.costs.shape, np.int64)
    labels = np.full(potts.n, -1, np.int64)
    return Tally(potts.links, potts.costs, potts.costs.copy(), broken, labels)


def tally_of(potts: Potts, labels: NDArray[np.int64], time_left: TimeLeft = no_limit) -> Tally:
    """Return the tally of a copy of the labels (n,).

    Raises
    ------
    OutOfTime
        If the time is over before the end.
    """
    tally = empty_tally(potts)
    for first, last in chunks(potts.n, steps_of_relabelling(potts), time_left):
        _label(first, last, labels, tally)
    return tally


def steps_of_relabelling(potts: Potts) -> int:
    """Return the average steps of labelling a block."""
    return 1 + 2 * len(potts.pairs) // max(1, potts.n)


def least_improvement(potts: Potts) -> float:
    """Return the least improvement that counts: far above rounding, so that a descent ends."""
    soft = np.abs(potts.weights[np.isfinite(potts.weights)]).sum()
    return LEAST_IMPROVEMENT * float(np.abs(potts.costs[potts.allowed]).max() + soft / potts.n)


@njit(cache=True, nogil=True)
def next_random(state: np.uint64) -> np.uint64:
    """Return the next number, of 64 bits, of Marsaglia's xorshift generator."""
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    return state


@njit(cache=True, nogil=True)
def give_label(i: int, new: int, tally: Tally) -> None:
    """Give block i a label, and update the tally."""
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
        give_label(i, given[i], tally)


# Maximum moves of the tabu search over violated pairs: for each block, or this number if larger.
MOVES_PER_BLOCK, MOVES = 200, 200_000
# The same for each block in `mend`, whose caller has other labels, too.
MENDING_PER_BLOCK = 4


def construct(potts: Potts, time_left: TimeLeft = no_limit) -> NDArray[np.int64] | None:
    """Return constructed labels (n,) that satisfy the hard pairs; None: not found.

    Repeatable, unless the time ends.
    """
    tally = empty_tally(potts)
    in_order = np.partition(potts.costs, 1, axis=1) if potts.k > 1 else potts.costs
    regret = in_order[:, min(1, potts.k - 1)] - in_order[:, 0]
    by_rank = np.argsort(-regret, kind="stable")
    rank = np.empty(potts.n, np.int64)
    rank[by_rank] = np.arange(potts.n)
    n_free = potts.allowed.sum(axis=1)
    try:
        for first, last in chunks(potts.n, potts.k + steps_of_relabelling(potts), time_left):
            _build(last - first, n_free, by_rank, rank, tally)
    except OutOfTime:
        return None
    return _mend(potts, tally, max(MOVES_PER_BLOCK * potts.n, MOVES), time_left)


def mend(
    potts: Potts, labels: NDArray[np.int64], time_left: TimeLeft = no_limit
) -> NDArray[np.int64] | None:
    """Return labels that satisfy the hard pairs from labels (n,) that violate some.

    None if a few moves for each block do not suffice. Repeatable, unless the time ends.
    """
    try:
        tally = tally_of(potts, labels, time_left)
    except OutOfTime:
        return None
    return _mend(potts, tally, MENDING_PER_BLOCK * potts.n, time_left)


def _mend(potts: Potts, tally: Tally, most: int, time_left: TimeLeft) -> NDArray[np.int64] | None:
    until = np.zeros(tally.gamma.shape, np.int64)
    moves, every = 0, np.arange(potts.n)
    while n_broken := int(np.count_nonzero(tally.broken[every, tally.labels])):
        if moves > most or time_left() <= 0.0:
            return None
        count = 1 + LOOKS // (n_broken * potts.n_labels + 100)
        _tabu_over_conflicts(tally, until, moves, count)
        moves += count
    return tally.labels


@njit(cache=True, nogil=True)
def _build(count: int, n_free: Integers, by_rank: Integers, rank: Integers, tally: Tally) -> None:
    """Label the next `count` blocks.

    Next is the block with the fewest free labels (n_free); of equals, the first by rank.
    """
    starts, neighbour, weight = tally.links
    gamma, broken, labels = tally.gamma, tally.broken, tally.labels
    n, k = gamma.shape
    # Entries from before a block lost a label stay in the heap, behind its newer ones.
    heap = [n_free[i] * n + rank[i] for i in range(n) if labels[i] < 0]
    heapify(heap)
    while count > 0:
        i = by_rank[heappop(heap) % n]
        if labels[i] >= 0:
            continue
        count -= 1
        best = NONE
        for a in range(k):
            if gamma[i, a] == np.inf:
                continue
            if (
                best < 0
                or broken[i, a] < broken[i, best]
                or (broken[i, a] == broken[i, best] and gamma[i, a] < gamma[i, best])
            ):
                best = a
        give_label(i, best, tally)
        for position in range(starts[i], starts[i + 1]):
            j = neighbour[position]
            if labels[j] >= 0 or weight[position] < np.inf:
                continue
            if broken[j, best] == 1 and gamma[j, best] < np.inf:
                n_free[j] -= 1
                heappush(heap, n_free[j] * n + rank[j])


@njit(cache=True, nogil=True)
def _tabu_over_conflicts(tally: Tally, until: Integers, moves: int, count: int) -> None:
    """Run tabu search over the labels of blocks in violated pairs.

    Next is the label that violates fewest pairs; of equals, the cheapest. The old label of a block
    is tabu for some moves, unless it resolves all violations.
    """
    starts, neighbour = tally.links.starts, tally.links.block
    gamma, broken, labels = tally.gamma, tally.broken, tally.labels
    n, k = gamma.shape
    state = np.uint64(88172645463325252 + moves)
    in_conflict = np.empty(n, np.int64)
    place_of = np.full(n, -1, np.int64)
    n_conflicts = 0
    total = 0
    for i in range(n):
        if broken[i, labels[i]] > 0:
            total += broken[i, labels[i]]
            in_conflict[n_conflicts] = i
            place_of[i] = n_conflicts
            n_conflicts += 1
    total //= 2
    for move in range(moves, moves + count):
        if n_conflicts == 0:
            return
        best_i, best_a, best_change, best_cost = NONE, NONE, 0, np.inf
        for number in range(n_conflicts):
            i = in_conflict[number]
            own = labels[i]
            for a in range(k):
                if a == own or gamma[i, a] == np.inf:
                    continue
                change = broken[i, a] - broken[i, own]
                if until[i, a] > move and total + change > 0:
                    continue
                cost = gamma[i, a] - gamma[i, own]
                if (
                    best_i < 0
                    or change < best_change
                    or (change == best_change and cost < best_cost)
                ):
                    best_i, best_a, best_change, best_cost = i, a, change, cost
        if best_i < 0:
            continue
        i, own = best_i, labels[best_i]
        state = next_random(state)
        until[i, own] = move + 1 + (6 * n_conflicts) // 10 + np.int64(state % np.uint64(10))
        total += best_change
        give_label(i, best_a, tally)
        for position in range(starts[i] - 1, starts[i + 1]):
            j = i if position < starts[i] else neighbour[position]
            conflicting = broken[j, labels[j]] > 0
            if conflicting and place_of[j] < 0:
                in_conflict[n_conflicts] = j
                place_of[j] = n_conflicts
                n_conflicts += 1
            elif not conflicting and place_of[j] >= 0:
                n_conflicts -= 1
                moved = in_conflict[n_conflicts]
                in_conflict[place_of[j]] = moved
                place_of[moved] = place_of[j]
                place_of[j] = -1


# Maximum moves of the tabu search over the objective without an improvement: for each block, in
# total, and in about a second.
PATIENCE_PER_BLOCK, PATIENCE = 100, 20_000
# A moved block of n blocks is tabu for n / TENURE moves. With shorter rests the search stalls, and
# ends a tenth higher on graphs of thousands of soft pairs.
TENURE = 8
# Longer Kempe chains are ignored: they change half of the labels, and rarely pay off.
LONGEST_CHAIN = 64


def improve(
    potts: Potts, labels: NDArray[np.int64], time_left: TimeLeft = no_limit, by_tabu: bool = True
) -> NDArray[np.int64]:
    """Return labels at most as costly, from labels (n,) that satisfy the hard pairs.

    By descent and, if by_tabu, tabu search and another descent. Repeatable, unless the time ends.
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
    # Steps of a block: a few chains are tried.
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
    """Return the best labels of a tabu search over the objective."""
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


@njit(cache=True, nogil=True)
def _cheapest_move(i: int, tally: Tally) -> tuple[int, float]:
    """Return the cheapest other label of block i that violates no hard pair, and the change.

    -1 if all others violate one.
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

    `count` times, make the cheapest move of a block that is not tabu, or of any block if it leads
    below the best. `below` is the objective minus the best, `since` the number of moves since the
    best; both are returned.
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
        give_label(chosen, target[chosen], tally)
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
    """Move the waiting blocks, or their chains, from `first` to before `last`.

    Return whether any labels were changed.
    """
    links, costs = tally.links, tally.costs
    gamma, broken, labels = tally.gamma, tally.broken, tally.labels
    n, k = gamma.shape
    chain, stamp, stamped = np.empty(LONGEST_CHAIN, np.int64), np.full(n, -1, np.int64), 0
    any_changed = False
    for i in range(first, last):
        if not is_waiting[i]:
            continue
        is_waiting[i] = False
        own = labels[i]
        best, least = _cheapest_move(i, tally)
        if least >= -threshold:
            best, least = NONE, -threshold
        for a in range(k):
            # In a chain that improves some block gains, apart from soft pairs within the chain.
            if gamma[i, a] >= gamma[i, own] or broken[i, a] == 0:
                continue
            stamped += 1
            length = kempe_chain(i, a, labels, links, stamp, stamped, chain)
            change = change_of_prices(chain, length, own, a, labels, stamp, stamped, links)
            for number in range(length):
                j = chain[number]
                change += costs[j, own + a - labels[j]] - costs[j, labels[j]]
            if length and change < least:
                best, least = a, change
        if best < 0:
            continue
        # The chain is one block if it violates no hard pair.
        stamped += 1
        length = kempe_chain(i, best, labels, links, stamp, stamped, chain)
        any_changed = True
        for number in range(length):
            j = chain[number]
            give_label(j, own + best - labels[j], tally)
            is_waiting[j] = True
            for position in range(links.starts[j], links.starts[j + 1]):
                is_waiting[links.block[position]] = True
    return any_changed
