"""Compiled loops that find sets of blocks which clusters of limited sizes have to split.

What a set T of measure t lacks is F(t) + r q_T' Z q_T, F(t) being the right-hand side of its cut
(see `capacities`). F is read from a table of multiples of a step, the nearest one; it is -inf where
no set is split.

What leaves J lack is the sum of their rows, R_j = r sum of q_i Z_ij over T, less the side g, less
the coefficient of shared leaves times the sum of Z_jl over pairs of them.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.arrays import Booleans, Integers, Reals
from sdpbb.runtime.jit import njit

# Moves of one block by which a set is improved. Most sets take less than 20.
_MOVES = 200


@njit(cache=True)
def best_prefixes(
    Z: Reals, q: Reals, rate: float, sides: Reals, filled: Integers, step: float, rows: Integers
) -> tuple[Reals, NDArray[np.int64], NDArray[np.int64]]:
    """Find the prefixes of the blocks in the order of each row's entries that lack most.

    There is one for each whole number of clusters that they fill. Returns what they lack and the
    numbers of their blocks, a row for each row, and the blocks of all rows in their order.
    """
    m, kinds = len(q), filled.max() + 1
    lacking, lengths = (
        np.full((len(rows), kinds), -math.inf),
        np.zeros((len(rows), kinds), np.int64),
    )
    orders = np.empty((len(rows), m), np.int64)
    link = np.empty(m)
    for a in range(len(rows)):
        orders[a] = np.argsort(-Z[rows[a]])
        link[:] = 0.0
        inner, measure = 0.0, 0.0
        for length in range(1, m):
            p = orders[a, length - 1]
            inner += q[p] * (q[p] * Z[p, p] + 2.0 * link[p])
            measure += q[p]
            link += q[p] * Z[p]
            place = int(measure / step + 0.5)
            lacks, kind = sides[place] + rate * inner, filled[place]
            if lacks > lacking[a, kind]:
                lacking[a, kind], lengths[a, kind] = lacks, length
    return lacking, lengths, orders


@njit(cache=True)
def improve_set(
    Z: Reals, q: Reals, rate: float, sides: Reals, step: float, is_inside: Booleans
) -> float:
    """Move single blocks in and out of a set for as long as it comes to lack more.

    Returns what it lacks then.
    """
    m = len(q)
    link, measure, inner = np.zeros(m), 0.0, 0.0
    for i in range(m):
        if is_inside[i]:
            link += q[i] * Z[i]
            measure += q[i]
    for i in range(m):
        if is_inside[i]:
            inner += q[i] * link[i]
    lacking: float = sides[int(measure / step + 0.5)] + rate * inner
    for _ in range(_MOVES):
        best, most, gain = -1, lacking, 0.0
        for i in range(m):
            sign = -1.0 if is_inside[i] else 1.0
            change = q[i] * (q[i] * Z[i, i] + sign * 2.0 * link[i])
            lacks = sides[int((measure + sign * q[i]) / step + 0.5)] + rate * (inner + change)
            # What rounding alone makes of a move that changes nothing is no gain.
            if lacks > most + 1e-9 * q[i]:
                best, most, gain = i, lacks, change
        if best < 0:
            break
        sign = -1.0 if is_inside[best] else 1.0
        is_inside[best] = not is_inside[best]
        measure += sign * q[best]
        link += sign * q[best] * Z[best]
        inner += gain
        lacking = most
    return lacking


@njit(cache=True)
def violated_pairs(
    Z: Reals, rows: Reals, side: float, shared: float, partners: int
) -> NDArray[np.int64]:
    """Find, for each block, the other leaves with which it lacks most, in ascending order."""
    m, count = len(rows), 0
    leaves = np.empty((m * partners, 2), np.int64)
    best, lacking = np.empty(partners, np.int64), np.empty(partners)
    for j in range(m):
        lacking[:] = 0.0
        best[:] = -1
        for i in range(m):
            lacks = rows[j] + rows[i] - side - shared * Z[j, i]
            if i != j and lacks > lacking[partners - 1]:
                place = partners - 1
                while place > 0 and lacking[place - 1] < lacks:
                    lacking[place], best[place] = lacking[place - 1], best[place - 1]
                    place -= 1
                lacking[place], best[place] = lacks, i
        for place in range(partners):
            i = int(best[place])
            if i >= 0:
                leaves[count, 0], leaves[count, 1] = min(i, j), max(i, j)
                count += 1
    return leaves[:count]


@njit(cache=True)
def grown_cliques(
    Z: Reals, rows: Reals, side: float, shared: float, starts: Integers, n_leaves: int
) -> NDArray[np.int64]:
    """Grow leaves from each start by the block that adds most; keep those that lack something.

    Each list is in ascending order.
    """
    m, count = len(rows), 0
    found = np.empty((len(starts), n_leaves), np.int64)
    for start in starts:
        gain = rows.copy()
        total, leaf = 0.0, int(start)
        for place in range(n_leaves):
            if place > 0:
                leaf = 0
                for i in range(1, m):
                    if gain[i] > gain[leaf]:
                        leaf = i
            total += gain[leaf]
            gain -= shared * Z[leaf]
            gain[leaf] = -math.inf
            found[count, place] = leaf
        if total > side:
            found[count].sort()
            count += 1
    return found[:count]


@njit(cache=True)
def clique_terms(
    leaves: Integers, blocks: Integers, parts: Reals, shared: float
) -> tuple[NDArray[np.int32], NDArray[np.int32], Reals, NDArray[np.int64]]:
    """Write the terms of the cuts of leaves (number, p): rows, columns, coefficients, starts.

    Leaves and blocks of the set are in ascending order; parts are those of the blocks times r.
    """
    count, p = leaves.shape
    most = count * (p * len(blocks) + p * (p - 1) // 2)
    row, column = np.empty(most, np.int32), np.empty(most, np.int32)
    coefficient, start = np.empty(most), np.zeros(count + 1, np.int64)
    at = 0
    for c in range(count):
        own = np.zeros(p)  # what the set has of each leaf
        place = 0
        for b in range(len(blocks)):
            i = blocks[b]
            while place < p and leaves[c, place] < i:
                place += 1
            is_leaf = place < p and leaves[c, place] == i
            if is_leaf:
                own[place] = parts[b]
            for a in range(p):
                j = leaves[c, a]
                if not is_leaf or i == j:
                    row[at], column[at], coefficient[at] = min(i, j), max(i, j), -parts[b]
                    at += 1
        for a in range(p):
            for b in range(a + 1, p):
                row[at], column[at] = leaves[c, a], leaves[c, b]
                coefficient[at] = shared - own[a] - own[b]
                at += 1
        start[c + 1] = at
    return row[:at], column[:at], coefficient[:at], start
