"""Capacity cuts: clusters of limited sizes have to split a set of points that they cannot fill.

For any set T of t points that weigh 1, with t_C of them in a cluster C of s_C points,

    sum of Z_ij over i in T, j outside = sum of t_C (s_C - t_C) / s_C over the clusters >= f(t),

f(t) being the least that k clusters within the limits can come to (`sdpbb.checker.splits`). With
equal sizes s it is r (s - r) / s for the remainder r of t divided by s. As rows of Z add up to 1,

    sum of Z_ij over i and j in T <= t - f(t),

which has the fewer terms. The cut of the complement of T says the same as that of T. It is the
rounded capacity inequality of vehicle routing in this cone.

Nothing in it says which points of T are apart. With g(t) at least the number of clusters that T can
fill, in parts, and w the largest size, a list J of p > g(t) blocks, the leaves, has

    sum of Z_ij over i in T, j in J <= g(t) + w (p - g(t)) sum of Z_jl over j < l in J:

where no two leaves share a cluster, the left-hand side counts each cluster once at most; and else
one Z_jl at least is not less than 1 / w. Two leaves of a group that is larger than a cluster, for
one, cannot both be with most of it and not with each other. These are capacity cliques.

Limits on weights, and on the points of clusters where points have weights, are in
`sdpbb.checker.cuts.capacities` and `capacity_cliques`. Pairs, triangles and limits on single
entries of Z do not see that a group of 111 near points cannot be a cluster of 106. Where limits
bind, gaps of 5 and 60 percent come down to a percent by sets, and to a tenth or nothing by cliques
(docs/relaxation.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdpbb.archive.stored import stored
from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks
from sdpbb.bounds.sdp.cuts.family import CutFamily
from sdpbb.checker.cuts.capacities import PointCapacities, SetMeasure, WeightCapacities
from sdpbb.checker.cuts.capacity_cliques import PointCapacityCliques, WeightCapacityCliques
from sdpbb.checker.cuts.family import CheckedCuts
from sdpbb.checker.splits import most_filled
from sdpbb.declaration import parameter

if TYPE_CHECKING:
    from sdpbb.bounds.sdp.relaxation import Relaxation, SplitTable

Set = NDArray[np.bool_]
Lacking = tuple[float, Set]
"""A set (m,) and what it lacks."""

CLIQUES: dict[type[CheckedCuts], type[CheckedCuts]] = {
    PointCapacities: PointCapacityCliques,
    WeightCapacities: WeightCapacityCliques,
}
"""Capacity cliques on the sets of each family of capacity cuts."""

# Sets of so many times the cuts of a round are improved, the best ones.
_CANDIDATES = 4
# Sets whose cliques are looked for differ by this share of the smaller one. Those of one group that
# differ little are worth having: each has cliques of its own.
_CLIQUES_APART = 0.02
# Pairs of each block that are taken as cliques of two leaves, the most violated ones.
_PARTNERS = 10
# Terms of the cliques of a round, as a multiple of all entries of Z. With three times as many,
# bounds rise as much in an iteration, and fewer iterations are done in the same time.
_TERMS = 1


@stored
@dataclass(frozen=True)
class CapacityCuts(CutFamily):
    """Capacity cuts and capacity cliques: sets of blocks that clusters of limited sizes split."""

    per_round: int = parameter(20, "Maximum cuts per round. 0: none.", ge=0)
    rows: int = parameter(
        100,
        "Rows of Z in whose order of entries sets grow, evenly spread.",
        reason="Time grows with the square of the number of blocks for each.",
        ge=1,
    )
    apart: float = parameter(
        0.1,
        "Minimum share of blocks by which two sets of a round differ.",
        reason="Nested sets say nearly the same. With 0 and 0.03, cuts are three times as many "
        "after as many rounds, and gaps no smaller.",
        ge=0,
        lt=1,
    )
    clique_sets: int = parameter(40, "Maximum sets per round whose cliques are looked for.", ge=0)
    cliques_per_block: int = parameter(6, "Maximum cliques per block and round. 0: none.", ge=0)
    tolerance: float = parameter(
        1e-6, "Minimum violation of a cut, as a share of n / k.", ge=0, lt=1
    )
    clique_tolerance: float = parameter(1e-4, "Minimum violation of a clique.", ge=0, lt=1)

    def separate(self, Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
        """Return the most violated cuts among sets that grow along rows of Z, and are improved."""
        cuts = CutSet.empty()
        for family in (PointCapacities, WeightCapacities):
            measure, table = relaxation.measures[family], relaxation.split_tables[family]
            if measure is None or table is None:
                continue
            prefixes, improved = self._split_sets(Z, measure, table)
            least = self.tolerance * measure.limits.n / measure.limits.k
            violated = [pair for pair in improved if pair[0] > least]
            for T in _spread(violated, self.apart, self.per_round):
                cuts = cuts + capacity_cut(family, measure, T)
            some = _spread(prefixes + improved, _CLIQUES_APART, self.clique_sets)
            cuts = cuts + self._cliques(Z, relaxation.weights, family, measure, some)
        return cuts

    def _split_sets(
        self, Z: NDArray[np.float64], measure: SetMeasure, table: SplitTable
    ) -> tuple[list[Lacking], list[Lacking]]:
        """Return prefixes of rows of Z that are split, and the best of them, improved."""
        from sdpbb.bounds.sdp.cuts.capacity_kernels import best_prefixes, improve_set

        step, sides, filled = table
        m, q, rows = len(Z), measure.of_blocks.astype(np.float64), self._spread_rows(len(Z))
        lacking, lengths, orders = best_prefixes(Z, q, measure.rate, sides, filled, step, rows)
        prefixes = []
        for place in np.argsort(-lacking, axis=None, kind="stable").tolist():
            a, kind = divmod(place, lacking.shape[1])
            T = np.zeros(m, bool)
            T[orders[a, : lengths[a, kind]]] = True
            if T.any():
                prefixes.append((float(lacking[a, kind]), T))
        improved = []
        for _, T in prefixes[: _CANDIDATES * self.per_round]:
            own = T.copy()
            improved.append((improve_set(Z, q, measure.rate, sides, step, own), own))
        return prefixes, improved

    def _spread_rows(self, m: int) -> NDArray[np.int64]:
        """Return `rows` of m rows, or all."""
        return np.unique(np.linspace(0, m - 1, min(m, self.rows)).astype(np.int64))

    def _cliques(
        self,
        Z: NDArray[np.float64],
        weights: NDArray[np.float64],
        family: type[CheckedCuts],
        measure: SetMeasure,
        sets: list[Set],
    ) -> CutSet:
        """Return the most violated cliques of these sets and of their complements."""
        from sdpbb.bounds.sdp.cuts.capacity_kernels import grown_cliques, violated_pairs

        m, k, starts, found = len(Z), measure.limits.k, self._spread_rows(len(Z)), []
        for T in [*sets, *(~T for T in sets)] if self.cliques_per_block > 0 else []:
            clique = CapacityClique.of(measure, T)
            if not 2 <= clique.n_leaves <= k:
                continue
            rows, tolerance = clique.rows(Z), self.clique_tolerance
            side, shared = clique.filled + tolerance, clique.shared
            if clique.n_leaves == 2:
                leaves = violated_pairs(Z, rows, side, shared, _PARTNERS)
            else:
                leaves = grown_cliques(Z, rows, side, shared, starts, clique.n_leaves)
            leaves = np.unique(leaves, axis=0)
            found.append((clique, leaves, clique.distances(Z, rows, weights, leaves)))
        return _farthest(found, family, self.cliques_per_block * m, _TERMS * m * m)


def _spread(sets: list[Lacking], apart: float, most: int) -> list[Set]:
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


def capacity_cut(family: type[CheckedCuts], measure: SetMeasure, T: Set) -> CutSet:
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
    def of(cls, measure: SetMeasure, T: Set) -> CapacityClique:
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

    def cuts(self, family: type[CheckedCuts], leaves: NDArray[np.int64]) -> CutSet:
        """Return the cuts of leaves (number, p), each row in ascending order."""
        from sdpbb.bounds.sdp.cuts.capacity_kernels import clique_terms

        row, column, coefficient, start = clique_terms(
            leaves, self.blocks, self.rate * self.parts.astype(np.float64), self.shared
        )
        members = DefiningBlocks.uniform(CLIQUES[family], leaves)
        rhs = np.full(len(leaves), -self.filled)
        return CutSet(
            start, row, column, coefficient, rhs, members.with_parts(self.blocks, self.parts)
        )


def _farthest(
    found: list[tuple[CapacityClique, NDArray[np.int64], NDArray[np.float64]]],
    family: type[CheckedCuts],
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
