"""Rules that every cluster has to keep, besides cannot-links.

A rule is a `Limit` on what a cluster holds, or `Either`: at least one of several lists of rules is
kept. Weights and counts are never negative, so that whatever part of a cluster is looked at keeps
the rules that the cluster does. All numbers are whole, and sums of them exact. Limits on a
`Measure` are among the rules as well, but hold for whole clusters alone.

Limits on measures follow from what is stated about the sizes and weights of clusters
(`with_limits`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .sizes import Measure, SizeLimits, StatedMeasure, WeightUnits, sums_over

Marks = NDArray[np.bool_]
Reals = NDArray[np.float64]

LARGEST_FOR_PAIRS = 64
"""Up to so many blocks, pairs of them that break an `Either` together are looked for: in a node,
this is a matter of what is stated there, and it is the same wherever the node is looked at."""


@dataclass(frozen=True, eq=False)
class Limit:
    """Limit on the sum of weights and pairs in each cluster C, of points or of blocks of points:

    sum of weights_i over i in C + number of the pairs inside C <= most.

    Attributes
    ----------
    weights : (m,) whole numbers >= 0
    pairs : (q, 2) int64, pairs i < j, different ones of points
    most : 0 <= most <= LARGEST_SUM
    """

    weights: NDArray[np.int64]
    pairs: NDArray[np.int64]
    most: int

    @property
    def total(self) -> int:
        """Sum over all weights and pairs."""
        weight: int = sum(self.weights.tolist())
        return weight + len(self.pairs)

    @cached_property
    def reals(self) -> Reals:
        """Weights (m,) as floats, whose sums are exact."""
        return self.weights.astype(np.float64)

    @cached_property
    def matrix(self) -> Reals | None:
        """Number of each pair (m, m), symmetric with zero diagonal; None for zeros."""
        if not len(self.pairs):
            return None
        i, j = self.pairs.T
        matrix = np.zeros((len(self.weights),) * 2)
        np.add.at(matrix, (i, j), 1.0)
        return matrix + matrix.T

    def over(self, block_of: NDArray[np.intp]) -> Limit:
        """Return the limit on clusters of blocks; see `over_blocks`."""
        weights = sums_over(self.weights, block_of)
        if not len(self.pairs):
            return Limit(weights, self.pairs, self.most)
        ends = np.sort(block_of[self.pairs], axis=1).astype(np.int64)
        ends = ends[ends[:, 0] >= 0]
        inside = ends[:, 0] == ends[:, 1]
        np.add.at(weights, ends[inside, 0], 1)
        return Limit(weights, ends[~inside], self.most)

    def spent(self, chosen: Marks) -> Reals:
        """Return the sums of sets (s, m), as (s,)."""
        spent = chosen @ self.reals
        if self.matrix is not None:
            spent = spent + 0.5 * ((chosen @ self.matrix) * chosen).sum(axis=1)
        return np.asarray(spent)

    def added(self, chosen: Marks) -> Reals:
        """Return what each block adds to the sums of sets (s, m) that it is not in, (s, m)."""
        added = np.broadcast_to(self.reals, chosen.shape)
        return added if self.matrix is None else added + chosen @ self.matrix


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
"""All of them are to be kept, by clusters of points or of blocks."""


def without_idle(rules: Rules) -> Rules:
    """Return the rules without limits that all points together are within: these say nothing."""
    return tuple(rule for rule in rules if not isinstance(rule, Limit) or rule.total > rule.most)


def over_blocks(rules: Rules, block_of: NDArray[np.intp]) -> Rules:
    """Return rules on clusters of points as ones on clusters of blocks.

    block_of : (n,) 0..m-1, the block of each point; -1 for points that are left out
    """
    return tuple(_over(rule, block_of) for rule in rules)


def _over(rule: Rule, block_of: NDArray[np.intp]) -> Rule:
    match rule:
        case Limit() | Measure():
            return rule.over(block_of)
        case Either():
            return Either(tuple(over_blocks(part, block_of) for part in rule.alternatives))
    raise ValueError("rules: statements about measures are for what follows from them")


def limits(rules: Rules) -> Iterator[Limit]:
    """Return the limits among rules: every cluster keeps these."""
    return (rule for rule in rules if isinstance(rule, Limit))


def broken(rules: Rules, exceeds: Callable[[Limit], Marks], shape: Any) -> Marks:
    """Combine where limits are exceeded into where rules are broken, an array of a shape."""
    marks = np.zeros(shape, np.bool_)
    for rule in rules:
        if isinstance(rule, Limit):
            marks |= exceeds(rule)
            continue
        if not isinstance(rule, Either):  # of whole clusters, these are parts
            continue
        all_of_them = np.ones(shape, np.bool_)
        for part in rule.alternatives:
            all_of_them &= broken(part, exceeds, shape)
        marks |= all_of_them
    return marks


def broken_by(rules: Rules, sets: Marks) -> Marks:
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


def broken_with(rules: Rules, sets: Marks) -> Marks:
    """Return whether sets (s, m) and one more block break the rules together, (s, m).

    Entries of blocks that are in the set have no meaning.
    """

    def exceeds(limit: Limit) -> Marks:
        return np.asarray(limit.spent(sets)[:, None] + limit.added(sets) > limit.most)

    return broken(rules, exceeds, sets.shape)


def broken_alone(rules: Rules, m: int) -> Marks:
    """Return whether a block breaks the rules by itself, (m,)."""
    return broken(rules, lambda limit: limit.weights > limit.most, m)


def broken_together(rules: Rules, m: int) -> Marks:
    """Return whether two blocks break the rules together, (m, m) symmetric, False on the diagonal.

    Those that break an `Either` are found among LARGEST_FOR_PAIRS blocks only.
    """

    def exceeds(limit: Limit) -> Marks:
        spent = limit.reals[:, None] + limit.reals
        return np.asarray((spent if limit.matrix is None else spent + limit.matrix) > limit.most)

    if m > LARGEST_FOR_PAIRS:
        rules = tuple(limits(rules))
    marks = broken(rules, exceeds, (m, m))
    np.fill_diagonal(marks, False)
    return marks


def exceeded_by_all(rules: Rules, k: int) -> bool:
    """Return whether all blocks exceed k times a limit, so that no k clusters are within it."""
    return any(limit.reals.sum() > k * limit.most for limit in limits(rules))


def weight_rule(
    is_least: bool, weight: float, weights: NDArray[np.float64] | None, n: int
) -> StatedMeasure | Limit:
    """Return the rule that a cluster of some of n points weighs so much at least, or at most.

    Points of weight 1 each are counted.

    weights : (n,) of the points; None for 1 each
    """
    units = WeightUnits.of(weights, n)
    of_points = None if weights is None else units.units
    if is_least:
        return StatedMeasure(units.least(weight), units=of_points)
    most = units.most(weight)
    if weights is None:
        return Limit(units.units, np.empty((0, 2), np.int64), most)
    return StatedMeasure(most=most, units=of_points)


def with_limits(rules: Rules, n: int, k: int) -> Rules:
    """Return rules on k clusters of n points, with the limits on measures that follow from them.

    Statements about a measure become a `Measure`, and a `Limit` on it for parts of clusters,
    narrower than those stated. Limits that all points count for are among the statements. Measures
    are in the order in which they are stated first, that of points before all others.
    """
    stated = [rule for rule in rules if isinstance(rule, StatedMeasure)]
    found = [rule for rule in rules if not isinstance(rule, StatedMeasure)]
    whole = [rule.most for rule in limits(rules) if (rule.weights >= 1).all()]
    units = {_key(rule.units): rule.units for rule in stated}
    for key in dict.fromkeys([b"", *units]):
        own = [rule for rule in stated if _key(rule.units) == key]
        most = [*(rule.most for rule in own), *([] if key else whole)]
        if not most:
            continue
        lists = {rule.listed for rule in own if rule.listed}
        if len(lists) > 1:
            raise ValueError("rules: two lists of sizes")
        values, least = units.get(key), max((rule.least for rule in own), default=1)
        values = np.ones(n, np.int64) if values is None else values
        listed = next(iter(lists), None)
        follow = SizeLimits.of(int(values.sum()), k, least, min(most), listed)
        if follow is not None:
            found.append(Limit(values, np.empty((0, 2), np.int64), max(follow.most, 0)))
            found.append(Measure(values, follow, counts_points=not key))
    return tuple(found)


def _key(units: NDArray[np.int64] | None) -> bytes:
    """Return what tells units of points from others; nothing where points are counted."""
    return b"" if units is None else units.tobytes()


def of_parts(rules: Rules, n: int, k: int) -> Rules:
    """Return the rules on parts of clusters that follow from rules on k clusters of n points.

    Least and listed sizes do not hold for parts; limits on weights, whose units are those of all
    points, are left out as well.
    """
    some = (rule for rule in rules if not isinstance(rule, StatedMeasure) or rule.units is None)
    found = with_limits(tuple(some), n, k)
    return tuple(rule for rule in found if not isinstance(rule, Measure))


def measures(rules: Rules) -> list[Measure]:
    """Return the measures among rules: points first, if they are limited, and then weights."""
    return [rule for rule in rules if isinstance(rule, Measure)]


def measure(rules: Rules, counts_points: bool) -> Measure | None:
    """Return the points of clusters if these are limited, or else their weights; None if not."""
    found = (rule for rule in measures(rules) if rule.counts_points == counts_points)
    return next(found, None)
