"""Moves and swaps of blocks that keep cannot-links and limits on sizes and weights.

With N the weights of the clusters and D_ic the squared distance of block i to the mean of cluster
c, a move of block i, of weight e, from a to b saves

    e D_ia N_a / (N_a - e) - e D_ib N_b / (N_b + e),

and a swap with block j of b, of weight f, what both save beside means that stay where they are, and
what the means save as they follow:

    e (D_ia - D_ib) + f (D_jb - D_ja) + T_a / (N_a - e + f) + T_b / (N_b + e - f),
    T_c = || e (x_i - m_c) - f (x_j - m_c) ||^2 = (e - f) (e D_ic - f D_jc) + e f || x_i - x_j ||^2.

With P_ic the sum of the weights w of soft pairs of block i with the blocks of c, which is what i
costs more there, a move saves P_ia - P_ib besides, and a swap P_ia - P_ib + P_jb - P_ja + 2 w_ij,
as the two are not together after it either.

Of the blocks of b the most that one saves beside means that stay, and the farthest from m_a and
m_b, are kept (`shifts.py`): they bound what any swap of i with b saves, and most clusters, and most
blocks of others, are not looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.neighbours import Neighbours
from heuristics.sizes.shifts import Shifts, empty_shifts, find_all_shifts, renew_shifts
from sdpbb.runtime.arrays import Booleans, Integers, Reals
from sdpbb.runtime.jit import njit


class LimitedBlocks(NamedTuple):
    """Blocks, and what limits their clusters.

    means, weights, counts : (m, r), (m,), (m, q) of the blocks: what they have of q measures, such
        as points
    apart, soft : the cannot-links and the soft pairs
    limits : (q, 2) the least and the most that a cluster has of each measure
    """

    means: NDArray[np.float64]
    weights: NDArray[np.float64]
    counts: NDArray[np.int64]
    apart: Neighbours
    limits: NDArray[np.int64]
    soft: Neighbours


class _Clusters(NamedTuple):
    """Clusters of the blocks.

    labels : (m,)
    sums, mass, sizes : (k, r), (k,), (k, q) weighted sums of means, weights, and the measures
    conflicts : (m, k) blocks of each cluster that a block is cannot-linked to
    distances : (m, k) squared, of the blocks to the means of the clusters; without swaps, a row is
        written when its block is looked at
    prices : (m, k) sums of the weights of a block's soft pairs with the blocks of each cluster
    """

    labels: NDArray[np.int64]
    sums: NDArray[np.float64]
    mass: NDArray[np.float64]
    sizes: NDArray[np.int64]
    conflicts: NDArray[np.int64]
    distances: NDArray[np.float64]
    prices: NDArray[np.float64]


@njit(cache=True, nogil=True)
def exchange(
    blocks: LimitedBlocks,
    is_listed: bool,
    swaps: bool,
    labels: Integers,
    tolerance: float,
    most_sweeps: int,
) -> float:
    """Improve labels (m,) by moves and swaps, sweep after sweep; return what that saves.

    Parameters
    ----------
    is_listed : whether clusters are to have what they have of the first measure, in any order
    swaps : whether swaps are looked at
    tolerance : exchanges that save no more are not made
    most_sweeps : over all blocks
    """
    clusters = _clusters_of(blocks, labels)
    m, k = clusters.distances.shape
    shifts = empty_shifts(k)
    if swaps:
        for c in range(k):
            _write_distances(blocks, clusters, c)
        find_all_shifts(blocks.weights, labels, clusters.distances, clusters.prices, shifts)
    is_open, rest = np.empty(k, np.bool_), np.empty(k)
    # Exchanges made, when each cluster was last part of one, and when each block was looked at.
    n_made, renewed, looked_at = 0, np.zeros(k, np.int64), np.full(m, -1, np.int64)
    centres = clusters.sums / clusters.mass.reshape(-1, 1)
    saved = 0.0
    for _ in range(most_sweeps):
        before = saved
        for i in range(m):
            if not swaps:
                _write_own_distances(blocks, clusters, i, centres, renewed, looked_at[i])
                looked_at[i] = n_made
            best, b = _best_move(blocks, clusters, is_listed, i, tolerance)
            j = -1
            if swaps and _write_open(blocks, clusters, shifts, i, best, is_open, rest):
                gain, partner = _best_swap(blocks, clusters, is_listed, i, best, is_open, rest)
                if partner >= 0:
                    best, j, b = gain, partner, labels[partner]
            if b < 0:
                continue
            saved += best
            a = labels[i]
            n_made += 1
            renewed[a] = renewed[b] = n_made
            _relabel(blocks, clusters, i, b)
            if j >= 0:
                _relabel(blocks, clusters, j, a)
            centres[a] = clusters.sums[a] / clusters.mass[a]
            centres[b] = clusters.sums[b] / clusters.mass[b]
            if swaps:
                _write_distances(blocks, clusters, a)
                _write_distances(blocks, clusters, b)
                distances, prices = clusters.distances, clusters.prices
                renew_shifts(blocks.weights, labels, distances, prices, a, b, shifts)
        if not saved > before:
            break
    return saved


@njit(cache=True, nogil=True)
def _clusters_of(blocks: LimitedBlocks, labels: Integers) -> _Clusters:
    """Return the clusters of labels (m,), which change with them."""
    m, r = blocks.means.shape
    k, q = int(labels.max()) + 1, blocks.counts.shape[1]
    clusters = _Clusters(
        labels,
        np.zeros((k, r)),
        np.zeros(k),
        np.zeros((k, q), np.int64),
        np.zeros((m, k), np.int64),
        np.empty((m, k)),
        np.zeros((m, k)),
    )
    for i in range(m):
        c = labels[i]
        clusters.sums[c] += blocks.weights[i] * blocks.means[i]
        clusters.mass[c] += blocks.weights[i]
        clusters.sizes[c] += blocks.counts[i]
        for p in range(blocks.apart.starts[i], blocks.apart.starts[i + 1]):
            clusters.conflicts[i, labels[blocks.apart.block[p]]] += 1
        for p in range(blocks.soft.starts[i], blocks.soft.starts[i + 1]):
            clusters.prices[i, labels[blocks.soft.block[p]]] += blocks.soft.weight[p]
    return clusters


@njit(cache=True, nogil=True)
def _write_distances(blocks: LimitedBlocks, clusters: _Clusters, c: int) -> None:
    """Write the squared distances of all blocks to the mean of a cluster."""
    means, distances = blocks.means, clusters.distances
    mean = clusters.sums[c] / clusters.mass[c]
    for i in range(means.shape[0]):
        distance = 0.0
        for t in range(means.shape[1]):
            distance += (means[i, t] - mean[t]) ** 2
        distances[i, c] = distance


@njit(cache=True, nogil=True)
def _write_own_distances(
    blocks: LimitedBlocks,
    clusters: _Clusters,
    i: int,
    centres: Reals,
    renewed: Integers,
    since: int,
) -> None:
    """Write the squared distances of block i to the means that have changed.

    A move needs no other distances. To write those of all blocks after each move took seconds.

    Parameters
    ----------
    centres : (k, r) the means of the clusters
    renewed : (k,) the number of exchanges made when each cluster was last part of one
    since : that number when block i was last looked at; -1 before
    """
    means = blocks.means
    for c in range(len(centres)):
        if renewed[c] <= since:
            continue
        distance = 0.0
        for t in range(means.shape[1]):
            distance += (means[i, t] - centres[c, t]) ** 2
        clusters.distances[i, c] = distance


@njit(cache=True, nogil=True)
def _best_move(
    blocks: LimitedBlocks, clusters: _Clusters, is_listed: bool, i: int, tolerance: float
) -> tuple[float, int]:
    """Return what the best move of block i saves, and to which cluster.

    Or the tolerance and -1, where none saves more.
    """
    a, e, distances, mass = clusters.labels[i], blocks.weights[i], clusters.distances, clusters.mass
    best, best_b = tolerance, -1
    if not mass[a] > e:
        return best, best_b
    prices = clusters.prices[i]
    leaving = e * distances[i, a] * mass[a] / (mass[a] - e) + prices[a]
    for b in range(len(mass)):
        if b == a or clusters.conflicts[i, b] > 0:
            continue
        gain = leaving - e * distances[i, b] * mass[b] / (mass[b] + e) - prices[b]
        if gain > best and _fits(blocks, clusters, a, b, blocks.counts[i], is_listed):
            best, best_b = gain, b
    return best, best_b


@njit(cache=True, nogil=True)
def _write_open(
    blocks: LimitedBlocks,
    clusters: _Clusters,
    shifts: Shifts,
    i: int,
    best: float,
    is_open: Booleans,
    rest: Reals,
) -> bool:
    """Write which clusters may have a block whose swap with i saves more than the best.

    Return whether any has. Written in rest (k,) is what a swap saves at most beside what its block
    of the other cluster does where means stay.
    """
    a, e, mass = clusters.labels[i], blocks.weights[i], clusters.mass
    own, prices, soft = clusters.distances[i], clusters.prices[i], blocks.soft
    # The most that 2 w_ij is.
    apart = 0.0
    for p in range(soft.starts[i], soft.starts[i + 1]):
        apart = max(apart, 2.0 * soft.weight[p])
    any_open = False
    for b in range(len(mass)):
        is_open[b] = False
        if b == a:
            continue
        from_a = e * np.sqrt(own[a]) + shifts.reach[b, a]
        from_b = e * np.sqrt(own[b]) + shifts.reach[b, b]
        follows_a = from_a * from_a / (mass[a] - e + shifts.lightest[b])
        follows_b = from_b * from_b / (mass[b] + e - shifts.heaviest[b])
        rest[b] = e * (own[a] - own[b]) + follows_a + follows_b + prices[a] - prices[b] + apart
        is_open[b] = rest[b] + shifts.most[b, a] > best
        any_open = any_open or is_open[b]
    return any_open


@njit(cache=True, nogil=True)
def _best_swap(
    blocks: LimitedBlocks,
    clusters: _Clusters,
    is_listed: bool,
    i: int,
    best: float,
    is_open: Booleans,
    rest: Reals,
) -> tuple[float, int]:
    """Return what the best swap of block i saves, and with which block.

    Or the best and -1, where none saves more.
    """
    means, weights, labels = blocks.means, blocks.weights, clusters.labels
    mass, distances, conflicts = clusters.mass, clusters.distances, clusters.conflicts
    prices = clusters.prices
    a, e, partner = labels[i], weights[i], -1
    for j in range(len(labels)):
        b, f = labels[j], weights[j]
        if not is_open[b]:
            continue
        to_a, to_b = distances[j, a], distances[j, b]
        from_b = f * (to_b - to_a) + prices[j, b] - prices[j, a]
        if not rest[b] + from_b > best:
            continue
        square = 0.0
        for t in range(means.shape[1]):
            square += (means[i, t] - means[j, t]) ** 2
        one, other = distances[i, a], distances[i, b]
        follows_a = (e - f) * (e * one - f * to_a) + e * f * square
        follows_b = (e - f) * (e * other - f * to_b) + e * f * square
        gain = e * (one - other) + from_b + prices[i, a] - prices[i, b]
        gain += 2.0 * _soft_weight(blocks, i, j)
        gain += follows_a / (mass[a] - e + f) + follows_b / (mass[b] + e - f)
        if not gain > best or conflicts[i, b] > 1 or conflicts[j, a] > 1:
            continue
        if conflicts[i, b] + conflicts[j, a] > 0:
            linked = 1 if _are_linked(blocks, i, j) else 0
            if conflicts[i, b] > linked or conflicts[j, a] > linked:
                continue
        if _fits(blocks, clusters, a, b, blocks.counts[i] - blocks.counts[j], is_listed):
            best, partner = gain, j
    return best, partner


@njit(cache=True, nogil=True)
def _fits(
    blocks: LimitedBlocks, clusters: _Clusters, a: int, b: int, taken: Integers, is_listed: bool
) -> bool:
    """Return whether cluster a may have so much less, and b more, of each measure."""
    limits = blocks.limits
    for q in range(len(taken)):
        if taken[q] == 0:
            continue
        new_a, new_b = clusters.sizes[a, q] - taken[q], clusters.sizes[b, q] + taken[q]
        if is_listed and q == 0:
            if new_a != clusters.sizes[b, q]:
                return False
            continue
        if min(new_a, new_b) < limits[q, 0] or max(new_a, new_b) > limits[q, 1]:
            return False
    return True


@njit(cache=True, nogil=True)
def _are_linked(blocks: LimitedBlocks, i: int, j: int) -> bool:
    return bool(
        (blocks.apart.block[blocks.apart.starts[i] : blocks.apart.starts[i + 1]] == j).any()
    )


@njit(cache=True, nogil=True)
def _soft_weight(blocks: LimitedBlocks, i: int, j: int) -> float:
    """Return the weight of the soft pair i, j, or 0 where there is none."""
    soft = blocks.soft
    for p in range(soft.starts[i], soft.starts[i + 1]):
        if soft.block[p] == j:
            return float(soft.weight[p])
    return 0.0


@njit(cache=True, nogil=True)
def _relabel(blocks: LimitedBlocks, clusters: _Clusters, i: int, b: int) -> None:
    """Put block i into cluster b."""
    a, e = clusters.labels[i], blocks.weights[i]
    for t in range(blocks.means.shape[1]):
        clusters.sums[a, t] -= e * blocks.means[i, t]
        clusters.sums[b, t] += e * blocks.means[i, t]
    clusters.mass[a] -= e
    clusters.mass[b] += e
    for q in range(blocks.counts.shape[1]):
        clusters.sizes[a, q] -= blocks.counts[i, q]
        clusters.sizes[b, q] += blocks.counts[i, q]
    for p in range(blocks.apart.starts[i], blocks.apart.starts[i + 1]):
        clusters.conflicts[blocks.apart.block[p], a] -= 1
        clusters.conflicts[blocks.apart.block[p], b] += 1
    clusters.labels[i] = b
    for p in range(blocks.soft.starts[i], blocks.soft.starts[i + 1]):
        j, w = blocks.soft.block[p], blocks.soft.weight[p]
        clusters.prices[j, a] -= w
        clusters.prices[j, b] += w
