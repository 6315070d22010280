"""Quantities of clusters: sums over points, and pairs of points, with limits on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpbb.checker.kernel.sizes import LARGEST_SUM, SizeLimits
from sdpbb.errors import InstanceError
from sdpbb.problem.graph import distinct_edges

POINTS, WEIGHT, CLASSES, LEAST = "points", "weight", "sizes of classes", "least amount"
"""Names of quantities: sizes and weights of clusters, sizes of known classes, least amounts."""

NO_PAIRS = np.empty((0, 2), np.intp)


@dataclass(frozen=True, eq=False)
class Quantity:
    """Quantity of clusters, and limits on it.

    A set X of points, or of blocks, holds

        q(X) = sum_{i in X} linear_i + (number of the pairs inside X).

    All numbers are integers below 2^53, so that sums are exact.

    Attributes
    ----------
    linear : (m,) int64 >= 0
    limits : limits on the quantity of each of k clusters
    name : POINTS, WEIGHT, CLASSES or LEAST, of which every point has some; "" for others, which
        have no least
    pairs : (q, 2) i < j; a repeated pair counts repeatedly
    """

    linear: NDArray[np.int64]
    limits: SizeLimits
    name: str = ""
    pairs: NDArray[np.intp] = field(default_factory=lambda: NO_PAIRS)

    @classmethod
    def at_most(
        cls, most: int, linear: ArrayLike, k: int, pairs: NDArray[np.intp] = NO_PAIRS
    ) -> Quantity:
        """Return a quantity with the limit that each of k clusters holds at most `most`."""
        amounts = np.asarray(linear, np.int64)
        return cls(amounts, SizeLimits(int(amounts.sum()), k, 0, most), pairs=pairs)

    @classmethod
    def at_least(cls, least: int, linear: ArrayLike, k: int) -> Quantity:
        """Return a quantity with the limit that each of k clusters holds at least `least`.

        Each of the n points counts 1 plus 2 n times its amount, so that every point has some. A
        cluster that satisfies the limit holds at least 2 n least + 1; any other cluster holds at
        least n + 1 less.

        Raises
        ------
        InstanceError
            If sums of the amounts, times 2 n, are too large to be exact.
        """
        scale = 2 * np.size(linear)
        total, largest = sum(map(int, np.asarray(linear).flat)), LARGEST_SUM // (scale + 1)
        if total > largest:
            raise InstanceError(f"amounts add up to {total}; expected at most {largest}")
        amounts = 1 + scale * np.asarray(linear, np.int64)
        total, least = int(amounts.sum()), scale * least + 1
        most = max(total - (k - 1) * least, least)  # the others hold at least (k - 1) least
        return cls(amounts, SizeLimits(total, k, least, most), LEAST)

    def over(self, block_of: NDArray[np.intp]) -> Quantity:
        """Return the quantity over blocks; block_of (n,) in 0..m-1 is the block of each point."""
        linear = _sums(self.linear, block_of)
        pairs = np.sort(block_of[self.pairs], axis=1)
        inside = pairs[:, 0] == pairs[:, 1]
        linear += np.bincount(pairs[inside, 0], minlength=len(linear))
        return replace(self, linear=linear, pairs=pairs[~inside])

    def can_exceed(self, cannot_link: NDArray[np.intp] = NO_PAIRS) -> bool:
        """Return whether all points together exceed the upper limit of a cluster.

        Cannot-linked pairs are never inside a cluster, and do not count.
        """
        m = len(self.linear)
        counted = ~np.isin(self.pairs @ [m, 1], cannot_link @ [m, 1])
        return int(self.linear.sum()) + int(counted.sum()) > self.limits.most

    @property
    def has_all_points(self) -> bool:
        """True if every point has some of the quantity."""
        return self.name != ""

    @property
    def is_size_or_weight(self) -> bool:
        """True for points and weights of clusters, and for sizes of known classes."""
        return self.name in (POINTS, WEIGHT, CLASSES)

    @property
    def bounds(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The least (k,) and the most (k,) of each cluster; listed limits keep their order."""
        least, most = np.array(self.limits.bounds(), np.intp).T
        return least, most

    @property
    def is_two_sided(self) -> bool:
        """True if a part of an allowed cluster may hold too little, or not a listed size.

        Limits that follow from the upper limit are one-sided: k clusters satisfy them if none
        exceeds it.
        """
        return not self.limits.follow_from_most

    def allows_set(self, members: NDArray[np.intp]) -> bool:
        """Return whether a set of points (s,) is within the limits of a cluster."""
        held = int(self.linear[members].sum())
        if len(self.pairs):
            held += int(np.isin(self.pairs, members).all(axis=1).sum())
        return self.limits.least <= held <= self.limits.most

    def allows(self, members: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which sets (t, m) are within the limits, (t,); pairs do not count."""
        sums = (members.astype(np.float64) @ self.linear.astype(np.float64))[:, None]
        ranges = self.limits.ranges()
        return np.asarray(((ranges[:, 0] <= sums) & (sums <= ranges[:, 1])).any(axis=1))

    def is_satisfied(self, labels: NDArray[np.intp]) -> bool:
        """Return whether the clusters of labels (m,) are within the limits; pairs do not count."""
        sums = _sums(self.linear, labels)
        return self.limits.keeps(sums[np.bincount(labels) > 0])


@dataclass(frozen=True, eq=False)
class UpperLimits:
    """Upper limits of quantities over m blocks, as arrays.

    A set X of blocks is within limit b if

        sum_{i in X} linear_bi + sum_{i < j in X} pairs_bij <= most_b.

    Attributes
    ----------
    linear : (p, m) >= 0
    between : (q, 3) a limit b and blocks i < j for each pair that b counts: pairs_bij is the number
        of these rows
    most : (p,)
    """

    linear: NDArray[np.float64]
    between: NDArray[np.intp]
    most: NDArray[np.float64]

    @classmethod
    def of(
        cls, quantities: Sequence[Quantity], m: int, cannot_link: NDArray[np.intp] = NO_PAIRS
    ) -> UpperLimits:
        """Return the limits that a set of m blocks without cannot-links (q, 2) may exceed.

        Limits of two-sided quantities are always among them, and come first: searches count on it.
        """
        limited = [each for each in quantities if each.is_two_sided or each.can_exceed(cannot_link)]
        limited.sort(key=lambda each: not each.is_two_sided)
        linear, between = np.zeros((len(limited), m)), [np.empty((0, 3), np.intp)]
        for b, quantity in enumerate(limited):
            linear[b] = quantity.linear
            between.append(np.insert(quantity.pairs, 0, b, axis=1))
        most = np.array([each.limits.most for each in limited], np.float64)
        return cls(linear, np.concatenate(between), most)

    def __len__(self) -> int:
        """Return the number p of limits."""
        return len(self.most)

    @property
    def n_matrices(self) -> int:
        """Number of matrices in `pairs`."""
        return len(self) if len(self.between) else 0

    @cached_property
    def pairs(self) -> NDArray[np.float64]:
        """Pairs as matrices (p, m, m), symmetric, zero diagonal; (0, m, m) if none are counted."""
        m = self.linear.shape[1]
        matrices = np.zeros((self.n_matrices, m, m))
        if len(self.between):
            b, i, j = self.between.T
            np.add.at(matrices, (b, i, j), 1.0)
            matrices += matrices.transpose(0, 2, 1).copy()
        return matrices

    def allow(self, blocks: NDArray[np.intp]) -> bool:
        """Return whether a set of blocks, (s,) different numbers, is within all limits."""
        held = self.linear[:, blocks].sum(axis=1)
        if len(self.between):
            chosen = np.zeros(self.linear.shape[1], dtype=bool)
            chosen[blocks] = True
            b, i, j = self.between.T
            held += np.bincount(b[chosen[i] & chosen[j]], minlength=len(self))
        return bool((held <= self.most).all())

    def exceeded_alone(self) -> NDArray[np.bool_]:
        """Return whether a block by itself exceeds a limit, (m,)."""
        return np.asarray((self.linear > self.most[:, None]).any(axis=0))

    def exceeded_together(self) -> NDArray[np.intp]:
        """Return the pairs (q, 2) of blocks i < j that together exceed a limit."""
        found = [np.empty((0, 2), np.intp)]
        for b, (linear, most) in enumerate(zip(self.linear, self.most, strict=True)):
            found.append(_pairs_above(linear, most))
            counted = self.between[self.between[:, 0] == b, 1:]
            pairs, counts = np.unique(counted, axis=0, return_counts=True)
            found.append(pairs[linear[pairs].sum(axis=1) + counts > most])
        return distinct_edges(np.concatenate(found))

    def exceeded_by_all(self, k: int) -> NDArray[np.intp]:
        """Return the limits that no k clusters satisfy, as the blocks alone hold too much."""
        return np.flatnonzero(self.linear.sum(axis=1) > k * self.most)


def _sums(values: NDArray[np.int64], group_of: NDArray[np.intp]) -> NDArray[np.int64]:
    """Return the sums of values (n,) over groups; group_of (n,) numbers them from 0."""
    return np.bincount(group_of, values).astype(np.int64)


def _pairs_above(values: NDArray[np.float64], limit: float) -> NDArray[np.intp]:
    """Return the pairs (q, 2) of different positions of values (m,) whose sums exceed a limit."""
    order = np.argsort(-values, kind="stable")
    falling = values[order]
    # For each value, count the larger values that exceed the limit together with it.
    n_above = np.searchsorted(-falling, falling - limit)
    n_others = np.minimum(n_above, np.arange(len(values)))
    first = np.repeat(np.arange(len(values)), n_others)
    second = np.arange(len(first)) - np.repeat(np.cumsum(n_others) - n_others, n_others)
    return np.column_stack([order[first], order[second]])
