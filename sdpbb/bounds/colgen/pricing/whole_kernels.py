"""Worth of blocks where sets are judged as a whole: soft pairs, least and listed sizes.

With W the soft pairs (`search_values`), a set X between the chosen blocks S and these with all
candidates C is worth

    f(X) >= ... - sum_{j in X - S} worth_j,
    worth_j = a_j - sum_{i in S} W_ij + half the sum of |W_ij| over i in C with W_ij < 0,

as the pairs of blocks that are both new add at least that. Where X has p to q points, for any mu

    f(X) >= f(X) - mu (points of X - t),    t = p if mu > 0, and q if mu < 0,

so that blocks are worth mu n_j more, and bounds rise by mu (t - points of S). The multiplier is the
best for the bound of the node.
"""

from __future__ import annotations

import numpy as np

from sdpbb.arrays import Reals
from sdpbb.bounds.colgen.pricing.search_values import PricingArrays, Scratch, Stack, inner
from sdpbb.bounds.colgen.pricing.set_kernels import tied

# Multipliers tried for the number of points.
MULTIPLIERS = 12
EPSILON = float(np.finfo(np.float64).eps)


@inner
def points_of(data: PricingArrays, stack: Stack, d: int) -> float:
    """Return the number of points of the chosen blocks."""
    points = 0.0
    for j in range(len(data.counts)):
        if stack.chosen[d, j]:
            points += data.counts[j]
    return points


@inner
def may_be_all(data: PricingArrays, stack: Stack, d: int) -> bool:
    """Return whether the chosen blocks have as many points as a set may have."""
    if len(data.sizes) == 0:
        return True
    return bool(data.sizes[int(points_of(data, stack, d))])


@inner
def range_of_sizes(data: PricingArrays, stack: Stack, d: int) -> tuple[float, float]:
    """Return the fewest and the most points that an allowed set of the node has; 1, 0 for none."""
    points, x, n = points_of(data, stack, d), 0, stack.n_candidates[d]
    room = points
    while x < n:  # of each clique one block
        clique, largest = data.clique[stack.candidates[d, x]], 0.0
        while x < n and data.clique[stack.candidates[d, x]] == clique:
            largest = max(largest, data.counts[stack.candidates[d, x]])
            x += 1
        room += largest
    fewest, most = int(points), int(room)
    while fewest <= most and not data.sizes[fewest]:
        fewest += 1
    while most >= fewest and not data.sizes[most]:
        most -= 1
    if fewest > most:
        return 1.0, 0.0
    return float(fewest), float(most)


@inner
def fill_worths(
    data: PricingArrays, stack: Stack, d: int, profits: Reals, scratch: Scratch
) -> None:
    """Fill worth, keen and dull of the candidates, and lifted as for no limits on sizes."""
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
        scratch.keen[j] = worth + linked
        scratch.dull[j] = worth - parted
    for x in range(n):
        scratch.place[stack.candidates[d, x]] = -1


@inner
def lift(
    data: PricingArrays,
    stack: Stack,
    d: int,
    scratch: Scratch,
    fewest: float,
    most: float,
    radius: float,
    upper: float,
) -> None:
    """Fill lifted and shift for sets of fewest to most points whose means are within a radius."""
    n, has_mean = stack.n_candidates[d], stack.size[d] > 0.0
    points = points_of(data, stack, d)
    value = stack.scatter[d] - stack.profit[d]
    scale = abs(value)
    for x in range(n):
        j = stack.candidates[d, x]
        square = scratch.near[x]
        if has_mean and scratch.distance[x] > radius:
            square = max(square, (scratch.distance[x] - radius) ** 2)
        scratch.gain[x] = data.weights[j] * square - scratch.worth[j]
        scale += abs(scratch.gain[x])
    below, above = -np.inf, np.inf
    best, chosen, shift = -np.inf, 0.0, 0.0
    multiplier = 0.0
    for _ in range(MULTIPLIERS):
        wanted = fewest if multiplier > 0.0 else most
        raised = multiplier * (wanted - points)
        # Multipliers can be large, and then cancel.
        raised -= 16.0 * (len(data.counts) + 8.0) * EPSILON * abs(multiplier) * len(data.sizes)
        total, held = value + raised, points
        least, count, clique = 0.0, 0.0, -1
        for x in range(n):
            j = stack.candidates[d, x]
            if data.clique[j] != clique:
                total += least
                held += count
                least, count, clique = 0.0, 0.0, data.clique[j]
            term = scratch.gain[x] - multiplier * data.counts[j]
            if term < least:
                least, count = term, data.counts[j]
        total += least
        held += count
        if total > best:
            best, chosen, shift = total, multiplier, raised
        if best >= upper or fewest <= held <= most:
            break
        if held < fewest:
            below = multiplier
        else:
            above = multiplier
        if above == np.inf:
            multiplier = max(2.0 * multiplier, scale / most)
        elif below == -np.inf:
            multiplier = min(2.0 * multiplier, -scale / most)
        else:
            multiplier = 0.5 * (below + above)
        if multiplier == 0.0 and scale == 0.0:
            break
    scratch.shift[0] = shift
    for x in range(n):
        j = stack.candidates[d, x]
        scratch.lifted[j] = scratch.worth[j] + chosen * data.counts[j]
