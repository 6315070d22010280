"""Reduction of a programme: dominated labels left out, settled blocks removed."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.potts import Links, Potts, cluster_of, place
from sdpbb.runtime.arrays import NONE, Booleans, Integers, Reals
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, check_time, chunks, no_limit

# Sweeps of dominance at most; few labels are left out after the first ones.
DOMINANCE_SWEEPS = 20


class Reduced(NamedTuple):
    """Programme over the free blocks of one of n blocks.

    potts : over the free blocks, each with two allowed labels at least; labels are renumbered so
        that there are no more than some block needs
    blocks : (f,) the free blocks
    original : (f, q') their labels by the new numbers
    labels : (n,) the settled ones, -1 for free blocks
    constant : cost of the settled blocks, by which objectives differ
    """

    potts: Potts
    blocks: NDArray[np.int64]
    original: NDArray[np.int64]
    labels: NDArray[np.int64]
    constant: float

    def lift(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return labels of all blocks from labels (f,) of the free ones."""
        lifted = self.labels.copy()
        lifted[self.blocks] = self.original[np.arange(len(self.blocks)), labels]
        return lifted

    def lower(self, labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return labels (f,) of the free blocks from labels of all.

        They are the cheapest where theirs is not allowed any more.
        """
        same: NDArray[np.bool_] = self.original == labels[self.blocks, None]
        same &= np.isfinite(self.potts.costs)
        cheapest: NDArray[np.intp] = self.potts.costs.argmin(axis=1)
        return np.where(same.any(axis=1), same.argmax(axis=1), cheapest)


def without_dominated(potts: Potts, time_left: TimeLeft = no_limit) -> Potts | None:
    """Return the programme without dominated labels; None if there is none.

    A label is dominated if another label of the block serves no worse, whatever the labels of the
    others. The minimum is the same. Where no time is left, some that are dominated may stay.

    Label a of block i is dominated by b if

        costs_ia - costs_ib + sum_j min { w_ij ([a = l_j] - [b = l_j]) : l_j allowed } >= 0.

    Source: R. F. Goldstein, Efficient rotamer elimination applied to protein side-chains and
    related spin glasses, Biophysical Journal 66 (1994).
    """
    costs = potts.costs.copy()
    is_waiting = np.ones(potts.n, np.bool_)
    each = potts.q * (1 if potts.candidates is None else potts.q)
    each = potts.q + 2 * each * (1 + 2 * len(potts.pairs) // max(1, potts.n))
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
    if not any_left_out:
        return None
    candidates = potts.candidates
    if candidates is not None:
        candidates = np.where(np.isfinite(costs), candidates, -1)
    return replace(potts, costs=costs, candidates=candidates)


def reduce_potts(potts: Potts) -> Reduced | None:
    """Return the programme over the blocks that have several labels left.

    Blocks with one label are settled, and so are those that hard pairs then force. None if that is
    a contradiction: no labels keep the hard pairs.
    """
    costs, labels = potts.costs.copy(), np.full(potts.n, -1)
    constant = _settle(potts.links, costs, labels)
    if constant == np.inf:
        return None
    blocks = np.flatnonzero(labels < 0)
    allowed = np.isfinite(costs[blocks])
    q = int(allowed.sum(axis=1).max(initial=1))
    original = np.argsort(~allowed, axis=1, kind="stable")[:, :q]
    rows = np.arange(len(blocks))[:, None]
    candidates: NDArray[np.int64] | None = None
    if potts.candidates is not None:
        candidates = potts.candidates[blocks[:, None], original]
    elif not allowed.all():
        candidates = original
    if candidates is not None:
        candidates = np.where(allowed[rows, original], candidates, -1)
    is_free = labels < 0
    pairs = np.flatnonzero(is_free[potts.pairs].all(axis=1))
    position = np.cumsum(is_free) - 1
    free = Potts(
        np.ascontiguousarray(costs[blocks[:, None], original]),
        candidates,
        position[potts.pairs[pairs]],
        potts.weights[pairs],
    )
    return Reduced(free, blocks, original, labels, constant)


@njit(cache=True, nogil=True)
def _dominate(first: int, last: int, links: Links, costs: Reals, is_waiting: Booleans) -> bool:
    """Go over the blocks from the first to before the last that wait.

    Return whether any label was left out (its cost is inf).
    """
    n, q = costs.shape
    starts, neighbour = links.starts, links.neighbour
    allowed = np.zeros(n, np.int64)
    for i in range(n):
        for a in range(q):
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
        for a in range(q):
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
def _safest_label(i: int, links: Links, costs: Reals) -> tuple[int, float]:
    """Return the label of block i that is cheapest at worst, and its cost then.

    At worst it violates all cannot-links that it may violate.
    """
    starts, neighbour, weight, candidates = links
    best, least = 0, np.inf
    for a in range(costs.shape[1]):
        worst = costs[i, a]
        if worst == np.inf:
            continue
        for position in range(starts[i], starts[i + 1]):
            j = neighbour[position]
            label = place(candidates, j, cluster_of(candidates, i, a))
            if weight[position] > 0 and label >= 0 and costs[j, label] < np.inf:
                worst += weight[position]
        if worst < least:
            best, least = a, worst
    return best, least


@njit(cache=True, nogil=True)
def _margin(i: int, a: int, b: int, links: Links, costs: Reals, allowed: Integers) -> float:
    """Return by how much label a of block i is dearer than b at least, whatever the others have."""
    starts, neighbour, weight, candidates = links
    margin: float = costs[i, a] - costs[i, b]
    for position in range(starts[i], starts[i + 1]):
        j, w = neighbour[position], weight[position]
        # What brings the margin down, and what raises it where nothing else is allowed.
        down, up = (b, a) if w > 0 else (a, b)
        label = place(candidates, j, cluster_of(candidates, i, down))
        if label >= 0 and costs[j, label] < np.inf:
            margin -= abs(w)
        elif allowed[j] == 1:
            label = place(candidates, j, cluster_of(candidates, i, up))
            if label >= 0 and costs[j, label] < np.inf:
                margin += abs(w)
    return margin


@njit(cache=True, nogil=True)
def _settle(links: Links, costs: Reals, labels: Integers) -> float:
    """Settle blocks with one label left, until there are none; return their cost.

    Settled blocks are charged to the costs of their neighbours. The cost is inf for a
    contradiction.
    """
    starts, neighbour, weight, candidates = links
    n, q = costs.shape
    waiting = np.empty(n, np.int64)
    last = 0
    for i in range(n):
        allowed = 0
        only = NONE
        for a in range(q):
            if costs[i, a] < np.inf:
                allowed += 1
                only = a
        if allowed == 0:
            return np.inf
        if allowed == 1 and labels[i] < 0:
            labels[i] = only
        if labels[i] >= 0:
            waiting[last] = i
            last += 1
    charged = np.zeros(n, np.bool_)
    constant = 0.0
    first = 0
    while first < last:
        i = waiting[first]
        first += 1
        charged[i] = True
        constant += costs[i, labels[i]]
        if constant == np.inf:
            return np.inf
        cluster = cluster_of(candidates, i, labels[i])
        for position in range(starts[i], starts[i + 1]):
            j = neighbour[position]
            b = place(candidates, j, cluster)
            if charged[j] or b < 0 or costs[j, b] == np.inf:
                continue
            costs[j, b] += weight[position]
            if labels[j] >= 0 or costs[j, b] < np.inf:
                continue
            allowed = 0
            for a in range(q):
                if costs[j, a] < np.inf:
                    allowed += 1
                    only = a
            if allowed == 0:
                return np.inf
            if allowed == 1:
                labels[j] = only
                waiting[last] = j
                last += 1
    return constant
