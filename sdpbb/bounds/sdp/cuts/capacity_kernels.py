"""Compiled loops that find sets of blocks which clusters of limited sizes have to split.

What a set T of measure t lacks is F(t) + r q_T' Z q_T, F(t) being the right-hand side of its cut
(see `capacities`). F is read from a table of multiples of a step, the nearest one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.arrays import Booleans, Integers, Reals
from sdpbb.jit import njit

# Moves of one block by which a set is improved. Most sets take less than 20.
_MOVES = 200


@njit(cache=True)
def best_prefixes(
    Z: Reals, q: Reals, rate: float, sides: Reals, step: float, rows: Integers
) -> tuple[Reals, NDArray[np.int64], NDArray[np.int64]]:
    """Find, of each row, the prefix of the blocks in the order of its entries that lacks most.

    Returns what they lack, the numbers of their blocks, and the blocks of all rows in their order.
    """
    m = len(q)
    lacking, lengths = np.zeros(len(rows)), np.zeros(len(rows), np.int64)
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
            lacks = sides[int(measure / step + 0.5)] + rate * inner
            if lacks > lacking[a]:
                lacking[a], lengths[a] = lacks, length
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
