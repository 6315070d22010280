"""Compiled loop of heuristic pricing: local search for sets of low value from every block."""

from __future__ import annotations

import numpy as np

from sdpbb.bounds.lagrangian.sets.search_values import PricingArrays, inner
from sdpbb.bounds.lagrangian.sets.set_kernels import consumption, fits
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
        if new_size <= 0.5:
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
