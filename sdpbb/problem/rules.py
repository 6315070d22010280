"""Rules on clusters of an instance: pairs apart, quantities within limits, and oracles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.checker.kernel.sizes import LARGEST_SUM, SizeLimits, StatedMeasure, WeightUnits, as_range
from sdpbb.errors import InstanceError
from sdpbb.problem.checks import ClassSizes, sizes_alone
from sdpbb.problem.cluster_constraints import (
    BUILT_IN,
    AllOf,
    BuiltInConstraint,
    ClusterConstraint,
    MaximumSize,
    leaves,
)
from sdpbb.problem.quantities import CLASSES, POINTS, WEIGHT, Quantity

LIMITS = ("min_size", "max_size", "sizes", "min_weight", "max_weight")
"""Arguments of an `Instance` that limit the sizes and the weights of clusters."""


@dataclass(frozen=True, eq=False)
class Rules:
    """Rules on the clusters of n points, in the forms that the engine supports.

    A cluster satisfies them if it holds none of the pairs, is within the limits on each quantity,
    and every oracle allows it.

    Attributes
    ----------
    apart : (q, 2) pairs of points
    quantities : with limits that some set of points violates; sizes and weights come first
    oracles : constraints of no such form; their `allows` is called for each cluster
    """

    apart: NDArray[np.intp]
    quantities: tuple[Quantity, ...]
    oracles: tuple[ClusterConstraint, ...]

    @classmethod
    def of_instance(cls, instance: Any) -> Rules:
        """Return the rules of an `Instance`, but for its must-links and cannot-links."""
        stated = cls.of(instance.cluster_constraints, instance.points, instance.k)
        apart, n = [stated.apart], instance.n_points
        if isinstance(instance.sizes, ClassSizes) and instance.origin.known_classes is not None:
            # Each class has its own cluster, even if no pairs say so.
            apart.append(instance.origin.known_classes.apart)
        limited = limited_quantities(instance.stated_measures, n, instance.k)
        return cls(np.concatenate(apart), (*limited, *stated.quantities), stated.oracles)

    @classmethod
    def of(
        cls, constraints: Iterable[ClusterConstraint], points: NDArray[np.float64], k: int
    ) -> Rules:
        """Return the rules that follow from constraints on k clusters of points (n, d)."""
        apart, quantities, oracles = [np.empty((0, 2), np.intp)], [], []
        for constraint in conjuncts(constraints):
            if type(constraint) not in BUILT_IN or not isinstance(constraint, BuiltInConstraint):
                oracles.append(constraint)
            else:
                apart.append(constraint.forbidden_pairs(points))
                quantity = constraint.quantity(len(points), k)
                if quantity is not None and (quantity.has_all_points or quantity.can_exceed()):
                    quantities.append(quantity)
        return cls(np.concatenate(apart), tuple(quantities), tuple(oracles))

    @property
    def go_beyond_pairs(self) -> bool:
        """True if the rules say more than cannot-links could."""
        return bool(self.quantities or self.oracles)


def stated_measures(instance: Any) -> list[tuple[str, StatedMeasure]]:
    """Return the limits on sizes and weights of an `Instance`, as (argument, measure).

    Sizes are sums of ones. Sizes of known classes are further measures.
    """
    found: list[tuple[str, StatedMeasure]] = []
    if instance.min_size is not None:
        found.append(("min_size", StatedMeasure(instance.min_size)))
    if instance.max_size is not None:
        found.append(("max_size", StatedMeasure(most=min(instance.max_size, LARGEST_SUM))))
    if instance.sizes is not None:
        ranges = tuple(sorted(map(as_range, sizes_alone(instance.sizes))))
        found.append(("sizes", StatedMeasure(listed=ranges)))
    classes = instance.origin.known_classes
    if isinstance(instance.sizes, ClassSizes) and classes is not None:
        found += [("sizes", each) for each in classes.measures(instance.sizes)]
    if instance.min_weight is None and instance.max_weight is None:
        return found
    weights = WeightUnits.of(instance.weights, instance.n_points)
    units = None if instance.weights is None else weights.units
    if instance.min_weight is not None:
        least = weights.least(instance.min_weight)
        found.append(("min_weight", StatedMeasure(least, units=units)))
    if instance.max_weight is not None:
        most = weights.most(instance.max_weight)
        found.append(("max_weight", StatedMeasure(most=most, units=units)))
    return found


def limited_quantities(
    measures: Sequence[tuple[str, StatedMeasure]], n: int, k: int
) -> Iterator[Quantity]:
    """Yield the limited quantities of k clusters of n points: points, weights, sizes of classes.

    measures : as `stated_measures` returns them
    """
    in_units = [(argument, one) for argument, one in measures if one.units is not None]
    for name, own in (
        (POINTS, [one for _, one in measures if one.units is None]),
        (WEIGHT, [one for argument, one in in_units if argument != "sizes"]),
        *((CLASSES, [one]) for argument, one in in_units if argument == "sizes"),
    ):
        if not own:
            continue
        values, least = own[0].values(n), max(each.least for each in own)
        if least <= values.min():
            least = 1  # every single point satisfies it
        most = min(each.most for each in own)
        ranges = next((each.listed for each in own if each.listed), None)
        limits = SizeLimits.of(int(values.sum()), k, least, most, ranges)
        if limits is not None:
            yield Quantity(values, limits, name)


def check_rows(constraint: ClusterConstraint, n: int, argument: str) -> None:
    """Raise an InstanceError, naming the argument, if a constraint names a row that is missing."""
    for leaf in leaves(constraint):
        rows = leaf.rows() if isinstance(leaf, BuiltInConstraint) else ()
        outside = max(rows, default=-1)
        if outside >= n:
            raise InstanceError(
                f"{argument}: {type(leaf).__name__} names row {outside}; rows are 0 to {n - 1}"
            )


def is_built_in(constraint: ClusterConstraint) -> bool:
    """Return whether a constraint and all of its parts come with this package."""
    return all(type(leaf) in BUILT_IN for leaf in leaves(constraint))


def conjuncts(constraints: Iterable[ClusterConstraint]) -> Iterator[ClusterConstraint]:
    """Yield the constraints, and instead of each AllOf its parts."""
    for constraint in constraints:
        if type(constraint) is AllOf:
            yield from conjuncts(constraint.constraints)
        else:
            yield constraint


def split_maxima(
    constraints: Iterable[ClusterConstraint],
) -> tuple[list[int], tuple[ClusterConstraint, ...]]:
    """Return the limits of all `MaximumSize`, also inside AllOf, and the other constraints."""
    maxima: list[int] = []
    others: list[ClusterConstraint] = []
    for constraint in constraints:
        parts = list(conjuncts([constraint]))
        own = [each.limit for each in parts if type(each) is MaximumSize]
        rest = [each for each in parts if type(each) is not MaximumSize]
        maxima += own
        if rest:
            others.append(AllOf(tuple(rest)) if own else constraint)
    return maxima, tuple(others)


def within(least: float | None, most: float | None, text: str) -> str:
    """Return a text with the limits in words in place of {}; "": no limits."""
    if least is None and most is None:
        return ""
    low, high = (None if limit is None else f"{limit:.10g}" for limit in (least, most))
    if low is None or high is None:
        return text.format(f"at most {high}" if low is None else f"at least {low}")
    return text.format(low if low == high else f"{low} to {high}")
