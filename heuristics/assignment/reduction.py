"""Reduction of a programme: dominated labels left out, pairs of settled blocks charged."""

from __future__ import annotations

import numpy as np

from heuristics.assignment.potts import Potts
from heuristics.cluster_state import Neighbours
from sdpbb.runtime.arrays import Booleans, Integers, Reals
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, check_time, chunks, no_limit

# Sweeps of dominance at most; few labels are left out after the first ones.
DOMINANCE_SWEEPS = 20


def without_dominated(potts: Potts, time_left: TimeLeft = no_limit) -> Potts:
    """Return the programme without dominated labels, itself if there are none.

    A label is dominated if another label of the block serves no worse, whatever the labels of the
    others. The minimum is the same. Where no time is left, some that are dominated may stay.

    Label a of block i is dominated by b if

        costs_ia - costs_ib + sum_j min { w_ij ([a = l_j] - [b = l_j]) : l_j allowed } >= 0.

    Source: R. F. Goldstein, Efficient rotamer elimination applied to protein side-chains and
    related spin glasses, Biophysical Journal 66 (1994).
    """
    costs, is_waiting = potts.costs.copy(), np.ones(potts.n, np.bool_)
    each = potts.k * (3 + 4 * len(potts.pairs) // max(1, potts.n))
    any_left_out = False
    try:
        for _ in range(DOMINANCE_SWEEPS):
            left_out = False
            for first, last in chunks(potts.n, each, time_left):
                left_out |= _dominate(first, last, potts.links, costs, is_waiting)
                any_left_out |= left_out
            if not left_out:
                break
            check_time(time_left)
    except OutOfTime:
        pass  # what was left out by then is dominated
    return Potts(costs, potts.pairs, potts.weights) if any_left_out else potts


def settled(potts: Potts) -> Potts | None:
    """Return the programme with the pairs of blocks of one label charged to the other blocks.

    Their other blocks may have one label by then. None if that is a contradiction: no labels keep
    the hard pairs.
    """
    costs, pairs, weights = potts.costs.copy(), potts.pairs, potts.weights
    while True:
        n_allowed, only = np.isfinite(costs).sum(axis=1), np.argmin(costs, axis=1)
        if not n_allowed.all():
            return None
        one, other = (n_allowed == 1)[pairs].T
        if not (one | other).any():
            return Potts(costs, pairs, weights)
        for is_charged, source, target in ((one, 0, 1), (other & ~one, 1, 0)):
            i, j = pairs[is_charged, source], pairs[is_charged, target]
            np.add.at(costs, (j, only[i]), weights[is_charged])
        rest = ~(one | other)
        pairs, weights = pairs[rest], weights[rest]


@njit(cache=True, nogil=True)
def _dominate(first: int, last: int, links: Neighbours, costs: Reals, is_waiting: Booleans) -> bool:
    """Go over the blocks from the first to before the last that wait.

    Return whether any label was left out (its cost is inf).
    """
    n, k = costs.shape
    starts, neighbour = links.starts, links.block
    allowed = np.zeros(n, np.int64)
    for i in range(n):
        for a in range(k):
            if costs[i, a] < np.inf:
                allowed[i] += 1
    any_left_out = False
    for i in range(first, last):
        if not is_waiting[i]:
            continue
        is_waiting[i] = False
        b, worst = _safest_label(i, links, costs)
        if worst == np.inf:
            continue
        left_out = False
        for a in range(k):
            if a != b and costs[i, a] < np.inf and _margin(i, a, b, links, costs, allowed) >= 0:
                costs[i, a] = np.inf
                allowed[i] -= 1
                left_out = True
        if left_out:
            any_left_out = True
            for position in range(starts[i], starts[i + 1]):
                is_waiting[neighbour[position]] = True
    return any_left_out


@njit(cache=True, nogil=True)
def _safest_label(i: int, links: Neighbours, costs: Reals) -> tuple[int, float]:
    """Return the label of block i that is cheapest at worst, and its cost then.

    At worst it violates all cannot-links that it may violate.
    """
    starts, neighbour, weight = links
    best, least = 0, np.inf
    for a in range(costs.shape[1]):
        worst = costs[i, a]
        if worst == np.inf:
            continue
        for position in range(starts[i], starts[i + 1]):
            if weight[position] > 0 and costs[neighbour[position], a] < np.inf:
                worst += weight[position]
        if worst < least:
            best, least = a, worst
    return best, least


@njit(cache=True, nogil=True)
def _margin(i: int, a: int, b: int, links: Neighbours, costs: Reals, allowed: Integers) -> float:
    """Return by how much label a of block i is dearer than b at least, whatever the others have."""
    starts, neighbour, weight = links
    margin: float = costs[i, a] - costs[i, b]
    for position in range(starts[i], starts[i + 1]):
        j, w = neighbour[position], weight[position]
        # What brings the margin down, and what raises it where nothing else is allowed.
        down, up = (b, a) if w > 0 else (a, b)
        if costs[j, down] < np.inf:
            margin -= abs(w)
        elif allowed[j] == 1 and costs[j, up] < np.inf:
            margin += abs(w)
    return margin
