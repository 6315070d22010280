"""Conversion of an instance and its constraints to the form of the checker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from sdpbb.checker.kernel.rules import Either, Limit, Rule
from sdpbb.checker.kernel.sizes import LARGEST_SUM
from sdpbb.checker.kernel.soft import CheckedSoftPairs, PricedPairs
from sdpbb.checker.kernel.stated import StatedInstance, normalised, pairs_of
from sdpbb.problem.cluster_constraints import (
    BUILT_IN,
    AnyOf,
    ClusterConstraint,
    has_least,
    leaves,
)
from sdpbb.problem.instance import Instance
from sdpbb.problem.rules import Rules


def stated_instance(instance: Instance) -> StatedInstance:
    """Return an instance in the form of the checker; ValueError if it has `foreign_constraints`.

    Diameters are among the cannot-links.
    """
    soft = (
        PricedPairs(np.sort(soft.pairs.astype(np.int64), axis=1), soft.weights)
        for soft in (instance.soft_must_link, instance.soft_cannot_link)
    )
    rules = _rules(instance.cluster_constraints, instance)
    return StatedInstance(
        instance.points,
        instance.k,
        normalised(instance.must_link),
        normalised(np.concatenate([instance.cannot_link, instance.rules.apart])),
        (*rules, *_sizes(instance)),
        instance.weights,
        CheckedSoftPairs(*soft),
    )


def _sizes(instance: Instance) -> Iterator[Rule]:
    """Yield the limits on sizes and weights as given."""
    for argument, measure in instance.stated_measures:
        if argument.startswith("max") and measure.units is None:
            yield Limit(measure.values(instance.n_points), pairs_of(), measure.most)
        else:
            yield measure


def foreign_constraints(constraints: Iterable[ClusterConstraint]) -> list[str]:
    """Return the names of the constraints that the checker does not support.

    They do not come with this package, or are not anti-monotone.
    """
    of_all = chain.from_iterable(map(leaves, constraints))
    foreign = [each for each in of_all if type(each) not in BUILT_IN or has_least(each)]
    return list(dict.fromkeys(type(each).__name__ for each in foreign))


def _rules(
    constraints: Iterable[ClusterConstraint], instance: Instance, alternatives: bool = False
) -> Iterator[Rule]:
    """Yield the constraints as rules.

    alternatives : whether forbidden pairs become rules, as they are not among the cannot-links
    """
    stated = Rules.of(constraints, instance.points, instance.k)
    for quantity in stated.quantities:
        most = min(quantity.limits.most, LARGEST_SUM)
        yield Limit(quantity.linear, normalised(quantity.pairs), most)
    if alternatives and len(stated.apart):
        yield Limit(np.zeros(instance.n_points, np.int64), normalised(stated.apart), 0)
    for constraint in stated.oracles:
        if type(constraint) is not AnyOf:
            raise ValueError(f"{type(constraint).__name__}: the checker does not know it")
        yield Either(tuple(tuple(_rules([one], instance, True)) for one in constraint.constraints))
