"""Rules as they follow from what is stated about the sizes and weights of clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .rules import Limit, Rules
from .sizes import Measure, SizeLimits, StatedMeasure
from .weight_units import WeightUnits


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
    stated = [rule.units for rule in rules if isinstance(rule, StatedMeasure)]
    rules = _with_measure(rules, None, n, k)
    for units in stated:
        if units is not None:  # a measure that is done is not stated any more
            rules = _with_measure(rules, units, n, k)
    return rules


def _with_measure(rules: Rules, units: NDArray[np.int64] | None, n: int, k: int) -> Rules:
    """Return rules with what follows for a measure: for the points of clusters if units is None."""
    stated = [rule for rule in rules if isinstance(rule, StatedMeasure) and _states(rule, units)]
    most = [rule.most for rule in stated]
    if units is None:
        most += [rule.most for rule in rules if isinstance(rule, Limit) and _counts_all(rule)]
    if not most:
        return rules
    values = np.ones(n, np.int64) if units is None else units
    total = int(values.sum())
    least = max((rule.least for rule in stated), default=1)
    lists = {rule.listed for rule in stated if rule.listed}
    if len(lists) > 1:
        raise ValueError("rules: two lists of sizes")
    limits = SizeLimits.of(total, k, least, min(most), next(iter(lists), None))
    others = tuple(rule for rule in rules if not _states(rule, units))
    if limits is None:
        return others
    counted = Limit(values, np.empty((0, 2), np.int64), max(limits.most, 0))
    return (*others, counted, Measure(values, limits, counts_points=units is None))


def _counts_all(limit: Limit) -> bool:
    return bool((limit.weights >= 1).all())


def _states(rule: object, units: NDArray[np.int64] | None) -> bool:
    """Return whether a rule is a statement about a measure: about points if units is None."""
    if not isinstance(rule, StatedMeasure):
        return False
    if rule.units is None or units is None:
        return rule.units is units
    return np.array_equal(rule.units, units)


def of_parts(rules: Rules) -> Rules:
    """Return the rules on parts of clusters that follow from rules with all that follows.

    Least and listed sizes do not hold for parts; limits on weights, whose units are those of all
    points, are left out as well.
    """
    units = [
        id(rule.values) for rule in rules if isinstance(rule, Measure) and not rule.counts_points
    ]
    return tuple(
        rule
        for rule in rules
        if not isinstance(rule, StatedMeasure | Measure)
        and not (isinstance(rule, Limit) and id(rule.weights) in units)
    )


def measures(rules: Rules) -> list[Measure]:
    """Return the measures among rules: points first, if they are limited, and then weights."""
    return [rule for rule in rules if isinstance(rule, Measure)]


def measure(rules: Rules, counts_points: bool) -> Measure | None:
    """Return the points of clusters if these are limited, or else their weights; None if not."""
    found = (rule for rule in measures(rules) if rule.counts_points == counts_points)
    return next(found, None)
