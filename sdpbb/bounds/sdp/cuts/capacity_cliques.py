"""Capacity cliques: more blocks than clusters that a set of points can fill are not all apart.

Let g(t) be at least the number of clusters that a set T of t points can fill, in parts; and w the
largest size. A list J of p > g(t) blocks, the leaves, has

    sum of Z_ij over i in T, j in J <= g(t) + w (p - g(t)) sum of Z_jl over j < l in J:

where no two leaves share a cluster, the left-hand side counts each cluster once at most; and else
one Z_jl at least is not less than 1 / w. Two leaves of a group that is larger than a cluster, for
one, cannot both be with most of it and not with each other. (With limits on weights:
`sdpbb.checker.kernel.cuts.capacities`.)

What leaves J lack is the sum of their rows, R_j = r sum of q_i Z_ij over T, less g, less the
coefficient of shared leaves times the sum of Z_jl over pairs of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.capacities import Set, split_sets, spread_rows, spread_sets
from sdpbb.bounds.sdp.cuts.cliques import grown_cliques
from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks
from sdpbb.bounds.sdp.cuts.family import CutFamily
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.checker.kernel.cuts.capacities import SetMeasure, most_filled

CLIQUES = {"point_sets": "point_cliques", "weight_sets": "weight_cliques"}
"""Capacity cliques on the sets of each family of capacity cuts."""

# Sets whose cliques are looked for differ by this share of the smaller one. Those of one group that
# differ little are worth having: each has cliques of its own.
APART = 0.02
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
TOLERANCE = 1e-4


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
            sets = spread_sets(prefixes + improved, APART, SETS)
            cliques = (CapacityClique.of(measure, T) for T in [*sets, *(~T for T in sets)])
            found = [
                (each, *each.violated(Z, relaxation.weights))
                for each in cliques
                if 2 <= each.n_leaves <= measure.limits.k
            ]
            if found:
                cuts = cuts + _farthest(found, family, PER_BLOCK * len(Z), _TERMS * Z.size)
        return cuts


@dataclass(frozen=True, eq=False)
class CapacityClique:
    """Cliques on one set of whole blocks, as many leaves as make it binding.

    blocks, parts : (b,) of the set, and r times their measures
    measures : (b,) in whole units
    filled : g, the clusters that it fills at most
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
        """Return leaves (number, p) of violated cuts, and about the distances of Y to them.

        Of two leaves, the most violated ones of each block; of more, some that grow greedily.
        """
        rows = Z[:, self.blocks] @ self.parts
        side, lengths = self.filled + TOLERANCE, (self.shared, self.n_leaves - 1)
        if self.n_leaves == 2:
            # No block of a violated pair has less of the set.
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

    def cuts(self, family: str, leaves: NDArray[np.integer]) -> CutSet:
        """Return the cuts of leaves (number, p) on a set of a family of capacity cuts."""
        (number, p), n_blocks = leaves.shape, len(self.blocks)
        a, b = np.triu_indices(p, 1)
        of_set = np.tile(np.repeat(self.blocks, p), (number, 1))
        first = np.hstack([leaves[:, a], of_set])
        second = np.hstack([leaves[:, b], np.tile(leaves, (1, n_blocks))])
        coefficient = np.concatenate([np.full(len(a), self.shared), -np.repeat(self.parts, p)])
        members = DefiningBlocks.uniform(CLIQUES[family], leaves)
        return CutSet.summed(
            np.repeat(np.arange(number), len(coefficient)),
            first.ravel(),
            second.ravel(),
            np.tile(coefficient, number),
            np.full(number, -self.filled),
            members.with_parts(self.blocks, self.measures),
        )


def _farthest(
    found: list[tuple[CapacityClique, NDArray[np.int32], NDArray[np.float64]]],
    family: str,
    most: int,
    most_terms: int,
) -> CutSet:
    """Return the cuts at the greatest distances, at most `most`, with `most_terms` terms.

    found : cliques on a set, the leaves of violated ones, and the distances to these
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
            cuts = cuts + clique.cuts(family, leaves[chosen])
    return cuts
