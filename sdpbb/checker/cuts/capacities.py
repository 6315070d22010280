"""Capacity cuts: clusters of limited sizes have to split a set of points that they cannot fill.

Let q(C) be the measure of a cluster C, a whole number: its points, or its units of weight. For a
set T with the part q_i of each block i, 0 <= q_i <= what block i measures, let t be the sum of the
q_i, f(t) the least split of such sets (`splits`), and r > 0 at most the weight of every block over
its measure. Then

    - r sum of q_i q_j Z_ij over all i and j >= f(t) - t.

With x_C the part of T in the cluster C, the sum is that of r x_C^2 / |C| over the clusters, and
|C| >= r q(C). So it is at most the sum of x_C^2 / q(C) = x_C - x_C (q(C) - x_C) / q(C), which is
t less a split of T.

That is the rounded capacity inequality of vehicle routing in the cone of clustering matrices: where
points weigh 1, Z 1 = 1, and the left-hand side plus t is the sum of Z_ij over i in T, j outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import down
from ..fields import ArrayKey
from ..rejection import Rejected
from ..sizes import SizeLimits
from ..splits import least_splits
from ..weight_bounds import WeightBounds
from .family import (
    BlockLists,
    ClusterLimits,
    CutsOnLists,
    Marks,
    Reals,
    TermSums,
    require_blocks,
    require_lists,
)

# Products of a set's blocks in all cuts, at most: their sums take seconds.
_PRODUCTS = 2**33


class SetMeasure(NamedTuple):
    """Measure of blocks, and limits on that of clusters.

    of_blocks : (m,) whole numbers
    rate : r > 0, at most the weight of each block over its measure
    heaviest : at least the weight of every cluster
    """

    of_blocks: NDArray[np.int64]
    limits: SizeLimits
    rate: float
    heaviest: float

    def sides(self, parts: NDArray[np.int64]) -> Reals:
        """Return f(t) - t of sets of measures t, (number,), rounded down."""
        return np.nextafter(least_splits(self.limits, parts) - parts, -np.inf)


def set_keys(name: str) -> tuple[ArrayKey, ...]:
    """Return the keys of the sets of a family, in the order of the fields of `CutsOnSets`."""
    return (
        ArrayKey(f"{name}_start", ("<i8",)),
        ArrayKey(f"{name}_blocks", ("<i4",)),
        ArrayKey(f"{name}_parts", ("<i8",)),
    )


@dataclass(frozen=True, eq=False)
class CutsOnSets(CutsOnLists):
    """Cuts on sets of blocks, or of parts of them, that clusters of limited sizes hold parts of.

    The set of cut c has the blocks from start[c] on.

    parts : (number of entries,) int64 q_i > 0 of each entry of `blocks`
    """

    parts: NDArray[np.int64]

    @classmethod
    def none(cls, k: int) -> Self:
        return cls(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.int64))

    @classmethod
    def of_lists(cls, lists: BlockLists, k: int) -> Self:
        _, blocks, parts = lists.parts.T
        return cls(lists.part_start, blocks.astype(np.int32), parts)

    @staticmethod
    def measure(limits: ClusterLimits | None, weights: Reals) -> SetMeasure | None:
        """Return what the cuts measure blocks of weights (m,) by; None without such limits."""
        raise NotImplementedError

    def check(self, k: int, weights: Reals, adjacency: Marks, limits: ClusterLimits | None) -> None:
        start, blocks, parts = self.start, self.blocks, self.parts
        require_lists(start, blocks.shape, "capacity cuts")
        if parts.shape != blocks.shape:
            raise Rejected("capacity cuts do not have a part of each of their blocks")
        require_blocks(blocks, len(weights))
        if (np.diff(blocks) <= 0)[np.diff(self._owner) == 0].any():
            raise Rejected("the blocks of a capacity cut are not in ascending order")
        if not len(self):
            return
        measure = self.measure(limits, weights)
        if measure is None or measure.limits.is_empty:
            raise Rejected("a capacity cut on what is not limited")
        if (parts < 1).any() or (parts > measure.of_blocks[blocks]).any():
            raise Rejected("a capacity cut on more of a block than there is")

    def known_measure(self, limits: ClusterLimits | None, weights: Reals) -> SetMeasure:
        """Return the measure of cuts that are checked."""
        measure = self.measure(limits, weights)
        assert measure is not None
        return measure

    @property
    def set_measures(self) -> NDArray[np.int64]:
        """Measure t of the set of each cut."""
        sums = np.concatenate([[0], np.cumsum(self.parts)])
        return np.asarray(sums[self.start[1:]] - sums[self.start[:-1]], np.int64)

    @property
    def _owner(self) -> NDArray[np.intp]:
        """Cut of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))


class OfPoints:
    """Cuts for limits on the points of clusters."""

    @staticmethod
    def measure(limits: ClusterLimits | None, weights: Reals) -> SetMeasure | None:
        """Return the points of blocks of weights (m,)."""
        if not isinstance(limits, WeightBounds):
            whole = weights.astype(np.int64)
            return None if limits is None else SetMeasure(whole, limits, 1.0, float(limits.most))
        sizes = limits.sizes
        return None if sizes is None else _measure_of(sizes.counts, sizes.limits, weights, limits)


class OfUnits:
    """Cuts for limits on the units of weight of clusters."""

    @staticmethod
    def measure(limits: ClusterLimits | None, weights: Reals) -> SetMeasure | None:
        """Return the units of blocks of weights (m,)."""
        if not isinstance(limits, WeightBounds) or limits.units is None:
            return None
        return _measure_of(limits.units.units, limits.units.limits, weights, limits)


def _measure_of(
    of_blocks: NDArray[np.integer], limits: SizeLimits, weights: Reals, bounds: WeightBounds
) -> SetMeasure:
    """Return a measure of blocks of weights (m,)."""
    measure = of_blocks.astype(np.int64)
    return SetMeasure(measure, limits, down(float((weights / measure).min())), bounds.most)


@dataclass(frozen=True, eq=False)
class _Capacities(CutsOnSets):
    """Capacity cuts."""

    def check(self, k: int, weights: Reals, adjacency: Marks, limits: ClusterLimits | None) -> None:
        if len(self) * len(weights) ** 2 > _PRODUCTS:
            raise Rejected(f"capacity cuts have more than {_PRODUCTS} products of blocks")
        super().check(k, weights, adjacency, limits)

    def add_to(self, sums: TermSums, t: Reals, weights: Reals, adjacency: Marks) -> None:
        if not len(self):
            return
        rate = self.known_measure(sums.limits, weights).rate
        q = np.zeros((len(self), sums.m))
        q[self._owner, self.blocks] = self.parts
        # Each term is rounded four times at most, as sums of 3 terms are.
        sums.add_matrices(-(q.T * (rate * t)) @ q, 3.0 * ((q > 0.0).T.astype(float) @ (q > 0.0)))

    def sides_within(self, t: Reals, weights: Reals, k: int, limits: ClusterLimits) -> list[float]:
        if not len(self):
            return []
        sides = self.known_measure(limits, weights).sides(self.set_measures)
        return [down(value * side) for value, side in zip(t.tolist(), sides.tolist(), strict=True)]


@dataclass(frozen=True, eq=False)
class PointCapacities(OfPoints, _Capacities):
    """Capacity cuts for limits on the points of clusters."""

    KEYS: ClassVar = set_keys("point_set")


@dataclass(frozen=True, eq=False)
class WeightCapacities(OfUnits, _Capacities):
    """Capacity cuts for limits on the units of weight of clusters."""

    KEYS: ClassVar = set_keys("weight_set")
