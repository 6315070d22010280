"""State of a clustering that searches improve: blocks, clusters, limits on quantities, chains.

A quantity is an integer of each block, such as its points, whose sum in a cluster is limited. The
first one is the number of blocks itself, 1 to m, so that no cluster is emptied. Clusters have
weighted sums s and weights N. An exchange that moves weight w and sum d, net, from a to b changes
the sum of squares by

    ||s_a||^2 / N_a + ||s_b||^2 / N_b - ||s_a - d||^2 / (N_a - w) - ||s_b + d||^2 / (N_b + w).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.alternating import cluster_sums
from sdpbb.problem import Contraction
from sdpbb.runtime.arrays import Integers, Reals, has_ranges
from sdpbb.runtime.jit import njit


class Neighbours(NamedTuple):
    """Neighbours of block i, at the positions starts[i] to starts[i + 1] - 1.

    starts : (n + 1,)
    block : (2p,) the other end of a pair
    weight : (2p,) of the pair
    """

    starts: Integers
    block: Integers
    weight: Reals


def neighbour_lists(
    n: int, pairs: NDArray[np.integer], weights: NDArray[np.float64] | None = None
) -> Neighbours:
    """Return the neighbours of blocks 0 to n - 1, in the order of the pairs.

    Parameters
    ----------
    pairs : (p, 2) blocks
    weights : (p,); None: inf each, as of hard cannot-links
    """
    if weights is None:
        weights = np.full(len(pairs), np.inf)
    i, j = pairs.T
    tails, heads = np.concatenate([j, i]), np.concatenate([i, j])
    order = np.argsort(tails, kind="stable")
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(tails, minlength=n), out=starts[1:])
    return Neighbours(
        starts, heads[order].astype(np.int64), np.concatenate([weights, weights])[order]
    )


class BlockData(NamedTuple):
    """Blocks of a contraction, and limits of their clusters, for compiled loops.

    weights, means : (m,), (m, r)
    apart, soft : the cannot-links and the soft pairs
    amounts : (m, q) of each quantity
    limits : (q, 2) minimum and maximum of each quantity in a cluster
    listed : number of the quantity whose values are listed, for clusters in any order; 0: none
    ranges : (k, 2) the listed ranges; (0, 2) if single values are listed, which clusters can only
        exchange
    """

    weights: Reals
    means: Reals
    apart: Neighbours
    soft: Neighbours
    amounts: Integers
    limits: Integers
    listed: int
    ranges: Integers

    @classmethod
    def of(cls, contraction: Contraction) -> BlockData:
        m, limited, soft = contraction.n_blocks, contraction.limited_amounts, contraction.soft
        limits = [(1, m), *((each.limits.least, each.limits.most) for each in limited)]
        listed = [number for number, each in enumerate(limited, 1) if each.limits.listed]
        ranges = [pair for each in limited for pair in each.limits.wide]
        return cls(
            contraction.weights,
            np.ascontiguousarray(contraction.means),
            neighbour_lists(m, contraction.cannot_link),
            neighbour_lists(m, soft.pairs, soft.weights),
            np.column_stack([np.ones(m, np.int64), *(each.linear for each in limited)]),
            np.array(limits, np.int64),
            max(listed, default=0),
            np.array(ranges, np.int64).reshape(-1, 2),
        )


class ClusterState(NamedTuple):
    """Clusters of the blocks, updated with exchanges.

    labels : (m,)
    amounts : (k, q) of the quantities
    weight, sums, square : (k,), (k, r), (k,) N, s and ||s||^2
    """

    labels: Integers
    amounts: Integers
    weight: Reals
    sums: Reals
    square: Reals

    @classmethod
    def of(cls, blocks: BlockData, labels: NDArray[np.int64], k: int) -> ClusterState:
        """Return the clusters of labels (m,); exchanges change these labels."""
        sums = cluster_sums(labels, blocks.weights, blocks.means, k)
        amounts = np.zeros((k, blocks.amounts.shape[1]), np.int64)
        _add_amounts(labels, blocks.amounts, amounts)
        weight = np.asarray(np.bincount(labels, weights=blocks.weights, minlength=k), np.float64)
        return cls(labels, amounts, weight, sums, (sums**2).sum(axis=1))


@njit(cache=True, nogil=True)
def _add_amounts(labels: Integers, amounts: Integers, of_clusters: Integers) -> None:
    for i in range(len(labels)):
        for q in range(amounts.shape[1]):
            of_clusters[labels[i], q] += amounts[i, q]


@njit(cache=True, nogil=True)
def change_of_exchange(
    a: int, b: int, w: float, d_a: float, d_b: float, d_d: float, weight: Reals, square: Reals
) -> float:
    """Return the change of the sum of squares, from d's_a, d's_b and ||d||^2."""
    change: float = (
        square[a] / weight[a]
        + square[b] / weight[b]
        - (square[a] - 2.0 * d_a + d_d) / (weight[a] - w)
        - (square[b] + 2.0 * d_b + d_d) / (weight[b] + w)
    )
    return change


@njit(cache=True, nogil=True)
def fits(a: int, b: int, taken: Integers, blocks: BlockData, amounts: Integers) -> bool:
    """Return whether cluster a may have less, and b more, of each quantity.

    taken : (q,) amounts that an exchange moves, net, from a to b
    amounts : (k, q) of the clusters
    """
    limits = blocks.limits
    for q in range(len(taken)):
        if taken[q] == 0:
            continue
        new_a, new_b = amounts[a, q] - taken[q], amounts[b, q] + taken[q]
        if q == blocks.listed and q > 0:
            if new_a == amounts[b, q]:
                continue
            if not len(blocks.ranges):
                return False
            changed = amounts[:, q].copy()
            changed[a], changed[b] = new_a, new_b
            if not has_ranges(changed, blocks.ranges):
                return False
        elif min(new_a, new_b) < limits[q, 0] or max(new_a, new_b) > limits[q, 1]:
            return False
    return True


@njit(cache=True, nogil=True)
def may_join(i: int, b: int, blocks: BlockData, labels: Integers) -> bool:
    """Return whether block i has no cannot-link with a block of cluster b."""
    apart = blocks.apart
    for position in range(apart.starts[i], apart.starts[i + 1]):
        if labels[apart.block[position]] == b:
            return False
    return True


@njit(cache=True, nogil=True)
def relabel(j: int, target: int, blocks: BlockData, clusters: ClusterState) -> None:
    """Move block j to another cluster, and update the clusters."""
    labels, weight, sums, square = (
        clusters.labels,
        clusters.weight,
        clusters.sums,
        clusters.square,
    )
    a, w = labels[j], blocks.weights[j]
    for q in range(blocks.amounts.shape[1]):
        clusters.amounts[a, q] -= blocks.amounts[j, q]
        clusters.amounts[target, q] += blocks.amounts[j, q]
    weight[a] -= w
    weight[target] += w
    square[a], square[target] = 0.0, 0.0
    for t in range(blocks.means.shape[1]):
        sums[a, t] -= w * blocks.means[j, t]
        sums[target, t] += w * blocks.means[j, t]
        square[a] += sums[a, t] ** 2
        square[target] += sums[target, t] ** 2
    labels[j] = target


@njit(cache=True, nogil=True)
def kempe_chain(
    i: int,
    b: int,
    labels: Integers,
    pairs: Neighbours,
    stamp: Integers,
    stamped: int,
    chain: Integers,
) -> int:
    """Collect in `chain` the Kempe chain of block i with cluster b, and return its length.

    It is a connected component of hard pairs, of weight inf, among the blocks of both clusters.
    Return 0 if it is longer than `chain`. `stamp` marks its blocks with the number `stamped`.
    """
    a = labels[i]
    chain[0] = i
    stamp[i] = stamped
    length = 1
    head = 0
    while head < length:
        j = chain[head]
        head += 1
        for position in range(pairs.starts[j], pairs.starts[j + 1]):
            u = pairs.block[position]
            is_new = stamp[u] != stamped and pairs.weight[position] == np.inf
            if is_new and (labels[u] == a or labels[u] == b):
                if length == len(chain):
                    return 0
                stamp[u] = stamped
                chain[length] = u
                length += 1
    return length


@njit(cache=True, nogil=True)
def change_of_prices(
    chain: Integers,
    length: int,
    a: int,
    b: int,
    labels: Integers,
    stamp: Integers,
    stamped: int,
    soft: Neighbours,
) -> float:
    """Return the change of the cost of soft pairs if the chain, stamped, is exchanged.

    Hard pairs among `soft` change nothing: the other end moves as well, or is in a third cluster.
    """
    change = 0.0
    for number in range(length):
        j = chain[number]
        before = labels[j]
        after = b if before == a else a
        for position in range(soft.starts[j], soft.starts[j + 1]):
            u = soft.block[position]
            if stamp[u] == stamped:  # it moves as well: together with j or apart as before
                continue
            if labels[u] == after:
                change += soft.weight[position]
            elif labels[u] == before:
                change -= soft.weight[position]
    return change
