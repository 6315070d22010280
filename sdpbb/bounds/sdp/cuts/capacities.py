"""Capacity cuts: clusters of limited sizes have to split a set of points that they cannot fill.

For any set T of t points that weigh 1, with t_C of them in a cluster C of s_C points,

    sum of Z_ij over i in T, j outside = sum of t_C (s_C - t_C) / s_C over the clusters >= f(t),

f(t) being the least that k clusters within the limits can come to (see
`sdpbb.checker.kernel.cuts.capacities`). With equal sizes s it is r (s - r) / s for the remainder r
of t divided by s. As rows of Z add up to 1,

    sum of Z_ij over i and j in T <= t - f(t),

which has the fewer terms. The cut of the complement of T says the same as that of T. It is the
rounded capacity inequality of vehicle routing in this cone.

**Capacity cliques** say which points of T are apart: more blocks than clusters that T can fill. Let
g(t) be at least the number of clusters that T can fill, in parts; and w the largest size. A list J
of p > g(t) blocks, the leaves, has

    sum of Z_ij over i in T, j in J <= g(t) + w (p - g(t)) sum of Z_jl over j < l in J:

where no two leaves share a cluster, the left-hand side counts each cluster once at most; and else
one Z_jl at least is not less than 1 / w. Two leaves of a group that is larger than a cluster, for
one, cannot both be with most of it and not with each other.

Limits on weights, and on the points of clusters where points have weights, are in
`sdpbb.checker.kernel.cuts.capacities`. Pairs, triangles and limits on single
entries of Z do not see that a group of 111 near points cannot be a cluster of 106. Where limits
bind, gaps of 5 and 60 percent come down to a percent by sets, and to a tenth or nothing by cliques
(docs/relaxation.md).

In the loops, what a set T of measure t lacks is F(t) + r q_T' Z q_T, F(t) being the right-hand side
of its cut. F is read from a table of multiples of a step, the nearest one; it is -inf where no set
is split.

What leaves J lack is the sum of their rows, R_j = r sum of q_i Z_ij over T, less the side g, less
the coefficient of shared leaves times the sum of Z_jl over pairs of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks
from sdpbb.bounds.sdp.cuts.family import CutFamily
from sdpbb.bounds.sdp.relaxation import Relaxation, SplitTable
from sdpbb.checker.kernel.cuts.capacities import SetMeasure, most_filled
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

CLIQUES = {"point_sets": "point_cliques", "weight_sets": "weight_cliques"}
"""Capacity cliques on the sets of each family of capacity cuts."""

# Sets whose cliques are looked for differ by this share of the smaller one. Those of one group that
# differ little are worth having: each has cliques of its own.
CLIQUES_APART = 0.02
# Pairs of each block that are taken as cliques of two leaves, the most violated ones.
_PARTNERS = 10
# Terms of the cliques of a round, as a multiple of all entries of Z. With three times as many,
# bounds rise as much in an iteration, and fewer iterations are done in the same time.
_TERMS = 1
# Maximum sets per round whose cliques are looked for.
SETS = 40
# Maximum cliques per block and round.
PER_BLOCK = 6
# Minimum violation of a clique.
CLIQUE_TOLERANCE = 1e-4


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
    return CutSet(
        start=np.array([0, len(i)], np.int64),
        row=blocks[i].astype(np.int32),
        column=blocks[j].astype(np.int32),
        coefficient=np.where(i == j, -1.0, -2.0) * products,
        rhs=measure.sides(np.array([parts.sum()])),
        members=members.with_parts(blocks, parts),
    )


class CapacityCliqueCuts(CutFamily):
    """Capacity cliques on sets of whole blocks and on their complements."""

    # Iterations with many terms take long. Where capacity cuts are enough, roots with cliques from
    # the beginning take up to three times as long.
    after: ClassVar[int] = 150

    def separate(self, Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
        """Return the most violated cliques on sets that grow along rows of Z, and are improved."""
        cuts = CutSet.empty()
        for family, (measure, table) in relaxation.set_limits.items():
            prefixes, improved = split_sets(Z, measure, table)
            sets = spread_sets(prefixes + improved, CLIQUES_APART, SETS)
            found = self._cliques(Z, relaxation.weights, measure, [*sets, *(~T for T in sets)])
            cuts = cuts + _farthest(found, family, PER_BLOCK * len(Z), _TERMS * Z.size)
        return cuts

    def _cliques(
        self,
        Z: NDArray[np.float64],
        weights: NDArray[np.float64],
        measure: SetMeasure,
        sets: list[NDArray[np.bool_]],
    ) -> list[Found]:
        """Return violated cliques on sets (m,) of whole blocks."""
        starts, found = spread_rows(len(Z)), []
        for T in sets:
            clique = CapacityClique.of(measure, T)
            if not 2 <= clique.n_leaves <= measure.limits.k:
                continue
            rows, side, shared = clique.rows(Z), clique.filled + CLIQUE_TOLERANCE, clique.shared
            if clique.n_leaves == 2:
                leaves = violated_pairs(Z, rows, side, shared, _PARTNERS)
            else:
                leaves = grown_cliques(Z, rows, side, shared, starts, clique.n_leaves)
            leaves = np.unique(leaves, axis=0)
            found.append((clique, leaves, clique.distances(Z, rows, weights, leaves)))
        return found


@dataclass(frozen=True, eq=False)
class CapacityClique:
    """Cliques on one set of whole blocks, as many leaves as make it binding.

    blocks, parts : (b,) of the set, and their measures
    filled : g, the clusters that it fills at most
    n_leaves : p, the least whole number above g
    shared : w (p - g), the coefficient of pairs of leaves
    rate : r
    """

    blocks: NDArray[np.intp]
    parts: NDArray[np.int64]
    filled: float
    n_leaves: int
    shared: float
    rate: float

    @classmethod
    def of(cls, measure: SetMeasure, T: NDArray[np.bool_]) -> CapacityClique:
        """Return the cliques on a set (m,)."""
        parts = measure.of_blocks[T]
        filled = float(most_filled(measure.limits, np.array([parts.sum()]))[0])
        n_leaves = int(filled) + 1
        shared = measure.heaviest * (n_leaves - filled)
        return cls(np.flatnonzero(T), parts, filled, n_leaves, shared, measure.rate)

    def rows(self, Z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return r times the sum of q_i Z_ij over the set, (m,)."""
        return np.asarray(self.rate * (Z[:, self.blocks] @ self.parts.astype(np.float64)))

    def distances(
        self,
        Z: NDArray[np.float64],
        rows: NDArray[np.float64],
        weights: NDArray[np.float64],
        leaves: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return about the distances of Y to the violated cuts of leaves (number, p).

        rows : (m,) of Z, see `rows`
        """
        pairs = Z[leaves[:, :, None], leaves[:, None, :]]
        both = pairs.sum((1, 2)) - np.trace(pairs, axis1=1, axis2=2)
        lacking = rows[leaves].sum(1) - self.filled - 0.5 * self.shared * both
        inverse = 1.0 / weights[leaves]
        own = self.rate**2 * (self.parts.astype(np.float64) ** 2 / weights[self.blocks]).sum()
        squares = inverse.sum(1) ** 2 - (inverse**2).sum(1)
        norms = 0.5 * own * inverse.sum(1) + 0.25 * self.shared**2 * squares
        return np.asarray(lacking / np.sqrt(norms))

    def cuts(self, family: str, leaves: NDArray[np.int64]) -> CutSet:
        """Return the cuts of leaves (number, p), each row in ascending order."""
        row, column, coefficient, start = clique_terms(
            leaves, self.blocks, self.rate * self.parts.astype(np.float64), self.shared
        )
        members = DefiningBlocks.uniform(CLIQUES[family], leaves)
        rhs = np.full(len(leaves), -self.filled)
        return CutSet(
            start, row, column, coefficient, rhs, members.with_parts(self.blocks, self.parts)
        )


Found = tuple[CapacityClique, NDArray[np.int64], NDArray[np.float64]]
"""Cliques on a set, the leaves of the violated ones (number, p), and the distances to them."""


def _farthest(
    found: list[Found],
    family: str,
    most: int,
    most_terms: int,
) -> CutSet:
    """Return the cuts at the greatest distances, at most `most`, with `most_terms` terms."""
    cuts = CutSet.empty()
    if not found:
        return cuts
    distances = np.concatenate([distance for _, _, distance in found])
    lengths = np.concatenate(
        [np.full(len(leaves), leaves.shape[1] * len(clique.blocks)) for clique, leaves, _ in found]
    )
    order = np.argsort(-distances, kind="stable")[:most]
    order = order[np.cumsum(lengths[order]) <= most_terms]
    is_chosen = np.zeros(len(distances), bool)
    is_chosen[order] = True
    first = 0
    for clique, leaves, _ in found:
        chosen = leaves[is_chosen[first : first + len(leaves)]]
        first += len(leaves)
        if len(chosen):
            cuts = cuts + clique.cuts(family, chosen)
    return cuts


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
