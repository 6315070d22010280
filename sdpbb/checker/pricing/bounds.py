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
from .problem import SLACK, CliqueSlopes, Marks, Reals, Scope, slopes_of_cliques, some
from .rules import reduced_profits

# Times that a node is bounded before it is split.
_ROUNDS = 3


class Nodes(NamedTuple):
    """Search nodes as arrays, a row for each of s nodes and a column for each of c blocks.

    chosen, open : blocks in X, blocks that may be
    low, high : bounds on the distance of y
    """

    chosen: Marks
    open: Marks
    low: Reals
    high: Reals


class Bounds(NamedTuple):
    """Bounds of s nodes; see the module.

    value : (s,) lower bound, rounding accounted for
    weight : (s,) W
    profits : (s, c) a of open blocks, less what limits take off
    nearest, farthest : (s, c) bounds on |c_j - z|^2
    low : (s, c) l_j
    cliques : of the open blocks
    """

    value: Reals
    weight: Reals
    profits: Reals
    nearest: Reals
    farthest: Reals
    low: Reals
    cliques: CliqueSlopes


NodeArrays = TypeVar("NodeArrays", Nodes, Bounds, CliqueSlopes)


def indexed(values: NodeArrays, index: Any) -> NodeArrays:
    """Index all arrays alike, by rows or columns: some rows, or of nodes some columns."""
    arrays: Any = (indexed(x, index) if isinstance(x, tuple) else x[index] for x in values)
    return type(values)(*arrays)


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
    """Return the nodes restricted by (in), by the rules on clusters, and by what sets may have."""
    problem = scope.problem
    e, error, kept = problem.weights, problem.error, np.ones(len(nodes.chosen), np.bool_)
    chosen, still, low, high = nodes
    if problem.rules:
        kept = ~broken_by(problem.rules, chosen)
        still = still & ~broken_with(problem.rules, chosen)
    if problem.whole is not None:
        kept &= problem.whole.allow(chosen, still)
    else:
        share = e / (((chosen | still) @ e)[:, None] * (1.0 + error))  # at most e / e(X), in X
        most = (problem.profits + problem.slack) * (1.0 - share)
        outside = (low > 0.0) & (e * np.square(low) >= most * (1.0 + SLACK))
        kept &= ~some(chosen & outside)
        still = still & ~outside
    nodes = Nodes(chosen, still, low, high)
    return nodes if kept.all() else indexed(nodes, kept)


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
    cliques = slopes_of_cliques(scope.starts, scope.clique, nodes.open, low, high)
    slopes = np.where(cliques.is_first, cliques.slope, 0.0)
    share = nodes.chosen + slopes
    weights = share * e
    weight = weights.sum(axis=1)
    around = (weights @ scope.problem.squares) / weight[:, None]
    half = 0.5 * (weights * around).sum(axis=1) / weight
    scale = weight * half + (nodes.chosen | nodes.open) @ scope.problem.terms + np.abs(paid)
    scale = scale + further
    gained = nodes.chosen @ a - tied + (slopes * profits).sum(axis=1)
    value = weight * half - gained + cliques.added - paid - error * scale
    difference, rounding = around - half[:, None], error * (around + half[:, None])
    return Bounds(
        value,
        weight,
        profits,
        np.maximum(difference - rounding, 0.0),
        np.maximum(difference + rounding, 0.0),
        low,
        cliques,
    )


def _near_centre(scope: Scope, nodes: Nodes, bounds: Bounds, target: float) -> Nodes:
    """Return the nodes with the distances of a ball around z that y is in."""
    error = scope.problem.error
    radius = np.sqrt((target - bounds.value) / bounds.weight)[:, None] * (1.0 + error)
    nearest = (np.sqrt(bounds.nearest) * (1.0 - SLACK) - radius) * (1.0 - SLACK)
    farthest = (np.sqrt(bounds.farthest) + radius) * (1.0 + SLACK)
    return nodes._replace(low=np.maximum(nodes.low, nearest), high=np.minimum(nodes.high, farthest))
