"""Local search over exchanges that keep the cannot-links.

A Kempe chain of two clusters a and b is a connected component of the cannot-link graph induced on
their blocks. Exchanging the two labels on a chain breaks no cannot-link: a chain of one block moves
it, a chain of two swaps them. Two blocks that are chains by themselves, one of each cluster, can
also be swapped.

With s and N the weighted sums and the weights of the clusters, an exchange that takes weight w and
sum d, net, out of a and into b changes the sum of squares by

    ||s_a||^2 / N_a + ||s_b||^2 / N_b - ||s_a - d||^2 / (N_a - w) - ||s_b + d||^2 / (N_b + w).

Chains are looked at through the coordinates, so that nothing is held besides the data. Swaps need
the inner products of all pairs of blocks, and are made where there are SWAP_BLOCKS blocks or fewer;
in large clusters they come to little more than the two moves by themselves.

With more blocks, those without cannot-links are moved one by one (J. A. Hartigan, M. A. Wong,
A k-means clustering algorithm, Applied Statistics 28 (1979)): out of a and into b, block i of size
w changes the sum of squares by

    N_b w / (N_b + w) || c_i - m_b ||^2 - N_a w / (N_a - w) || c_i - m_a ||^2,

for all b as fast as a row of an assignment step. Most sweeps are over those few blocks that a move
improves, or nearly so; the last one is over all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.kmeans_steps import cluster_sums
from sdpbb.arrays import NONE, ZERO, Booleans, Integers, Reals
from sdpbb.jit import njit
from sdpbb.problem import Contraction
from sdpbb.time_left import WORK, TimeLeft, no_limit

# An exchange counts if it improves by more than this share of the total sum of squares: far above
# the rounding of its change (about 1e-15 of the total), so that the descent terminates.
MINIMUM_IMPROVEMENT = 1e-13
# Up to here, the inner products of all pairs take 32 MB and a sweep over the pairs milliseconds.
SWAP_BLOCKS = 2_000
# A move nearly improves where it costs less than this times what it saves: while means change but
# little, no other will improve.
NEARLY = 1.02


class _Graph(NamedTuple):
    """Adjacency lists: the neighbours of block i are neighbours[starts[i] : starts[i + 1]]."""

    starts: NDArray[np.int64]
    neighbours: NDArray[np.int64]


class _Sums(NamedTuple):
    """For each cluster its number of blocks, N, s and ||s||^2."""

    n_blocks: NDArray[np.int64]
    weight: NDArray[np.float64]
    sums: NDArray[np.float64]
    square: NDArray[np.float64]


class LocalSearch:
    """Descent over Kempe chains and swaps in one contraction, prepared for many clusterings.

    swap_blocks : with more blocks than this there are no swaps, and blocks without cannot-links are
        moved one by one
    """

    def __init__(self, contraction: Contraction, swap_blocks: int = SWAP_BLOCKS) -> None:
        self._k = contraction.k
        self._sizes = contraction.sizes
        self._means = np.ascontiguousarray(contraction.means)
        self._rows = np.ascontiguousarray(contraction.sizes[:, None] * contraction.means)
        few = contraction.n_blocks <= swap_blocks
        self._gram = np.ascontiguousarray(self._rows @ self._rows.T) if few else None
        self._graph = _adjacency_lists(contraction)
        # Blocks of which whole chains are looked at, and the others.
        linked = np.full(contraction.n_blocks, few) | (np.diff(self._graph.starts) > 0)
        self._chained, self._alone = np.flatnonzero(linked), np.flatnonzero(~linked)
        self._threshold = MINIMUM_IMPROVEMENT * contraction.total

    def __call__(
        self, labels: NDArray[np.intp], time_left: TimeLeft = no_limit
    ) -> NDArray[np.intp]:
        """Return labels (m,) that are a local optimum.

        No exchange of a Kempe chain improves them, and no swap of two blocks where there are
        swap_blocks of them or fewer.

        For each block the best chain through it is exchanged if it improves, until none does; then
        every swap that improves is made, and any sends the search back to the chains. No cluster
        is emptied, and the sum of squares never increases.

        Parameters
        ----------
        labels : (m,) exactly the clusters 0..k-1, the cannot-links kept; not modified
        time_left : asked between pieces of a sweep, which ends when no time is left
        """
        improved = np.array(labels, dtype=np.int64)
        while True:
            exchanged, is_over = self._exchange_chains(improved, time_left)
            if is_over:
                return improved
            if exchanged:
                continue
            swapped, is_over = self._swap_blocks(improved, time_left)
            if is_over or not swapped:
                return improved

    def _exchange_chains(self, labels: NDArray[np.int64], time_left: TimeLeft) -> tuple[bool, bool]:
        """Sweep over the blocks; return whether any chain was exchanged, and the time is over."""
        any_moved = False
        if self._gram is None:
            any_moved, is_over = self._move_alone(labels, time_left)
            if is_over:
                return any_moved, True
        sums = _sums_of(labels, self._k, self._sizes, self._means)
        any_exchanged, position = any_moved, 0
        while position < len(self._chained):
            position, exchanged = _exchange_chains(
                self._chained,
                position,
                WORK,
                labels,
                self._sizes,
                self._rows,
                *self._graph,
                sums.n_blocks,
                sums.weight,
                sums.sums,
                sums.square,
                self._threshold,
            )
            any_exchanged |= exchanged
            if time_left() <= 0.0:
                return any_exchanged, True
        return any_exchanged, False

    def _move_alone(self, labels: NDArray[np.int64], time_left: TimeLeft) -> tuple[bool, bool]:
        """Move blocks without cannot-links, in a sweep over all, and in others until none is moved.

        The others are over those that a move nearly improves. Return whether any was moved, and the
        time is over.
        """
        sums = _sums_of(labels, self._k, self._sizes, self._means)
        columns = np.ascontiguousarray((sums.sums / sums.weight[:, None]).T)
        blocks, any_moved, n_moved = self._alone, False, 1
        while n_moved and len(blocks):
            n_moved = 0
            nearly = np.zeros(len(blocks), np.bool_)
            for first in range(0, len(blocks), max(1, WORK // columns.size)):
                n_moved += _move_blocks(
                    blocks[first : first + max(1, WORK // columns.size)],
                    labels,
                    self._sizes,
                    self._means,
                    columns,
                    sums.n_blocks,
                    sums.weight,
                    self._threshold,
                    nearly[first:],
                )
                if time_left() <= 0.0:
                    return any_moved or n_moved > 0, True
            any_moved |= n_moved > 0
            blocks = blocks[nearly] if blocks is self._alone else blocks
        return any_moved, False

    def _swap_blocks(self, labels: NDArray[np.int64], time_left: TimeLeft) -> tuple[bool, bool]:
        """Sweep over the pairs; return whether any were swapped, and the time is over."""
        if self._gram is None:
            return False, False
        sums = _sums_of(labels, self._k, self._sizes, self._means)
        inner = np.ascontiguousarray(self._rows @ sums.sums.T)
        linked = np.zeros(inner.shape, np.int64)
        _count_linked(labels, *self._graph, linked)
        any_swapped = False
        rows = max(1, WORK // (32 * len(labels)))  # a swap takes as long as a row
        for first in range(0, len(labels), rows):
            any_swapped |= _swap_blocks(
                first,
                first + rows,
                labels,
                self._sizes,
                self._gram,
                *self._graph,
                sums.weight,
                sums.square,
                inner,
                linked,
                self._threshold,
            )
            if time_left() <= 0.0:
                return any_swapped, True
        return any_swapped, False


def _sums_of(
    labels: NDArray[np.int64],
    k: int,
    sizes: NDArray[np.float64],
    means: NDArray[np.float64],
) -> _Sums:
    sums = cluster_sums(labels, sizes, means, k)
    count = np.bincount(labels, minlength=k).astype(np.int64)
    weight = np.asarray(np.bincount(labels, weights=sizes, minlength=k), np.float64)
    return _Sums(count, weight, sums, (sums**2).sum(axis=1))


def _adjacency_lists(contraction: Contraction) -> _Graph:
    i, j = contraction.cannot_link.T
    tails, heads = np.concatenate([i, j]), np.concatenate([j, i])
    order = np.argsort(tails, kind="stable")
    degrees = np.bincount(tails, minlength=contraction.n_blocks)
    starts = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    return _Graph(starts, heads[order].astype(np.int64))


@njit(cache=True, nogil=True)
def _change(
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
def _relabel(
    j: int,
    target: int,
    labels: Integers,
    sizes: Reals,
    rows: Reals,
    count: Integers,
    weight: Reals,
    sums: Reals,
    square: Reals,
) -> None:
    """Move block j, and keep the sums up with it."""
    a = labels[j]
    count[a] -= 1
    count[target] += 1
    weight[a] -= sizes[j]
    weight[target] += sizes[j]
    square[a], square[target] = 0.0, 0.0
    for t in range(rows.shape[1]):
        sums[a, t] -= rows[j, t]
        sums[target, t] += rows[j, t]
        square[a] += sums[a, t] ** 2
        square[target] += sums[target, t] ** 2
    labels[j] = target


@njit(cache=True, nogil=True)
def _move_blocks(
    blocks: Integers,
    labels: Integers,
    sizes: Reals,
    means: Reals,
    columns: Reals,
    count: Integers,
    weight: Reals,
    threshold: float,
    nearly: Booleans,
) -> int:
    """Move each of the blocks to the cluster where it saves most; return how many were moved.

    Parameters
    ----------
    columns : (r, k) the coordinates of the means of the clusters, kept up
    nearly : set to whether a move improves, or nearly so, for each of the blocks
    """
    r, k = columns.shape
    distances = np.empty(k)
    n_moved = 0
    for number in range(len(blocks)):
        i = blocks[number]
        a, w = labels[i], sizes[i]
        if count[a] == 1:
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
        if w * (saved - distances[b]) <= threshold:
            continue
        for t in range(r):
            columns[t, a] -= (means[i, t] - columns[t, a]) * (w / (weight[a] - w))
            columns[t, b] += (means[i, t] - columns[t, b]) * (w / (weight[b] + w))
        weight[a] -= w
        weight[b] += w
        count[a] -= 1
        count[b] += 1
        labels[i] = b
        n_moved += 1
    return n_moved


@njit(cache=True, nogil=True)
def _exchange_chains(
    blocks: Integers,
    first: int,
    work: int,
    labels: Integers,
    sizes: Reals,
    rows: Reals,
    starts: Integers,
    neighbours: Integers,
    count: Integers,
    weight: Reals,
    sums: Reals,
    square: Reals,
    threshold: float,
) -> tuple[int, bool]:
    """Go on with a sweep over blocks from number `first` on, until about `work` steps are taken.

    Return the number to go on from, and whether any chain was exchanged.
    """
    m, r = rows.shape
    k = len(count)
    stamp = np.full(m, -1, np.int64)
    chain = np.empty(m, np.int64)
    net = np.empty(r)
    stamped = ZERO
    any_exchanged = False
    for number in range(first, len(blocks)):
        if work <= 0:
            return number, any_exchanged
        i = blocks[number]
        a = labels[i]
        best, target = -threshold, NONE
        for b in range(k):
            if b == a:
                continue
            length = _kempe_chain(i, b, labels, starts, neighbours, stamp, stamped, chain)
            stamped += 1
            change = _exchange(
                chain, length, a, b, labels, sizes, rows, count, weight, sums, square, net
            )
            work -= (length + 3) * r + 10
            for position in range(length):
                work -= starts[chain[position] + 1] - starts[chain[position]]
            if change < best:
                best, target = change, b
        if target < 0:
            continue
        length = _kempe_chain(i, target, labels, starts, neighbours, stamp, stamped, chain)
        stamped += 1
        for position in range(length):
            j = chain[position]
            destination = target if labels[j] == a else a
            _relabel(j, destination, labels, sizes, rows, count, weight, sums, square)
        any_exchanged = True
    return len(blocks), any_exchanged


@njit(cache=True, nogil=True)
def _kempe_chain(
    i: int,
    b: int,
    labels: Integers,
    starts: Integers,
    neighbours: Integers,
    stamp: Integers,
    stamped: int,
    chain: Integers,
) -> int:
    """Collect in `chain` the Kempe chain of block i with cluster b, and return its length.

    `stamp` marks the blocks met with the number `stamped`.
    """
    a = labels[i]
    chain[0] = i
    stamp[i] = stamped
    length = 1
    head = 0
    while head < length:
        j = chain[head]
        head += 1
        for position in range(starts[j], starts[j + 1]):
            u = neighbours[position]
            if stamp[u] != stamped and (labels[u] == a or labels[u] == b):
                stamp[u] = stamped
                chain[length] = u
                length += 1
    return length


@njit(cache=True, nogil=True)
def _exchange(
    chain: Integers,
    length: int,
    a: int,
    b: int,
    labels: Integers,
    sizes: Reals,
    rows: Reals,
    count: Integers,
    weight: Reals,
    sums: Reals,
    square: Reals,
    net: Reals,
) -> float:
    """Return the change of the sum of squares if the chain is exchanged.

    It is inf if a cluster would be left empty. `net` (r,) is room for d.
    """
    moved = 0
    w, d_a, d_b, d_d = 0.0, 0.0, 0.0, 0.0
    net[:] = 0.0
    for position in range(length):
        j = chain[position]
        sign = 1 if labels[j] == a else -1
        moved += sign
        w += sign * sizes[j]
        for t in range(len(net)):
            net[t] += sign * rows[j, t]
    if moved == count[a] or -moved == count[b]:
        return np.inf
    for t in range(len(net)):
        d_a += net[t] * sums[a, t]
        d_b += net[t] * sums[b, t]
        d_d += net[t] * net[t]
    return _change(a, b, w, d_a, d_b, d_d, weight, square)


@njit(cache=True, nogil=True)
def _count_linked(
    labels: Integers, starts: Integers, neighbours: Integers, linked: Integers
) -> None:
    """Count the neighbours of a block in each cluster: it is a chain by itself where none is."""
    for i in range(len(labels)):
        for position in range(starts[i], starts[i + 1]):
            linked[i, labels[neighbours[position]]] += 1


@njit(cache=True, nogil=True)
def _move(
    j: int,
    target: int,
    labels: Integers,
    sizes: Reals,
    gram: Reals,
    weight: Reals,
    square: Reals,
    inner: Reals,
) -> None:
    """Move block j, and keep up inner[i, c], which is (e_i c_i)'s_c."""
    a = labels[j]
    square[a] += gram[j, j] - 2.0 * inner[j, a]
    square[target] += gram[j, j] + 2.0 * inner[j, target]
    weight[a] -= sizes[j]
    weight[target] += sizes[j]
    for i in range(len(labels)):
        inner[i, a] -= gram[i, j]
        inner[i, target] += gram[i, j]
    labels[j] = target


@njit(cache=True, nogil=True)
def _swap_blocks(
    first: int,
    last: int,
    labels: Integers,
    sizes: Reals,
    gram: Reals,
    starts: Integers,
    neighbours: Integers,
    weight: Reals,
    square: Reals,
    inner: Reals,
    linked: Integers,
    threshold: float,
) -> bool:
    """Make every swap that improves; return whether there was any.

    The pairs are of a block from the first to before the last and a later one.
    """
    m = len(labels)
    any_swapped = False
    for i in range(first, min(m, last)):
        for j in range(i + 1, m):
            a, b = labels[i], labels[j]
            if a == b or linked[i, b] > 0 or linked[j, a] > 0:
                continue
            w = sizes[i] - sizes[j]
            d_a = inner[i, a] - inner[j, a]
            d_b = inner[i, b] - inner[j, b]
            d_d = gram[i, i] + gram[j, j] - 2.0 * gram[i, j]
            if _change(a, b, w, d_a, d_b, d_d, weight, square) >= -threshold:
                continue
            _move(i, b, labels, sizes, gram, weight, square, inner)
            _move(j, a, labels, sizes, gram, weight, square, inner)
            for position in range(starts[i], starts[i + 1]):
                linked[neighbours[position], a] -= 1
                linked[neighbours[position], b] += 1
            for position in range(starts[j], starts[j + 1]):
                linked[neighbours[position], b] -= 1
                linked[neighbours[position], a] += 1
            any_swapped = True
    return any_swapped
