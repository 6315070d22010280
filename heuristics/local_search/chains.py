"""Compiled loops over Kempe chains: the best chain through each block is exchanged."""

from __future__ import annotations

import numpy as np

from heuristics.cluster_state import (
    BlockData,
    ClusterState,
    Neighbours,
    change_of_exchange,
    fits,
    relabel,
)
from sdpbb.runtime.arrays import NONE, ZERO, Integers, Reals
from sdpbb.runtime.jit import njit


@njit(cache=True, nogil=True)
def exchange_chains(
    numbers: Integers,
    first: int,
    work: int,
    blocks: BlockData,
    clusters: ClusterState,
    threshold: float,
) -> tuple[int, bool]:
    """Sweep over blocks of these numbers from position `first` on, for about `work` steps.

    Return the position to resume from, and whether any chain was exchanged.
    """
    # To take arrays out of tuples in the loop, and in what it calls, costs a quarter of the time.
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
def kempe_chain(
    i: int,
    b: int,
    labels: Integers,
    apart: Neighbours,
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
        for position in range(apart.starts[j], apart.starts[j + 1]):
            u = apart.block[position]
            if stamp[u] != stamped and (labels[u] == a or labels[u] == b):
                stamp[u] = stamped
                chain[length] = u
                length += 1
    return length


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

    It is inf if a cluster would be left empty. `net` (r,) is room for d.
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
    """Return the change of what soft pairs cost if the chain, stamped, is exchanged."""
    change = 0.0
    for number in range(length):
        j = chain[number]
        before = labels[j]
        after = b if before == a else a
        for position in range(soft.starts[j], soft.starts[j + 1]):
            u = soft.block[position]
            if stamp[u] == stamped:  # it moves as well, and is together with j or apart as before
                continue
            if labels[u] == after:
                change += soft.weight[position]
            elif labels[u] == before:
                change -= soft.weight[position]
    return change


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
    """Return whether the chain can be exchanged within the limits; `taken` (q,) is room."""
    taken[:] = 0
    for number in range(length):
        j = chain[number]
        sign = 1 if clusters.labels[j] == a else -1
        for q in range(len(taken)):
            taken[q] += sign * blocks.amounts[j, q]
    return fits(a, b, taken, blocks, clusters.amounts)
