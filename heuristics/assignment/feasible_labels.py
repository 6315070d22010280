"""Labels that keep the hard pairs of an assignment programme.

They are made block by block, next the one with the fewest labels left that break no hard pair
(the saturation of D. Brélaz, New methods to color the vertices of a graph, Comm. ACM 22 (1979)),
among these the one with the most to lose. Hard pairs that are still broken are mended by tabu
search over the number of broken pairs (A. Hertz, D. de Werra, Using tabu search techniques for
graph coloring, Computing 39 (1987)).
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.descent import (
    LOOKS,
    Tally,
    empty_tally,
    next_random,
    relabel,
    steps_of_relabelling,
    tally_of,
)
from heuristics.assignment.potts import Potts
from sdpbb.runtime.arrays import NONE, Integers
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, chunks, no_limit

# Moves of the tabu search over broken pairs, at most: for each block, and at least.
MOVES_PER_BLOCK, MOVES = 200, 200_000
# The same where there are other labels to fall back upon, for each block.
MENDING_PER_BLOCK = 4
# Of the assignment problem of a renaming: rows squared times columns, about 0.1 s.
LARGEST_RENAMING = 100_000_000


def construct(potts: Potts, time_left: TimeLeft = no_limit) -> NDArray[np.int64] | None:
    """Return labels (n,) that keep the hard pairs, None if none were found.

    Repeatable, unless the time cuts in.
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
    """Return labels that keep the hard pairs from labels (n,) that break some.

    None if a few moves for each block do not mend them. Repeatable, unless the time cuts in.
    """
    try:
        tally = tally_of(potts, labels, time_left)
    except OutOfTime:
        return None
    return _mend(potts, tally, MENDING_PER_BLOCK * potts.n, time_left)


def rename_clusters(labels: NDArray[np.intp], costs: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the labels under the renaming of their clusters that makes them cheapest.

    It is an injection into all clusters. The labels stay as they are where finding it would take
    long.
    """
    from scipy.optimize import linear_sum_assignment  # a fifth of a second, and seldom needed

    used, numbers = np.unique(labels, return_inverse=True)
    if len(used) ** 2 * costs.shape[1] > LARGEST_RENAMING:
        return labels
    sums = np.zeros((len(used), costs.shape[1]))
    np.add.at(sums, numbers, costs)
    renamed: NDArray[np.intp] = linear_sum_assignment(sums)[1]
    return renamed[numbers]


def _mend(potts: Potts, tally: Tally, most: int, time_left: TimeLeft) -> NDArray[np.int64] | None:
    until = np.zeros(tally.gamma.shape, np.int64)
    moves = 0
    while n_broken := tally.n_broken:
        if moves > most or time_left() <= 0.0:
            return None
        count = 1 + LOOKS // (n_broken * potts.n_labels + 100)
        _tabu_over_conflicts(tally, until, moves, count)
        moves += count
    return tally.labels


@njit(cache=True, nogil=True)
def _build(count: int, n_free: Integers, by_rank: Integers, rank: Integers, tally: Tally) -> None:
    """Give labels to the next blocks, `count` of them.

    Next is the block with the fewest labels left (n_free), and the first of these by rank.
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
        relabel(i, best, tally)
        for position in range(starts[i], starts[i + 1]):
            j = neighbour[position]
            if labels[j] >= 0 or weight[position] < np.inf:
                continue
            if broken[j, best] == 1 and gamma[j, best] < np.inf:
                n_free[j] -= 1
                heappush(heap, n_free[j] * n + rank[j])


@njit(cache=True, nogil=True)
def _tabu_over_conflicts(tally: Tally, until: Integers, moves: int, count: int) -> None:
    """Run tabu search over the labels of blocks in broken pairs.

    Next is the label that breaks fewest pairs, then the cheapest; a label that was left is tabu for
    a while, unless nothing would stay broken.
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
        relabel(i, best_a, tally)
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
