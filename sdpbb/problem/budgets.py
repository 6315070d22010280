"""Budgets: upper limits on the points, and pairs of points, of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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


@dataclass(frozen=True, eq=False)
class Budgets:
    """Budgets over m blocks.

    A set X of blocks is within budget b if

        sum_{i in X} linear_bi + sum_{i < j in X} pairs_bij <= limits_b.

    All numbers are integers, so that sums of them are exact in floating point.

    Attributes
    ----------
    linear : (p, m) >= 0; what a block spends on its points and on the pairs inside
    pairs : (p, m, m) >= 0, symmetric, zero diagonal; (0, m, m) if no budget counts pairs
    limits : (p,)
    """

    linear: NDArray[np.float64]
    pairs: NDArray[np.float64]
    limits: NDArray[np.float64]

    @classmethod
    def over_blocks(cls, budgets: Sequence[PointBudget], block_of: NDArray[np.intp]) -> Budgets:
        """Return budgets over points as budgets over the blocks block_of (n,)."""
        m, p = int(block_of.max()) + 1, len(budgets)
        linear = np.zeros((p, m))
        counts_pairs = any(len(budget.pairs) for budget in budgets)
        pairs = np.zeros((p if counts_pairs else 0, m, m))
        for b, budget in enumerate(budgets):
            linear[b] = np.bincount(block_of, weights=budget.weights, minlength=m)
            i, j = block_of[budget.pairs].T
            inside = i == j
            linear[b] += np.bincount(i[inside], minlength=m)
            if counts_pairs:
                np.add.at(pairs[b], (i[~inside], j[~inside]), 1.0)
                pairs[b] += pairs[b].T.copy()
        limits = np.array([budget.limit for budget in budgets], dtype=np.float64)
        return cls(linear, pairs, limits)

    def __len__(self) -> int:
        """Return the number p of budgets."""
        return len(self.limits)

    def without_idle(self, cannot_link: NDArray[np.intp]) -> Budgets:
        """Return the budgets without those that no set free of cannot-links (q, 2) can exceed.

        Not all of these are found.
        """
        most = self.linear.sum(axis=1)
        if len(self.pairs):
            i, j = cannot_link.T
            most += self.pairs.sum(axis=(1, 2)) / 2.0 - self.pairs[:, i, j].sum(axis=1)
        kept = most > self.limits
        if kept.all():
            return self
        pairs = self.pairs[kept] if len(self.pairs) else self.pairs
        if not pairs.any():
            pairs = pairs[:0]
        return Budgets(self.linear[kept], pairs, self.limits[kept])

    def allow(self, blocks: NDArray[np.intp]) -> bool:
        """Return whether a set of blocks, (s,) different numbers, is within all budgets."""
        spent = self.linear[:, blocks].sum(axis=1)
        if len(self.pairs):
            spent += self.pairs[:, blocks[:, None], blocks].sum(axis=(1, 2)) / 2.0
        return bool((spent <= self.limits).all())

    def exceeded_alone(self) -> NDArray[np.bool_]:
        """Return whether a block by itself exceeds a budget, (m,)."""
        return np.asarray((self.linear > self.limits[:, None]).any(axis=0))

    def exceeded_together(self) -> NDArray[np.bool_]:
        """Return whether two different blocks together exceed a budget, (m, m).

        It is False on the diagonal.
        """
        m = self.linear.shape[1]
        exceeded = np.zeros((m, m), dtype=bool)
        for b, (linear, limit) in enumerate(zip(self.linear, self.limits, strict=True)):
            spent = linear[:, None] + linear
            if len(self.pairs):
                spent += self.pairs[b]
            exceeded |= spent > limit
        np.fill_diagonal(exceeded, False)
        return exceeded

    def exceeded_by_all(self, k: int) -> NDArray[np.intp]:
        """Return the budgets that no k clusters are within.

        Their blocks alone spend more than k limits allow, so that no clustering exists.
        """
        return np.flatnonzero(self.linear.sum(axis=1) > k * self.limits)
