"""Arrays of the branch and bound over clusters (blocks, nodes, work arrays), and its moves.

Notation of all kernels: a set X of blocks has E(X) points, mean y(X) and value

    f(X) = sum_{i in X} (e_i || c_i - y(X) ||^2 - a_i)
         = min_y sum_{i in X} (e_i || c_i - y ||^2 - a_i),

where e_i, c_i are the size and mean of block i, and a_i its price less its own scatter. With soft
pairs, a_i is also less half the weight of its soft must-links, and f(X) includes the W_ij of all
pairs inside X: w for a soft cannot-link of weight w, -w for a soft must-link.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from sdpbb.runtime.arrays import Booleans, Integers, Reals
from sdpbb.runtime.jit import njit

Kernel = TypeVar("Kernel", bound=Callable[..., object])


class PricingArrays(NamedTuple):
    """Input of the pricing search. Blocks are ordered so that cliques are contiguous.

    points : (m, p) means
    weights : (m,)
    clique : (m,) non-decreasing; blocks of one clique are mutually cannot-linked
    start, neighbours : cannot-links of block i in neighbours[start[i] : start[i + 1]], ascending
    linear, pairs, limits : upper limits (b, m), (b, m, m) or (0, m, m), (b,)
        (`sdpbb.problem.quantities.UpperLimits`), whole numbers. The first g limit two-sided
        quantities: parts of allowed sets may hold too little
    ranges : (g, q, 2) ranges of what a set may hold of these; some may be empty
    unbudgeted : (m,) blocks that use no budget
    apart : (m, m) pairs that no set of interest holds: cannot-links, and pairs excluded by prices
    reach : (m,) how far a block may be from the mean of a set of interest; inf if unknown
    squares, nearest : (m, m) squared distances of the means; all blocks by distance from each block
    boxes, by_size : whether boxes are halved, and whether each number of points is bounded; which
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

    Node d holds the sets X with chosen <= X <= chosen + candidates. Their mean is in a box, and at
    most radius away from the mean of chosen.

    chosen : (d, m) marks
    size, moment, scatter, profit, used : sums over chosen: (d,) of e_i, (d, p) of e_i c_i, (d,) of
        e_i || c_i - mean ||^2, (d,) of a_i, (d, b) of the budgets
    low, high : (d, p) the box
    radius : (d,)
    candidates, n_candidates : (d, m) in ascending order, (d,)
    pending : (d,) second child: NOTHING, or the exclusion of block pending >= 0, or the upper half
        of the box along coordinate UPPER - pending, from cut on
    cut : (d,)
    likely : (d,) number of further points with which a set of interest is likely
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
    gain : least change of the bound by the candidate, in an interval of radii
    inside, outside : bounds on the sets with the candidate, and without
    rivals : (m,) per block: the most that its cannot-linked candidates can gain together, >= 0
    place : (m,) position of a block among the candidates, or -1
    met : (m,) marks of the set of the least value chosen on the way, if that is below upper
    weight_sums, pair_sums : (m, m + 2) per candidate: points, and sum of e_l squared distance, of
        the nearest candidates that it can share a cluster with
    at : (m,) position in these
    key : (m,) least change of the bound by the candidate, with a range of points
    worth : (m,) per block: the largest profit of a candidate, whatever else is chosen
    lifted : (m,) the same, with the multipliers of the two-sided quantities
    max_gain_inside : (m,) per block: upper bound on the gain of any set by holding the candidate
    min_gain_outside : (m,) per block: lower bound on the gain of any set by adding the candidate
    shift : (1,) constant to add to bounds from `lifted`
    fewest, most : (g,) the least and the most that an allowed set holds of each quantity
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
    max_gain_inside: Reals
    min_gain_outside: Reals
    shift: Reals
    fewest: Reals
    most: Reals


# Values of `Stack.pending`: no second child; the upper half of the box along coordinate c as
# UPPER - c. Blocks to exclude are their numbers.
NOTHING, UPPER = -1, -2

# Functions that only compiled code calls compile faster without a wrapper for Python.
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
    """Return how much of budget b block j uses, together with the chosen blocks."""
    total: float = data.linear[b, j]
    if len(data.pairs):
        for i in range(len(chosen)):
            if chosen[i]:
                total += data.pairs[b, i, j]
    return total


@inner
def fits(data: PricingArrays, chosen: Booleans, used: Reals, j: int) -> bool:
    """Return whether block j fits the budgets, of which the chosen blocks use `used` (b,)."""
    for b in range(len(data.limits)):
        if used[b] + consumption(data, chosen, b, j) > data.limits[b]:
            return False
    return True


@inner
def tied(data: PricingArrays, chosen: Booleans, j: int) -> float:
    """Return the sum of W over the soft pairs of block j with chosen blocks."""
    total = 0.0
    if len(data.soft_other):
        for at in range(data.soft_start[j], data.soft_start[j + 1]):
            if chosen[data.soft_other[at]]:
                total += data.soft_weight[at]
    return total


@inner
def all_fit(data: PricingArrays, stack: Stack, d: int) -> bool:
    """Return whether all candidates together fit the budgets; False if pairs count."""
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
    """Choose block j: move the mean, and remove the candidates that it excludes."""
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
