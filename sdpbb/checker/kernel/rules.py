"""Rules that every cluster has to keep, besides cannot-links.

A rule is a `Limit` on what a cluster holds, or `Either`: at least one of several lists of rules is
kept. Weights and counts are never negative, so that whatever part of a cluster is looked at keeps
the rules that the cluster does. All numbers are whole, and sums of them exact. Limits on a
`Measure` are among the rules as well, but hold for whole clusters alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .sizes import LARGEST_SUM, Measure, SizeLimits, StatedMeasure, sums_over

Marks = NDArray[np.bool_]
Reals = NDArray[np.float64]

LARGEST_FOR_PAIRS = 64
"""Up to so many blocks, pairs of them that break an `Either` together are looked for: in a node,
this is a matter of what is stated there, and it is the same wherever the node is looked at."""


@dataclass(frozen=True, eq=False)
class Limit:
    """Limit on the sum of weights and pairs in each cluster C:

    sum of weights_i over i in C + (number of the pairs inside C) <= most.

    Attributes
    ----------
    weights : (n,) int64 >= 0, of points
    pairs : (q, 2) int64, different pairs i < j of points
    most : 0 <= most <= LARGEST_SUM

    `ValueError` for other values.
    """

    weights: NDArray[np.int64]
    pairs: NDArray[np.int64]
    most: int

    def __post_init__(self) -> None:
        weights, pairs, n = self.weights, self.pairs, len(self.weights)
        fits = weights.ndim == 1 and weights.dtype == np.int64 and pairs.dtype == np.int64
        fits = fits and pairs.ndim == 2 and pairs.shape[1] == 2
        if not fits or type(self.most) is not int or not 0 <= self.most <= LARGEST_SUM:
            raise ValueError("a limit: expected weights (n,), pairs (q, 2) and a whole number >= 0")
        if (weights < 0).any() or self.total > LARGEST_SUM:
            raise ValueError("a limit: expected weights >= 0 and a moderate sum of them")
        i, j = pairs.T
        if not ((i >= 0) & (i < j) & (j < n)).all() or len(np.unique(i * n + j)) < len(pairs):
            raise ValueError(f"a limit: expected different pairs i < j of points in 0..{n - 1}")

    @property
    def total(self) -> int:
        """Sum over all points and pairs."""
        weight: int = sum(self.weights.tolist())
        return weight + len(self.pairs)

    def over(self, block_of: NDArray[np.intp]) -> BlockLimit:
        """Return the limit on clusters of blocks; block_of (n,) 0..m-1 are those of the points."""
        m = int(block_of.max()) + 1
        weights = self.weights.astype(np.float64)
        linear = np.asarray(np.bincount(block_of, weights=weights, minlength=m), np.float64)
        if not len(self.pairs):
            return BlockLimit(linear, None, float(self.most))
        i, j = block_of[self.pairs].T
        inside = i == j
        linear = linear + np.bincount(i[inside], minlength=m)
        pairs = np.zeros((m, m))
        np.add.at(pairs, (i[~inside], j[~inside]), 1.0)
        return BlockLimit(linear, pairs + pairs.T, float(self.most))


@dataclass(frozen=True, eq=False)
class Either:
    """Alternative: each cluster keeps all rules of at least one of several lists.

    Not all clusters need keep those of the same list.
    """

    alternatives: tuple[Rules, ...]

    def __post_init__(self) -> None:
        if not self.alternatives:
            raise ValueError("alternatives: none; expected at least one")


Rule = Limit | Either | StatedMeasure | Measure
Rules = tuple[Rule, ...]
"""All of them are to be kept."""


def without_idle(rules: Rules) -> Rules:
    """Return the rules without limits that all points together are within: these say nothing."""
    return tuple(rule for rule in rules if not isinstance(rule, Limit) or rule.total > rule.most)


@dataclass(frozen=True, eq=False)
class BlockLimit:
    """Limit over m blocks.

    For a set X of them

        sum of linear_i over i in X + sum of pairs_ij over i < j in X <= most.

    linear : (m,) whole numbers >= 0
    pairs : (m, m) whole numbers >= 0, symmetric, zero diagonal; None for zeros
    """

    linear: Reals
    pairs: Reals | None
    most: float

    def select(self, blocks: NDArray[np.intp]) -> BlockLimit:
        """Return the limit on some blocks only, in their order."""
        pairs = None if self.pairs is None else self.pairs[np.ix_(blocks, blocks)]
        return BlockLimit(self.linear[blocks], pairs, self.most)

    def spent(self, chosen: Marks) -> Reals:
        """Return the sums of sets (s, m), as (s,)."""
        spent = chosen @ self.linear
        if self.pairs is not None:
            spent = spent + 0.5 * ((chosen @ self.pairs) * chosen).sum(axis=1)
        return np.asarray(spent)

    def added(self, chosen: Marks) -> Reals:
        """Return what each block adds to the sums of sets (s, m) that it is not in, (s, m)."""
        added = np.broadcast_to(self.linear, chosen.shape)
        return added if self.pairs is None else added + chosen @ self.pairs


@dataclass(frozen=True, eq=False)
class BlockEither:
    """Alternative `Either` over blocks."""

    alternatives: tuple[BlockRules, ...]


BlockRule = BlockLimit | BlockEither | Measure
BlockRules = tuple[BlockRule, ...]


def over_blocks(rules: Rules, block_of: NDArray[np.intp]) -> BlockRules:
    """Return rules on clusters of points as ones on clusters of the blocks block_of (n,) 0..m-1."""
    return tuple(_over(rule, block_of) for rule in rules)


def _over(rule: Rule, block_of: NDArray[np.intp]) -> BlockRule:
    match rule:
        case Limit():
            return rule.over(block_of)
        case Either():
            return BlockEither(tuple(over_blocks(part, block_of) for part in rule.alternatives))
        case Measure():
            return rule.over(block_of)
    raise ValueError("rules: statements about measures are for what follows from them")


def selected(rules: BlockRules, blocks: NDArray[np.intp]) -> BlockRules:
    """Return the rules on some blocks only, in their order.

    Limits on the weights of whole clusters are left out, as sets are parts where this is asked for.
    """
    found: list[BlockRule] = []
    for rule in rules:
        if isinstance(rule, BlockLimit):
            found.append(rule.select(blocks))
        elif isinstance(rule, BlockEither):
            parts = tuple(selected(part, blocks) for part in rule.alternatives)
            found.append(BlockEither(parts))
        elif rule.counts_points:
            found.append(rule.select(blocks))
    return tuple(found)


def limits(rules: BlockRules) -> Iterator[BlockLimit]:
    """Return the limits among rules: every cluster keeps these."""
    return (rule for rule in rules if isinstance(rule, BlockLimit))


def broken(rules: BlockRules, exceeds: Callable[[BlockLimit], Marks], shape: Any) -> Marks:
    """Combine where limits are exceeded into where rules are broken, an array of a shape."""
    marks = np.zeros(shape, np.bool_)
    for rule in rules:
        if isinstance(rule, BlockLimit):
            marks |= exceeds(rule)
            continue
        if isinstance(rule, Measure):  # of whole clusters, these are parts
            continue
        all_of_them = np.ones(shape, np.bool_)
        for part in rule.alternatives:
            all_of_them &= broken(part, exceeds, shape)
        marks |= all_of_them
    return marks


def broken_by(rules: BlockRules, sets: Marks) -> Marks:
    """Return whether sets (s, m) of blocks break the rules, (s,)."""
    return broken(rules, lambda limit: limit.spent(sets) > limit.most, len(sets))


def broken_clusters(rules: Rules, labels: NDArray[np.int64], k: int) -> Marks:
    """Return whether each of the clusters 0..k-1 of labels (n,), none empty, breaks rules, (k,)."""
    stated = [rule for rule in rules if isinstance(rule, StatedMeasure)]
    others = tuple(rule for rule in rules if not isinstance(rule, StatedMeasure))
    marks = broken_alone(over_blocks(others, labels), k)  # each cluster as a block
    for rule in stated:
        sums = sums_over(rule.values(len(labels)), labels)
        marks |= (sums < rule.least) | (sums > rule.most)
        if rule.listed:
            limits = SizeLimits.of(int(sums.sum()), k, listed=rule.listed)
            marks |= limits is not None and not limits.keeps(sums)
    return marks


def broken_with(rules: BlockRules, sets: Marks) -> Marks:
    """Return whether sets (s, m) and one more block break the rules together, (s, m).

    Entries of blocks that are in the set have no meaning.
    """

    def exceeds(limit: BlockLimit) -> Marks:
        return np.asarray(limit.spent(sets)[:, None] + limit.added(sets) > limit.most)

    return broken(rules, exceeds, sets.shape)


def broken_alone(rules: BlockRules, m: int) -> Marks:
    """Return whether a block breaks the rules by itself, (m,)."""
    return broken(rules, lambda limit: limit.linear > limit.most, m)


def broken_together(rules: BlockRules, m: int) -> Marks:
    """Return whether two blocks break the rules together, (m, m) symmetric, False on the diagonal.

    Those that break an `Either` are found among LARGEST_FOR_PAIRS blocks only.
    """

    def exceeds(limit: BlockLimit) -> Marks:
        spent = limit.linear[:, None] + limit.linear
        return np.asarray((spent if limit.pairs is None else spent + limit.pairs) > limit.most)

    if m > LARGEST_FOR_PAIRS:
        rules = tuple(limits(rules))
    marks = broken(rules, exceeds, (m, m))
    np.fill_diagonal(marks, False)
    return marks


def exceeded_by_all(rules: BlockRules, k: int) -> bool:
    """Return whether all blocks exceed k times a limit, so that no k clusters are within it."""
    return any(float(limit.linear.sum()) > k * limit.most for limit in limits(rules))
