"""Bounds on all sets of a node of the search for a cluster of low value, for many nodes at once.

A node is: the sets X of the package that hold the blocks chosen and no others but open ones. Of the
mean y of X, distances low <= |c_j - y| <= high are known for all blocks of interest, and so

    q_j(y) = e_j |c_j - y|^2 - a_j  in  [l_j, u_j].

Open blocks are in cliques of which X holds one block at most. Let 1 be the block of a clique with
the least l, and s <= 0 the least l of the others, or 0. Whatever X holds of the clique, for any
slope 0 <= b <= 1 it adds at least

    b q_1(y) + g,    g = min((1 - b) l_1, s - b u_1)

(the first if it is block 1, the second if not), and b is chosen such that the two are about equal.
With b = 1 for the blocks chosen and W = sum of b_i e_i, z = sum of b_i e_i c_i / W,

    f(X) = sum_{i in X} q_i(y) >= value + W |y - z|^2,
    value = sum of b_i e_i |c_i - z|^2 - sum of b_i a_i + sum of g.

If value >= t, no X of the node is below t; if not, |y - z|^2 < (t - value) / W, which says more
about the distances. Squared distances from z are, by those of the means,

    |c_j - z|^2 = M_j - v,
    M_j = sum of b_i e_i |c_j - c_i|^2 / W,    v = sum of b_i e_i M_i / (2 W),

and sum of b_i e_i |c_i - z|^2 = W v: sums of numbers >= 0, with small relative errors.

Where clusters have to keep limits, the a_j of open blocks are less, and the sum of u R is taken off
(`rules`); where sets are looked at as a whole, they are what `rules` says.

Rounding. With u = 2^-53, W v is off by at most (4 s + d + 20) u of itself, M_j and v by less, the
rest of a value by (2 s + 30) u times the sum of |a| + slack over the blocks chosen and open, s of
them, as none of its terms is larger than that of its block, and of what is taken off for limits. As
a whole, by twice that, of |W| as well, and of all that is added for sizes.
Distances are rounded outwards, and with them l and u.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..kernel.rules import broken_by, broken_with
from .problem import SLACK, Marks, Reals, Scope, some
from .rules import Whole, reduced_profits, surely_kept

# Times that a node is bounded before it is split.
_ROUNDS = 3
# The least loss by leaving a block out; far below all profits.
_LEAST_LOSS = 1e-270
# What a sum of reals is rounded to is off by more if they cancel: a block with more than this share
# of the weight is not tried to be left out.
_SHARE = 0.75


class Nodes(NamedTuple):
    """Search nodes as arrays, a row for each of s nodes and a column for each of c blocks.

    chosen, open : blocks in X, blocks that may be
    watched : not in X, but near enough to matter for the rules (out) and (swap)
    low, high : bounds on the distance of y
    """

    chosen: Marks
    open: Marks
    watched: Marks
    low: Reals
    high: Reals


class Bounds(NamedTuple):
    """Bounds of s nodes; see the module.

    value : (s,) lower bound, rounding accounted for
    weight : (s,) W
    scale : (s,) W v, the sum of |a| + slack of blocks chosen and open, and what is taken off for
        limits: what errors are in proportion to
    profits : (s, c) a of open blocks, less what limits take off
    nearest, farthest : (s, c) bounds on |c_j - z|^2
    is_first : (s, c) whether an open block is the one of its clique that has a slope
    slope, constant : (s, c) b and g of its clique
    low, second, high : (s, c) l_j, and s and u_1 of its clique
    """

    value: Reals
    weight: Reals
    scale: Reals
    profits: Reals
    nearest: Reals
    farthest: Reals
    is_first: Marks
    slope: Reals
    constant: Reals
    low: Reals
    second: Reals
    high: Reals


NodeArrays = TypeVar("NodeArrays", Nodes, Bounds)


def indexed(values: NodeArrays, index: Any) -> NodeArrays:
    """Index all arrays alike, by rows or columns: some rows, or of nodes some columns."""
    return type(values)(*(array[index] for array in values))


def bound_nodes(scope: Scope, nodes: Nodes, target: float) -> tuple[Nodes, Bounds] | None:
    """Return the nodes that may hold a set X below the target, and their last bounds.

    The nodes hold what is known of them then. None if there are none.
    """
    bounds: Bounds | None = None
    for _ in range(_ROUNDS):
        nodes = _restrict(scope, nodes)
        if not len(nodes.chosen):
            return None
        bounds = _bounds(scope, nodes)
        left = ~(bounds.value >= target)  # what is no number rules out nothing
        if not left.all():
            nodes, bounds = indexed(nodes, left), indexed(bounds, left)
            if not len(nodes.chosen):
                return None
        nodes = _near_centre(scope, nodes, bounds, target)
    assert bounds is not None
    return nodes, bounds


def _restrict(scope: Scope, nodes: Nodes) -> Nodes:
    """Return the nodes restricted by the rules (in), (out) and (swap)."""
    problem = scope.problem
    e, a, error = problem.weights, problem.profits, problem.error
    most_in, least_out = a + problem.slack, a - problem.slack
    chosen, still, watched, low, high = nodes
    if problem.whole is not None:
        return _restrict_whole(scope, problem.whole, nodes)
    kept = np.ones(len(chosen), np.bool_)
    free = np.ones(chosen.shape, np.bool_)
    if problem.rules:
        kept = ~broken_by(problem.rules, chosen)
        still = still & ~broken_with(problem.rules, chosen)
        free = surely_kept(problem.rules, chosen | still, scope.linked)
    share = e / (((chosen | still) @ e)[:, None] * (1.0 + error))  # at most e / e(X), for i in X
    squares = e * np.square(low)
    outside = (low > 0.0) & (squares >= most_in * (1.0 - share) * (1.0 + SLACK))
    left = kept & ~some(chosen & outside)
    still = still & ~outside
    most = e * np.square(high)
    wanted = watched & free & (most < least_out * (1.0 + share) * (1.0 - SLACK))
    nodes = Nodes(chosen, still, watched, low, high)
    if scope.has_links.any():
        lost = np.where(chosen | still, np.maximum(a - squares, _LEAST_LOSS), 0.0) @ scope.linked
        gain = least_out - most
        worth = free & (gain > lost * (1.0 + error))
        wanted = np.where(lost > 0.0, watched & worth, wanted)
        must = still & worth & scope.has_links
        if must.any():
            nodes, possible = choose_blocks(scope, nodes, must)
            left &= possible
    left &= ~some(wanted)
    return nodes if left.all() else indexed(nodes, left)


def _restrict_whole(scope: Scope, whole: Whole, nodes: Nodes) -> Nodes:
    """Return the nodes restricted by the rules on clusters, and by what sets may have."""
    rules, chosen = scope.problem.rules, nodes.chosen
    kept = ~broken_by(rules, chosen)
    still = nodes.open & ~broken_with(rules, chosen)
    kept &= whole.allow(chosen, still)
    return indexed(nodes._replace(open=still), kept)


def choose_blocks(scope: Scope, nodes: Nodes, must: Marks) -> tuple[Nodes, Marks]:
    """Return the nodes with the open blocks `must` (s, c) chosen, and whether they can be, (s,)."""
    chosen, still, watched, low, high = nodes
    marks = must.astype(np.float64)
    others = marks @ scope.apart > 0.0
    chosen = chosen | must
    watched = (watched | (still & others)) & ~(marks @ scope.far > 0.0)
    still = still & ~must & ~others
    high = np.where(must, np.minimum(high, scope.problem.reach), high)
    possible = ~some(chosen & others) & ~broken_by(scope.problem.rules, chosen)
    return Nodes(chosen, still, watched, low, high), possible


def _bounds(scope: Scope, nodes: Nodes) -> Bounds:
    e, a, error = scope.problem.weights, scope.problem.profits, scope.problem.error
    whole, none = scope.problem.whole, np.zeros(len(nodes.open))
    profits, paid, tied, further = np.broadcast_to(a, nodes.open.shape), none, none, none
    if whole is not None:
        profits, tied = whole.worths(a, nodes.chosen, nodes.open)
    if scope.problem.rules:
        middle = np.where(nodes.open, e * np.square(0.5 * (nodes.low + nodes.high)) - profits, 0.0)
        before = profits
        profits, paid = reduced_profits(
            scope.problem.rules, profits, nodes.chosen, nodes.open, middle
        )
        if whole is not None:
            middle = np.where(nodes.open, middle + before - profits, 0.0)
            profits, raised, further = whole.raised(profits, nodes.chosen, nodes.open, middle)
            paid = paid - raised
    low = np.where(nodes.open, e * np.square(nodes.low) - profits, 0.0)
    high = e * np.square(nodes.high) - profits
    is_first, least, second, most = _firsts(scope, nodes.open, low, high)
    width = most - least
    slope = np.zeros_like(least)
    np.divide(second - least, width, out=slope, where=(width > 0.0) & (least < 0.0))
    np.minimum(slope, 1.0, out=slope)
    constant = np.minimum((1.0 - slope) * least, second - slope * most)
    constant = np.where(least < 0.0, constant, 0.0)
    added = constant.sum(axis=1)
    if len(scope.starts) < len(e):
        spread = scope.clique
        slope, constant, second, most = (
            array[:, spread] for array in (slope, constant, second, most)
        )
    slopes = np.where(is_first, slope, 0.0)
    share = nodes.chosen + slopes
    weights = share * e
    weight = weights.sum(axis=1)
    around = (weights @ scope.problem.squares) / weight[:, None]
    half = 0.5 * (weights * around).sum(axis=1) / weight
    scale = weight * half + (nodes.chosen | nodes.open) @ scope.problem.terms + np.abs(paid)
    scale = scale + further
    gained = nodes.chosen @ a - tied + (slopes * profits).sum(axis=1)
    value = weight * half - gained + added - paid - error * scale
    difference, rounding = around - half[:, None], error * (around + half[:, None])
    return Bounds(
        value,
        weight,
        scale,
        profits,
        np.maximum(difference - rounding, 0.0),
        np.maximum(difference + rounding, 0.0),
        is_first,
        slope,
        constant,
        low,
        second,
        most,
    )


def _firsts(
    scope: Scope, still: Marks, low: Reals, high: Reals
) -> tuple[Marks, Reals, Reals, Reals]:
    """Return the first blocks of the cliques by l, and figures on them.

    (s, c) whether an open block has the least l of its clique, and (s, number of cliques) that, the
    least of the others, and the greatest u of the first. Among equals all are the first, and one of
    the others too: their slope is 0.
    """
    starts = scope.starts
    if len(starts) == still.shape[1]:
        return still, low, np.zeros_like(low), high
    least = np.minimum.reduceat(low, starts, axis=1)
    is_first = still & (low == least[:, scope.clique])
    many = np.add.reduceat(is_first, starts, axis=1, dtype=np.intp) > 1
    others = np.minimum.reduceat(np.where(is_first, 0.0, low), starts, axis=1)
    most = np.maximum.reduceat(np.where(is_first, high, -np.inf), starts, axis=1)
    most = np.where(np.isfinite(most), most, 0.0)
    return is_first, least, np.where(many, least, others), most


def _near_centre(scope: Scope, nodes: Nodes, bounds: Bounds, target: float) -> Nodes:
    """Return the nodes with the distances of a ball around z that y is in."""
    error = scope.problem.error
    radius = np.sqrt((target - bounds.value) / bounds.weight)[:, None] * (1.0 + error)
    nearest = (np.sqrt(bounds.nearest) * (1.0 - SLACK) - radius) * (1.0 - SLACK)
    farthest = (np.sqrt(bounds.farthest) + radius) * (1.0 + SLACK)
    return nodes._replace(low=np.maximum(nodes.low, nearest), high=np.minimum(nodes.high, farthest))


def fix_open_blocks(
    scope: Scope, nodes: Nodes, bounds: Bounds, target: float
) -> tuple[Nodes, Marks, Marks]:
    """Fix open blocks of which it is decided whether a set below the target has them.

    Those with which no set is below it are left out, those without which none is are chosen. Also
    return (s,) whether that is possible, and (s,) whether any was.

    With block 1 of a clique, it adds q_1(y) instead of b q_1(y) + g; with another block i at least
    l_i instead of at most b u_1 + g; without block 1 at least s. The least value over all y is that
    of a sum of two squares, or of a difference.
    """
    e, a, error = scope.problem.weights, bounds.profits, scope.problem.error
    value, weight = bounds.value[:, None], bounds.weight[:, None]
    tolerance = 8.0 * error * bounds.scale[:, None]
    rest = (1.0 - bounds.slope) * e
    as_first = weight * rest / (weight + rest) * bounds.nearest * (1.0 - error)
    as_first -= (1.0 - bounds.slope) * a
    as_other = bounds.low - bounds.slope * bounds.high
    inside = value + np.where(bounds.is_first, as_first, as_other) - bounds.constant
    own = np.where(bounds.is_first, bounds.slope * e, 0.0)
    light = bounds.is_first & (own <= _SHARE * weight)
    lost = weight * own / np.where(light, weight - own, 1.0) * bounds.farthest
    outside = value - lost * (1.0 + 16.0 * error) + bounds.slope * a
    outside += bounds.second - bounds.constant
    dropped = nodes.open & (inside - tolerance >= target)
    must = nodes.open & light & (outside - tolerance >= target)
    possible = ~some(dropped & must)
    must &= ~dropped
    changed = some(must | dropped)
    nodes = nodes._replace(open=nodes.open & ~dropped, watched=nodes.watched | dropped)
    if must.any():
        nodes, can_be = choose_blocks(scope, nodes, must)
        possible &= can_be
    return nodes, possible, changed
