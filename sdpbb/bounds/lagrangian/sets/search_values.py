"""Arrays of the branch and bound over clusters: blocks, stack of nodes, work arrays; its moves.

Notation of all kernels: a set X of blocks has E(X) points, mean y(X) and value

    f(X) = sum_{i in X} (e_i || c_i - y(X) ||^2 - a_i)
         = min_y sum_{i in X} (e_i || c_i - y ||^2 - a_i),

where e_i, c_i are the size and mean of block i, and a_i its price less its own scatter. Where
there are soft pairs, a_i is less half the weight of its soft must-links, too, and f(X) has the W_ij
of all pairs inside X besides: w for a soft cannot-link of weight w, -w for a soft must-link.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from sdpbb.runtime.arrays import Booleans, Integers, Reals
from sdpbb.runtime.jit import njit

Kernel = TypeVar("Kernel", bound=Callable[..., object])


class PricingArrays(NamedTuple):
    """Input arrays of the pricing search, blocks ordered so that cliques are contiguous.

    points : (m, p) means
    weights : (m,)
    clique : (m,) non-decreasing; blocks of one clique are mutually cannot-linked
    start, neighbours : cannot-links of block i in neighbours[start[i] : start[i + 1]], ascending
    linear, pairs, limits : upper limits (b, m), (b, m, m) or (0, m, m), (b,)
        (`sdpbb.problem.quantities.UpperLimits`), whole numbers. The first g are on the quantities
        of which parts of allowed sets may hold too little
    ranges : (g, q, 2) of what a set may hold of these; empty ranges may be among them
    unbudgeted : (m,) blocks that use no budget
    apart : (m, m) pairs that no set of interest holds: the cannot-links, and what a search knows
        from its prices
    reach : (m,) how far a block may be from the mean of a set of interest; inf if not known
    squares, nearest : (m, m) squared distances of the means; for each block all, the nearest first
    boxes, by_size : whether boxes are halved, and whether weights are looked at one by one: which
        pays off depends on the dimension
    soft_start, soft_other, soft_weight : soft pairs of block i, each under both its ends, with
        soft_other[soft_start[i] : soft_start[i + 1]], ascending, and their W
    """

    points: Reals
    weights: Reals
    clique: Integers
    start: Integers
    neighbours: Integers
    linear: Reals
    pairs: Reals
    limits: Reals
    ranges: Reals
    unbudgeted: Booleans
    apart: Booleans
    reach: Reals
    squares: Reals
    nearest: Integers
    boxes: bool
    by_size: bool
    soft_start: Integers
    soft_other: Integers
    soft_weight: Reals


class Stack(NamedTuple):
    """Nodes from the root to the present one, by depth d.

    Node d holds the sets X with chosen <= X <= chosen + candidates whose mean is in a box and no
    farther than radius from the mean of chosen.

    chosen : (d, m) marks; size, moment, scatter, profit, used : of them, (d,), (d, p) sum of
        e_i c_i, (d,) sum of e_i || c_i - mean ||^2, (d,) sum of a_i, (d, b) of the budgets
    low, high : (d, p) the box
    radius : (d,)
    candidates, n_candidates : (d, m) in ascending order, (d,)
    pending : (d,) what is left to do there: NOTHING, or the exclusion of block pending >= 0, or the
        upper half of the box along coordinate UPPER - pending, from cut on
    cut : (d,)
    likely : (d,) how many points more than chosen a set of interest may have, if any
    """

    chosen: Booleans
    size: Reals
    moment: Reals
    scatter: Reals
    profit: Reals
    used: Reals
    low: Reals
    high: Reals
    radius: Reals
    candidates: Integers
    n_candidates: Integers
    pending: Integers
    cut: Reals
    likely: Reals


class Scratch(NamedTuple):
    """Work arrays of the current node, by position among its candidates.

    distance : from the mean of chosen
    near : squared distance from the box
    gain : what the candidate adds to the bound at least, in an interval of radii
    inside, outside : bounds on the sets with the candidate, and without
    rivals : (m,) per block: what its cannot-linked candidates can add together, as a positive
        number
    place : (m,) position of a block among the candidates, or -1
    met : (m,) marks of the set of the least value chosen on the way, if that is below upper
    weight_sums, pair_sums : (m, m + 2) per candidate: points, and sum of e_l squared distance, of
        the nearest candidates that it can share a cluster with
    at : (m,) position in these
    key : (m,)
    worth : (m,) per block: the most that a candidate adds to profits, whatever else is chosen
    lifted : (m,) that, and what it is worth towards the sizes and weights that are allowed
    keen, dull : (m,) per block: the most that a candidate can be worth to a set that holds it, and
        the least that it is worth to one that does not
    shift : (1,) what bounds from `lifted` have to be raised by
    fewest, most : (g,) the least and the most that an allowed set holds of each of the g quantities
    """

    distance: Reals
    near: Reals
    gain: Reals
    inside: Reals
    outside: Reals
    rivals: Reals
    place: Integers
    met: Booleans
    weight_sums: Reals
    pair_sums: Reals
    at: Integers
    key: Reals
    worth: Reals
    lifted: Reals
    keen: Reals
    dull: Reals
    shift: Reals
    fewest: Reals
    most: Reals


# What a node has left to do: nothing, the upper half of its box along coordinate c as UPPER - c, or
# the exclusion of a block as its number.
NOTHING, UPPER = -1, -2

# What is called from compiled code only needs no wrapper, which would take longer to compile.
inner: Callable[[Kernel], Kernel] = njit(cache=True, no_cpython_wrapper=True)


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
