"""Search for clusters of low value.

All sets of blocks are searched, by branch and bound over many nodes at once (see the package and
`bounds`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..kernel.evidence import AtStep, go_on
from ..kernel.rejection import Rejected
from .bounds import Bounds, Nodes, bound_nodes, fix_open_blocks, indexed
from .problem import SLACK, CheckedPricing, Indices, Marks, Scope, some

# First blocks that are started with together; nodes that are looked at together; the share of the
# blocks of a scope that matters to some node, below which it is made smaller.
_GROUP, _BATCH, _SHARE = 48, 256, 0.7


def none_below(
    problem: CheckedPricing, target: float, max_nodes: int, at_step: AtStep = go_on
) -> bool:
    """Return whether no set X has f(X) < target <= 0, where the slack of the problem is 0.

    Where sets are looked at as a whole, the target may be above 0. X are the non-empty sets of
    blocks without a cannot-linked pair. False where one has, or has a value so close to the target
    that rounding does not say.

    Raises
    ------
    Rejected
        After so many nodes.
    """
    return next(_sets_below(problem, target, max_nodes, at_step), None) is None


def sets_below(
    problem: CheckedPricing,
    target: float,
    max_nodes: int,
    max_sets: int,
    at_step: AtStep = go_on,
) -> Marks:
    """Return all sets X (t, m) with f(X) < target, and some that are close to it.

    X are the non-empty sets of blocks without a cannot-linked pair; no set has f(X) < target - the
    slack of the problem.

    Raises
    ------
    Rejected
        After so many nodes, or sets.
    """
    found, count = [np.zeros((0, problem.m), bool)], 0
    for sets in _sets_below(problem, target, max_nodes, at_step):
        found.append(sets)
        count += len(sets)
        if count > max_sets:
            raise Rejected(f"more than {max_sets} clusters are worth less than a limit")
    return np.concatenate(found)


def _sets_below(
    problem: CheckedPricing, target: float, max_nodes: int, at_step: AtStep
) -> Iterator[Marks]:
    """Yield the sets of `sets_below`, some at a time, (s, m), s >= 1."""
    left = max_nodes
    for start in range(0, problem.m, _GROUP):
        stack = [_roots(problem, np.arange(start, min(start + _GROUP, problem.m)))]
        while stack:
            at_step()
            scope, nodes = _batch(problem, stack)
            left -= len(nodes.chosen)
            if left < 0:
                raise Rejected(f"could not prove the prices within {max_nodes} nodes")
            remaining = bound_nodes(scope, nodes, target)
            if remaining is None:
                continue
            nodes, bounds = remaining
            nodes, possible, changed = fix_open_blocks(scope, nodes, bounds, target)
            incomplete = some(nodes.open)
            rows = possible & ~(incomplete | changed)
            if rows.any():
                sets = np.zeros((int(rows.sum()), problem.m), bool)
                sets[:, scope.blocks] = nodes.chosen[rows]
                yield sets
            rows = possible & incomplete
            if rows.any():
                stack.append((scope, _children(scope, indexed(nodes, rows), indexed(bounds, rows))))
            rows = possible & changed & ~incomplete
            if rows.any():
                stack.append((scope, indexed(nodes, rows)))


def _roots(problem: CheckedPricing, first: Indices) -> tuple[Scope, Nodes]:
    """Return nodes for each of some blocks: the sets of which it is the first."""
    relevant = np.asarray(problem.near[first].any(axis=0))
    relevant[first] = True
    scope = Scope.of(problem, np.flatnonzero(relevant))
    chosen = scope.blocks == first[:, None]
    pairs = np.ix_(first, scope.blocks)
    still = problem.together[pairs] & (scope.blocks > first[:, None])
    watched = problem.near[pairs] & ~still
    farthest = np.broadcast_to(problem.span[scope.blocks], chosen.shape)
    nodes = Nodes(chosen, still, watched, np.zeros(chosen.shape), farthest)
    return scope, _in_reach(scope, nodes, chosen.argmax(axis=1))


def _in_reach(scope: Scope, nodes: Nodes, block: Indices) -> Nodes:
    """Return the nodes with the distances of y that follow from a block of X for each, (s,)."""
    problem = scope.problem
    distance, reach = np.sqrt(problem.squares[block]), problem.reach[block]
    error = problem.error
    nearest = (distance * (1.0 - error) - reach[:, None]) * (1.0 - SLACK)
    farthest = (distance * (1.0 + error) + reach[:, None]) * (1.0 + SLACK)
    return nodes._replace(low=np.maximum(nodes.low, nearest), high=np.minimum(nodes.high, farthest))


def _batch(problem: CheckedPricing, stack: list[tuple[Scope, Nodes]]) -> tuple[Scope, Nodes]:
    """Take the last nodes of one scope from the stack."""
    scope, nodes = stack.pop()
    parts, count = [nodes], len(nodes.chosen)
    while stack and count < _BATCH and stack[-1][0] is scope:
        parts.append(stack.pop()[1])
        count += len(parts[-1].chosen)
    nodes = Nodes(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    if count > _BATCH:
        stack.append((scope, indexed(nodes, np.arange(count - _BATCH))))
        nodes = indexed(nodes, np.arange(count - _BATCH, count))
    columns = np.flatnonzero((nodes.chosen | nodes.open | nodes.watched).any(axis=0))
    if len(columns) < _SHARE * len(scope.blocks):
        scope = scope.select(columns, problem)
        nodes = indexed(nodes, np.s_[:, columns])
    return scope, nodes


def _children(scope: Scope, nodes: Nodes, bounds: Bounds) -> Nodes:
    """Return two children of each node: without an open block, and with it.

    It is one of the clique whose bound is the farthest from what it can add at z.
    """
    problem, rows = scope.problem, np.arange(len(nodes.chosen))
    here = problem.weights * bounds.nearest - bounds.profits
    first = np.where(bounds.is_first, bounds.slope * here, 0.0)
    here = np.where(nodes.open, np.minimum(here, 0.0), 0.0)
    if len(scope.starts) < len(scope.blocks):
        here = np.minimum.reduceat(here, scope.starts, axis=1)[:, scope.clique]
        first = np.add.reduceat(first, scope.starts, axis=1)[:, scope.clique]
    gap = here - first - bounds.constant
    block = np.where(nodes.open, gap - 1e-3 * bounds.low, -np.inf).argmax(axis=1)
    still, watched = nodes.open.copy(), nodes.watched.copy()
    still[rows, block] = False
    watched[rows, block] = True
    without = nodes._replace(open=still, watched=watched)
    chosen = nodes.chosen.copy()
    chosen[rows, block] = True
    allowed, near = problem.together[block], problem.near[block]
    chosen_too = Nodes(
        chosen,
        still & allowed,
        (nodes.watched | (still & ~allowed)) & near,
        nodes.low,
        nodes.high,
    )
    beside = _in_reach(scope, chosen_too, block)
    return Nodes(*(np.concatenate(arrays) for arrays in zip(without, beside, strict=True)))
