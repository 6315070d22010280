"""Arrays of the branch and bound over clusters: blocks, stack of nodes, work arrays.

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
        (`sdpbb.problem.quantities.UpperLimits`)
    unbudgeted : (m,) blocks that use no budget
    apart : (m, m) pairs that no set of interest holds: the cannot-links, and what a search knows
        from its prices
    reach : (m,) how far a block may be from the mean of a set of interest; inf if not known
    squares, nearest : (m, m) squared distances of the means; for each block all, the nearest first
    boxes, by_size : whether boxes are halved, and whether weights are looked at one by one: which
        pays off depends on the dimension
    measures : (g, m) whole numbers: points, or units of weight; (0, m) where parts of allowed sets
        are allowed
    ranges : (g, q, 2) of the sums that a set may have; empty ones may be among them
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
    unbudgeted: Booleans
    apart: Booleans
    reach: Reals
    squares: Reals
    nearest: Integers
    boxes: bool
    by_size: bool
    measures: Reals
    ranges: Reals
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
    held, fewest, most : (g,) by measure: what the chosen blocks have, and the least and the most
        that an allowed set has
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
    held: Reals
    fewest: Reals
    most: Reals


# What a node has left to do: nothing, the upper half of its box along coordinate c as UPPER - c, or
# the exclusion of a block as its number.
NOTHING, UPPER = -1, -2

# What is called from compiled code only needs no wrapper, which would take longer to compile.
inner: Callable[[Kernel], Kernel] = njit(cache=True, no_cpython_wrapper=True)
