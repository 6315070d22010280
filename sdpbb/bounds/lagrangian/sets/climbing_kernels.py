"""Compiled loops of heuristic pricing: local search for sets of low value, from every block.

With least sizes or weights, or soft pairs (`is_whole`), parts of an allowed set may be forbidden or
cost more. Then blocks are chosen by their gain per point, and also swapped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sdpbb.bounds.lagrangian.sets.amount_kernels import is_allowed
from sdpbb.bounds.lagrangian.sets.nodes import PricingArrays, consumption, fits, inner
from sdpbb.runtime.arrays import NONE, Booleans, Integers, Reals
from sdpbb.runtime.jit import njit

# Maximum rounds of choosing the blocks around a place.
ROUNDS = 30
# Maximum pairs of a block inside and a block outside for swaps. They take a second for all sets of
# 50 of 150 blocks.
MOST_PAIRS = 3_000
# Least gain of a move as a part of the value, above rounding.
LEAST_GAIN = 1e-9


class Chosen(NamedTuple):
    """Set of blocks X that is changed block by block.

    marks : (m,) of the blocks inside
    sums : (2,) points, and s = the sum of `costs` and of W inside; f(X) = s - ||moment||^2 / points
    moment : (p,) sum of e_i c_i
    used : (b,) amounts of the budgets
    tied : (m,) the sum of W of each block with X
    costs : (m,) e_i ||c_i||^2 - a_i
    leaving, trial : (m,), (g,) work arrays
    """

    marks: Booleans
    sums: Reals
    moment: Reals
    used: Reals
    tied: Reals
    costs: Reals
    leaving: Integers
    trial: Reals


@inner
def _empty_set(data: PricingArrays, profits: Reals) -> Chosen:
    m, p = data.points.shape
    costs = np.zeros(m)
    for j in range(m):
        costs[j] = data.weights[j] * (data.points[j] @ data.points[j]) - profits[j]
    return Chosen(
        np.zeros(m, np.bool_),
        np.zeros(2),
        np.zeros(p),
        np.zeros(len(data.limits)),
        np.zeros(m),
        costs,
        np.zeros(m, np.int64),
        np.zeros(len(data.ranges)),
    )


@inner
def _clear(to: Chosen) -> None:
    to.marks[:] = False
    to.sums[:] = 0.0
    to.moment[:] = 0.0
    to.used[:] = 0.0
    to.tied[:] = 0.0


@inner
def _put(data: PricingArrays, to: Chosen, j: int, sign: float) -> None:
    """Add block j to the set (sign 1), or remove it (sign -1)."""
    to.marks[j] = False
    for b in range(len(data.limits)):
        to.used[b] += sign * consumption(data, to.marks, b, j)
    for c in range(len(to.moment)):
        to.moment[c] += sign * data.weights[j] * data.points[j, c]
    to.sums[0] += sign * data.weights[j]
    to.sums[1] += sign * (to.costs[j] + to.tied[j])
    to.marks[j] = sign > 0
    if len(data.soft_other):
        for at in range(data.soft_start[j], data.soft_start[j + 1]):
            to.tied[data.soft_other[at]] += sign * data.soft_weight[at]


@inner
def _set_to(data: PricingArrays, to: Chosen, marks: Booleans) -> None:
    """Make the set the marked one (m,)."""
    _clear(to)
    for j in range(len(marks)):
        if marks[j]:
            _put(data, to, j, 1.0)


@inner
def _sum_costs(of: Chosen) -> None:
    """Sum the costs again, in the order of the blocks."""
    of.sums[1] = 0.0
    for j in range(len(of.marks)):
        if of.marks[j]:
            of.sums[1] += of.costs[j] + 0.5 * of.tied[j]


@inner
def _choose_around(
    data: PricingArrays,
    profits: Reals,
    place: Reals,
    is_whole: bool,
    to: Chosen,
    gains: Reals,
    blocked: Booleans,
    best_marks: Booleans,
) -> bool:
    """Choose greedily the blocks with a positive gain at a place.

    The set becomes the best one on the way that may be a whole cluster. Return whether there is
    one.
    """
    points, weights, marks, tied = data.points, data.weights, to.marks, to.tied
    m = len(profits)
    _clear(to)
    blocked[:] = False
    for j in range(m):
        square = 0.0
        for c in range(len(place)):
            square += (points[j, c] - place[c]) ** 2
        gains[j] = profits[j] - weights[j] * square
    if not (is_whole or len(data.neighbours) or len(data.limits)):  # no block excludes another
        moment, size = to.moment, 0.0
        for j in range(m):
            if gains[j] > 0.0:
                marks[j] = True
                size += weights[j]
                for c in range(len(place)):
                    moment[c] += weights[j] * points[j, c]
        to.sums[0] = size
        return size > 0.0
    value, least, worths = 0.0, np.inf, np.empty(m) if is_whole else gains
    while True:
        if is_whole:
            for j in range(m):
                worths[j] = (gains[j] - tied[j]) / weights[j]
        best, block = -np.inf, NONE
        for j in range(m):
            if not blocked[j] and worths[j] > best:
                best, block = worths[j], j
        # After this, only soft pairs can lower the value.
        if block < 0 or (best <= 0.0 and (least < np.inf or not is_whole)):
            break
        blocked[block] = True
        if not fits(data, marks, to.used, block):
            continue
        value -= gains[block] - tied[block]
        _put(data, to, block, 1.0)
        for at in range(data.start[block], data.start[block + 1]):
            blocked[data.neighbours[at]] = True
        if not is_whole:
            least = value
        elif value < least and is_allowed(data, to.used):
            least = value
            best_marks[:] = marks
    if is_whole and least < np.inf:
        _set_to(data, to, best_marks)
    return bool(least < np.inf)


@inner
def _between(data: PricingArrays, i: int, j: int) -> float:
    """Return W of blocks i and j."""
    if len(data.soft_other):
        for at in range(data.soft_start[i], data.soft_start[i + 1]):
            if data.soft_other[at] == j:
                return float(data.soft_weight[at])
    return 0.0


@inner
def _is_allowed_after(data: PricingArrays, of: Chosen, j: int, sign: float, n_leaving: int) -> bool:
    """Return whether the set after a move is within all limits (see `_make_best_move`)."""
    leaving = of.leaving[:n_leaving]
    for g in range(len(of.trial)):
        of.trial[g] = of.used[g] + sign * data.linear[g, j]
        for i in leaving:
            of.trial[g] -= data.linear[g, i]
    if not is_allowed(data, of.trial):
        return False
    is_within = True
    for b in range(len(of.used) if sign > 0.0 else 0):
        used = of.used[b]
        for i in leaving:
            of.marks[i] = False
            used -= consumption(data, of.marks, b, i)
        is_within &= used + consumption(data, of.marks, b, j) <= data.limits[b]
        for i in leaving:
            of.marks[i] = True
    return is_within


@inner
def _make_best_move(data: PricingArrays, to: Chosen, is_whole: bool, swaps: bool) -> bool:
    """Make the best allowed move; return whether there was an improvement.

    Block j leaves (sign -1); or it enters (sign 1), and the blocks that it excludes leave; or it
    replaces another block. With is_whole at most one block leaves.
    """
    points, weights, start, neighbours = data.points, data.weights, data.start, data.neighbours
    marks, moment, leaving, costs, tied = to.marks, to.moment, to.leaving, to.costs, to.tied
    m, dimension = points.shape
    is_free = len(data.limits) == 0
    own_size, own_total, is_single = to.sums[0], to.sums[1], marks.sum() == 1
    value = own_total - (moment @ moment) / own_size
    least, block, other = value - LEAST_GAIN * abs(value), NONE, NONE
    for j in range(m):
        if marks[j] and is_single:
            continue
        sign, n_leaving = -1.0 if marks[j] else 1.0, 0
        for at in range(start[j], start[j + 1]):  # a block inside excludes none inside
            if marks[neighbours[at]]:
                leaving[n_leaving] = neighbours[at]
                n_leaving += 1
        if is_whole and n_leaving > 1:
            continue
        is_swapped = swaps and not marks[j] and n_leaving == 0
        for out in range(NONE, m if is_swapped else 0):
            if out >= 0:
                if not marks[out]:
                    continue
                leaving[0], n_leaving = out, 1
            size = own_size + sign * weights[j]
            total = own_total + sign * (costs[j] + tied[j])
            for a in range(n_leaving):
                i = leaving[a]
                size -= weights[i]
                total -= costs[i] + tied[i] + _between(data, i, j)
            square = 0.0
            for c in range(dimension):
                coordinate = moment[c] + sign * weights[j] * points[j, c]
                if n_leaving:
                    for a in range(n_leaving):
                        coordinate -= weights[leaving[a]] * points[leaving[a], c]
                square += coordinate * coordinate
            met = total - square / size
            if met < least and (is_free or _is_allowed_after(data, to, j, sign, n_leaving)):
                least, block, other = met, j, out
    if block < 0:
        return False
    if other >= 0:
        _put(data, to, other, -1.0)
    if marks[block]:
        _put(data, to, block, -1.0)
        return True
    for at in range(start[block], start[block + 1]):
        if marks[neighbours[at]]:
            _put(data, to, neighbours[at], -1.0)
    _put(data, to, block, 1.0)
    return True


@inner
def _record(of: Chosen, row: int, found: Booleans, values: Reals) -> None:
    """Write the set and its value into a row."""
    found[row] = of.marks
    values[row] = of.sums[1] - (of.moment @ of.moment) / of.sums[0]


@njit(cache=True)
def climb(
    data: PricingArrays, profits: Reals, seeds: Integers, found: Booleans, values: Reals
) -> None:
    """Find a local minimum of f from each seed, and sets on the way.

    The first set has the blocks around a place. The place moves to their mean until that changes
    nothing. Then single blocks are exchanged.

    Parameters
    ----------
    data, profits : as for `sdpbb.bounds.lagrangian.sets.search_kernels.search`
    seeds : (s,) first blocks
    found, values : (s * r, m), (s * r,) receive the sets and f, r >= 1 for each seed: the local
        minimum, then the sets around the first r - 1 places; inf: no set
    """
    m, dimension = data.points.shape
    is_whole = len(data.ranges) > 0 or len(data.soft_other) > 0
    chosen, gains = _empty_set(data, profits), np.zeros(m)
    before, blocked, best = np.zeros(m, np.bool_), np.zeros(m, np.bool_), np.zeros(m, np.bool_)
    n_kept = len(values) // max(1, len(seeds))
    n_rounds = ROUNDS if dimension > 0 else int(is_whole)
    values[:] = np.inf
    for s in range(len(seeds)):
        first = s * n_kept
        _clear(chosen)
        _put(data, chosen, seeds[s], 1.0)
        for turn in range(n_rounds):
            before[:] = chosen.marks
            place = chosen.moment / chosen.sums[0]
            if not _choose_around(data, profits, place, is_whole, chosen, gains, blocked, best):
                _set_to(data, chosen, before)
                break
            if (before == chosen.marks).all():
                break
            if turn + 1 < n_kept:
                _sum_costs(chosen)
                _record(chosen, first + 1 + turn, found, values)
        if not is_allowed(data, chosen.used):
            continue
        _sum_costs(chosen)
        n_chosen = chosen.marks.sum()
        swaps = is_whole and n_chosen * (m - n_chosen) <= MOST_PAIRS
        for _ in range(ROUNDS + m):
            if not _make_best_move(data, chosen, is_whole, swaps):
                break
        _record(chosen, first, found, values)
