"""Budgets: upper limits on the points, and pairs of points, of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem.graph import distinct_edges


@dataclass(frozen=True, eq=False)
class PointBudget:
    """Budget over points:

        sum_{i in C} weights_i + (number of the pairs inside C) <= limit for every cluster C.

    Attributes
    ----------
    weights : (n,) integers >= 0, as floats
    pairs : (q, 2) different pairs i < j of points
    limit : >= 0
    """

    weights: NDArray[np.float64]
    pairs: NDArray[np.intp]
    limit: int

    @property
    def can_be_exceeded(self) -> bool:
        """True if the set of all points exceeds it."""
        return bool(self.weights.sum() + len(self.pairs) > self.limit)

    @property
    def counts_points(self) -> bool:
        """True if it is a limit on the number of points."""
        return not len(self.pairs) and bool((self.weights == 1.0).all())


@dataclass(frozen=True, eq=False)
class Budgets:
    """Budgets over m blocks.

    A set X of blocks is within budget b if

        sum_{i in X} linear_bi + sum_{i < j in X} pairs_bij <= limits_b.

    All numbers are integers, so that sums of them are exact in floating point.

    Attributes
    ----------
    linear : (p, m) >= 0; what a block spends on its points and on the pairs inside
    between : (q, 3) a budget b and blocks i < j for each pair of points that b counts and that is
        between these blocks: pairs_bij is the number of these rows
    limits : (p,)
    """

    linear: NDArray[np.float64]
    between: NDArray[np.intp]
    limits: NDArray[np.float64]

    @classmethod
    def over_blocks(cls, budgets: Sequence[PointBudget], block_of: NDArray[np.intp]) -> Budgets:
        """Return budgets over points as budgets over the blocks block_of (n,)."""
        m, p = int(block_of.max()) + 1, len(budgets)
        linear, between = np.zeros((p, m)), [np.empty((0, 3), np.intp)]
        for b, budget in enumerate(budgets):
            linear[b] = np.bincount(block_of, weights=budget.weights, minlength=m)
            pairs = np.sort(block_of[budget.pairs], axis=1)
            inside = pairs[:, 0] == pairs[:, 1]
            linear[b] += np.bincount(pairs[inside, 0], minlength=m)
            between.append(np.insert(pairs[~inside], 0, b, axis=1))
        limits = np.array([budget.limit for budget in budgets], dtype=np.float64)
        return cls(linear, np.concatenate(between), limits)

    def __len__(self) -> int:
        """Return the number p of budgets."""
        return len(self.limits)

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

    def without_idle(self, cannot_link: NDArray[np.intp]) -> Budgets:
        """Return the budgets without those that no set free of cannot-links (q, 2) can exceed.

        Not all of these are found.
        """
        m = self.linear.shape[1]
        # Pairs of blocks that cannot share a cluster spend nothing.
        b, i, j = self.between.T
        counted = ~np.isin(i * m + j, cannot_link[:, 0] * m + cannot_link[:, 1])
        most = self.linear.sum(axis=1) + np.bincount(b[counted], minlength=len(self))
        kept = most > self.limits
        if kept.all():
            return self
        between = self.between[kept[b]]
        between[:, 0] = (np.cumsum(kept) - 1)[between[:, 0]]
        return Budgets(self.linear[kept], between, self.limits[kept])

    def allow(self, blocks: NDArray[np.intp]) -> bool:
        """Return whether a set of blocks, (s,) different numbers, is within all budgets."""
        spent = self.linear[:, blocks].sum(axis=1)
        if len(self.between):
            chosen = np.zeros(self.linear.shape[1], dtype=bool)
            chosen[blocks] = True
            b, i, j = self.between.T
            spent += np.bincount(b[chosen[i] & chosen[j]], minlength=len(self))
        return bool((spent <= self.limits).all())

    def exceeded_alone(self) -> NDArray[np.bool_]:
        """Return whether a block by itself exceeds a budget, (m,)."""
        return np.asarray((self.linear > self.limits[:, None]).any(axis=0))

    def exceeded_together(self) -> NDArray[np.intp]:
        """Return the pairs (q, 2) of blocks i < j that together exceed a budget."""
        found = [np.empty((0, 2), np.intp)]
        for b, (linear, limit) in enumerate(zip(self.linear, self.limits, strict=True)):
            found.append(_pairs_above(linear, limit))
            counted = self.between[self.between[:, 0] == b, 1:]
            pairs, counts = np.unique(counted, axis=0, return_counts=True)
            found.append(pairs[linear[pairs].sum(axis=1) + counts > limit])
        return distinct_edges(np.concatenate(found))

    def exceeded_by_all(self, k: int) -> NDArray[np.intp]:
        """Return the budgets that no k clusters are within.

        Their blocks alone spend more than k limits allow, so that no clustering exists.
        """
        return np.flatnonzero(self.linear.sum(axis=1) > k * self.limits)


def _pairs_above(values: NDArray[np.float64], limit: float) -> NDArray[np.intp]:
    """Return the pairs (q, 2) of different positions of values (m,) whose sums exceed a limit."""
    order = np.argsort(-values, kind="stable")
    falling = values[order]
    # With each value, those of the larger ones that are more than what it leaves of the limit.
    n_above = np.searchsorted(-falling, falling - limit)
    n_others = np.minimum(n_above, np.arange(len(values)))
    first = np.repeat(np.arange(len(values)), n_others)
    second = np.arange(len(first)) - np.repeat(np.cumsum(n_others) - n_others, n_others)
    return np.column_stack([order[first], order[second]])
