"""Capacity cliques: more blocks than clusters that a set of points can fill.

Let T be a set of t points that weigh 1, in clusters of limited sizes; g(t) at least the number of
clusters that T can fill, in parts; and w the largest size. A list J of p > g(t) blocks, the leaves,
has

    sum of Z_ij over i in T, j in J <= g(t) + w (p - g(t)) sum of Z_jl over j < l in J:

where no two leaves share a cluster, the left-hand side counts each cluster once at most; and else
one Z_jl at least is not less than 1 / w. Two leaves of a group that is larger than a cluster, for
one, cannot both be with most of it and not with each other.

With measures other than points: `sdpbb.checker.kernel.cuts.capacities`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.cuts.capacities import split_sets, spread_rows, spread_sets
from sdpbb.bounds.sdp.cuts.capacity_kernels import clique_terms, grown_cliques, violated_pairs
from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks
from sdpbb.bounds.sdp.cuts.family import CutFamily
from sdpbb.checker.kernel.cuts.capacities import SetMeasure
from sdpbb.checker.kernel.splits import most_filled

if TYPE_CHECKING:
    from sdpbb.bounds.sdp.relaxation import Relaxation

CLIQUES = {"point_sets": "point_cliques", "weight_sets": "weight_cliques"}
"""Capacity cliques on the sets of each family of capacity cuts."""

# Sets whose cliques are looked for differ by this share of the smaller one. Those of one group that
# differ little are worth having: each has cliques of its own.
_APART = 0.02
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
            sets = spread_sets(prefixes + improved, _APART, SETS)
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
            rows, side, shared = clique.rows(Z), clique.filled + TOLERANCE, clique.shared
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
