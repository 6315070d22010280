"""Replay of constraint propagation in a node, each merge with its clique as reason."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.rules import measures
from sdpbb.problem.colouring import decide, greedy_clique
from sdpbb.problem.graph import NeighbourSets
from sdpbb.problem.infeasibility import Infeasibility, clique_merges

Step = tuple[list[Any], dict[str, NDArray[Any]]]
"""Step of a log: a list that begins with a word, and its arrays."""

# Steps of a refutation of a colouring that are written, at most: of longer ones, the checker finds
# its own. Each takes time in proportion to the pairs of blocks, all of them some seconds.
MOST_STEPS, MOST_PAIRS = 1_000, 20_000_000
# Vertices coloured to tell which of two reasons a node is left for, times vertices: half a second.
COLOURING_WORK = 2_000_000


def propagated(blocks: Blocks) -> tuple[Blocks, list[Step], list[Step]]:
    """Draw the inferences of `sdpbb.problem.contraction.contract`, one round after the other.

    Returns
    -------
    The blocks when nothing more follows; the merges of each round, rows (t, k + 1) of points i, j
    and the clique that leaves them one cluster; and the end of the node, if these blocks have no
    clustering.
    """
    merges: list[Step] = []
    while True:
        if blocks.contradiction is not None:
            return blocks, merges, [(["infeasible", "conflict"], {})]
        if blocks.k < 3:  # the checker's blocks are closed already
            return blocks, merges, []
        rows, clique = _round(blocks)
        if clique is not None:
            return blocks, merges, [(["infeasible", "clique", clique], {})]
        if not len(rows):
            return blocks, merges, []
        rows, blocks = _apply_merges(blocks, rows)
        merges.append((["merge"], {"rows": rows.astype(np.int32)}))


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


def _round(blocks: Blocks) -> tuple[NDArray[np.int64], list[int] | None]:
    """Return the merges that follow, and points of k + 1 blocks of a clique, if there is one."""
    first = np.unique(blocks.block_of, return_index=True)[1]
    pairs = np.argwhere(blocks.adjacency)  # few, and a triangle would be another matrix
    neighbours = NeighbourSets(blocks.m, pairs[pairs[:, 0] <= pairs[:, 1]])
    found = clique_merges(neighbours, blocks.k)
    if isinstance(found, Infeasibility):
        return np.empty((0, 0), np.int64), first[list(found.points)].tolist()
    return first[found].astype(np.int64), None


def infeasibility(blocks: Blocks) -> list[Step]:
    """Return the steps that refute propagated blocks without a clustering.

    A long refutation of a colouring, or that of sizes, is for the checker to find.
    """
    # Sizes may be what leaves no clustering, as far as a short search tells.
    graph, nodes = csr_array(blocks.adjacency), COLOURING_WORK // blocks.m
    found = decide(graph, blocks.k, nodes, time_left=lambda: 0.0)
    if measures(blocks.rules) and found.is_possible is not False:
        return [(["infeasible", "packing"], {})]
    if refutation := _refuted_colouring(blocks):
        return refutation
    first = np.unique(blocks.block_of, return_index=True)[1]
    needed = first if found.vertices is None else first[found.vertices]
    return [(["infeasible", "colouring", sorted(needed.tolist())], {})]


def _refuted_colouring(blocks: Blocks) -> list[Step]:
    """Return the steps that show that the cannot-links alone leave no clustering.

    A block shares a cluster with one of a clique, or with none of them (Zykov 1949): nodes are
    split so until each has a clique of k + 1 blocks. Return nothing if that takes many steps, or
    if blocks are found that k clusters hold.
    """
    steps: list[Step] = []
    waiting, most = [blocks], min(MOST_STEPS, MOST_PAIRS // blocks.m**2)
    while waiting:
        blocks, merges, end = propagated(waiting.pop())
        steps += [*merges, *end]
        if end:
            continue
        first = np.unique(blocks.block_of, return_index=True)[1]
        clique = greedy_clique(csr_array(blocks.adjacency))
        if len(clique) > blocks.k:
            steps.append((["infeasible", "clique", first[clique[: blocks.k + 1]].tolist()], {}))
            continue
        nearby = blocks.adjacency[:, clique].sum(axis=1)
        nearby[clique] = -1
        block = int(nearby.argmax())
        if nearby[block] < 0 or len(steps) > most:
            return []
        other = clique[int(blocks.adjacency[block, clique].argmin())]
        pair = first[[other, block]]
        steps.append((["split", *pair.tolist()], {}))
        waiting += [blocks.separated(pair[None]), blocks.linked(pair[None])]
    return steps
