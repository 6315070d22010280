"""Local search in an assignment programme: labels that keep the hard pairs, and cheap ones.

Labels are made block by block, next the one with the fewest labels left that break no hard pair
(the saturation of D. Brélaz, New methods to color the vertices of a graph, Comm. ACM 22 (1979)),
among these the one with the most to lose. Hard pairs that are still broken are mended by tabu
search over the number of broken pairs (A. Hertz, D. de Werra, Using tabu search techniques for
graph coloring, Computing 39 (1987)). Then single blocks and Kempe chains are moved as long as the
objective decreases, and single blocks further on by tabu search. The Kempe chain of block i and
cluster b holds the blocks of the clusters l(i) and b that are linked to i by hard pairs among them;
exchanging both clusters on it breaks no hard pair.
"""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from heuristics.assignment.potts import Potts
from heuristics.assignment.reduction import cluster_of, place

# What the tabu searches look at between two looks at the clock, about 0.1 s.
LOOKS = 10_000_000
# Moves of the tabu search over broken pairs, at most: for each block, and at least.
MOVES_PER_BLOCK, MOVES = 200, 200_000
# The same where there are other labels to fall back upon, for each block.
MENDING_PER_BLOCK = 4
# Moves of the tabu search over the objective without an improvement, at most: for each block, and
# in all; and no more than about a second takes.
PATIENCE_PER_BLOCK, PATIENCE = 100, 20_000
# A block rests for this share of as many moves as there are blocks: with shorter rests the search
# stays where it is, and ends a tenth higher on graphs of thousands of soft pairs.
TENURE = 8
# Longer Kempe chains are left alone: they turn half of the labelling round, and rarely pay.
LONGEST_CHAIN = 64
# A move counts if it improves by more than this share of the costs: far above the rounding of its
# change, so that the descent ends.
MINIMUM_IMPROVEMENT = 1e-12


def constructed(potts: Potts, seconds: float) -> NDArray[np.int64] | None:
    """Labels (n,) that keep the hard pairs, None if none were found. Repeatable, unless the time
    cuts in."""
    deadline = perf_counter() + seconds
    starts, block, pair = potts.neighbours
    weight = potts.weights[pair]
    gamma, broken = potts.costs.copy(), np.zeros(potts.costs.shape, np.int64)
    in_order = np.partition(potts.costs, 1, axis=1) if potts.q > 1 else potts.costs
    regret = in_order[:, min(1, potts.q - 1)] - in_order[:, 0]
    rank = np.empty(potts.n, np.int64)
    rank[np.argsort(-regret, kind="stable")] = np.arange(potts.n)
    labels = np.full(potts.n, -1)
    _build(starts, block, weight, potts.candidates, rank, gamma, broken, labels)
    return _mended(potts, labels, gamma, broken, max(MOVES_PER_BLOCK * potts.n, MOVES), deadline)


def mended(potts: Potts, labels: NDArray[np.int64], seconds: float) -> NDArray[np.int64] | None:
    """Labels that keep the hard pairs from labels (n,) that break some, None if a few moves for
    each block do not mend them. Repeatable, unless the time cuts in."""
    deadline = perf_counter() + seconds
    tally = _tallied(potts, labels)
    return _mended(
        potts, tally.labels, tally.gamma, tally.broken, MENDING_PER_BLOCK * potts.n, deadline
    )


def _mended(
    potts: Potts,
    labels: NDArray[np.int64],
    gamma: NDArray[np.float64],
    broken: NDArray[np.int64],
    most: int,
    deadline: float,
) -> NDArray[np.int64] | None:
    starts, block, pair = potts.neighbours
    weight = potts.weights[pair]
    until = np.zeros(potts.costs.shape, np.int64)
    moves = 0
    while n_broken := int((broken[np.arange(potts.n), labels] > 0).sum()):
        if perf_counter() > deadline or moves > most:
            return None
        count = 1 + LOOKS // (n_broken * potts.q + 100)
        _mend(starts, block, weight, potts.candidates, gamma, broken, labels, until, moves, count)
        moves += count
    return labels


def improved(
    potts: Potts, labels: NDArray[np.int64], seconds: float, by_tabu: bool = True
) -> NDArray[np.int64]:
    """Labels at most as costly, from labels (n,) that keep the hard pairs, by descent and, if
    wanted, tabu search and descent once more. Repeatable, unless the time cuts in."""
    deadline = perf_counter() + seconds
    descended = _descended(potts, labels, deadline)
    if not by_tabu:
        return descended
    found = _wandered(potts, descended, deadline)
    if np.array_equal(found, descended):
        return found
    return _descended(potts, found, deadline)


def _descended(potts: Potts, labels: NDArray[np.int64], deadline: float) -> NDArray[np.int64]:
    tally = _tallied(potts, labels)
    is_waiting, threshold = np.ones(potts.n, np.bool_), _threshold(potts)
    while perf_counter() < deadline and _descend(*tally, is_waiting, threshold):
        pass
    return tally.labels


def _wandered(potts: Potts, labels: NDArray[np.int64], deadline: float) -> NDArray[np.int64]:
    """The best labels met by the tabu search over the objective."""
    tally, threshold = _tallied(potts, labels), _threshold(potts)
    best, until = labels.copy(), np.zeros(potts.n, np.int64)
    looks = potts.n + 2 * len(potts.pairs) // potts.n * potts.q  # of one move
    patience = min(PATIENCE_PER_BLOCK * potts.n, PATIENCE, 10 * LOOKS // looks)
    since, moves, excess = 0, 0, 0.0
    while since < patience and perf_counter() < deadline:
        count = min(patience - since, 1 + LOOKS // looks)
        since, excess = _wander(*tally, best, until, moves, count, since, excess, threshold)
        moves += count
    return best


class _Tally(NamedTuple):
    """Adjacency lists and candidates, and what the kernels keep up to date: gamma and broken as in
    `_relabel`, and the labels."""

    starts: NDArray[np.int64]
    neighbour: NDArray[np.int64]
    weight: NDArray[np.float64]
    candidates: NDArray[np.int64] | None
    gamma: NDArray[np.float64]
    broken: NDArray[np.int64]
    labels: NDArray[np.int64]


def _tallied(potts: Potts, labels: NDArray[np.int64]) -> _Tally:
    """The tally of a copy of the labels (n,)."""
    starts, block, pair = potts.neighbours
    weight = potts.weights[pair]
    gamma, broken = potts.costs.copy(), np.zeros(potts.costs.shape, np.int64)
    tally = _Tally(starts, block, weight, potts.candidates, gamma, broken, labels.copy())
    _tally(*tally)
    return tally


def _threshold(potts: Potts) -> float:
    finite = np.isfinite(potts.costs)
    soft = np.abs(potts.weights[np.isfinite(potts.weights)]).sum()
    return MINIMUM_IMPROVEMENT * float(np.abs(potts.costs[finite]).max() + soft / potts.n)


@njit(cache=True)
def _relabel(i, label, starts, neighbour, weight, candidates, gamma, broken, labels):
    """Give block i a label; gamma[j, b] is what label b of j costs with its soft pairs, and
    broken[j, b] how many hard ones it breaks, given the labels of the others."""
    old = -1 if labels[i] < 0 else cluster_of(candidates, i, labels[i])
    new = cluster_of(candidates, i, label)
    labels[i] = label
    for position in range(starts[i], starts[i + 1]):
        j = neighbour[position]
        w = weight[position]
        if old >= 0:
            b = place(candidates, j, old)
            if b >= 0:
                if w == np.inf:
                    broken[j, b] -= 1
                else:
                    gamma[j, b] -= w
        b = place(candidates, j, new)
        if b >= 0:
            if w == np.inf:
                broken[j, b] += 1
            else:
                gamma[j, b] += w


@njit(cache=True)
def _tally(starts, neighbour, weight, candidates, gamma, broken, labels):
    given = labels.copy()
    labels[:] = -1
    for i in range(len(labels)):
        _relabel(i, given[i], starts, neighbour, weight, candidates, gamma, broken, labels)


@njit(cache=True)
def _sift_up(heap, at, key, place_of):
    i = heap[at]
    while at > 0 and key[heap[(at - 1) // 2]] > key[i]:
        heap[at] = heap[(at - 1) // 2]
        place_of[heap[at]] = at
        at = (at - 1) // 2
    heap[at] = i
    place_of[i] = at


@njit(cache=True)
def _pop(heap, size, key, place_of):
    """The first of a heap of `size`; the last takes its place."""
    first = heap[0]
    i = heap[size - 1]
    size -= 1
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and key[heap[child + 1]] < key[heap[child]]:
            child += 1
        if key[heap[child]] >= key[i]:
            break
        heap[at] = heap[child]
        place_of[heap[at]] = at
        at = child
    heap[at] = i
    place_of[i] = at
    return first


@njit(cache=True)
def _build(starts, neighbour, weight, candidates, rank, gamma, broken, labels):
    n, q = gamma.shape
    key = np.empty(n, np.int64)
    for i in range(n):
        allowed = 0
        for a in range(q):
            if gamma[i, a] < np.inf:
                allowed += 1
        key[i] = allowed * n + rank[i]
    heap = np.argsort(key)
    place_of = np.empty(n, np.int64)
    for at in range(n):
        place_of[heap[at]] = at
    for size in range(n, 0, -1):
        i = _pop(heap, size, key, place_of)
        best = -1
        for a in range(q):
            if gamma[i, a] == np.inf:
                continue
            if (
                best < 0
                or broken[i, a] < broken[i, best]
                or (broken[i, a] == broken[i, best] and gamma[i, a] < gamma[i, best])
            ):
                best = a
        _relabel(i, best, starts, neighbour, weight, candidates, gamma, broken, labels)
        cluster = cluster_of(candidates, i, best)
        for position in range(starts[i], starts[i + 1]):
            j = neighbour[position]
            if labels[j] >= 0 or weight[position] < np.inf:
                continue
            b = place(candidates, j, cluster)
            if b >= 0 and broken[j, b] == 1 and gamma[j, b] < np.inf:
                key[j] -= n
                _sift_up(heap, place_of[j], key, place_of)


@njit(cache=True)
def _mend(starts, neighbour, weight, candidates, gamma, broken, labels, until, moves, count):
    """Tabu search: of the labels of blocks in broken pairs the one that breaks fewest, then the
    cheapest; a label that was left is tabu for a while, unless nothing would stay broken."""
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
        best_i, best_a, best_change, best_cost = -1, -1, 0, np.inf
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
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        until[i, own] = move + 1 + (6 * n_conflicts) // 10 + np.int64(state % np.uint64(10))
        total += best_change
        _relabel(i, best_a, starts, neighbour, weight, candidates, gamma, broken, labels)
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


@njit(cache=True)
def _cheapest_move(i, gamma, broken, labels):
    """The label of block i, other than its own, that breaks no hard pair and costs least, -1 for
    none, and the change."""
    best, least = -1, np.inf
    for a in range(gamma.shape[1]):
        if a != labels[i] and broken[i, a] == 0 and gamma[i, a] < least:
            best, least = a, gamma[i, a]
    return best, least - gamma[i, labels[i]]


@njit(cache=True)
def _wander(
    starts,
    neighbour,
    weight,
    candidates,
    gamma,
    broken,
    labels,
    best,
    until,
    moves,
    count,
    since,
    below,
    threshold,
):
    """Tabu search over the objective: `count` times the cheapest move of a block that has not been
    moved lately, unless it leads below the best so far. `below` is by how much the objective of
    labels exceeds that of `best`, and `since` how long that is ago; both are returned."""
    n = len(labels)
    state = np.uint64(88172645463325252 + moves)
    target = np.empty(n, np.int64)
    change = np.empty(n)
    for i in range(n):
        target[i], change[i] = _cheapest_move(i, gamma, broken, labels)
    excess = below
    for move in range(moves, moves + count):
        chosen = -1
        for i in range(n):
            if (until[i] <= move or excess + change[i] < -threshold) and (
                chosen < 0 or change[i] < change[chosen]
            ):
                chosen = i
        since += 1
        if chosen < 0 or target[chosen] < 0:
            continue
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        until[chosen] = move + 1 + n // TENURE + np.int64(state % np.uint64(10))
        excess += change[chosen]
        _relabel(
            chosen,
            target[chosen],
            starts,
            neighbour,
            weight,
            candidates,
            gamma,
            broken,
            labels,
        )
        target[chosen], change[chosen] = _cheapest_move(chosen, gamma, broken, labels)
        for position in range(starts[chosen], starts[chosen + 1]):
            j = neighbour[position]
            target[j], change[j] = _cheapest_move(j, gamma, broken, labels)
        if excess < -threshold:
            best[:] = labels
            excess = 0.0
            since = 0
    return since, excess


@njit(cache=True)
def _descend(starts, neighbour, weight, candidates, gamma, broken, labels, is_waiting, threshold):
    """One sweep over the blocks that wait to be looked at; whether any labels were changed."""
    n, q = gamma.shape
    stamp = np.full(n, -1, np.int64)
    chain = np.empty(LONGEST_CHAIN, np.int64)
    target = np.empty(LONGEST_CHAIN, np.int64)
    stamped = 0
    any_changed = False
    for i in range(n):
        if not is_waiting[i]:
            continue
        is_waiting[i] = False
        own = labels[i]
        best, least = -1, -threshold
        for a in range(q):
            if a != own and broken[i, a] == 0 and gamma[i, a] - gamma[i, own] < least:
                best, least = a, gamma[i, a] - gamma[i, own]
        length = 1
        chain[0], target[0] = i, best
        for a in range(q):
            # Some block of a chain that improves gains by itself, soft pairs within aside.
            if broken[i, a] == 0 or gamma[i, a] >= gamma[i, own]:
                continue
            stamped += 1
            found, change = _chain(
                i,
                a,
                starts,
                neighbour,
                weight,
                candidates,
                gamma,
                labels,
                stamp,
                stamped,
                chain,
                target,
            )
            if found and change < least:
                best, least = a, change
        if best < 0:
            continue
        if broken[i, best] == 0:
            length, chain[0], target[0] = 1, i, best
        else:
            stamped += 1
            length, _ = _chain(
                i,
                best,
                starts,
                neighbour,
                weight,
                candidates,
                gamma,
                labels,
                stamp,
                stamped,
                chain,
                target,
            )
        any_changed = True
        for number in range(length):
            j = chain[number]
            _relabel(
                j, target[number], starts, neighbour, weight, candidates, gamma, broken, labels
            )
            is_waiting[j] = True
            for position in range(starts[j], starts[j + 1]):
                is_waiting[neighbour[position]] = True
    return any_changed


@njit(cache=True)
def _chain(
    i, a, starts, neighbour, weight, candidates, gamma, labels, stamp, stamped, chain, target
):
    """Collect the Kempe chain of block i with the cluster of its label a, with the new labels; its
    length, 0 if it is too long or a block must not have the other cluster, and what exchanging it
    changes."""
    here = cluster_of(candidates, i, labels[i])
    there = cluster_of(candidates, i, a)
    chain[0], target[0] = i, a
    stamp[i] = stamped
    length, first = 1, 0
    change = 0.0
    while first < length:
        j = chain[first]
        is_here = cluster_of(candidates, j, labels[j]) == here
        change += gamma[j, target[first]] - gamma[j, labels[j]]
        first += 1
        for position in range(starts[j], starts[j + 1]):
            u = neighbour[position]
            cluster = cluster_of(candidates, u, labels[u])
            if (
                weight[position] < np.inf
                or stamp[u] == stamped
                or (cluster != (there if is_here else here))
            ):
                continue
            b = place(candidates, u, here if is_here else there)
            if b < 0 or gamma[u, b] == np.inf or length == len(chain):
                return 0, 0.0
            stamp[u] = stamped
            chain[length], target[length] = u, b
            length += 1
    # Soft pairs within the chain stay as they are, whereas each end saw the other one stand still.
    for number in range(length):
        j = chain[number]
        cluster = cluster_of(candidates, j, labels[j])
        for position in range(starts[j], starts[j + 1]):
            u = neighbour[position]
            if stamp[u] == stamped and weight[position] < np.inf:
                same = cluster_of(candidates, u, labels[u]) == cluster
                change += weight[position] if same else -weight[position]
    return length, change
