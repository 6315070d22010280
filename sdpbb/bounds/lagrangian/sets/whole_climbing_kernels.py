"""Compiled loop of heuristic pricing where sets have least sizes or weights, or soft pairs."""

from __future__ import annotations

import numpy as np

from sdpbb.bounds.lagrangian.sets.exchange_kernels import exchanged
from sdpbb.bounds.lagrangian.sets.search_values import PricingArrays, inner
from sdpbb.bounds.lagrangian.sets.set_kernels import consumption, fits
from sdpbb.bounds.lagrangian.sets.whole_kernels import is_allowed
from sdpbb.runtime.arrays import Booleans, Integers, Reals
from sdpbb.runtime.jit import njit

# Places that a set is chosen around, one after the other.
ROUNDS = 20


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
        for _ in range(ROUNDS):
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
