"""Bound by the number of points, for many dimensions."""

from __future__ import annotations

import numpy as np

from sdpbb.bounds.lagrangian.sets.search_values import PricingArrays, Scratch, Stack, inner
from sdpbb.runtime.arrays import Reals

# Multipliers tried for the number of points.
MULTIPLIERS = 8
EPSILON = float(np.finfo(np.float64).eps)


@inner
def _sum_neighbours(data: PricingArrays, stack: Stack, d: int, scratch: Scratch) -> float:
    """Fill weight_sums and pair_sums; return the points of all candidates."""
    n, total = stack.n_candidates[d], 0.0
    for x in range(n):
        scratch.place[stack.candidates[d, x]] = x
    for x in range(n):
        j = stack.candidates[d, x]
        total += data.weights[j]
        count = 0
        scratch.weight_sums[x, 0] = scratch.pair_sums[x, 0] = 0.0
        for i in data.nearest[j]:
            if i != j and scratch.place[i] >= 0 and not data.apart[j, i]:
                e = data.weights[i]
                scratch.weight_sums[x, count + 1] = scratch.weight_sums[x, count] + e
                scratch.pair_sums[x, count + 1] = (
                    scratch.pair_sums[x, count] + e * data.squares[j, i]
                )
                count += 1
        scratch.weight_sums[x, count + 1] = np.inf
        scratch.pair_sums[x, count + 1] = np.inf
        scratch.at[x] = 0
    for x in range(n):
        scratch.place[stack.candidates[d, x]] = -1
    return total


@inner
def _fill_keys(
    data: PricingArrays,
    stack: Stack,
    d: int,
    profits: Reals,
    scratch: Scratch,
    fewest: float,
    most: float,
) -> None:
    """Fill key: the least that each candidate adds.

    It adds that to a set of fewest to most points more than chosen, half of the distances between
    candidates counted for each.
    """
    size = stack.size[d]
    for x in range(stack.n_candidates[d]):
        j = stack.candidates[d, x]
        e = data.weights[j]
        if most < e:
            scratch.key[x] = np.inf
            continue
        wanted = max(0.0, fewest - e)
        at = scratch.at[x]
        while scratch.weight_sums[x, at + 1] <= wanted:
            at += 1
        while scratch.weight_sums[x, at] > wanted:
            at -= 1
        scratch.at[x] = at
        between = scratch.pair_sums[x, at]
        rest = wanted - scratch.weight_sums[x, at]
        if rest > 0.0:
            if scratch.weight_sums[x, at + 1] == np.inf:  # there are not so many to share with
                scratch.key[x] = np.inf
                continue
            step = scratch.weight_sums[x, at + 1] - scratch.weight_sums[x, at]
            between += rest * (scratch.pair_sums[x, at + 1] - between) / step
        with_chosen = 0.0
        if size > 0.0:
            with_chosen = size * scratch.distance[x] ** 2 + stack.scatter[d]
        scratch.key[x] = e * (with_chosen + 0.5 * between) / (size + most) - profits[j]


@inner
def _size_bound(
    data: PricingArrays,
    stack: Stack,
    d: int,
    scratch: Scratch,
    fewest: float,
    most: float,
    upper: float,
    multiplier: float,
) -> tuple[float, float]:
    """Return a bound on the sets of fewest to most points more than chosen, and its multiplier.

    It consists of keys plus a multiplier for the number of points, one block of a clique at most.
    The best multiplier is looked for until upper is reached.
    """
    n, size = stack.n_candidates[d], stack.size[d]
    value = size * stack.scatter[d] / (size + most) - stack.profit[d]
    below, above = -np.inf, np.inf
    best = -np.inf
    for _ in range(MULTIPLIERS):
        wanted = fewest if multiplier > 0.0 else most
        total, points = value + multiplier * wanted, 0.0
        terms = abs(value) + abs(multiplier) * wanted
        least, weight, clique = 0.0, 0.0, -1
        for x in range(n):
            j = stack.candidates[d, x]
            if data.clique[j] != clique:
                total += least
                terms -= least
                points += weight
                least, weight, clique = 0.0, 0.0, data.clique[j]
            term = scratch.key[x] - multiplier * data.weights[j]
            if term < least:
                least, weight = term, data.weights[j]
        total += least
        terms -= least
        points += weight
        # Multipliers can be large, and then cancel: each sum pays for its own rounding.
        best = max(best, total - (n + 64) * EPSILON * terms)
        if best >= upper or points == wanted:
            break
        step = (upper - total) / max(abs(wanted - points), 1.0)
        if points < wanted:  # too few: pay for points
            below = multiplier
            multiplier = multiplier + step if above == np.inf else 0.5 * (below + above)
        else:
            above = multiplier
            multiplier = multiplier - step if below == -np.inf else 0.5 * (below + above)
    return best, multiplier


@inner
def _further_points(
    data: PricingArrays, stack: Stack, d: int, total: float, scratch: Scratch
) -> tuple[float, float]:
    """Return the range of how many points more than chosen an allowed set has.

    Measures other than weights say nothing of it.
    """
    first, last = 1.0, total
    for g in range(len(data.measures)):
        is_weight = True
        for j in range(len(data.weights)):
            is_weight = is_weight and data.weights[j] == data.measures[g, j]
        if is_weight:
            first = max(first, scratch.fewest[g] - scratch.held[g])
            last = min(last, scratch.most[g] - scratch.held[g])
    return first, last


@inner
def empty_by_size(
    data: PricingArrays,
    stack: Stack,
    d: int,
    profits: Reals,
    scratch: Scratch,
    upper: float,
) -> bool:
    """Return whether no set with further blocks is below upper, whatever its number of points.

    With s points,

        f(X) = (sum of e_i e_j || c_i - c_j ||^2 over pairs) / s - profits,

    in which a pair of new blocks counts at least as the nearest ones would. Ranges of numbers are
    looked at together as far as that suffices, from a number that is likely not to be excluded on.
    """
    total = _sum_neighbours(data, stack, d, scratch)
    multiplier = 0.0
    first, last = _further_points(data, stack, d, total, scratch)
    if first > last:
        return True
    likely = min(max(stack.likely[d], first), last)
    for upwards in (True, False):
        step = 1.0
        more = likely if upwards else likely - 1.0
        while first <= more <= last:
            other = min(last, more + step - 1.0) if upwards else max(first, more - step + 1.0)
            fewest, most = min(more, other), max(more, other)
            _fill_keys(data, stack, d, profits, scratch, fewest, most)
            bound, multiplier = _size_bound(
                data, stack, d, scratch, fewest, most, upper, multiplier
            )
            if bound >= upper:
                more = other + 1.0 if upwards else other - 1.0
                step *= 2.0
            elif step > 1.0:
                step = max(1.0, np.floor(0.3 * step))
            else:
                stack.likely[d] = more
                return False
    return True
