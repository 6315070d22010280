"""Capacity cuts: clusters of limited sizes have to split a set of points that they cannot fill.

For any set T of t points of weight 1, with t_C of them in a cluster C of s_C points,

    sum of Z_ij over i in T, j outside = sum of t_C (s_C - t_C) / s_C over the clusters >= f(t).

Here f(t) is the minimum over k clusters within the limits (see
`sdpbb.checker.kernel.cuts.capacities`). With equal sizes s it is r (s - r) / s for the remainder r
of t divided by s. As rows of Z add up to 1,

    sum of Z_ij over i and j in T <= t - f(t),

which has fewer terms. The cut of the complement of T is equivalent. It is the rounded capacity
inequality of vehicle routing in this cone.

Limits on weights, and on the points of clusters of weighted points, are in
`sdpbb.checker.kernel.cuts.capacities`. Pairs, triangles and limits on single entries of Z do not
exclude that a group of 111 near points is a cluster of 106. If limits bind, sets reduce gaps of 5
and 60 percent to a percent, and cliques to a tenth of a percent or none (docs/relaxation.md).

In the loops, the violation of a set T of measure t is F(t) + r q_T' Z q_T for the right-hand side
F(t) of its cut. F is tabulated at multiples of a step, and -inf for sets that need no split.

**Capacity cliques.** If a set can fill only some clusters, two of more blocks than that share one.
Let g(t) be at least the number of clusters that a set T of t points can fill, in parts; and w the
largest size. A list J of p > g(t) blocks, the leaves, has

    sum of Z_ij over i in T, j in J <= g(t) + w (p - g(t)) sum of Z_jl over j < l in J.

If no two leaves share a cluster, the left-hand side counts each cluster at most once. Otherwise at
least one Z_jl is 1 / w or more. For example, two leaves of a group that is larger than a cluster
cannot both be with most of it and not with each other.

The violation of leaves J is the sum of their rows, R_j = r sum of q_i Z_ij over T, less g, less the
coefficient of shared leaves times the sum of Z_jl over pairs of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.cliques import grown_cliques
from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks
from sdpbb.bounds.sdp.relaxation import Relaxation, SplitTable
from sdpbb.checker.kernel.cuts.capacities import SetMeasure, most_filled
from sdpbb.runtime.arrays import Booleans, Integers, Reals
from sdpbb.runtime.jit import njit

Set = NDArray[np.bool_]
Lacking = tuple[float, Set]
"""The violation of a set, and the set (m,)."""

# Number of rows of Z by whose entries sets grow. Each takes time with the square of the blocks.
_ROWS = 100
# Maximum sets that are improved in a round, the most violated ones.
_IMPROVED = 80
# Maximum cuts per round.
PER_ROUND = 20
# Minimum share of blocks by which two sets of a round differ. Nested sets have similar cuts. With 0
# and 0.03 there are three times as many cuts after the same rounds, and gaps are not smaller.
APART = 0.1
# Minimum violation of a cut, as a share of n / k.
TOLERANCE = 1e-6

# Maximum moves of one block to improve a set. Most sets take less than 20.
_MOVES = 200

CLIQUES = {"point_sets": "point_cliques", "weight_sets": "weight_cliques"}
"""Kinds of capacity cliques on the sets of each kind of capacity cuts."""

# Minimum share of the smaller set by which sets for cliques differ. Similar sets of one group pay
# off, as they have different cliques.
CLIQUES_APART = 0.02
# Maximum cliques of two leaves per block, the most violated ones.
_PARTNERS = 10
# Maximum terms of the cliques of a round, as a multiple of all entries of Z. With three times as
# many, bounds rise as much in an iteration, and iterations take longer.
_TERMS = 1
# Maximum sets per round for cliques.
SETS = 40
# Maximum cliques per block and round.
PER_BLOCK = 6
# Minimum violation of a clique.
CLIQUE_TOLERANCE = 1e-4


def separate_capacities(Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
    """Return the most violated cuts among sets that grow along rows of Z, and are improved."""
    cuts = CutSet.empty()
    for kind, (measure, table) in relaxation.set_limits.items():
        _, improved = split_sets(Z, measure, table)
        least = TOLERANCE * measure.limits.n / measure.limits.k
        violated = [pair for pair in improved if pair[0] > least]
        for T in spread_sets(violated, APART, PER_ROUND):
            cuts = cuts + capacity_cut(kind, measure, T)
    return cuts


def separate_capacity_cliques(Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
    """Return the most violated cliques on such sets, and on their complements."""
    cuts = CutSet.empty()
    for kind, (measure, table) in relaxation.set_limits.items():
        prefixes, improved = split_sets(Z, measure, table)
        sets = spread_sets(prefixes + improved, CLIQUES_APART, SETS)
        cliques = (CapacityClique.of(measure, T) for T in [*sets, *(~T for T in sets)])
        found = [
            (each, *each.violated(Z, relaxation.weights))
            for each in cliques
            if 2 <= each.n_leaves <= measure.limits.k
        ]
        if found:
            cuts = cuts + _farthest(found, CLIQUES[kind], PER_BLOCK * len(Z), _TERMS * Z.size)
    return cuts


def split_sets(
    Z: NDArray[np.float64], measure: SetMeasure, table: SplitTable
) -> tuple[list[Lacking], list[Lacking]]:
    """Return prefixes of rows of Z that have to be split, and the best of them, improved."""
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
    """Return at most `most` sets that differ from each other, the most violated ones.

    A set with more than half of all blocks is replaced by its complement.
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
    """Return whether two sets, and one and the complement of the other, differ by a share."""
    difference = int((first ^ second).sum())
    nearest = min(difference, len(first) - difference)
    return nearest >= max(1.0, least * min(int(first.sum()), int(second.sum())))


def capacity_cut(kind: str, measure: SetMeasure, T: Set) -> CutSet:
    """Return the cut of a set (m,) of whole blocks."""
    blocks = np.flatnonzero(T)
    parts = measure.of_blocks[blocks]
    i, j = np.triu_indices(len(blocks))
    # Floats, as products of units may be more than integers hold.
    products = measure.rate * parts[i].astype(np.float64) * parts[j]
    return CutSet.summed(
        np.zeros(len(i), np.intp),
        blocks[i],
        blocks[j],
        np.where(i == j, -1.0, -2.0) * products,
        measure.sides(np.array([parts.sum()])),
        DefiningBlocks.of_rows(kind, blocks[None], number=parts),
    )


@dataclass(frozen=True, eq=False)
class CapacityClique:
    """Cliques on one set of whole blocks, with the least number of leaves that may bind.

    blocks, parts : (b,) of the set, and r times their measures
    measures : (b,) in whole units
    filled : g, the maximum number of clusters that it fills
    n_leaves : p, the least whole number above g
    shared : w (p - g), the coefficient of pairs of leaves
    """

    blocks: NDArray[np.intp]
    parts: NDArray[np.float64]
    measures: NDArray[np.int64]
    filled: float
    n_leaves: int
    shared: float

    @classmethod
    def of(cls, measure: SetMeasure, T: Set) -> CapacityClique:
        """Return the cliques on a set (m,)."""
        own = measure.of_blocks[T]
        filled = float(most_filled(measure.limits, np.array([own.sum()]))[0])
        n_leaves = int(filled) + 1
        shared = measure.heaviest * (n_leaves - filled)
        parts = measure.rate * own.astype(np.float64)
        return cls(np.flatnonzero(T), parts, own, filled, n_leaves, shared)

    def violated(
        self, Z: NDArray[np.float64], weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return leaves (number, p) of violated cuts, and approximate distances of Y to them.

        With two leaves, the most violated ones of each block; with more, some that grow greedily.
        """
        rows = Z[:, self.blocks] @ self.parts
        side, lengths = self.filled + CLIQUE_TOLERANCE, (self.shared, self.n_leaves - 1)
        if self.n_leaves == 2:
            # Only these blocks may be in a violated pair.
            near = np.flatnonzero(rows > side - rows.max())
            within, all_near = Z[np.ix_(near, near)], np.arange(len(near))
            found, _ = grown_cliques(within, -rows[near], *lengths, _PARTNERS, -side, all_near)
            found = near[found].astype(np.int32)
        else:
            found, _ = grown_cliques(Z, -rows, *lengths, 1, -side, spread_rows(len(Z)))
        leaves = np.unique(np.sort(found, axis=1), axis=0)
        return leaves, self._distances(Z, rows, weights, leaves)

    def _distances(
        self,
        Z: NDArray[np.float64],
        rows: NDArray[np.float64],
        weights: NDArray[np.float64],
        leaves: NDArray[np.int32],
    ) -> NDArray[np.float64]:
        pairs = Z[leaves[:, :, None], leaves[:, None, :]]
        both = pairs.sum((1, 2)) - np.trace(pairs, axis1=1, axis2=2)
        lacking = rows[leaves].sum(1) - self.filled - 0.5 * self.shared * both
        inverse = 1.0 / weights[leaves]
        own = (self.parts**2 / weights[self.blocks]).sum()
        squares = inverse.sum(1) ** 2 - (inverse**2).sum(1)
        norms = 0.5 * own * inverse.sum(1) + 0.25 * self.shared**2 * squares
        return np.asarray(lacking / np.sqrt(norms))

    def cuts(self, kind: str, leaves: NDArray[np.integer]) -> CutSet:
        """Return the cuts of leaves (number, p)."""
        (number, p), n_blocks = leaves.shape, len(self.blocks)
        a, b = np.triu_indices(p, 1)
        of_set = np.tile(self.blocks, (number, 1))
        first = np.hstack([leaves[:, a], np.repeat(of_set, p, axis=1)])
        second = np.hstack([leaves[:, b], np.tile(leaves, (1, n_blocks))])
        coefficient = np.concatenate([np.full(len(a), self.shared), -np.repeat(self.parts, p)])
        members = DefiningBlocks.of_rows(
            kind,
            np.hstack([of_set, leaves]),
            np.repeat([0, 1], [n_blocks, p]),
            np.concatenate([self.measures, np.ones(p, np.int64)]),
        )
        return CutSet.summed(
            np.repeat(np.arange(number), len(coefficient)),
            first.ravel(),
            second.ravel(),
            np.tile(coefficient, number),
            np.full(number, -self.filled),
            members,
        )


def _farthest(
    found: list[tuple[CapacityClique, NDArray[np.int32], NDArray[np.float64]]],
    kind: str,
    most: int,
    most_terms: int,
) -> CutSet:
    """Return the cuts at the greatest distances, at most `most`, with `most_terms` terms.

    found : cliques on a set, the leaves of violated ones, and their distances
    """
    cuts = CutSet.empty()
    counts = [len(leaves) for _, leaves, _ in found]
    distances = np.concatenate([distance for _, _, distance in found])
    terms = np.repeat([each.n_leaves * len(each.blocks) for each, _, _ in found], counts)
    order = np.argsort(-distances, kind="stable")[:most]
    is_chosen = np.zeros(len(distances), bool)
    is_chosen[order[np.cumsum(terms[order]) <= most_terms]] = True
    of_each = np.split(is_chosen, np.cumsum(counts)[:-1])
    for (clique, leaves, _), chosen in zip(found, of_each, strict=True):
        if chosen.any():
            cuts = cuts + clique.cuts(kind, leaves[chosen])
    return cuts


@njit(cache=True)
def best_prefixes(
    Z: Reals, q: Reals, rate: float, sides: Reals, filled: Integers, step: float, rows: Integers
) -> tuple[Reals, NDArray[np.int64], NDArray[np.int64]]:
    """Find the most violated prefixes of the blocks in the order of each row's entries.

    There is one for each whole number of clusters that they fill. Returns their violations and
    lengths, a row for each row, and the order of the blocks of each row.
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
    """Move single blocks in and out of a set while its violation grows; return the violation."""
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
            # A gain must be above rounding.
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
