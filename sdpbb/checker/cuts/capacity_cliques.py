"""Capacity cliques: more blocks than clusters that a set can fill.

Let q(C) be the measure of a cluster C, T a set with the parts q_i of blocks, t their sum, and r a
rate, as in `capacities`; g at least the number of clusters that T can fill, in parts (`splits`);
and w at least the weight of every cluster. For a list J of p > g blocks, the leaves,

    w (p - g) sum of Z_jl over j < l in J - r sum of q_i Z_ij over i and j in J >= -g.

With x_C the part of T in the cluster C, r x_C / |C| is at most x_C / q(C), the share of C that T
fills. If no two leaves share a cluster, the second sum counts each cluster once at most, and is not
above g. If two do, the second sum is at most p, and the first at least w (p - g) / w.

Leaves may occur more than once: then they share a cluster with themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import down
from ..fields import ArrayKey
from ..rejection import Rejected
from ..splits import most_filled
from .capacities import CutsOnSets, OfPoints, OfUnits, set_keys
from .family import (
    AnyIntegers,
    BlockLists,
    ClusterLimits,
    Marks,
    Reals,
    TermSums,
    list_products,
    require_blocks,
    require_lists,
)

# Times that a term is rounded, at most: that of a pair of leaves, w (p - g) t, is the longest one.
_ROUNDINGS = 3.0


@dataclass(frozen=True, eq=False)
class _CapacityCliques(CutsOnSets):
    """Capacity cliques.

    leaf_start : (number + 1,) int64
    leaves : those of cut c are leaves[leaf_start[c] : leaf_start[c + 1]], two at least
    """

    leaf_start: NDArray[np.int64]
    leaves: NDArray[np.int32]

    @classmethod
    def none(cls, k: int) -> Self:
        start, blocks = np.zeros(1, np.int64), np.empty(0, np.int32)
        return cls(start, blocks, np.empty(0, np.int64), start, blocks)

    @classmethod
    def of_lists(cls, lists: BlockLists, k: int) -> Self:
        _, blocks, parts = lists.parts.T
        return cls(lists.part_start, blocks.astype(np.int32), parts, lists.start, lists.blocks)

    def check(self, k: int, weights: Reals, adjacency: Marks, limits: ClusterLimits | None) -> None:
        super().check(k, weights, adjacency, limits)
        start, leaves = self.leaf_start, self.leaves
        require_lists(start, leaves.shape, "leaves", len(self))
        require_blocks(leaves, len(weights))
        if not len(self):
            return
        if (np.diff(start) < 2).any():
            raise Rejected("a capacity clique of less than two leaves")
        if (np.diff(start) < self._filled(limits, weights)).any():
            raise Rejected("a capacity clique has no more leaves than clusters that are filled")

    @property
    def n_products(self) -> int:
        lengths = np.diff(self.leaf_start)
        return int((lengths * (lengths + np.diff(self.start))).sum())

    def _filled(self, limits: ClusterLimits | None, weights: Reals) -> Reals:
        """Return the number g of clusters that the set of each cut can fill."""
        return most_filled(self.known_measure(limits, weights).limits, self.set_measures)

    def add_to(self, sums: TermSums, t: Reals, weights: Reals, adjacency: Marks) -> None:
        if not len(self):
            return
        measure = self.known_measure(sums.limits, weights)
        shared = np.diff(self.leaf_start) - self._filled(sums.limits, weights)
        shared *= measure.heaviest * t
        for cut, first, second in list_products(self.leaf_start, self.leaf_start):
            pair = first < second
            self._add(sums, first[pair], self.leaves[second[pair]], shared[cut[pair]])
        for cut, leaf, entry in list_products(self.leaf_start, self.start):
            values = -measure.rate * self.parts[entry] * t[cut]
            self._add(sums, leaf, self.blocks[entry], values)

    def _add(self, sums: TermSums, leaf: AnyIntegers, block: AnyIntegers, values: Reals) -> None:
        """Add terms of leaves, by their positions, and blocks."""
        i = self.leaves[leaf]
        sums.add(i, block, np.where(i == block, values, 0.5 * values), _ROUNDINGS)

    def sides_within(self, t: Reals, weights: Reals, k: int, limits: ClusterLimits) -> list[float]:
        if not len(self):
            return []
        filled = self._filled(limits, weights).tolist()
        return [down(-value * g) for value, g in zip(t.tolist(), filled, strict=True)]


def _clique_keys(name: str) -> tuple[ArrayKey, ...]:
    leaves = ArrayKey(f"{name}_leaf_start", ("<i8",)), ArrayKey(f"{name}_leaves", ("<i4",))
    return (*set_keys(name), *leaves)


@dataclass(frozen=True, eq=False)
class PointCapacityCliques(OfPoints, _CapacityCliques):
    """Capacity cliques for limits on the points of clusters."""

    KEYS: ClassVar = _clique_keys("point_clique")


@dataclass(frozen=True, eq=False)
class WeightCapacityCliques(OfUnits, _CapacityCliques):
    """Capacity cliques for limits on the units of weight of clusters."""

    KEYS: ClassVar = _clique_keys("weight_clique")
