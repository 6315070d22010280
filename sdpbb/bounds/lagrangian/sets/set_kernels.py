"""Choosing blocks: what excludes others, and what uses budgets."""

from __future__ import annotations

import numpy as np

from sdpbb.bounds.lagrangian.sets.search_values import NOTHING, PricingArrays, Stack, inner
from sdpbb.runtime.arrays import Booleans, Reals


@inner
def copy_to_child(stack: Stack, d: int) -> None:
    """Make node d + 1 a copy of node d."""
    for j in range(stack.chosen.shape[1]):
        stack.chosen[d + 1, j] = stack.chosen[d, j]
    for c in range(stack.low.shape[1]):
        stack.moment[d + 1, c] = stack.moment[d, c]
        stack.low[d + 1, c] = stack.low[d, c]
        stack.high[d + 1, c] = stack.high[d, c]
    for b in range(stack.used.shape[1]):
        stack.used[d + 1, b] = stack.used[d, b]
    for x in range(stack.n_candidates[d]):
        stack.candidates[d + 1, x] = stack.candidates[d, x]
    stack.size[d + 1] = stack.size[d]
    stack.scatter[d + 1] = stack.scatter[d]
    stack.profit[d + 1] = stack.profit[d]
    stack.radius[d + 1] = stack.radius[d]
    stack.n_candidates[d + 1] = stack.n_candidates[d]
    stack.pending[d + 1] = NOTHING
    stack.likely[d + 1] = stack.likely[d]


@inner
def consumption(data: PricingArrays, chosen: Booleans, b: int, j: int) -> float:
    """Return the consumption of budget b by block j beside the chosen blocks."""
    total: float = data.linear[b, j]
    if len(data.pairs):
        for i in range(len(chosen)):
            if chosen[i]:
                total += data.pairs[b, i, j]
    return total


@inner
def fits(data: PricingArrays, chosen: Booleans, used: Reals, j: int) -> bool:
    """Return whether block j exceeds no budget beside the chosen blocks, which use `used` (b,)."""
    for b in range(len(data.limits)):
        if used[b] + consumption(data, chosen, b, j) > data.limits[b]:
            return False
    return True


@inner
def tied(data: PricingArrays, chosen: Booleans, j: int) -> float:
    """Return what soft pairs of block j with chosen blocks add to a value, the sum of their W."""
    total = 0.0
    if len(data.soft_other):
        for at in range(data.soft_start[j], data.soft_start[j + 1]):
            if chosen[data.soft_other[at]]:
                total += data.soft_weight[at]
    return total


@inner
def all_fit(data: PricingArrays, stack: Stack, d: int) -> bool:
    """Return whether all candidates together exceed no budget, False if that is not easily seen."""
    if len(data.pairs):
        return False
    for b in range(len(data.limits)):
        used = stack.used[d, b]
        for x in range(stack.n_candidates[d]):
            used += data.linear[b, stack.candidates[d, x]]
        if used > data.limits[b]:
            return False
    return True


@inner
def include(data: PricingArrays, stack: Stack, d: int, j: int, profits: Reals) -> None:
    """Choose block j: candidates that it excludes go, and the mean moves."""
    size, e = stack.size[d], data.weights[j]
    square = 0.0
    if size > 0.0:
        for c in range(data.points.shape[1]):
            square += (stack.moment[d, c] / size - data.points[j, c]) ** 2
    for b in range(len(data.limits)):
        stack.used[d, b] += consumption(data, stack.chosen[d], b, j)
    stack.scatter[d] += size * e / (size + e) * square
    distance = np.sqrt(square)
    stack.radius[d] = min(
        stack.radius[d] + distance * e / (size + e),
        data.reach[j] + distance * size / (size + e),
    )
    stack.size[d] += e
    stack.profit[d] += profits[j] - tied(data, stack.chosen[d], j)
    for c in range(data.points.shape[1]):
        stack.moment[d, c] += e * data.points[j, c]
    stack.chosen[d, j] = True
    kept = 0
    for x in range(stack.n_candidates[d]):
        i = stack.candidates[d, x]
        if i == j or data.apart[j, i]:
            continue
        if len(data.limits) and not fits(data, stack.chosen[d], stack.used[d], i):
            continue
        stack.candidates[d, kept] = i
        kept += 1
    stack.n_candidates[d] = kept
