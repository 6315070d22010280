"""Compiled loops over swaps of two blocks that are chains by themselves."""

from __future__ import annotations

from heuristics.local_search.state import change_of_exchange
from heuristics.neighbours import Neighbours
from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit


@njit(cache=True, nogil=True)
def swap_pairs(
    first: int,
    last: int,
    labels: Integers,
    weights: Reals,
    gram: Reals,
    graph: Neighbours,
    soft: Neighbours,
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
            w = weights[i] - weights[j]
            d_a = inner[i, a] - inner[j, a]
            d_b = inner[i, b] - inner[j, b]
            d_d = gram[i, i] + gram[j, j] - 2.0 * gram[i, j]
            change = change_of_exchange(a, b, w, d_a, d_b, d_d, weight, square)
            change += _price_of_move(i, j, b, labels, soft) + _price_of_move(j, i, a, labels, soft)
            if change >= -threshold:
                continue
            _move(i, b, labels, weights, gram, weight, square, inner)
            _move(j, a, labels, weights, gram, weight, square, inner)
            for position in range(graph.starts[i], graph.starts[i + 1]):
                linked[graph.block[position], a] -= 1
                linked[graph.block[position], b] += 1
            for position in range(graph.starts[j], graph.starts[j + 1]):
                linked[graph.block[position], b] -= 1
                linked[graph.block[position], a] += 1
            any_swapped = True
    return any_swapped


@njit(cache=True, nogil=True)
def _price_of_move(
    i: int,
    other: int,
    target: int,
    labels: Integers,
    soft: Neighbours,
) -> float:
    """Return what soft pairs cost more after block i has moved, but that with the other block."""
    change = 0.0
    for at in range(soft.starts[i], soft.starts[i + 1]):
        u = soft.block[at]
        if u == other:
            continue
        if labels[u] == target:
            change += soft.weight[at]
        elif labels[u] == labels[i]:
            change -= soft.weight[at]
    return change


@njit(cache=True, nogil=True)
def count_linked(labels: Integers, graph: Neighbours, linked: Integers) -> None:
    """Count the neighbours of a block in each cluster: it is a chain by itself where none is."""
    for i in range(len(labels)):
        for position in range(graph.starts[i], graph.starts[i + 1]):
            linked[i, labels[graph.block[position]]] += 1


@njit(cache=True, nogil=True)
def _move(
    j: int,
    target: int,
    labels: Integers,
    weights: Reals,
    gram: Reals,
    weight: Reals,
    square: Reals,
    inner: Reals,
) -> None:
    """Move block j, and keep up inner[i, c], which is (e_i c_i)'s_c."""
    a = labels[j]
    square[a] += gram[j, j] - 2.0 * inner[j, a]
    square[target] += gram[j, j] + 2.0 * inner[j, target]
    weight[a] -= weights[j]
    weight[target] += weights[j]
    for i in range(len(labels)):
        inner[i, a] -= gram[i, j]
        inner[i, target] += gram[i, j]
    labels[j] = target
