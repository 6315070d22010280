"""Search for clusters of low value.

All sets of blocks are searched, by branch and bound over many nodes at once (see the package and
`bounds`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..kernel.evidence import AtStep, go_on
from ..kernel.rejection import Rejected
from .bounds import Bounds, Nodes, bound_nodes, indexed
from .problem import SLACK, CheckedPricing, Indices, Marks, Scope, some

# First blocks that are started with together; nodes that are looked at together; the share of the
# blocks of a scope that matters to some node, below which it is made smaller.
_GROUP, _BATCH, _SHARE = 48, 256, 0.7


def sets_below(
    problem: CheckedPricing, target: float, max_nodes: int, at_step: AtStep = go_on
) -> Iterator[Marks]:
    """Yield all sets X with f(X) < target, and some that are close to it, some at a time, (s, m).

    X are the non-empty sets of blocks without a cannot-linked pair; no set has f(X) < target - the
    slack of the problem. The target is at most 0, unless sets are looked at as a whole.

    Raises
    ------
    Rejected
        After so many nodes.
    """
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
            incomplete = some(nodes.open)
            if not incomplete.all():
                sets = np.zeros((int((~incomplete).sum()), problem.m), bool)
                sets[:, scope.blocks] = nodes.chosen[~incomplete]
                yield sets
            if incomplete.any():
                open_nodes, of_open = indexed(nodes, incomplete), indexed(bounds, incomplete)
                stack.append((scope, _children(scope, open_nodes, of_open)))


def _roots(problem: CheckedPricing, first: Indices) -> tuple[Scope, Nodes]:
    """Return nodes for each of some blocks: the sets of which it is the first."""
    relevant = np.asarray(problem.near[first].any(axis=0))
    relevant[first] = True
    scope = Scope.of(problem, np.flatnonzero(relevant))
    chosen = scope.blocks == first[:, None]
    pairs = np.ix_(first, scope.blocks)
    still = problem.together[pairs] & (scope.blocks > first[:, None])
    farthest = np.broadcast_to(problem.span[scope.blocks], chosen.shape)
    nodes = Nodes(chosen, still, np.zeros(chosen.shape), farthest)
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
    columns = np.flatnonzero((nodes.chosen | nodes.open).any(axis=0))
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
    first = np.where(bounds.cliques.is_first, bounds.cliques.slope * here, 0.0)
    here = np.where(nodes.open, np.minimum(here, 0.0), 0.0)
    if len(scope.starts) < len(scope.blocks):
        here = np.minimum.reduceat(here, scope.starts, axis=1)[:, scope.clique]
        first = np.add.reduceat(first, scope.starts, axis=1)[:, scope.clique]
    gap = here - first - bounds.cliques.constant
    block = np.where(nodes.open, gap - 1e-3 * bounds.low, -np.inf).argmax(axis=1)
    still = nodes.open.copy()
    still[rows, block] = False
    without = nodes._replace(open=still)
    chosen = nodes.chosen.copy()
    chosen[rows, block] = True
    chosen_too = Nodes(chosen, still & problem.together[block], nodes.low, nodes.high)
    beside = _in_reach(scope, chosen_too, block)
    return Nodes(*(np.concatenate(arrays) for arrays in zip(without, beside, strict=True)))
