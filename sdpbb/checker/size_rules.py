"""Rules as they follow from what is stated about the sizes and weights of clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .rules import BlockRules, Limit, Rules, SizesOfBlocks
from .sizes import CheckedWeights, SizeLimits, StatedSizes, StatedWeights
from .weight_units import WeightUnits


def weight_rule(
    is_least: bool, weight: float, weights: NDArray[np.float64] | None, n: int
) -> StatedWeights | StatedSizes | Limit:
    """Return the rule that a cluster of some of n points weighs so much at least, or at most.

    Points of weight 1 each are counted.

    weights : (n,) of the points; None for 1 each
    """
    units = WeightUnits.of(weights, n)
    if is_least:
        least = units.least(weight)
        return StatedSizes(least) if weights is None else StatedWeights(units.units, least)
    most = units.most(weight)
    if weights is None:
        return Limit(units.units, np.empty((0, 2), np.int64), most)
    return StatedWeights(units.units, most=most)


def with_size_limits(rules: Rules, n: int, k: int) -> Rules:
    """Return rules on k clusters of n points, with the limits on sizes that follow from them.

    Statements about sizes become `SizeLimits` and a `Limit` on the number of points, narrower
    than those stated. Limits that all points count for are among the statements. Those about
    weights become `CheckedWeights` and a `Limit` on units of weight.
    """
    return _with_weight_limits(_with_limits_on_points(rules, n, k), k)


def _with_weight_limits(rules: Rules, k: int) -> Rules:
    statements = [rule for rule in rules if isinstance(rule, StatedWeights)]
    if not statements:
        return rules
    units = statements[0].units
    if not all(np.array_equal(stated.units, units) for stated in statements):
        raise ValueError("rules: weights of the same points in different units")
    total = int(units.sum())
    least = max(stated.least for stated in statements)
    most = min(total, *(stated.most for stated in statements))
    limits = SizeLimits.of(total, k, least, most)
    others = tuple(rule for rule in rules if not isinstance(rule, StatedWeights))
    if limits is None:
        return others
    counted = Limit(units, np.empty((0, 2), np.int64), max(limits.most, 0))
    return (*others, counted, CheckedWeights(units, limits))


def _with_limits_on_points(rules: Rules, n: int, k: int) -> Rules:
    statements = [rule for rule in rules if isinstance(rule, StatedSizes)]
    most = [
        rule.most for rule in rules if isinstance(rule, Limit) and bool((rule.weights >= 1).all())
    ]
    if not statements and not most:
        return rules
    least = max((stated.least for stated in statements), default=1)
    lists = {stated.listed for stated in statements if stated.listed}
    if len(lists) > 1:
        least = n + 1  # no sizes are those of two lists
    listed = next(iter(lists), None)
    limits = SizeLimits.of(n, k, least, min(most, default=n), listed)
    others = tuple(rule for rule in rules if not isinstance(rule, StatedSizes | SizeLimits))
    if limits is None:
        return others
    counted = Limit(np.ones(n, np.int64), np.empty((0, 2), np.int64), max(limits.most, 0))
    return (*others, counted, limits)


def of_parts(rules: Rules) -> Rules:
    """Return the rules on parts of clusters that follow from rules with all that follows.

    Least and listed sizes do not hold for parts; limits on weights, whose units are those of all
    points, are left out as well.
    """
    units = [id(rule.units) for rule in rules if isinstance(rule, CheckedWeights)]
    dropped = StatedSizes | StatedWeights | SizeLimits | CheckedWeights
    return tuple(
        rule
        for rule in rules
        if not isinstance(rule, dropped)
        and not (isinstance(rule, Limit) and id(rule.weights) in units)
    )


def size_limits(rules: Rules | BlockRules) -> SizeLimits | None:
    """Return the limits on sizes among rules, if there are any."""
    for rule in rules:
        if isinstance(rule, SizesOfBlocks):
            return rule.limits
        if isinstance(rule, SizeLimits):
            return rule
    return None


def weight_limits(rules: Rules | BlockRules) -> CheckedWeights | None:
    """Return the limits on weights among rules, if there are any."""
    return next((rule for rule in rules if isinstance(rule, CheckedWeights)), None)
