"""Local search over exchanges that keep the cannot-links.

A Kempe chain of two clusters a and b is a connected component of the cannot-link graph induced on
their blocks. Exchanging the two labels on a chain breaks no cannot-link: a chain of one block moves
it, a chain of two swaps them. Two blocks that are chains by themselves, one of each cluster, can
also be swapped.

With s and N the weighted sums and the weights of the clusters, an exchange that takes weight w and
sum d, net, out of a and into b changes the sum of squares by

    ||s_a||^2 / N_a + ||s_b||^2 / N_b - ||s_a - d||^2 / (N_a - w) - ||s_b + d||^2 / (N_b + w).

The search sees the data through the inner products G_ij = (e_i c_i)'(e_j c_j) alone, so that a
change costs the same whatever the number of coordinates.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sdpbb.problem import Contraction

# An exchange counts if it improves by more than this share of the total sum of squares: far above
# the rounding of its change (about 1e-15 of the total), so that the descent terminates.
MINIMUM_IMPROVEMENT = 1e-13


class LocalSearch:
    """Descent over Kempe chains and swaps in one contraction, prepared for many clusterings."""

    def __init__(self, contraction: Contraction) -> None:
        self._k = contraction.k
        self._sizes = contraction.sizes
        weighted = contraction.sizes[:, None] * contraction.means
        self._gram = np.ascontiguousarray(weighted @ weighted.T)
        self._starts, self._neighbours = _adjacency_lists(contraction)
        self._threshold = MINIMUM_IMPROVEMENT * contraction.total

    def __call__(
        self, labels: NDArray[np.intp], stop: Callable[[], bool] = lambda: False
    ) -> NDArray[np.intp]:
        """Labels (m,) that no exchange of a Kempe chain, and no swap of two blocks, improves.

        For each block the best chain through it is exchanged if it improves, until none does; then
        every swap that improves is made, and any sends the search back to the chains. No cluster
        is emptied, and the sum of squares never increases.

        Parameters
        ----------
        labels : (m,) exactly the clusters 0..k-1, the cannot-links kept; not modified
        stop : asked after every sweep over the blocks; when true it ends there, improved or not
        """
        improved = np.array(labels, dtype=np.int64)
        sizes, gram, threshold = self._sizes, self._gram, self._threshold
        starts, neighbours = self._starts, self._neighbours
        while True:
            # Sums are taken anew in every sweep, so that rounding does not pile up in their
            # updates.
            count, weight, square, inner = _cluster_sums(improved, self._k, sizes, gram)
            if _exchange_chains(
                improved, sizes, gram, starts, neighbours, count, weight, square, inner, threshold
            ):
                if stop():
                    return improved
                continue
            if stop() or not _swap_blocks(
                improved, sizes, gram, starts, neighbours, weight, square, inner, threshold
            ):
                return improved


def _adjacency_lists(contraction: Contraction) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The neighbours of block i are neighbours[starts[i] : starts[i + 1]]."""
    i, j = contraction.cannot_link.T
    tails, heads = np.concatenate([i, j]), np.concatenate([j, i])
    order = np.argsort(tails, kind="stable")
    degrees = np.bincount(tails, minlength=contraction.n_blocks)
    starts = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    return starts, heads[order].astype(np.int64)


@njit(cache=True)
def _cluster_sums(labels, k, sizes, gram):
    """For each cluster its number of blocks, N and ||s||^2; inner[i, c] is (e_i c_i)'s_c."""
    m = len(labels)
    count = np.zeros(k, np.int64)
    weight = np.zeros(k)
    square = np.zeros(k)
    inner = np.zeros((m, k))
    for i in range(m):
        count[labels[i]] += 1
        weight[labels[i]] += sizes[i]
        for j in range(m):
            inner[i, labels[j]] += gram[i, j]
        square[labels[i]] += inner[i, labels[i]]
    return count, weight, square, inner


@njit(cache=True)
def _change(a, b, w, d_a, d_b, d_d, weight, square):
    """The change of the sum of squares, from d's_a, d's_b and ||d||^2."""
    return (
        square[a] / weight[a]
        + square[b] / weight[b]
        - (square[a] - 2.0 * d_a + d_d) / (weight[a] - w)
        - (square[b] + 2.0 * d_b + d_d) / (weight[b] + w)
    )


@njit(cache=True)
def _relabel(j, target, labels, sizes, gram, weight, square, inner):
    """Move block j, and keep the sums up with it."""
    a = labels[j]
    square[a] += gram[j, j] - 2.0 * inner[j, a]
    square[target] += gram[j, j] + 2.0 * inner[j, target]
    weight[a] -= sizes[j]
    weight[target] += sizes[j]
    for i in range(len(labels)):
        inner[i, a] -= gram[i, j]
        inner[i, target] += gram[i, j]
    labels[j] = target


@njit(cache=True)
def _exchange_chains(
    labels, sizes, gram, starts, neighbours, count, weight, square, inner, threshold
):
    """One sweep over the blocks; whether any chain was exchanged."""
    m, k = inner.shape
    stamp = np.full(m, -1, np.int64)
    chain = np.empty(m, np.int64)
    stamped = 0
    any_exchanged = False
    for i in range(m):
        a = labels[i]
        best, target = -threshold, -1
        for b in range(k):
            if b == a:
                continue
            length = _kempe_chain(i, b, labels, starts, neighbours, stamp, stamped, chain)
            stamped += 1
            change = _exchange(
                chain, length, a, b, labels, sizes, gram, count, weight, square, inner
            )
            if change < best:
                best, target = change, b
        if target < 0:
            continue
        length = _kempe_chain(i, target, labels, starts, neighbours, stamp, stamped, chain)
        stamped += 1
        for position in range(length):
            j = chain[position]
            destination = target if labels[j] == a else a
            count[labels[j]] -= 1
            count[destination] += 1
            _relabel(j, destination, labels, sizes, gram, weight, square, inner)
        any_exchanged = True
    return any_exchanged


@njit(cache=True)
def _kempe_chain(i, b, labels, starts, neighbours, stamp, stamped, chain):
    """Collect in `chain` the Kempe chain of block i with cluster b, and return its length; `stamp`
    marks the blocks met with the number `stamped`."""
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


@njit(cache=True)
def _exchange(chain, length, a, b, labels, sizes, gram, count, weight, square, inner):
    """The change of the sum of squares if the chain is exchanged; inf if a cluster would be left
    empty."""
    moved = 0
    w, d_a, d_b, d_d = 0.0, 0.0, 0.0, 0.0
    for position in range(length):
        j = chain[position]
        sign = 1 if labels[j] == a else -1
        moved += sign
        w += sign * sizes[j]
        d_a += sign * inner[j, a]
        d_b += sign * inner[j, b]
        d_d += gram[j, j]
        for earlier in range(position):
            u = chain[earlier]
            d_d += 2.0 * gram[j, u] if (labels[u] == a) == (sign == 1) else -2.0 * gram[j, u]
    if moved == count[a] or -moved == count[b]:
        return np.inf
    return _change(a, b, w, d_a, d_b, d_d, weight, square)


@njit(cache=True)
def _swap_blocks(labels, sizes, gram, starts, neighbours, weight, square, inner, threshold):
    """Make every swap that improves, in one sweep over the pairs; whether there was any."""
    m, k = inner.shape
    # How many neighbours of a block are in each cluster: it is a chain by itself where none is.
    linked = np.zeros((m, k), np.int64)
    for i in range(m):
        for position in range(starts[i], starts[i + 1]):
            linked[i, labels[neighbours[position]]] += 1
    any_swapped = False
    for i in range(m):
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
            _relabel(i, b, labels, sizes, gram, weight, square, inner)
            _relabel(j, a, labels, sizes, gram, weight, square, inner)
            for position in range(starts[i], starts[i + 1]):
                linked[neighbours[position], a] -= 1
                linked[neighbours[position], b] += 1
            for position in range(starts[j], starts[j + 1]):
                linked[neighbours[position], b] -= 1
                linked[neighbours[position], a] += 1
            any_swapped = True
    return any_swapped
