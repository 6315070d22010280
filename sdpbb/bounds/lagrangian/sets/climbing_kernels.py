"""Compiled loops of heuristic pricing: local search for sets of low value, from every block.

If sets have least sizes or weights, or soft pairs, they are judged as a whole (`climb_whole`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sdpbb.bounds.lagrangian.sets.amount_kernels import is_allowed
from sdpbb.bounds.lagrangian.sets.search_values import PricingArrays, consumption, fits, inner
from sdpbb.runtime.arrays import NONE, Booleans, Integers, Reals
from sdpbb.runtime.jit import njit

# Rounds of choosing the blocks whose price is worth the way to the mean, and of single moves.
ROUNDS = 30


@inner
def _fits_instead(data: PricingArrays, chosen: Booleans, used: Reals, j: int) -> bool:
    """Return whether block j fits the budgets in place of the chosen blocks that it excludes."""
    if len(data.limits) == 0:
        return True
    kept, left = chosen.copy(), used.copy()
    for at in range(data.start[j], data.start[j + 1]):
        i = data.neighbours[at]
        if kept[i]:
            kept[i] = False
            for b in range(len(left)):
                left[b] -= consumption(data, kept, b, i)
    return fits(data, kept, left, j)


@inner
def _add(
    data: PricingArrays, chosen: Booleans, used: Reals, moment: Reals, j: int, sign: float
) -> None:
    """Add block j (sign 1) or take it out (sign -1)."""
    chosen[j] = False
    for b in range(len(data.limits)):
        used[b] += sign * consumption(data, chosen, b, j)
    for c in range(len(moment)):
        moment[c] += sign * data.weights[j] * data.points[j, c]
    chosen[j] = sign > 0


@inner
def _chosen_around(
    data: PricingArrays,
    profits: Reals,
    mean: Reals,
    chosen: Booleans,
    used: Reals,
    moment: Reals,
    gain: Reals,
    blocked: Booleans,
) -> float:
    """Choose greedily the blocks whose prices are worth their way to a place.

    Return their number of points.
    """
    m = len(profits)
    chosen[:] = False
    used[:] = 0.0
    moment[:] = 0.0
    blocked[:] = False
    for j in range(m):
        square = 0.0
        for c in range(len(mean)):
            square += (data.points[j, c] - mean[c]) ** 2
        gain[j] = profits[j] - data.weights[j] * square
    size = 0.0
    if len(data.neighbours) == 0 and len(data.limits) == 0:  # none is in the way of another
        for j in range(m):
            if gain[j] > 0.0:
                _add(data, chosen, used, moment, j, 1.0)
                size += data.weights[j]
        return size
    while True:
        best, block = 0.0, NONE
        for j in range(m):
            if not blocked[j] and gain[j] > best:
                best, block = gain[j], j
        if block < 0:
            return size
        blocked[block] = True
        if not fits(data, chosen, used, block):
            continue
        _add(data, chosen, used, moment, block, 1.0)
        size += data.weights[block]
        for at in range(data.start[block], data.start[block + 1]):
            blocked[data.neighbours[at]] = True


@inner
def _make_best_move(
    data: PricingArrays,
    profits: Reals,
    weights: Reals,
    chosen: Booleans,
    used: Reals,
    moment: Reals,
    size: float,
    total: float,
) -> tuple[float, float, bool]:
    """Make the best exchange: a block in or out, one in for those it excludes.

    weights : e_j ||c_j||^2 - a_j, so that f(X) = sum of weights - ||moment||^2 / size. Returns the
    size and the sum of weights afterwards, and whether there was an improvement.
    """
    m, dimension = data.points.shape
    n_chosen = chosen.sum()
    value = total - (moment @ moment) / size
    best, block = value - 1e-9 * abs(value), NONE
    for j in range(m):
        e = data.weights[j]
        sign = -1.0 if chosen[j] else 1.0
        new_size, new_total = size + sign * e, total + sign * weights[j]
        square = 0.0
        excluded = False
        if not chosen[j]:
            for at in range(data.start[j], data.start[j + 1]):
                i = data.neighbours[at]
                if chosen[i]:
                    excluded = True
                    new_size -= data.weights[i]
                    new_total -= weights[i]
        if chosen[j] and n_chosen == 1:
            continue
        for c in range(dimension):
            coordinate = moment[c] + sign * e * data.points[j, c]
            if excluded:
                for at in range(data.start[j], data.start[j + 1]):
                    i = data.neighbours[at]
                    if chosen[i]:
                        coordinate -= data.weights[i] * data.points[i, c]
            square += coordinate * coordinate
        new_value = new_total - square / new_size
        if new_value >= best:
            continue
        if not chosen[j]:
            if excluded and not _fits_instead(data, chosen, used, j):
                continue
            if not excluded and not fits(data, chosen, used, j):
                continue
        best, block = new_value, j
    if block < 0:
        return size, total, False
    if chosen[block]:
        _add(data, chosen, used, moment, block, -1.0)
        return size - data.weights[block], total - weights[block], True
    for at in range(data.start[block], data.start[block + 1]):
        i = data.neighbours[at]
        if chosen[i]:
            _add(data, chosen, used, moment, i, -1.0)
            size -= data.weights[i]
            total -= weights[i]
    _add(data, chosen, used, moment, block, 1.0)
    return size + data.weights[block], total + weights[block], True


@inner
def _record(
    chosen: Booleans,
    weights: Reals,
    moment: Reals,
    size: float,
    row: int,
    found: Booleans,
    values: Reals,
) -> None:
    """Write the chosen set and its value into a row."""
    total = 0.0
    for j in range(len(chosen)):
        found[row, j] = chosen[j]
        if chosen[j]:
            total += weights[j]
    values[row] = total - (moment @ moment) / size


@njit(cache=True)
def climb(
    data: PricingArrays, profits: Reals, seeds: Integers, found: Booleans, values: Reals
) -> None:
    """Find a local minimum of f from each seed, and sets on the way.

    The first set is that of the blocks around a place; then the place is moved to their mean, until
    that stalls; then single blocks are exchanged.

    Parameters
    ----------
    data, profits : as for `sdpbb.bounds.lagrangian.sets.search_kernels.search`
    seeds : (s,) blocks to begin at
    found, values : (s * r, m), (s * r,) receive the sets and f, r >= 1 for each seed: the local
        minimum, then the sets around the first r - 1 places; inf where there are none
    """
    m, dimension = data.points.shape
    chosen, before = np.zeros(m, np.bool_), np.zeros(m, np.bool_)
    blocked, gain, weights = np.zeros(m, np.bool_), np.zeros(m), np.zeros(m)
    used, moment = np.zeros(len(data.limits)), np.zeros(dimension)
    for j in range(m):
        weights[j] = data.weights[j] * (data.points[j] @ data.points[j]) - profits[j]
    n_kept = len(values) // max(1, len(seeds))
    for s in range(len(seeds)):
        seed, first = seeds[s], s * n_kept
        for row in range(first, first + n_kept):
            values[row] = np.inf
        chosen[:] = False
        used[:] = 0.0
        moment[:] = 0.0
        _add(data, chosen, used, moment, seed, 1.0)
        size = data.weights[seed]
        if dimension > 0:
            for turn in range(ROUNDS):
                for i in range(len(chosen)):
                    before[i] = chosen[i]
                mean = moment / size
                size = _chosen_around(data, profits, mean, chosen, used, moment, gain, blocked)
                if size == 0.0 or (before == chosen).all():
                    break
                if turn + 1 < n_kept:
                    _record(chosen, weights, moment, size, first + 1 + turn, found, values)
        if size == 0.0:
            chosen[:] = False
            used[:] = 0.0
            moment[:] = 0.0
            _add(data, chosen, used, moment, seed, 1.0)
            size = data.weights[seed]
        total = 0.0
        for j in range(m):
            if chosen[j]:
                total += weights[j]
        for _ in range(ROUNDS + m):
            size, total, improved = _make_best_move(
                data, profits, weights, chosen, used, moment, size, total
            )
            if not improved:
                break
        found[first] = chosen
        values[first] = total - (moment @ moment) / size


# Places that a set is chosen around, one after the other.
PLACES = 20


@inner
def _best_prefix(
    data: PricingArrays,
    profits: Reals,
    place: Reals,
    used: Reals,
    tied: Reals,
    held: Reals,
    chosen: Booleans,
    blocked: Booleans,
    best_set: Booleans,
) -> float:
    """Choose blocks around a place, those that are worth most by weight first.

    Of the sets on the way the best one that may be all of a cluster is written to best_set. Returns
    its value about the place; inf where there is none.
    """
    m = len(profits)
    chosen[:] = False
    blocked[:] = False
    used[:] = 0.0
    tied[:] = 0.0
    held[:] = 0.0
    costs = np.empty(m)
    for j in range(m):
        square = 0.0
        for c in range(len(place)):
            square += (data.points[j, c] - place[c]) ** 2
        costs[j] = data.weights[j] * square - profits[j]
    value, best = 0.0, np.inf
    for _ in range(m):
        block, worth = -1, np.inf
        for j in range(m):
            if not blocked[j] and (costs[j] + tied[j]) / data.weights[j] < worth:
                block, worth = j, (costs[j] + tied[j]) / data.weights[j]
        if block < 0:
            break
        blocked[block] = True
        if worth >= 0.0 and best < np.inf:
            break  # nothing that follows lowers the value, but for soft pairs
        if not fits(data, chosen, used, block):
            continue
        value += costs[block] + tied[block]
        for g in range(len(held)):
            held[g] += data.measures[g, block]
        for b in range(len(used)):
            used[b] += consumption(data, chosen, b, block)
        chosen[block] = True
        for at in range(data.start[block], data.start[block + 1]):
            blocked[data.neighbours[at]] = True
        if len(data.soft_other):
            for at in range(data.soft_start[block], data.soft_start[block + 1]):
                tied[data.soft_other[at]] += data.soft_weight[at]
        if value < best and is_allowed(data, held):
            best = value
            best_set[:] = chosen
    return best


@njit(cache=True)
def climb_whole(
    data: PricingArrays, profits: Reals, seeds: Integers, found: Booleans, values: Reals
) -> None:
    """Find sets of low value around places: first each seed, then the mean of the set around it.

    Blocks of the best one of each seed are exchanged then.

    Parameters
    ----------
    data, profits, seeds : as for `climbing_kernels.climb`
    found, values : (s, m), (s,) receive the sets and f; inf where no set may be all of a cluster
    """
    m, dimension = data.points.shape
    chosen, blocked = np.zeros(m, np.bool_), np.zeros(m, np.bool_)
    best_set, before = np.zeros(m, np.bool_), np.zeros(m, np.bool_)
    used, tied = np.zeros(len(data.limits)), np.zeros(m)
    held = np.zeros(len(data.measures))
    for s in range(len(seeds)):
        values[s] = np.inf
        place = data.points[seeds[s]].copy()
        before[:] = False
        for _ in range(PLACES):
            about = _best_prefix(data, profits, place, used, tied, held, chosen, blocked, best_set)
            if about == np.inf or (before == best_set).all():
                break
            before[:] = best_set
            size, moment = 0.0, np.zeros(dimension)
            for j in range(m):
                if best_set[j]:
                    size += data.weights[j]
                    moment += data.weights[j] * data.points[j]
            shifted = 0.0
            for c in range(dimension):
                shifted += (moment[c] / size - place[c]) ** 2
                place[c] = moment[c] / size
            # The mean is the best place of the same set.
            if about - size * shifted < values[s]:
                values[s] = about - size * shifted
                found[s] = best_set
            if dimension == 0:
                break
        if values[s] < np.inf:
            values[s] = exchanged(data, profits, found[s])


# Exchanges made from one set; pairs of a block inside and one outside beyond which none are looked
# at: they take a second for all sets of 50 of 150 blocks.
EXCHANGES, MOST_PAIRS = 100, 3_000
# Part of the largest terms that an exchange has to gain, so that rounding makes none.
LEAST_GAIN = 1e-12


class Exchanged(NamedTuple):
    """Set of blocks X that is changed block by block, and what others bring to it.

    chosen : (m,) marks
    sums : (4,) number of blocks, weight, sum of e_i ||c_i||^2, sum of W inside less profits
    moment : (p,) sum of e_i c_i
    held, used : (g,), (b,) of measures, of budgets
    spending : (b, m) what each block spends beside X, or did when it came in
    linked, tied : (m,) cannot-links of each block with X, and the sum of its W
    trial : (g,) work array
    """

    chosen: Booleans
    sums: Reals
    moment: Reals
    held: Reals
    used: Reals
    spending: Reals
    linked: Integers
    tied: Reals
    trial: Reals


@inner
def _put(data: PricingArrays, profits: Reals, to: Exchanged, block: int, sign: float) -> None:
    """Put a block into the set, with the sign 1, or take it out, with -1."""
    e = data.weights[block]
    to.chosen[block] = sign > 0.0
    to.sums[0] += sign
    to.sums[1] += sign * e
    to.sums[3] += sign * (to.tied[block] - profits[block])
    for c in range(len(to.moment)):
        to.moment[c] += sign * e * data.points[block, c]
        to.sums[2] += sign * e * data.points[block, c] ** 2
    for g in range(len(to.held)):
        to.held[g] += sign * data.measures[g, block]
    for b in range(len(to.used)):
        to.used[b] += sign * to.spending[b, block]
        if len(data.pairs):
            to.spending[b] += sign * data.pairs[b, block]
    for at in range(data.start[block], data.start[block + 1]):
        to.linked[data.neighbours[at]] += int(sign)
    if len(data.soft_other):
        for at in range(data.soft_start[block], data.soft_start[block + 1]):
            to.tied[data.soft_other[at]] += sign * data.soft_weight[at]


@inner
def _value(data: PricingArrays, profits: Reals, of: Exchanged, out: int, into: int) -> float:
    """Return the value of the set without `out` and with `into`, NONE for no block."""
    weight, total = of.sums[1], of.sums[2] + of.sums[3]
    if out >= 0:
        weight -= data.weights[out]
        total -= of.tied[out] - profits[out]
    if into >= 0:
        weight += data.weights[into]
        total += of.tied[into] - profits[into]
    if out >= 0 and into >= 0 and len(data.soft_other):
        for at in range(data.soft_start[out], data.soft_start[out + 1]):
            if data.soft_other[at] == into:
                total -= data.soft_weight[at]
    for c in range(len(of.moment)):
        moment = of.moment[c]
        if out >= 0:
            moment -= data.weights[out] * data.points[out, c]
            total -= data.weights[out] * data.points[out, c] ** 2
        if into >= 0:
            moment += data.weights[into] * data.points[into, c]
            total += data.weights[into] * data.points[into, c] ** 2
        total -= moment**2 / weight
    return float(total)


@inner
def _is_allowed_after(data: PricingArrays, of: Exchanged, out: int, into: int) -> bool:
    """Return whether the set without `out` and with `into`, NONE for no block, is allowed."""
    if into >= 0:
        beside = of.linked[into]
        if beside and out >= 0 and data.apart[out, into]:
            beside -= 1
        if beside:
            return False
    for g in range(len(of.held)):
        of.trial[g] = of.held[g]
        if out >= 0:
            of.trial[g] -= data.measures[g, out]
        if into >= 0:
            of.trial[g] += data.measures[g, into]
    for b in range(len(of.used)):
        spent = of.used[b]
        if out >= 0:
            spent -= of.spending[b, out]
        if into >= 0:
            spent += of.spending[b, into]
        if out >= 0 and into >= 0 and len(data.pairs):
            spent -= data.pairs[b, out, into]
        if spent > data.limits[b]:
            return False
    return is_allowed(data, of.trial)


@inner
def exchanged(data: PricingArrays, profits: Reals, chosen: Booleans) -> float:
    """Exchange blocks of a set as long as that lowers its value, and return the value.

    A block leaves, another enters, or both, whichever gains most; sets stay allowed.

    chosen : (m,) of the set, which is changed
    """
    m = len(profits)
    current = Exchanged(
        np.zeros(m, np.bool_),
        np.zeros(4),
        np.zeros(data.points.shape[1]),
        np.zeros(len(data.measures)),
        np.zeros(len(data.limits)),
        data.linear.copy(),
        np.zeros(m, np.int64),
        np.zeros(m),
        np.zeros(len(data.measures)),
    )
    for i in range(m):
        if chosen[i]:
            _put(data, profits, current, i, 1.0)
    value = _value(data, profits, current, NONE, NONE)
    if current.sums[0] * (m - current.sums[0]) > MOST_PAIRS:
        return value
    for _ in range(EXCHANGES):
        least = value - LEAST_GAIN * (current.sums[2] + abs(current.sums[3]))
        best_out, best_into = NONE, NONE
        for out in range(NONE, m):
            if out >= 0 and not current.chosen[out]:
                continue
            # What is left is not empty.
            for into in range(NONE if out < 0 or current.sums[0] > 1.0 else 0, m):
                if into >= 0 and current.chosen[into]:
                    continue
                met = _value(data, profits, current, out, into)
                if met < least and _is_allowed_after(data, current, out, into):
                    least, best_out, best_into = met, out, into
        if best_out < 0 and best_into < 0:
            break
        value = least
        if best_out >= 0:
            _put(data, profits, current, best_out, -1.0)
        if best_into >= 0:
            _put(data, profits, current, best_into, 1.0)
    chosen[:] = current.chosen
    return value
