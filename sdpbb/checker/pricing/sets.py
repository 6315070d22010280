"""Search for clusters of low value over all sets of blocks, by branch and bound over many nodes.

A node stands for the sets X of the package that hold all chosen blocks and some open ones. It has
bounds low <= |c_j - y| <= high on the distances of the mean y of X from its blocks, and so

    q_j(y) = e_j |c_j - y|^2 - a_j  in  [l_j, u_j].

X holds at most one open block of each clique. Let 1 be the block of a clique with the least l, and
s <= 0 the least l of the others, or 0. For any slope 0 <= b <= 1 the clique adds at least

    b q_1(y) + g,    g = min((1 - b) l_1, s - b u_1)

(the first number if X holds block 1, the second if not); b makes the two about equal. With b = 1
for the chosen blocks and W = sum of b_i e_i, z = sum of b_i e_i c_i / W,

    f(X) = sum_{i in X} q_i(y) >= value + W |y - z|^2,
    value = sum of b_i e_i |c_i - z|^2 - sum of b_i a_i + sum of g.

If value >= t, no X of the node is below t. Otherwise |y - z|^2 < (t - value) / W for an X below t,
which narrows the distances. Squared distances from z follow from those between the means:

    |c_j - z|^2 = M_j - v,
    M_j = sum of b_i e_i |c_j - c_i|^2 / W,    v = sum of b_i e_i M_i / (2 W),

and sum of b_i e_i |c_i - z|^2 = W v: sums of numbers >= 0, with small relative errors.

Limits make the a_j of open blocks less and subtract the sum of u R (`limits`). If sets count as a
whole, soft pairs and sizes change them, too.

Rounding. With u = 2^-53 and s chosen and open blocks, W v is off by at most (4 s + d + 20) u of
itself, M_j and v by less. The rest of a value is off by (2 s + 30) u times a sum: |a| + slack of
these blocks, as no term is larger than the term of its block, and u R of the limits. If sets count
as a whole, the factor is twice that. The sum then includes the prices of soft pairs and all terms
of sizes. Distances are rounded outwards, and so are l and u.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..kernel.evidence import Steps
from ..kernel.rejection import Rejected
from .limits import reduced_profits
from .problem import (
    SLACK,
    CheckedPricing,
    CliqueSlopes,
    Indices,
    Marks,
    Nodes,
    Reals,
    Scope,
    by_cliques,
    indexed,
    slopes_of_cliques,
    stacked,
    without_and_with,
)

# First blocks of one stack; nodes in one step; the share of the blocks of a scope that matter to
# some node, below which the scope is made smaller.
_GROUP, _BATCH, _SHARE = 48, 256, 0.7
# Times that a node is bounded before it is split.
_ROUNDS = 3


class Bounds(NamedTuple):
    """Bounds of s nodes; see the module.

    value : (s,) lower bound, rounding accounted for
    weight : (s,) W
    profits : (s, c) a of open blocks, changed by limits and sizes
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


def sets_below(problem: CheckedPricing, target: float, steps: Steps) -> Iterator[Marks]:
    """Yield all sets X with f(X) < target, and perhaps some slightly above, as arrays (s, m).

    X are the non-empty sets of blocks without a cannot-linked pair that satisfy the rules. No set
    has f(X) < target - slack. The target is at most 0, unless sets count as a whole.

    steps : nodes that it may take

    Raises
    ------
    Rejected
        If the search needs more steps.
    """
    order = _order(problem)
    for start in range(0, problem.m, _GROUP):
        stack = [_roots(problem, order, start)]
        while stack:
            scope, nodes = _batch(stack)
            if not steps.take(len(nodes.chosen)):
                raise Rejected(f"could not prove the prices within {steps.most} nodes")
            remaining = _bounded(scope, nodes, target)
            if remaining is None:
                continue
            nodes, bounds = remaining
            incomplete = nodes.open.any(axis=1)
            if not incomplete.all():
                sets = np.zeros((int((~incomplete).sum()), problem.m), bool)
                sets[:, scope.blocks] = nodes.chosen[~incomplete]
                yield sets
            if incomplete.any():
                open_nodes, of_open = indexed(nodes, incomplete), indexed(bounds, incomplete)
                stack.append((scope, _children(scope, open_nodes, of_open)))


def _order(problem: CheckedPricing) -> Indices:
    """Return an order of the blocks in which few later blocks are near each block.

    The next block is the one that can share a set with the fewest of the remaining blocks.
    """
    degree = problem.together.sum(axis=1)
    order = np.empty(problem.m, np.intp)
    for place in range(problem.m):
        block = order[place] = int(degree.argmin())
        degree -= problem.together[block]
        degree[block] = 2 * problem.m
    return order


def _roots(problem: CheckedPricing, order: Indices, start: int) -> tuple[Scope, Nodes]:
    """Return a node for each of the next blocks in the order, from a place on.

    It stands for the sets whose first block in the order is this block.
    """
    first = order[start : start + _GROUP]
    relevant = np.asarray(problem.near[first].any(axis=0))
    relevant[first] = True
    blocks = order[relevant[order]]
    apart = ~problem.together[np.ix_(blocks, blocks)]
    np.fill_diagonal(apart, False)
    by_clique, clique = by_cliques(apart)
    scope = Scope.of(problem, blocks[by_clique], clique)
    place = np.empty(problem.m, np.intp)
    place[order] = np.arange(problem.m)
    chosen = scope.blocks == first[:, None]
    still = problem.together[np.ix_(first, scope.blocks)]
    still &= place[scope.blocks] > place[first][:, None]
    farthest = np.broadcast_to(problem.span[scope.blocks], chosen.shape)
    nodes = Nodes(chosen, still, np.zeros(chosen.shape), farthest)
    return scope, _in_reach(scope, nodes, chosen.argmax(axis=1))


def _in_reach(scope: Scope, nodes: Nodes, block: Indices) -> Nodes:
    """Return the nodes with the bounds on distances of y that follow from a block (s,) of X."""
    distance, error = np.sqrt(scope.squares[block]), scope.problem.error
    reach = scope.problem.reach[scope.blocks[block]][:, None]
    nearest = (distance * (1.0 - error) - reach) * (1.0 - SLACK)
    farthest = (distance * (1.0 + error) + reach) * (1.0 + SLACK)
    return _within(nodes, nearest, farthest)


def _within(nodes: Nodes, nearest: Reals, farthest: Reals) -> Nodes:
    """Return the nodes with bounds on distances of y that are narrowed by others."""
    return nodes._replace(low=np.maximum(nodes.low, nearest), high=np.minimum(nodes.high, farthest))


def _batch(stack: list[tuple[Scope, Nodes]]) -> tuple[Scope, Nodes]:
    """Take the last nodes of one scope from the stack."""
    scope, nodes = stack.pop()
    parts, count = [nodes], len(nodes.chosen)
    while stack and count < _BATCH and stack[-1][0] is scope:
        parts.append(stack.pop()[1])
        count += len(parts[-1].chosen)
    nodes = stacked(parts)
    if count > _BATCH:
        stack.append((scope, indexed(nodes, np.arange(count - _BATCH))))
        nodes = indexed(nodes, np.arange(count - _BATCH, count))
    columns = np.flatnonzero((nodes.chosen | nodes.open).any(axis=0))
    if len(columns) < _SHARE * len(scope.blocks):
        scope = Scope.of(scope.problem, scope.blocks[columns], scope.clique[columns])
        nodes = indexed(nodes, np.s_[:, columns])
    return scope, nodes


def _bounded(scope: Scope, nodes: Nodes, target: float) -> tuple[Nodes, Bounds] | None:
    """Return the nodes that may hold a set X below the target, and their last bounds.

    The bounds on distances of the nodes are narrowed. None: no such node.
    """
    bounds: Bounds | None = None
    for _ in range(_ROUNDS):
        nodes = _restrict(scope, nodes)
        if not len(nodes.chosen):
            return None
        bounds = _bounds(scope, nodes)
        left = ~(bounds.value >= target)  # nan excludes nothing
        if not left.all():
            nodes, bounds = indexed(nodes, left), indexed(bounds, left)
            if not len(nodes.chosen):
                return None
        nodes = _near_centre(scope, nodes, bounds, target)
    assert bounds is not None
    return nodes, bounds


def _restrict(scope: Scope, nodes: Nodes) -> Nodes:
    """Return the nodes without blocks that (in) or the rules on clusters exclude."""
    nodes = scope.within_limits(nodes)
    if scope.whole_sets is not None:
        return nodes
    chosen, still, low, _ = nodes
    e, profits = scope.weights, scope.profits + scope.problem.slack
    # A lower bound on e / e(X)
    share = e / (((chosen | still) @ e)[:, None] * (1.0 + scope.problem.error))
    outside = (low > 0.0) & (e * np.square(low) >= profits * (1.0 - share) * (1.0 + SLACK))
    nodes = nodes._replace(open=still & ~outside)
    wrong = (chosen & outside).any(axis=1)
    return indexed(nodes, ~wrong) if wrong.any() else nodes


def _bounds(scope: Scope, nodes: Nodes) -> Bounds:
    """Return lower bounds on f(X) for the sets X of each node; see the module."""
    e, a, error = scope.weights, scope.profits, scope.problem.error
    whole_sets, none = scope.whole_sets, np.zeros(len(nodes.open))
    profits, paid, tied, further = np.broadcast_to(a, nodes.open.shape), none, none, none
    if whole_sets is not None:
        profits, tied = whole_sets.open_profits(a, nodes.chosen, nodes.open)
    if scope.rules:
        middle = np.where(nodes.open, e * np.square(0.5 * (nodes.low + nodes.high)) - profits, 0.0)
        before = profits
        profits, paid = reduced_profits(scope.rules, profits, nodes.chosen, nodes.open, middle)
        if whole_sets is not None:
            middle = np.where(nodes.open, middle + before - profits, 0.0)
            profits, raised, further = whole_sets.raised(profits, nodes.chosen, nodes.open, middle)
            paid = paid - raised
    low = np.where(nodes.open, e * np.square(nodes.low) - profits, 0.0)
    high = e * np.square(nodes.high) - profits
    cliques = slopes_of_cliques(scope.starts, scope.clique, nodes.open, low, high)
    slopes = np.where(cliques.is_first, cliques.slope, 0.0)
    share = nodes.chosen + slopes
    weights = share * e
    weight = weights.sum(axis=1)
    around = (weights @ scope.squares) / weight[:, None]
    half = 0.5 * (weights * around).sum(axis=1) / weight
    terms = scope.problem.terms[scope.blocks]
    scale = weight * half + (nodes.chosen | nodes.open) @ terms + np.abs(paid)
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
    """Return the nodes with bounds on distances that are narrowed by the ball around z with y."""
    error = scope.problem.error
    radius = np.sqrt((target - bounds.value) / bounds.weight)[:, None] * (1.0 + error)
    nearest = (np.sqrt(bounds.nearest) * (1.0 - SLACK) - radius) * (1.0 - SLACK)
    return _within(nodes, nearest, (np.sqrt(bounds.farthest) + radius) * (1.0 + SLACK))


def _children(scope: Scope, nodes: Nodes, bounds: Bounds) -> Nodes:
    """Return two children of each node: without an open block, and with it.

    The block is in the clique whose bound differs most from what the clique can add at z.
    """
    here = scope.weights * bounds.nearest - bounds.profits
    first = np.where(bounds.cliques.is_first, bounds.cliques.slope * here, 0.0)
    here = np.where(nodes.open, np.minimum(here, 0.0), 0.0)
    if len(scope.starts) < len(scope.blocks):
        here = np.minimum.reduceat(here, scope.starts, axis=1)[:, scope.clique]
        first = np.add.reduceat(first, scope.starts, axis=1)[:, scope.clique]
    gap = here - first - bounds.cliques.constant
    block = np.where(nodes.open, gap - 1e-3 * bounds.low, -np.inf).argmax(axis=1)
    without, including = without_and_with(nodes, block, scope.together[block])
    return stacked([without, _in_reach(scope, including, block)])
