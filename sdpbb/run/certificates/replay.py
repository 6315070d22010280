"""Replay of constraint propagation in a node, each merge with its clique as reason."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdpbb.checker.blocks import Blocks
from sdpbb.checker.colouring import is_colourable
from sdpbb.checker.rejection import Rejected
from sdpbb.checker.size_rules import measures
from sdpbb.problem.colouring.greedy import greedy_clique
from sdpbb.problem.graph import NeighbourSets
from sdpbb.problem.propagation import shared_cliques

Reason = dict[str, Any]
# Vertices coloured to tell which of two reasons a node is left for, times vertices: half a second.
COLOURING_WORK = 2_000_000


def propagated(blocks: Blocks) -> tuple[Blocks, list[NDArray[np.int64]], Reason | None]:
    """Draw the inferences of `sdpbb.problem.contraction.contract`, one round after the other.

    Returns
    -------
    The blocks when nothing more follows; the merges of each round, (t, k + 1) rows of points i, j
    and the clique that leaves them one cluster; and why there is no clustering, if that was met.
    """
    rounds: list[NDArray[np.int64]] = []
    while True:
        if blocks.contradiction is not None:
            return blocks, rounds, {"kind": "conflict"}
        if blocks.k < 3:  # the checker's blocks are closed already
            return blocks, rounds, None
        rows, reason = _round(blocks)
        if reason is not None:
            return blocks, rounds, reason
        if not len(rows):
            return blocks, rounds, None
        rows, blocks = _apply_merges(blocks, rows)
        rounds.append(rows)


def _apply_merges(blocks: Blocks, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], Blocks]:
    """Return the rows applied, and the blocks that they leave.

    Where some contradict each other, those up to the contradiction: after it, the cliques of others
    need not be cliques any more.
    """
    try:
        return rows, blocks.merged(rows)
    except Rejected:
        for count in range(1, len(rows)):
            left = blocks.merged(rows[:count])
            if left.contradiction is not None:
                return rows[:count], left
        raise


def _round(blocks: Blocks) -> tuple[NDArray[np.int64], Reason | None]:
    first = np.unique(blocks.block_of, return_index=True)[1]
    pairs = np.argwhere(blocks.adjacency)  # few, and a triangle would be another matrix
    neighbours = NeighbourSets(blocks.m, pairs[pairs[:, 0] <= pairs[:, 1]])
    rows: dict[int, list[int]] = {}
    for clique, common in shared_cliques(neighbours, blocks.k - 1):
        for i in common:
            adjacent = common & neighbours[i]
            if adjacent:
                members = [*clique, i, min(adjacent)]
                return np.empty((0, 0), np.int64), {
                    "kind": "clique",
                    "points": first[members].tolist(),
                }
        least = min(common)
        for j in common:
            if j > least:
                rows.setdefault(j, [least, j, *clique])
    table = np.array([rows[j] for j in sorted(rows)], np.intp).reshape(-1, blocks.k + 1)
    return first[table].astype(np.int64), None


def infeasibility(blocks: Blocks) -> Reason:
    """Return the reason why propagated blocks hold no clustering.

    That a graph cannot be coloured is for the checker to find out: the search has decided it by an
    integer programme.
    """
    first = np.unique(blocks.block_of, return_index=True)[1]
    clique = greedy_clique(csr_array(blocks.adjacency))
    if len(clique) > blocks.k:
        return {"kind": "clique", "points": first[clique[: blocks.k + 1]].tolist()}
    if measures(blocks.rules) and _is_colourable(blocks):
        return {"kind": "packing"}
    return {"kind": "colouring", "points": first.tolist()}


def _is_colourable(blocks: Blocks) -> bool:
    """Return whether sizes are what leaves no clustering, as far as a short search tells."""
    try:
        return is_colourable(blocks.adjacency, blocks.k, COLOURING_WORK // blocks.m)
    except Rejected:
        return True
