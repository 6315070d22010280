"""Capacity cuts: clusters of limited sizes have to split a set of points that they cannot fill.

For any set T of t points that weigh 1, with t_C of them in a cluster C of s_C points,

    sum of Z_ij over i in T, j outside = sum of t_C (s_C - t_C) / s_C over the clusters >= f(t),

f(t) being the least that k clusters within the limits can come to (see
`sdpbb.checker.kernel.cuts.capacities`). With equal sizes s it is r (s - r) / s for the remainder r
of t divided by s. As rows of Z add up to 1,

    sum of Z_ij over i and j in T <= t - f(t),

which has the fewer terms. The cut of the complement of T says the same as that of T. It is the
rounded capacity inequality of vehicle routing in this cone.

Limits on weights, and on the points of clusters where points have weights, are in
`sdpbb.checker.kernel.cuts.capacities`. Pairs, triangles and limits on single
entries of Z do not see that a group of 111 near points cannot be a cluster of 106. Where limits
bind, gaps of 5 and 60 percent come down to a percent by sets, and to a tenth or nothing by cliques
(docs/relaxation.md).

In the loops, what a set T of measure t lacks is F(t) + r q_T' Z q_T, F(t) being the right-hand side
of its cut. F is read from a table of multiples of a step, the nearest one; it is -inf where no set
is split.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks
from sdpbb.bounds.sdp.cuts.family import CutFamily
from sdpbb.bounds.sdp.relaxation import Relaxation, SplitTable
from sdpbb.checker.kernel.cuts.capacities import SetMeasure
from sdpbb.runtime.arrays import Booleans, Integers, Reals
from sdpbb.runtime.jit import njit

Set = NDArray[np.bool_]
Lacking = tuple[float, Set]
"""A set (m,) and what it lacks."""

# Rows of Z in whose order of entries sets grow. Time grows with the square of the number of blocks
# for each.
_ROWS = 100
# Sets that are improved in a round, those that lack most.
_IMPROVED = 80
# Maximum cuts per round.
PER_ROUND = 20
# Minimum share of blocks by which two sets of a round differ. Nested sets say nearly the same.
# With 0 and 0.03, cuts are three times as many after as many rounds, and gaps no smaller.
APART = 0.1
# Minimum violation of a cut, as a share of n / k.
TOLERANCE = 1e-6

# Moves of one block by which a set is improved. Most sets take less than 20.
_MOVES = 200


class CapacityCuts(CutFamily):
    """Capacity cuts: sets of blocks that clusters of limited sizes have to split."""

    def separate(self, Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
        """Return the most violated cuts among sets that grow along rows of Z, and are improved."""
        cuts = CutSet.empty()
        for family, (measure, table) in relaxation.set_limits.items():
            _, improved = split_sets(Z, measure, table)
            least = TOLERANCE * measure.limits.n / measure.limits.k
            violated = [pair for pair in improved if pair[0] > least]
            for T in spread_sets(violated, APART, PER_ROUND):
                cuts = cuts + capacity_cut(family, measure, T)
        return cuts


def split_sets(
    Z: NDArray[np.float64], measure: SetMeasure, table: SplitTable
) -> tuple[list[Lacking], list[Lacking]]:
    """Return prefixes of rows of Z that are split, and the best of them, improved."""
    step, sides, filled = table
    m, q, rows = len(Z), measure.of_blocks.astype(np.float64), spread_rows(len(Z))
    lacking, lengths, orders = best_prefixes(Z, q, measure.rate, sides, filled, step, rows)
    prefixes = []
    for place in np.argsort(-lacking, axis=None, kind="stable").tolist():
        a, kind = divmod(place, lacking.shape[1])
        T = np.zeros(m, bool)
        T[orders[a, : lengths[a, kind]]] = True
        if T.any():
            prefixes.append((float(lacking[a, kind]), T))
    improved = []
    for _, T in prefixes[:_IMPROVED]:
        own = T.copy()
        improved.append((improve_set(Z, q, measure.rate, sides, step, own), own))
    return prefixes, improved


def spread_rows(m: int) -> NDArray[np.int64]:
    """Return some of m rows, evenly spread, or all."""
    return np.unique(np.linspace(0, m - 1, min(m, _ROWS)).astype(np.int64))


def spread_sets(sets: list[Lacking], apart: float, most: int) -> list[Set]:
    """Return sets that differ from each other, at most `most` of them: the ones that lack most.

    A set that has more than half of all blocks is replaced by its complement.
    """
    chosen: list[Set] = []
    for _, T in sorted(sets, key=lambda pair: -pair[0]):
        if len(chosen) == most:
            break
        T = T if 2 * T.sum() <= len(T) else ~T
        if T.sum() > 1 and all(_differ(T, other, apart) for other in chosen):
            chosen.append(T)
    return chosen


def _differ(first: Set, second: Set, least: float) -> bool:
    """Return whether two sets, or one and the complement of the other, differ by such a share."""
    difference = int((first ^ second).sum())
    nearest = min(difference, len(first) - difference)
    return nearest >= max(1.0, least * min(int(first.sum()), int(second.sum())))


def capacity_cut(family: str, measure: SetMeasure, T: Set) -> CutSet:
    """Return the cut of a set (m,) of whole blocks."""
    blocks = np.flatnonzero(T)
    parts = measure.of_blocks[blocks]
    i, j = np.triu_indices(len(blocks))
    # Floats, as products of units may be more than integers hold.
    products = measure.rate * parts[i].astype(np.float64) * parts[j]
    members = DefiningBlocks.uniform(family, np.empty((1, 0), np.int32))
    return CutSet.summed(
        np.zeros(len(i), np.intp),
        blocks[i],
        blocks[j],
        np.where(i == j, -1.0, -2.0) * products,
        measure.sides(np.array([parts.sum()])),
        members.with_parts(blocks, parts),
    )


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
