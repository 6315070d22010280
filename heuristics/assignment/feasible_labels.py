"""Labels that keep the hard pairs of an assignment programme.

They are made block by block, next the one with the fewest labels left that break no hard pair
(the saturation of D. Brélaz, New methods to color the vertices of a graph, Comm. ACM 22 (1979)),
among these the one with the most to lose. Hard pairs that are still broken are mended by tabu
search over the number of broken pairs (A. Hertz, D. de Werra, Using tabu search techniques for
graph coloring, Computing 39 (1987)).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.potts import Potts, cluster_of, place
from heuristics.assignment.tally import (
    LOOKS,
    Tally,
    empty_tally,
    next_random,
    relabel,
    steps_of_relabelling,
    tally_of,
)
from sdpbb.runtime.arrays import NONE, Integers
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, chunks, no_limit

# Moves of the tabu search over broken pairs, at most: for each block, and at least.
MOVES_PER_BLOCK, MOVES = 200, 200_000
# The same where there are other labels to fall back upon, for each block.
MENDING_PER_BLOCK = 4
# Of the assignment problem of a renaming: rows squared times columns, about 0.1 s.
LARGEST_RENAMING = 100_000_000


class _Heap(NamedTuple):
    """Binary heap of blocks, the least key first; place_of[i] is the position of block i."""

    blocks: NDArray[np.int64]
    place_of: NDArray[np.int64]
    key: NDArray[np.int64]


def construct(potts: Potts, time_left: TimeLeft = no_limit) -> NDArray[np.int64] | None:
    """Return labels (n,) that keep the hard pairs, None if none were found.

    Repeatable, unless the time cuts in.
    """
    tally = empty_tally(potts)
    in_order = np.partition(potts.costs, 1, axis=1) if potts.q > 1 else potts.costs
    regret = in_order[:, min(1, potts.q - 1)] - in_order[:, 0]
    rank = np.empty(potts.n, np.int64)
    rank[np.argsort(-regret, kind="stable")] = np.arange(potts.n)
    # Next is the least key: labels left times n, plus rank.
    key = np.isfinite(potts.costs).sum(axis=1) * potts.n + rank
    blocks = np.argsort(key)
    place_of = np.empty(potts.n, np.int64)
    place_of[blocks] = np.arange(potts.n)
    heap = _Heap(blocks, place_of, key)
    try:
        for first, last in chunks(potts.n, potts.q + steps_of_relabelling(potts), time_left):
            _build(last - first, potts.n - first, heap, tally)
    except OutOfTime:
        return None
    return _mend(tally, max(MOVES_PER_BLOCK * potts.n, MOVES), time_left)


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
    return _mend(tally, MENDING_PER_BLOCK * potts.n, time_left)


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


def _mend(tally: Tally, most: int, time_left: TimeLeft) -> NDArray[np.int64] | None:
    until = np.zeros(tally.gamma.shape, np.int64)
    moves, q = 0, tally.gamma.shape[1]
    while n_broken := tally.n_broken:
        if moves > most or time_left() <= 0.0:
            return None
        count = 1 + LOOKS // (n_broken * q + 100)
        _tabu_over_conflicts(tally, until, moves, count)
        moves += count
    return tally.labels


@njit(cache=True, nogil=True)
def _sift_up(heap: _Heap, at: int) -> None:
    blocks, place_of, key = heap
    i = blocks[at]
    while at > 0 and key[blocks[(at - 1) // 2]] > key[i]:
        blocks[at] = blocks[(at - 1) // 2]
        place_of[blocks[at]] = at
        at = (at - 1) // 2
    blocks[at] = i
    place_of[i] = at


@njit(cache=True, nogil=True)
def _pop(heap: _Heap, size: int) -> int:
    """Remove the first of a heap of `size`; the last takes its place."""
    blocks, place_of, key = heap
    first: int = blocks[0]
    i = blocks[size - 1]
    size -= 1
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and key[blocks[child + 1]] < key[blocks[child]]:
            child += 1
        if key[blocks[child]] >= key[i]:
            break
        blocks[at] = blocks[child]
        place_of[blocks[at]] = at
        at = child
    blocks[at] = i
    place_of[i] = at
    return first


@njit(cache=True, nogil=True)
def _build(count: int, size: int, heap: _Heap, tally: Tally) -> None:
    """Give labels to the next `count` blocks of the heap, which has this size."""
    starts, neighbour, weight, candidates = tally.links
    gamma, broken, labels = tally.gamma, tally.broken, tally.labels
    key, place_of = heap.key, heap.place_of
    n, q = gamma.shape
    for waiting in range(size, size - count, -1):
        i = _pop(heap, waiting)
        best = NONE
        for a in range(q):
            if gamma[i, a] == np.inf:
                continue
            if (
                best < 0
                or broken[i, a] < broken[i, best]
                or (broken[i, a] == broken[i, best] and gamma[i, a] < gamma[i, best])
            ):
                best = a
        relabel(i, best, tally)
        cluster = cluster_of(candidates, i, best)
        for position in range(starts[i], starts[i + 1]):
            j = neighbour[position]
            if labels[j] >= 0 or weight[position] < np.inf:
                continue
            b = place(candidates, j, cluster)
            if b >= 0 and broken[j, b] == 1 and gamma[j, b] < np.inf:
                key[j] -= n
                _sift_up(heap, place_of[j])


@njit(cache=True, nogil=True)
def _tabu_over_conflicts(tally: Tally, until: Integers, moves: int, count: int) -> None:
    """Run tabu search over the labels of blocks in broken pairs.

    Next is the label that breaks fewest pairs, then the cheapest; a label that was left is tabu for
    a while, unless nothing would stay broken.
    """
    starts, neighbour = tally.links.starts, tally.links.neighbour
    gamma, broken, labels = tally.gamma, tally.broken, tally.labels
    n, q = gamma.shape
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
            for a in range(q):
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
