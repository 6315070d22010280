"""Bounds by amounts: profits of blocks with soft pairs and least amounts, and numbers of points.

Parts of an allowed set may be forbidden or cost more if there are soft pairs, least sizes and
weights, or lists of them. With W the soft pairs (`nodes`), a set X between the chosen blocks S and
these with all candidates C has the value

    f(X) >= ... - sum_{j in X - S} worth_j,
    worth_j = a_j - sum_{i in S} W_ij + half the sum of |W_ij| over i in C with W_ij < 0,

as the pairs of two new blocks add at least that. If X has p to q points, or units of weight, for
any mu

    f(X) >= f(X) - mu (points of X - t),    t = p if mu > 0, and q if mu < 0,

so that the profit of a block rises by mu n_j, and the bound by mu (t - points of S). The multiplier
is the best one tried for the bound of the node. In many dimensions there is also a bound for each
number of points (`empty_by_size`).
"""

from __future__ import annotations

import numpy as np

from sdpbb.bounds.lagrangian.sets.nodes import PricingArrays, Scratch, Stack, inner, tied
from sdpbb.bounds.lagrangian.sets.place_kernels import fill_gains
from sdpbb.runtime.arrays import Reals

# Multipliers tried for a quantity.
MULTIPLIERS = 10
EPSILON = float(np.finfo(np.float64).eps)


@inner
def is_allowed(data: PricingArrays, used: Reals) -> bool:
    """Return whether a set that uses budgets (b,) may be a whole cluster, by the ranges."""
    for g in range(len(data.ranges)):
        fits = False
        for q in range(data.ranges.shape[1]):
            fits = fits or data.ranges[g, q, 0] <= used[g] <= data.ranges[g, q, 1]
        if not fits:
            return False
    return True


@inner
def has_range_of_sizes(data: PricingArrays, stack: Stack, d: int, scratch: Scratch) -> bool:
    """Fill fewest and most; return whether each quantity alone leaves allowed sets."""
    n = stack.n_candidates[d]
    for g in range(len(data.ranges)):
        held, x = stack.used[d, g], 0
        room = held
        while x < n:  # of each clique one block
            clique, largest = data.clique[stack.candidates[d, x]], 0.0
            while x < n and data.clique[stack.candidates[d, x]] == clique:
                largest = max(largest, data.linear[g, stack.candidates[d, x]])
                x += 1
            room += largest
        fewest, most = np.inf, -np.inf
        for q in range(data.ranges.shape[1]):
            low, high = max(held, data.ranges[g, q, 0]), min(room, data.ranges[g, q, 1])
            if low <= high:
                fewest, most = min(fewest, low), max(most, high)
        if fewest > most:
            return False
        scratch.fewest[g], scratch.most[g] = fewest, most
    return True


@inner
def fill_worths(
    data: PricingArrays, stack: Stack, d: int, profits: Reals, scratch: Scratch
) -> None:
    """Fill the profits of the candidates with soft pairs; `lifted` as without limits."""
    n = stack.n_candidates[d]
    scratch.shift[0] = 0.0
    for x in range(n):
        scratch.place[stack.candidates[d, x]] = x
    for x in range(n):
        j = stack.candidates[d, x]
        worth = profits[j] - tied(data, stack.chosen[d], j)
        linked = parted = 0.0
        if len(data.soft_other):
            for at in range(data.soft_start[j], data.soft_start[j + 1]):
                if scratch.place[data.soft_other[at]] >= 0:
                    linked += max(0.0, -data.soft_weight[at])
                    parted += max(0.0, data.soft_weight[at])
        scratch.worth[j] = scratch.lifted[j] = worth + 0.5 * linked
        scratch.max_gain_inside[j] = worth + linked
        scratch.min_gain_outside[j] = worth - parted
    for x in range(n):
        scratch.place[stack.candidates[d, x]] = -1


@inner
def lift(
    data: PricingArrays, stack: Stack, d: int, scratch: Scratch, radius: float, upper: float
) -> None:
    """Fill lifted and shift for allowed sets whose means are within a radius.

    The multiplier of each quantity is chosen after the multipliers of the quantities before.
    """
    fill_gains(data, stack, d, scratch.worth, scratch, radius)
    value = stack.scatter[d] - stack.profit[d]
    for g in range(len(data.ranges)):
        of, held = data.linear[g], stack.used[d, g]
        fewest, most = scratch.fewest[g] - held, scratch.most[g] - held
        _, multiplier, raised = _best_multiplier(
            data, stack, d, scratch.gain, of, value + scratch.shift[0], fewest, most, upper, 0.0
        )
        scratch.shift[0] += raised
        for x in range(stack.n_candidates[d]):
            more = multiplier * of[stack.candidates[d, x]]
            scratch.gain[x] -= more
            scratch.lifted[stack.candidates[d, x]] += more


@inner
def _best_multiplier(
    data: PricingArrays,
    stack: Stack,
    d: int,
    gains: Reals,
    of: Reals,
    value: float,
    fewest: float,
    most: float,
    upper: float,
    multiplier: float,
) -> tuple[float, float, float]:
    """Return the best bound of the multipliers tried, the multiplier, and the rise of bounds by it.

    The bound is on sets that hold `fewest` to `most` units more than chosen, and at most one block
    of a clique. Multipliers are tried until the bound reaches upper.

    gains : least change of the bound by each candidate
    of : (m,) amounts of the blocks
    value : bound on the chosen blocks
    multiplier : the first one
    """
    everything = 0.0
    for j in range(len(of)):
        everything += of[j]
    below, above = -np.inf, np.inf
    best, chosen, shift = -np.inf, 0.0, 0.0
    for _ in range(MULTIPLIERS):
        wanted = fewest if multiplier > 0.0 else most
        # Multipliers can be large, and then cancel.
        rounding = 16.0 * (len(of) + 8.0) * EPSILON * abs(multiplier) * everything
        raised = multiplier * wanted - rounding
        total, held = value + raised, 0.0
        least, count, clique = 0.0, 0.0, -1
        for x in range(stack.n_candidates[d]):
            j = stack.candidates[d, x]
            if data.clique[j] != clique:
                total += least
                held += count
                least, count, clique = 0.0, 0.0, data.clique[j]
            term = gains[x] - multiplier * of[j]
            if term < least:
                least, count = term, of[j]
        total += least
        held += count
        if total > best:
            best, chosen, shift = total, multiplier, raised
        if best >= upper or held == wanted or (multiplier == 0.0 and fewest <= held <= most):
            break
        step = (upper - total) / max(abs(wanted - held), 1.0)
        if held < wanted:
            below = multiplier
            multiplier = multiplier + step if above == np.inf else 0.5 * (below + above)
        else:
            above = multiplier
            multiplier = multiplier - step if below == -np.inf else 0.5 * (below + above)
    return best, chosen, shift


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
    """Fill key: the least change of the bound by each candidate.

    It is for sets with fewest to most points more than chosen. Each candidate counts half of its
    distances to other candidates.
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
            if scratch.weight_sums[x, at + 1] == np.inf:  # too few candidates suit it
                scratch.key[x] = np.inf
                continue
            step = scratch.weight_sums[x, at + 1] - scratch.weight_sums[x, at]
            between += rest * (scratch.pair_sums[x, at + 1] - between) / step
        with_chosen = 0.0
        if size > 0.0:
            with_chosen = size * scratch.distance[x] ** 2 + stack.scatter[d]
        scratch.key[x] = e * (with_chosen + 0.5 * between) / (size + most) - profits[j]


@inner
def _further_points(
    data: PricingArrays, stack: Stack, d: int, total: float, scratch: Scratch
) -> tuple[float, float]:
    """Return the range of the number of points that an allowed set has beyond chosen.

    Only quantities that are the weights limit it.
    """
    first, last = 1.0, total
    for g in range(len(data.ranges)):
        is_weight = True
        for j in range(len(data.weights)):
            is_weight = is_weight and data.weights[j] == data.linear[g, j]
        if is_weight:
            first = max(first, scratch.fewest[g] - stack.used[d, g])
            last = min(last, scratch.most[g] - stack.used[d, g])
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

    in which pairs of new blocks count at least as pairs of the nearest ones. Several numbers are
    bounded together if that suffices. The search starts at a number that is unlikely to be
    excluded.
    """
    total, size = _sum_neighbours(data, stack, d, scratch), stack.size[d]
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
            value = size * stack.scatter[d] / (size + most) - stack.profit[d]
            bound, multiplier, _ = _best_multiplier(
                data, stack, d, scratch.key, data.weights, value, fewest, most, upper, multiplier
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
