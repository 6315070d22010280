"""Branch and bound for small components of hard cannot-links.

    minimise    sum_i costs[i, l(i)]    subject to    l(i) != l(j) for every cannot-link ij.

In a clique Q no two blocks share a label, so that the optimal dual values u, v of the assignment
problem over Q, with v <= 0 and u_i + v_c <= costs_ic, give for all labels

    sum_{i in Q} costs[i, l(i)] >= sum_{i in Q} (u_i + reduced_i,l(i)) + sum_c v_c,
    reduced_ic = costs_ic - u_i - v_c >= 0.

Blocks are parted into cliques; what the reduced costs of the blocks without a label come to at
least, each by itself among the labels that its neighbours leave, bounds a subtree. Labels are given
to the block with the fewest left, cheapest first.

Source of the dual values: J. Munkres, Algorithms for the assignment and transportation problems,
Journal of SIAM 5 (1957), by shortest augmenting paths.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.potts import Neighbours
from sdpbb.runtime.arrays import NONE, Integers, Reals
from sdpbb.runtime.jit import njit

# Entries of costs looked at for one component: a few milliseconds.
WORK = 2_000_000
# Costs that differ by less than this share of the largest are the same.
TOLERANCE = 1e-12


class CliquePartition(NamedTuple):
    """Partition of the blocks of a graph into cliques: members[starts[q] : starts[q + 1]]."""

    starts: NDArray[np.int64]
    members: NDArray[np.int64]


def partition_into_cliques(neighbours: list[set[int]]) -> CliquePartition:
    """Return a partition into cliques, grown greedily from the blocks of largest degree on."""
    degree = np.array([len(others) for others in neighbours])
    waiting = dict.fromkeys(np.argsort(-degree, kind="stable").tolist())
    members, starts = [], [0]
    while waiting:
        first = next(iter(waiting))
        del waiting[first]
        members.append(first)
        candidates = neighbours[first] & waiting.keys()
        while candidates:
            chosen = max(candidates, key=lambda v: (len(neighbours[v] & candidates), -v))
            del waiting[chosen]
            members.append(chosen)
            candidates &= neighbours[chosen]
        starts.append(len(members))
    return CliquePartition(np.array(starts, np.int64), np.array(members, np.int64))


def cheapest_labels(
    costs: NDArray[np.float64],
    neighbours: Neighbours,
    cliques: CliquePartition,
    known: NDArray[np.int64],
    work: int = WORK,
) -> tuple[NDArray[np.int64], bool]:
    """Return the cheapest labels (b,) met, and whether they are proven to be cheapest.

    They are at most as costly as the known ones. The search takes about so many steps at most, the
    same each time.

    Parameters
    ----------
    costs : (b, k), finite
    cliques : of at most k blocks each
    known : (b,) labels that keep the cannot-links
    """
    best = known.astype(np.int64)
    upper = float(costs[np.arange(len(best)), best].sum())
    tolerance = TOLERANCE * float(np.abs(costs).max())
    if len(best) * costs.size > work:  # not even one way down
        return best, False
    reduced, constant = _reduce_costs(costs, cliques)
    if upper <= constant + tolerance:
        return best, True
    return best, _branch(costs, reduced, constant, neighbours, best, tolerance, work)


@njit(cache=True, nogil=True)
def _reduce_costs(costs: Reals, cliques: CliquePartition) -> tuple[Reals, float]:
    """Return the reduced costs, and the sum of all dual values."""
    k = costs.shape[1]
    reduced = costs.copy()
    constant = 0.0
    starts, members = cliques
    for number in range(len(starts) - 1):
        blocks = members[starts[number] : starts[number + 1]]
        n = len(blocks)
        # Row and column 0 stand for nothing: row 0 is where each augmenting path begins.
        u, v = np.zeros(n + 1), np.zeros(k + 1)
        row_of, before = np.zeros(k + 1, np.int64), np.zeros(k + 1, np.int64)
        for row in range(1, n + 1):
            row_of[0] = row
            column = 0
            slack = np.full(k + 1, np.inf)
            met = np.zeros(k + 1, np.bool_)
            while row_of[column] != 0:
                met[column] = True
                here, least, following = row_of[column], np.inf, 0
                for c in range(1, k + 1):
                    if met[c]:
                        continue
                    price = costs[blocks[here - 1], c - 1] - u[here] - v[c]
                    if price < slack[c]:
                        slack[c] = price
                        before[c] = column
                    if slack[c] < least:
                        least = slack[c]
                        following = c
                for c in range(k + 1):
                    if met[c]:
                        u[row_of[c]] += least
                        v[c] -= least
                    else:
                        slack[c] -= least
                column = following
            while column != 0:
                row_of[column] = row_of[before[column]]
                column = before[column]
        for position in range(n):
            constant += u[position + 1]
            for c in range(k):
                price = costs[blocks[position], c] - u[position + 1] - v[c + 1]
                reduced[blocks[position], c] = max(0.0, price)
        for c in range(k):
            constant += v[c + 1]
    return reduced, constant


@njit(cache=True, nogil=True)
def _branch(
    costs: Reals,
    reduced: Reals,
    constant: float,
    neighbours: Neighbours,
    best: Integers,
    tolerance: float,
    work: int,
) -> bool:
    """Write the cheapest labels met into best; return whether the search has ended."""
    n, k = costs.shape
    starts, neighbour = neighbours.starts, neighbours.block
    upper = 0.0
    for i in range(n):
        upper += costs[i, best[i]]
    blocked = np.zeros((n, k), np.int64)  # neighbours with that label
    labels = np.full(n, -1, np.int64)
    vertex = np.empty(n, np.int64)  # that gets a label at a depth,
    tried = np.zeros((n, k), np.bool_)  # the labels it has had there,
    others = np.empty(n)  # and what the rest costs at least
    least = np.empty(n)
    depth = 0
    while True:
        # Down: bound, and choose a block.
        work -= n * k
        if work < 0:
            return False
        total = _bound(reduced, constant, labels, blocked, least)
        is_dead = False
        if depth == n:
            is_dead = True
            value = 0.0
            for i in range(n):
                value += costs[i, labels[i]]
            if value < upper - tolerance:
                upper = value
                for i in range(n):
                    best[i] = labels[i]
        elif total >= upper - tolerance:
            is_dead = True
        else:
            chosen = _most_constrained(reduced, labels, blocked, least, total, upper - tolerance)
            vertex[depth] = chosen
            tried[depth, :] = False
            others[depth] = total - least[chosen]
        if is_dead:
            depth -= 1
        # On: the next label of the block, or back to the one before.
        while depth >= 0:
            i = vertex[depth]
            if labels[i] >= 0:
                for position in range(starts[i], starts[i + 1]):
                    blocked[neighbour[position], labels[i]] -= 1
                labels[i] = -1
            label = NONE
            for c in range(k):
                if tried[depth, c] or blocked[i, c] > 0:
                    continue
                if others[depth] + reduced[i, c] >= upper - tolerance:
                    continue
                if label < 0 or reduced[i, c] < reduced[i, label]:
                    label = c
            if label >= 0:
                tried[depth, label] = True
                labels[i] = label
                for position in range(starts[i], starts[i + 1]):
                    blocked[neighbour[position], label] += 1
                break
            depth -= 1
        if depth < 0:
            return True
        depth += 1


@njit(cache=True, nogil=True)
def _bound(
    reduced: Reals, constant: float, labels: Integers, blocked: Integers, least: Reals
) -> float:
    """Return a lower bound on the costs of all labels that agree with those given, (n,).

    The least reduced cost of each block without a label is written into `least`.
    """
    n, k = reduced.shape
    total = constant
    for i in range(n):
        if labels[i] >= 0:
            total += reduced[i, labels[i]]
            continue
        least[i] = np.inf
        for c in range(k):
            if blocked[i, c] == 0 and reduced[i, c] < least[i]:
                least[i] = reduced[i, c]
        total += least[i]
    return total


@njit(cache=True, nogil=True)
def _most_constrained(
    reduced: Reals, labels: Integers, blocked: Integers, least: Reals, total: float, limit: float
) -> int:
    """Return the block without a label that has the fewest whose bound is below the limit.

    total : the bound without it
    """
    n, k = reduced.shape
    chosen, fewest = -1, k + 1
    for i in range(n):
        if labels[i] >= 0:
            continue
        allowed = 0
        for c in range(k):
            if blocked[i, c] == 0 and total + (reduced[i, c] - least[i]) < limit:
                allowed += 1
        if allowed < fewest:
            chosen, fewest = i, allowed
    return chosen
