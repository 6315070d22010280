"""Rules that every cluster satisfies, in addition to cannot-links.

A rule is a `Limit` on what a cluster holds, or `Either`: the cluster satisfies at least one of
several lists of rules. Values and counts are never negative, so each part of a cluster satisfies
the rules that the cluster does. All numbers are whole, and sums of them exact.

A `Measure` is a limit that says more about whole clusters than about their parts. Measures follow
from what is stated about the sizes and weights of clusters (`with_limits`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .sizes import SizeLimits, StatedMeasure, WeightUnits, sums_over

Marks = NDArray[np.bool_]
Reals = NDArray[np.float64]

LARGEST_FOR_PAIRS = 64
"""Most blocks for which pairs that break an `Either` together are cannot-linked.

The engine uses the same number, so that both have the same cannot-links.
"""


@dataclass(frozen=True, eq=False)
class Limit:
    """Limit on each cluster C of points, or of blocks of points, and on each part of it:

    sum of values_i over i in C + number of the pairs inside C <= most.

    Attributes
    ----------
    values : (m,) whole numbers >= 0
    pairs : (q, 2) int64, pairs i < j, different ones of points
    most : 0 <= most <= LARGEST_SUM
    """

    values: NDArray[np.int64]
    pairs: NDArray[np.int64]
    most: int

    @property
    def is_idle(self) -> bool:
        """True if all points together are within the limit: it says nothing."""
        held: int = sum(self.values.tolist())
        return held + len(self.pairs) <= self.most

    @cached_property
    def reals(self) -> Reals:
        """Values (m,) as floats, whose sums are exact."""
        return self.values.astype(np.float64)

    @cached_property
    def matrix(self) -> Reals | None:
        """Number of each pair (m, m), symmetric with zero diagonal; None for zeros."""
        if not len(self.pairs):
            return None
        i, j = self.pairs.T
        matrix = np.zeros((len(self.values),) * 2)
        np.add.at(matrix, (i, j), 1.0)
        return matrix + matrix.T

    def over(self, block_of: NDArray[np.intp]) -> Self:
        """Return the limit on clusters of blocks; see `over_blocks`."""
        values = sums_over(self.values, block_of)
        ends = np.sort(block_of[self.pairs], axis=1).astype(np.int64)
        ends = ends[ends[:, 0] >= 0]
        inside = ends[:, 0] == ends[:, 1]
        np.add.at(values, ends[inside, 0], 1)
        return replace(self, values=values, pairs=ends[~inside])

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
class Measure(Limit):
    """Limits on a measure of clusters, their points or units of weight, a sum of values >= 1.

    A whole cluster is within `limits`. All that follows for a part of one is `most`, their greatest
    value.

    counts_points : whether it is the number of points
    """

    limits: SizeLimits
    counts_points: bool = True

    @classmethod
    def of(
        cls, values: NDArray[np.int64], limits: SizeLimits, counts_points: bool = True
    ) -> Measure:
        """Return the limits on the sums of values (n,) of points, or (m,) of blocks."""
        no_pairs = np.empty((0, 2), np.int64)
        return cls(values, no_pairs, max(limits.most, 0), limits, counts_points)

    @property
    def is_idle(self) -> bool:
        return False

    @cached_property
    def ranges(self) -> Reals:
        """Different ranges (q, 2) that the sum of a cluster is in one of, ascending."""
        return self.limits.ranges()


@dataclass(frozen=True, eq=False)
class Either:
    """Alternatives: each cluster satisfies all rules of at least one list.

    Different clusters may satisfy different lists.
    """

    alternatives: tuple[Rules, ...]

    def __post_init__(self) -> None:
        if not self.alternatives:
            raise ValueError("alternatives: none; expected at least one")


Rule = Limit | Either | StatedMeasure
Rules = tuple[Rule, ...]
"""Rules that each cluster of points, or of blocks, satisfies."""


def without_idle(rules: Rules) -> Rules:
    """Return the rules without limits that say nothing."""
    return tuple(rule for rule in rules if not (isinstance(rule, Limit) and rule.is_idle))


def over_blocks(rules: Rules, block_of: NDArray[np.intp]) -> Rules:
    """Return rules on clusters of points as rules on clusters of blocks.

    block_of : (n,) 0..m-1, the block of each point; -1: points that are left out
    """
    return tuple(_over(rule, block_of) for rule in rules)


def _over(rule: Rule, block_of: NDArray[np.intp]) -> Rule:
    match rule:
        case Limit():
            return rule.over(block_of)
        case Either():
            return Either(tuple(over_blocks(part, block_of) for part in rule.alternatives))
    raise ValueError("rules: statements about measures become a `Measure` first")


def limits(rules: Rules) -> Iterator[Limit]:
    """Return the limits among rules; every cluster satisfies each of them."""
    return (rule for rule in rules if isinstance(rule, Limit))


def broken(rules: Rules, exceeds: Callable[[Limit], Marks], shape: Any) -> Marks:
    """Return where rules are broken, as an array of a shape.

    exceeds : where a limit is exceeded
    """
    marks = np.zeros(shape, np.bool_)
    for rule in rules:
        match rule:
            case Limit():
                marks |= exceeds(rule)
            case Either():
                parts = (broken(part, exceeds, shape) for part in rule.alternatives)
                marks |= np.logical_and.reduce(list(parts))
    return marks


def broken_by(rules: Rules, sets: Marks) -> Marks:
    """Return whether each of the sets (s, m) of blocks breaks the rules, (s,)."""
    return broken(rules, lambda limit: limit.spent(sets) > limit.most, len(sets))


def broken_clusters(rules: Rules, labels: NDArray[np.int64], k: int) -> Marks:
    """Return whether each of the clusters 0..k-1 of labels (n,) breaks the rules, (k,).

    No cluster is empty. Rules are as stated.
    """
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
    """Return whether each of the sets (s, m) with one more block breaks the rules, (s, m).

    Entries of blocks in the set have no meaning.
    """

    def exceeds(limit: Limit) -> Marks:
        return np.asarray(limit.spent(sets)[:, None] + limit.added(sets) > limit.most)

    return broken(rules, exceeds, sets.shape)


def broken_alone(rules: Rules, m: int) -> Marks:
    """Return whether each block breaks the rules by itself, (m,)."""
    return broken(rules, lambda limit: limit.values > limit.most, m)


def broken_together(rules: Rules, m: int) -> Marks:
    """Return whether two blocks break the rules together, (m, m) symmetric, False on the diagonal.

    Only limits count if there are more than LARGEST_FOR_PAIRS blocks.
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
    """Return whether all blocks together exceed k times a limit: no clustering is within it."""
    return any(limit.reals.sum() > k * limit.most for limit in limits(rules))


def weight_rule(
    is_least: bool, weight: float, weights: NDArray[np.float64] | None, n: int
) -> StatedMeasure | Limit:
    """Return the rule that each cluster of n points weighs at least, or at most, a number.

    weights : (n,) of the points; None: 1 each, so that points are counted
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
    """Return rules on k clusters of n points, with measures instead of statements about them.

    The statements about a measure become one `Measure`, as narrow as possible. A limit for which
    every point counts is a statement about sizes, too. Sizes come first, then weights in the order
    in which they are stated.
    """
    stated = [rule for rule in rules if isinstance(rule, StatedMeasure)]
    found = [rule for rule in rules if not isinstance(rule, StatedMeasure)]
    whole = [rule.most for rule in limits(rules) if (rule.values >= 1).all()]
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
            found.append(Measure.of(values, follow, counts_points=not key))
    return tuple(found)


def _key(units: NDArray[np.int64] | None) -> bytes:
    """Return a key of the units of points; empty if points are counted."""
    return b"" if units is None else units.tobytes()


def of_parts(rules: Rules, n: int, k: int) -> Rules:
    """Return the rules on parts of clusters that follow from rules on k clusters of n points.

    Least and listed sizes do not hold for parts. Limits on weights are left out, as their units are
    made for the weights of all points.
    """
    some = (rule for rule in rules if not isinstance(rule, StatedMeasure) or rule.units is None)
    return tuple(
        Limit(rule.values, rule.pairs, rule.most) if isinstance(rule, Measure) else rule
        for rule in with_limits(tuple(some), n, k)
    )


def count_terms(rules: Rules) -> int:
    """Return how many terms the rules add to a sum of a bound.

    A measure adds two: one for parts of clusters, and one for whole clusters.
    """
    return len(rules) + len(measures(rules))


def measures(rules: Rules) -> list[Measure]:
    """Return the measures among rules: sizes first, then weights."""
    return [rule for rule in rules if isinstance(rule, Measure)]


def find_measure(rules: Rules, counts_points: bool) -> Measure | None:
    """Return the measure that counts points, or the one of weights; None if it is not limited."""
    found = (rule for rule in measures(rules) if rule.counts_points == counts_points)
    return next(found, None)
