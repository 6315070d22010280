"""Local search over exchanges that satisfy the cannot-links and the limits of clusters.

A Kempe chain of two clusters a and b is a connected component of the cannot-link graph induced on
their blocks. Exchanging the two labels on a chain breaks no cannot-link: a chain of one block moves
it, a chain of two swaps them. Within limits, two blocks that are chains by themselves, one of each
cluster, are also swapped. An exchange counts by the whole cost: squares (`cluster_state`), and
weights of soft pairs.

Chains are priced by coordinates, without more memory than the data. Swaps need the inner products
of all pairs of blocks, and are made if there are at most SWAP_BLOCKS blocks. Without limits they
find nothing that moves do not: on 36 searches the same costs, but one 0.008 % lower without swaps.

Blocks without pairs are moved one by one (J. A. Hartigan, M. A. Wong,
A k-means clustering algorithm, Applied Statistics 28 (1979)): out of a and into b, block i of size
w changes the sum of squares by

    N_b w / (N_b + w) || c_i - m_b ||^2 - N_a w / (N_a - w) || c_i - m_a ||^2,

for all b as fast as a row of an assignment step. Most sweeps are over the few blocks that a move
improves, or nearly so; the last one is over all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heuristics.block_swaps import SwapTables, swap_pairs
from heuristics.cluster_state import (
    BlockData,
    ClusterState,
    change_of_exchange,
    change_of_prices,
    fits,
    kempe_chain,
    relabel,
)
from sdpbb.problem import Contraction
from sdpbb.runtime.arrays import NONE, ZERO, Booleans, Integers, Reals
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import WORK, TimeLeft, no_limit

# An exchange counts if it improves by more than this share of the total sum of squares: far above
# the rounding of its change (about 1e-15 of the total), so that the descent terminates.
MINIMUM_IMPROVEMENT = 1e-13
# If weights differ by many orders of magnitude, rounding in a cluster without its heavy blocks is
# larger than that. So the sum of squares is computed anew after this number of sweeps over moves;
# the descent ends if it is not less than before.
CHECK_MOVES = 50
# For this number of blocks, inner products of all pairs need 32 MB, and a sweep milliseconds.
SWAP_BLOCKS = 2_000


class LocalSearch:
    """Descent over Kempe chains and swaps in one contraction, prepared for many clusterings.

    swap_blocks : maximum blocks for swaps, which are made within limits only
    """

    def __init__(self, contraction: Contraction, swap_blocks: int = SWAP_BLOCKS) -> None:
        self._k, self._pairs = contraction.k, contraction.soft
        self._blocks = blocks = BlockData.of(contraction)
        has_swaps = contraction.has_limits and contraction.n_blocks <= swap_blocks
        rows = blocks.weights[:, None] * blocks.means
        self._gram = np.ascontiguousarray(rows @ rows.T) if has_swaps else None
        # Blocks with pairs, whose chains are exchanged, and blocks without.
        degrees = np.diff(blocks.apart.starts) + np.diff(blocks.soft.starts)
        self._chained, self._alone = np.flatnonzero(degrees > 0), np.flatnonzero(degrees == 0)
        prices = float(np.abs(contraction.soft.weights).sum())
        self._threshold = MINIMUM_IMPROVEMENT * (contraction.total + prices)

    def __call__(
        self, labels: NDArray[np.intp], time_left: TimeLeft = no_limit
    ) -> NDArray[np.intp]:
        """Return labels (m,) that are a local optimum.

        No exchange of a Kempe chain improves them; within limits, no swap of two blocks does, if
        there are at most swap_blocks blocks.

        For each block with pairs the best chain through it is exchanged if it improves, and blocks
        without pairs are moved, until nothing improves. Then every swap that improves is made, and
        the search returns to the chains if any was. No cluster is emptied, and the cost never
        increases.

        Parameters
        ----------
        labels : (m,) exactly the clusters 0..k-1 that satisfy the cannot-links; not modified
        time_left : checked between pieces of a sweep; once it is over, the sweep ends
        """
        improved = np.array(labels, dtype=np.int64)
        best, cost = improved.copy(), self._cost(improved)
        while True:
            exchanged, is_over = self._sweep(improved, time_left)
            if is_over:
                return improved
            if not exchanged:
                swapped, is_over = self._sweep_swaps(improved, time_left)
                if is_over or not swapped:
                    return improved
            if not (now := self._cost(improved)) < cost:
                return best
            best[:], cost = improved, now

    def _cost(self, labels: NDArray[np.int64]) -> float:
        """Return the cost without the scatter inside blocks, from differences to means."""
        clusters = ClusterState.of(self._blocks, labels, self._k)
        away = self._blocks.means - (clusters.sums / clusters.weight[:, None])[labels]
        squares = float(self._blocks.weights @ np.einsum("ij,ij->i", away, away))
        return squares + self._pairs.penalty(labels)

    def _sweep(self, labels: NDArray[np.int64], time_left: TimeLeft) -> tuple[bool, bool]:
        """Move blocks and exchange chains; return whether any was, and whether the time is over."""
        any_moved, is_over = self._move_alone(labels, time_left)
        if is_over:
            return any_moved, True
        clusters = ClusterState.of(self._blocks, labels, self._k)
        any_exchanged, position = any_moved, 0
        while position < len(self._chained):
            position, exchanged = exchange_chains(
                self._chained, position, WORK, self._blocks, clusters, self._threshold
            )
            any_exchanged |= exchanged
            if time_left() <= 0.0:
                return any_exchanged, True
        return any_exchanged, False

    def _move_alone(self, labels: NDArray[np.int64], time_left: TimeLeft) -> tuple[bool, bool]:
        """Move blocks without pairs: sweep over all, then over some until none moves.

        These are the blocks that a move nearly improves. Return whether any was moved, and whether
        the time is over.
        """
        clusters = ClusterState.of(self._blocks, labels, self._k)
        columns = np.ascontiguousarray((clusters.sums / clusters.weight[:, None]).T)
        numbers, any_moved, n_moved, n_sweeps, cost = self._alone, False, 1, 0, np.inf
        piece = max(1, WORK // columns.size)
        while n_moved and len(numbers):
            n_moved, n_sweeps = 0, n_sweeps + 1
            if n_sweeps % CHECK_MOVES == 0:
                if not (now := self._cost(labels)) < cost:
                    break
                cost = now
            nearly = np.zeros(len(numbers), np.bool_)
            for first in range(0, len(numbers), piece):
                n_moved += move_blocks(
                    numbers[first : first + piece],
                    self._blocks,
                    clusters,
                    columns,
                    self._threshold,
                    nearly[first:],
                )
                if time_left() <= 0.0:
                    return any_moved or n_moved > 0, True
            any_moved |= n_moved > 0
            numbers = numbers[nearly] if numbers is self._alone else numbers
        return any_moved, False

    def _sweep_swaps(self, labels: NDArray[np.int64], time_left: TimeLeft) -> tuple[bool, bool]:
        """Sweep over the pairs; return whether any were swapped, and whether the time is over."""
        if self._gram is None:
            return False, False
        clusters = ClusterState.of(self._blocks, labels, self._k)
        tables = SwapTables.of(self._blocks, clusters, self._gram)
        any_swapped = False
        piece = max(1, WORK // (32 * len(labels)))  # a swap takes as long as a row
        for first in range(0, len(labels), piece):
            any_swapped |= swap_pairs(
                first, first + piece, self._blocks, clusters, tables, self._threshold
            )
            if time_left() <= 0.0:
                return any_swapped, True
        return any_swapped, False


# A move nearly improves if it costs less than this times its saving. While means change little, no
# other move will improve.
NEARLY = 1.02


@njit(cache=True, nogil=True)
def move_blocks(
    numbers: Integers,
    blocks: BlockData,
    clusters: ClusterState,
    columns: Reals,
    threshold: float,
    nearly: Booleans,
) -> int:
    """Move each of the blocks to the cluster where it saves most; return how many were moved.

    The sums of the clusters are not updated.

    Parameters
    ----------
    columns : (r, k) the coordinates of the means of the clusters, updated
    nearly : written, whether a move improves, or nearly so, for each of the blocks
    """
    labels, amounts, weight = clusters.labels, clusters.amounts, clusters.weight
    means, (r, k) = blocks.means, columns.shape
    distances = np.empty(k)
    n_moved = 0
    for number in range(len(numbers)):
        i = numbers[number]
        a, w = labels[i], blocks.weights[i]
        if amounts[a, 0] == 1:
            continue
        distances[:] = 0.0
        for t in range(r):
            for c in range(k):
                distances[c] += (means[i, t] - columns[t, c]) ** 2
        saved = distances[a] * weight[a] / (weight[a] - w)
        distances[a] = np.inf
        b = 0
        for c in range(k):
            distances[c] *= weight[c] / (weight[c] + w)
            if distances[c] < distances[b]:
                b = c
        nearly[number] = distances[b] <= NEARLY * saved
        while w * (saved - distances[b]) > threshold:
            if fits(a, b, blocks.amounts[i], blocks, amounts):
                break
            distances[b] = np.inf
            b = int(np.argmin(distances))
        if w * (saved - distances[b]) <= threshold:
            continue
        for t in range(r):
            columns[t, a] -= (means[i, t] - columns[t, a]) * (w / (weight[a] - w))
            columns[t, b] += (means[i, t] - columns[t, b]) * (w / (weight[b] + w))
        weight[a] -= w
        weight[b] += w
        for q in range(amounts.shape[1]):
            amounts[a, q] -= blocks.amounts[i, q]
            amounts[b, q] += blocks.amounts[i, q]
        labels[i] = b
        n_moved += 1
    return n_moved


@njit(cache=True, nogil=True)
def exchange_chains(
    numbers: Integers,
    first: int,
    work: int,
    blocks: BlockData,
    clusters: ClusterState,
    threshold: float,
) -> tuple[int, bool]:
    """Exchange the best chains of blocks from position `first` on, for about `work` steps.

    Return the position to resume from, and whether any chain was exchanged.
    """
    # Unpacking the tuples in the loop, and in the functions it calls, costs a quarter of the time.
    means, weights, apart, soft = blocks.means, blocks.weights, blocks.apart, blocks.soft
    labels, amounts, weight = clusters.labels, clusters.amounts, clusters.weight
    sums, square = clusters.sums, clusters.square
    (m, r), k = means.shape, len(weight)
    stamp = np.full(m, -1, np.int64)
    chain = np.empty(m, np.int64)
    net, taken = np.empty(r), np.empty(blocks.amounts.shape[1], np.int64)
    stamped = ZERO
    any_exchanged = False
    for position in range(first, len(numbers)):
        if work <= 0:
            return position, any_exchanged
        i = numbers[position]
        a = labels[i]
        best, target = -threshold, NONE
        for b in range(k):
            if b == a:
                continue
            length = kempe_chain(i, b, labels, apart, stamp, stamped, chain)
            change = change_by_chain(
                chain, length, a, b, labels, weights, means, amounts, weight, sums, square, net
            )
            change += change_of_prices(chain, length, a, b, labels, stamp, stamped, soft)
            stamped += 1
            work -= (length + 3) * r + 10
            for number in range(length):
                work -= apart.starts[chain[number] + 1] - apart.starts[chain[number]]
            if change < best and _chain_fits(chain, length, a, b, blocks, clusters, taken):
                best, target = change, b
        if target < 0:
            continue
        length = kempe_chain(i, target, labels, apart, stamp, stamped, chain)
        stamped += 1
        for number in range(length):
            j = chain[number]
            relabel(j, target if labels[j] == a else a, blocks, clusters)
        any_exchanged = True
    return len(numbers), any_exchanged


@njit(cache=True, nogil=True)
def change_by_chain(
    chain: Integers,
    length: int,
    a: int,
    b: int,
    labels: Integers,
    weights: Reals,
    means: Reals,
    amounts: Integers,
    weight: Reals,
    sums: Reals,
    square: Reals,
    net: Reals,
) -> float:
    """Return the change of the sum of squares if the chain is exchanged.

    It is inf if a cluster would become empty. `net` (r,): work array.
    """
    moved = 0
    w, d_a, d_b, d_d = 0.0, 0.0, 0.0, 0.0
    net[:] = 0.0
    for number in range(length):
        j = chain[number]
        sign = 1 if labels[j] == a else -1
        moved += sign
        w += sign * weights[j]
        for t in range(len(net)):
            net[t] += sign * (weights[j] * means[j, t])
    if moved == amounts[a, 0] or -moved == amounts[b, 0]:
        return np.inf
    for t in range(len(net)):
        d_a += net[t] * sums[a, t]
        d_b += net[t] * sums[b, t]
        d_d += net[t] * net[t]
    return change_of_exchange(a, b, w, d_a, d_b, d_d, weight, square)


@njit(cache=True, nogil=True)
def _chain_fits(
    chain: Integers,
    length: int,
    a: int,
    b: int,
    blocks: BlockData,
    clusters: ClusterState,
    taken: Integers,
) -> bool:
    """Return whether the chain can be exchanged within the limits; `taken` (q,): work array."""
    taken[:] = 0
    for number in range(length):
        j = chain[number]
        sign = 1 if clusters.labels[j] == a else -1
        for q in range(len(taken)):
            taken[q] += sign * blocks.amounts[j, q]
    return fits(a, b, taken, blocks, clusters.amounts)
