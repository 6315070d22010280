"""Compiled loops over Kempe chains: the best chain through each block is exchanged."""

from __future__ import annotations

import numpy as np

from heuristics.local_search.state import change_of_exchange
from heuristics.neighbours import Neighbours
from sdpbb.runtime.arrays import NONE, ZERO, Integers, Reals
from sdpbb.runtime.jit import njit


@njit(cache=True, nogil=True)
def exchange_chains(
    blocks: Integers,
    first: int,
    work: int,
    labels: Integers,
    weights: Reals,
    rows: Reals,
    graph: Neighbours,
    soft: Neighbours,
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
            length = kempe_chain(i, b, labels, graph, stamp, stamped, chain)
            change = change_by_chain(
                chain, length, a, b, labels, weights, rows, count, weight, sums, square, net
            )
            change += change_of_prices(
                chain,
                length,
                a,
                b,
                labels,
                stamp,
                stamped,
                soft,
            )
            stamped += 1
            work -= (length + 3) * r + 10
            for position in range(length):
                work -= graph.starts[chain[position] + 1] - graph.starts[chain[position]]
            if change < best:
                best, target = change, b
        if target < 0:
            continue
        length = kempe_chain(i, target, labels, graph, stamp, stamped, chain)
        stamped += 1
        for position in range(length):
            j = chain[position]
            destination = target if labels[j] == a else a
            relabel(j, destination, labels, weights, rows, count, weight, sums, square)
        any_exchanged = True
    return len(blocks), any_exchanged


@njit(cache=True, nogil=True)
def kempe_chain(
    i: int,
    b: int,
    labels: Integers,
    graph: Neighbours,
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
        for position in range(graph.starts[j], graph.starts[j + 1]):
            u = graph.block[position]
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
        w += sign * weights[j]
        for t in range(len(net)):
            net[t] += sign * rows[j, t]
    if moved == count[a] or -moved == count[b]:
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
    for position in range(length):
        j = chain[position]
        before = labels[j]
        after = b if before == a else a
        for at in range(soft.starts[j], soft.starts[j + 1]):
            u = soft.block[at]
            if stamp[u] == stamped:  # it moves as well, and is together with j or apart as before
                continue
            if labels[u] == after:
                change += soft.weight[at]
            elif labels[u] == before:
                change -= soft.weight[at]
    return change


@njit(cache=True, nogil=True)
def relabel(
    j: int,
    target: int,
    labels: Integers,
    weights: Reals,
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
    weight[a] -= weights[j]
    weight[target] += weights[j]
    square[a], square[target] = 0.0, 0.0
    for t in range(rows.shape[1]):
        sums[a, t] -= rows[j, t]
        sums[target, t] += rows[j, t]
        square[a] += sums[a, t] ** 2
        square[target] += sums[target, t] ** 2
    labels[j] = target
