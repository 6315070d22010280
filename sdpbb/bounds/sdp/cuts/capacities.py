"""Capacity cuts: clusters of limited sizes have to split a set of points that they cannot fill.

For any set T of t points that weigh 1, with t_C of them in a cluster C of s_C points,

    sum of Z_ij over i in T, j outside = sum of t_C (s_C - t_C) / s_C over the clusters >= f(t),

f(t) being the least that k clusters within the limits can come to (`sdpbb.checker.splits`). With
equal sizes s it is r (s - r) / s for the remainder r of t divided by s. As rows of Z add up to 1,

    sum of Z_ij over i and j in T <= t - f(t),

which has the fewer terms. Limits on weights, and on the points of clusters where points have
weights, are in `sdpbb.checker.cuts.capacities`. The cut of the complement of T says the same as
that of T.

Pairs, triangles and limits on single entries of Z do not see that a group of 111 near points cannot
be a cluster of 106. Where limits bind, gaps of 5 and 60 percent come down to a tenth of a percent
(docs/sizes.md). The inequality is the rounded capacity inequality of vehicle routing in this cone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sdpbb.archive.stored import stored
from sdpbb.bounds.sdp.cuts.cut_set import CutSet, DefiningBlocks
from sdpbb.bounds.sdp.cuts.family import CutFamily
from sdpbb.checker.cuts.capacities import PointCapacities, SetMeasure, WeightCapacities
from sdpbb.checker.cuts.family import CheckedCuts
from sdpbb.declaration import parameter

if TYPE_CHECKING:
    from sdpbb.bounds.sdp.relaxation import Relaxation, SplitTable

Sets = list[NDArray[np.bool_]]

# Sets of so many times the cuts of a round are improved, the best ones.
_CANDIDATES = 4


@stored
@dataclass(frozen=True)
class CapacityCuts(CutFamily):
    """Capacity cuts: sets of blocks that clusters of limited sizes have to split."""

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
    tolerance: float = parameter(
        1e-6, "Minimum violation of a cut, as a share of n / k.", ge=0, lt=1
    )

    def separate(self, Z: NDArray[np.float64], relaxation: Relaxation) -> CutSet:
        """Return the most violated cuts among sets that grow along rows of Z, and are improved."""
        cuts = CutSet.empty()
        for family in (PointCapacities, WeightCapacities):
            measure, table = relaxation.measures[family], relaxation.split_tables[family]
            if measure is not None and table is not None and self.per_round > 0:
                for T in self._violated_sets(Z, measure, table):
                    cuts = cuts + capacity_cut(family, measure, T)
        return cuts

    def _violated_sets(
        self, Z: NDArray[np.float64], measure: SetMeasure, table: SplitTable
    ) -> Sets:
        """Return sets (m,) whose cuts are violated, the most violated first."""
        from sdpbb.bounds.sdp.cuts.capacity_kernels import best_prefixes, improve_set

        sides, step = table
        m, q = len(Z), measure.of_blocks.astype(np.float64)
        rows = np.unique(np.linspace(0, m - 1, min(m, self.rows)).astype(np.int64))
        lacking, lengths, orders = best_prefixes(Z, q, measure.rate, sides, step, rows)
        least = self.tolerance * measure.limits.n / measure.limits.k
        found = []
        for a in np.argsort(-lacking, kind="stable")[: _CANDIDATES * self.per_round]:
            if not lacking[a] > least:
                break
            T = np.zeros(m, bool)
            T[orders[a, : lengths[a]]] = True
            found.append((improve_set(Z, q, measure.rate, sides, step, T), T))
        found.sort(key=lambda pair: -pair[0])
        chosen: Sets = []
        for _, T in found:
            T = T if 2 * T.sum() <= m else ~T  # the side that has the fewer terms
            if T.sum() > 1 and all(_differ(T, other, self.apart) for other in chosen):
                chosen.append(T)
        return chosen[: self.per_round]


def _differ(first: NDArray[np.bool_], second: NDArray[np.bool_], least: float) -> bool:
    """Return whether two sets, or one and the complement of the other, differ by such a share."""
    difference = int((first ^ second).sum())
    nearest = min(difference, len(first) - difference)
    return nearest >= max(1.0, least * min(int(first.sum()), int(second.sum())))


def capacity_cut(family: type[CheckedCuts], measure: SetMeasure, T: NDArray[np.bool_]) -> CutSet:
    """Return the cut of a set (m,) of whole blocks."""
    blocks = np.flatnonzero(T)
    parts = measure.of_blocks[blocks]
    i, j = np.triu_indices(len(blocks))
    # Floats, as products of units may be more than integers hold.
    products = measure.rate * parts[i].astype(np.float64) * parts[j]
    rows = np.column_stack([np.zeros(len(blocks), np.int64), blocks, parts])
    members = DefiningBlocks.uniform(family, np.empty((1, 0), np.int32))
    return CutSet(
        start=np.array([0, len(i)], np.int64),
        row=blocks[i].astype(np.int32),
        column=blocks[j].astype(np.int32),
        coefficient=np.where(i == j, -1.0, -2.0) * products,
        rhs=measure.sides(np.array([parts.sum()])),
        members=replace(members, part_start=np.array([0, len(blocks)], np.int64), parts=rows),
    )
