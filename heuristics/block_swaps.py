"""Compiled loops over swaps of two blocks that are chains by themselves.

D_ic is the squared distance of block i to the mean of cluster c. Swap block i of cluster a, of
weight e, with block j of cluster b, of weight f. This saves, at fixed means and by their movement:

    e (D_ia - D_ib) + f (D_jb - D_ja) + T_a / (N_a - e + f) + T_b / (N_b + e - f),
    T_c = || e (x_i - m_c) - f (x_j - m_c) ||^2.

P_ic is the sum of the weights w of the soft pairs of block i with the blocks of c. These save
P_ia - P_ib + P_jb - P_ja + 2 w_ij in addition.

For the blocks of b, the largest saving at fixed means and the largest distances from m_a and m_b
are tabulated. They bound the saving of any swap of i with b, so that most blocks are skipped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.cluster_state import (
    BlockData,
    ClusterState,
    change_of_exchange,
    fits,
    may_join,
    relabel,
)
from sdpbb.runtime.arrays import NONE, Booleans
from sdpbb.runtime.jit import njit


class SwapTables(NamedTuple):
    """Tables for pricing swaps, updated with each swap.

    gram : (m, m) inner products of the blocks, weight times mean
    inner : (m, k) inner products of the blocks with the sums of the clusters
    prices : (m, k) sums of the weights of its soft pairs with them
    most : (k, k) the largest saving of a block of one cluster in another, at fixed means
    reach : (k, k) the largest root of weight times squared distance to another cluster's mean
    lightest, heaviest : (k,) least and greatest weight of a block
    """

    gram: NDArray[np.float64]
    inner: NDArray[np.float64]
    prices: NDArray[np.float64]
    most: NDArray[np.float64]
    reach: NDArray[np.float64]
    lightest: NDArray[np.float64]
    heaviest: NDArray[np.float64]

    @classmethod
    def of(cls, blocks: BlockData, clusters: ClusterState, gram: NDArray[np.float64]) -> SwapTables:
        inner = (blocks.weights[:, None] * blocks.means) @ clusters.sums.T
        m, k = inner.shape
        bounds = np.full((k, k), -np.inf), np.zeros((k, k)), np.full(k, np.inf), np.zeros(k)
        prices, soft = np.zeros((m, k)), blocks.soft
        owners = np.repeat(np.arange(m), np.diff(soft.starts))
        np.add.at(prices, (owners, clusters.labels[soft.block]), soft.weight)
        tables = cls(gram, np.ascontiguousarray(inner), prices, *bounds)
        _bound(-1, -1, blocks, clusters, tables)
        return tables


@njit(cache=True, nogil=True)
def swap_pairs(
    first: int,
    last: int,
    blocks: BlockData,
    clusters: ClusterState,
    tables: SwapTables,
    threshold: float,
) -> bool:
    """Make the best swap of each block from `first` to before `last`, if it improves.

    Return whether any was made.
    """
    # Unpacking the tuples for each block would take longer than its swaps.
    labels, weights, soft = clusters.labels, blocks.weights, blocks.soft
    weight, square, gram, inner = clusters.weight, clusters.square, tables.gram, tables.inner
    prices, most, reach = tables.prices, tables.most, tables.reach
    lightest, heaviest, k = tables.lightest, tables.heaviest, len(clusters.weight)
    any_swapped = False
    is_open = np.empty(k, np.bool_)
    for i in range(first, min(len(labels), last)):
        most_apart = 0.0  # the largest 2 w_ij
        for position in range(soft.starts[i], soft.starts[i + 1]):
            most_apart = max(most_apart, 2.0 * soft.weight[position])
        a, e, any_open = labels[i], weights[i], False
        own = _squared(gram[i, i], inner[i, a], e, weight[a], square[a])
        for b in range(k):
            is_open[b] = False
            if b == a:
                continue
            there = _squared(gram[i, i], inner[i, b], e, weight[b], square[b])
            from_a, from_b = np.sqrt(e * own) + reach[b, a], np.sqrt(e * there) + reach[b, b]
            saved = own - there + most[b, a] + prices[i, a] - prices[i, b] + most_apart
            saved += from_a * from_a / (weight[a] - e + lightest[b])
            saved += from_b * from_b / (weight[b] + e - heaviest[b])
            is_open[b] = saved > threshold and may_join(i, b, blocks, labels)
            any_open = any_open or is_open[b]
        if not any_open:
            continue
        j = _best_partner(i, blocks, clusters, tables, threshold, is_open, most_apart)
        if j < 0:
            continue
        b = labels[j]
        _move(i, b, blocks, clusters, tables)
        _move(j, a, blocks, clusters, tables)
        _bound(a, b, blocks, clusters, tables)
        any_swapped = True
    return any_swapped


@njit(cache=True, nogil=True)
def _best_partner(
    i: int,
    blocks: BlockData,
    clusters: ClusterState,
    tables: SwapTables,
    threshold: float,
    is_open: Booleans,
    most_apart: float,
) -> int:
    """Return the block of open clusters whose swap with i saves most; -1 for none.

    It saves more than the threshold. `most_apart` is the most that 2 w_ij is.
    """
    labels, weights, soft = clusters.labels, blocks.weights, blocks.soft
    weight, square = clusters.weight, clusters.square
    gram, inner, prices = tables.gram, tables.inner, tables.prices
    a, best, partner = labels[i], -threshold, NONE
    for j in range(len(labels)):
        b = labels[j]
        if not is_open[b]:
            continue
        w = weights[i] - weights[j]
        d_a = inner[i, a] - inner[j, a]
        d_b = inner[i, b] - inner[j, b]
        d_d = gram[i, i] + gram[j, j] - 2.0 * gram[i, j]
        change = change_of_exchange(a, b, w, d_a, d_b, d_d, weight, square)
        change += prices[i, b] - prices[i, a] + prices[j, a] - prices[j, b]
        if change - most_apart >= best:
            continue
        for position in range(soft.starts[i], soft.starts[i + 1]):
            if soft.block[position] == j:
                change -= 2.0 * soft.weight[position]
        if change < best and may_join(j, a, blocks, labels):
            taken = blocks.amounts[i] - blocks.amounts[j]
            if fits(a, b, taken, blocks, clusters.amounts):
                best, partner = change, j
    return partner


@njit(cache=True, nogil=True)
def _bound(a: int, b: int, blocks: BlockData, clusters: ClusterState, tables: SwapTables) -> None:
    """Write the bounds between a or b and all clusters; between all clusters if a = -1."""
    labels, weights, weight = clusters.labels, blocks.weights, clusters.weight
    gram, inner, square, prices = tables.gram, tables.inner, clusters.square, tables.prices
    most, reach, lightest, heaviest = tables.most, tables.reach, tables.lightest, tables.heaviest
    m, k = inner.shape
    renewed = np.full(k, a < 0)
    if a >= 0:
        renewed[a] = renewed[b] = True
    for c in range(k):
        if renewed[c]:
            most[c, :] = most[:, c] = -np.inf
            reach[c, :] = reach[:, c] = 0.0
            lightest[c], heaviest[c] = np.inf, 0.0
    for j in range(m):
        c, f = labels[j], weights[j]
        lightest[c], heaviest[c] = min(lightest[c], f), max(heaviest[c], f)
        own = _squared(gram[j, j], inner[j, c], f, weight[c], square[c])
        for d in range(k):
            if renewed[c] or renewed[d]:
                there = _squared(gram[j, j], inner[j, d], f, weight[d], square[d])
                saved = own - there + prices[j, c] - prices[j, d]
                most[c, d] = max(most[c, d], saved)
                reach[c, d] = max(reach[c, d], np.sqrt(f * there))


@njit(cache=True, nogil=True)
def _squared(own: float, inner: float, f: float, weight: float, square: float) -> float:
    """Return f D_jd of block j, of weight f, and a cluster, from entries of the tables."""
    return max(0.0, own / f - 2.0 * inner / weight + f * square / (weight * weight))


@njit(cache=True, nogil=True)
def _move(
    j: int, target: int, blocks: BlockData, clusters: ClusterState, tables: SwapTables
) -> None:
    """Move block j, and update all tables except the bounds."""
    gram, inner, soft, a = tables.gram, tables.inner, blocks.soft, clusters.labels[j]
    relabel(j, target, blocks, clusters)
    for i in range(len(clusters.labels)):
        inner[i, a] -= gram[i, j]
        inner[i, target] += gram[i, j]
    for position in range(soft.starts[j], soft.starts[j + 1]):
        tables.prices[soft.block[position], a] -= soft.weight[position]
        tables.prices[soft.block[position], target] += soft.weight[position]
