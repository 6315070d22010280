"""Rules on clusters of an instance: pairs apart, quantities within limits, and oracles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sdpbb.checker.kernel.sizes import LARGEST_SUM, SizeLimits, StatedMeasure, WeightUnits, as_range
from sdpbb.errors import InstanceError
from sdpbb.problem.checks import Sizes, SoftPairs, sizes_text
from sdpbb.problem.cluster_constraints import (
    BUILT_IN,
    AllOf,
    BuiltInConstraint,
    ClusterConstraint,
    leaves,
)
from sdpbb.problem.origin import Origin
from sdpbb.problem.quantities import POINTS, WEIGHT, Quantity

LIMITS = {
    "min_size": "MINSIZE",
    "max_size": "MAXSIZE",
    "sizes": "SIZES",
    "min_weight": "MINWEIGHT",
    "max_weight": "MAXWEIGHT",
}
"""Limits on clusters: the argument of an `Instance` for each, and the keyword of a file."""


@dataclass(frozen=True, eq=False)
class Rules:
    """Rules on the clusters of n points, in the forms that the engine works with.

    A cluster satisfies them if it holds none of the pairs, is within the limits on each quantity,
    and is allowed by each oracle.

    Attributes
    ----------
    apart : (q, 2) pairs of points
    quantities : with limits that not every set of points satisfies
    oracles : constraints without such a form, which are asked about each cluster
    """

    apart: NDArray[np.intp]
    quantities: tuple[Quantity, ...]
    oracles: tuple[ClusterConstraint, ...]

    @classmethod
    def of(
        cls, constraints: Iterable[ClusterConstraint], points: NDArray[np.float64], k: int
    ) -> Rules:
        """Return the rules that constraints on k clusters of points (n, d) amount to."""
        apart, quantities, oracles = [np.empty((0, 2), np.intp)], [], []
        for constraint in conjuncts(constraints):
            if type(constraint) not in BUILT_IN or not isinstance(constraint, BuiltInConstraint):
                oracles.append(constraint)
            else:
                apart.append(constraint.forbidden_pairs(points))
                quantity = constraint.quantity(len(points), k)
                if quantity is not None and quantity.can_exceed():
                    quantities.append(quantity)
        return cls(np.concatenate(apart), tuple(quantities), tuple(oracles))

    @property
    def go_beyond_pairs(self) -> bool:
        """True if the rules say more than cannot-links could."""
        return bool(self.quantities or self.oracles)


def check_rows(constraint: ClusterConstraint, n: int, argument: str) -> None:
    """Raise an InstanceError if a constraint names a row that is not there.

    The message names the argument.
    """
    for leaf in leaves(constraint):
        rows = leaf.rows() if isinstance(leaf, BuiltInConstraint) else ()
        outside = max(rows, default=-1)
        if outside >= n:
            raise InstanceError(
                f"{argument}: {type(leaf).__name__} names row {outside}; rows are 0 to {n - 1}"
            )


def is_built_in(constraint: ClusterConstraint) -> bool:
    """Return whether a constraint, and all that it is composed of, comes with this package."""
    return all(type(leaf) in BUILT_IN for leaf in leaves(constraint))


def conjuncts(constraints: Iterable[ClusterConstraint]) -> Iterator[ClusterConstraint]:
    """Yield the constraints, and instead of each AllOf its parts."""
    for constraint in constraints:
        if type(constraint) is AllOf:
            yield from conjuncts(constraint.constraints)
        else:
            yield constraint


class ConstraintForms:
    """Forms of the constraints of an `Instance`, which declares these fields."""

    points: NDArray[np.float64]
    k: int
    must_link: NDArray[np.intp]
    cannot_link: NDArray[np.intp]
    soft_must_link: SoftPairs
    soft_cannot_link: SoftPairs
    cluster_constraints: tuple[ClusterConstraint, ...]
    weights: NDArray[np.float64] | None
    min_size: int | None
    max_size: int | None
    sizes: Sizes | None
    min_weight: float | None
    max_weight: float | None
    origin: Origin

    @property
    def has_constraints(self) -> bool:
        """True if the user states more than points and k."""
        hard = len(self.must_link) or len(self.cannot_link) or len(self.cluster_constraints)
        return bool(hard or self.limits or self.has_soft_constraints)

    @property
    def limits(self) -> dict[str, int | float | Sizes]:
        """Limits on clusters as given, by argument."""
        values = {argument: getattr(self, argument) for argument in LIMITS}
        return {argument: value for argument, value in values.items() if value is not None}

    @property
    def has_soft_constraints(self) -> bool:
        return bool(len(self.soft_must_link) or len(self.soft_cannot_link))

    @property
    def is_monotone(self) -> bool:
        """True if the optimum never rises when k does, as long as must-links leave k components.

        A cluster of several components is divided between two of them: each part satisfies the
        constraints, and the cost does not rise. So a lower bound for k + 1 clusters is valid for k.

        Least sizes and weights may forbid a part, unless a single point satisfies them.
        Listed sizes are for one k. A part may violate a soft must-link. A constraint of the user's
        own may depend on the k of the instance that it is given.
        """
        n = len(self.points)
        has_least = any(each.least > each.values(n).min() for _, each in self.stated_measures)
        is_known = all(map(is_built_in, self.cluster_constraints))
        return is_known and not has_least and self.sizes is None and not len(self.soft_must_link)

    @cached_property
    def rules(self) -> Rules:
        """Rules on clusters that all constraints amount to, but for must-links and cannot-links."""
        stated = Rules.of(self.cluster_constraints, self.points, self.k)
        return replace(stated, quantities=(*self._limited_measures(), *stated.quantities))

    @cached_property
    def stated_measures(self) -> list[tuple[str, StatedMeasure]]:
        """Limits on sizes and weights as statements about measures, each after its argument.

        Points that weigh 1 each are counted.
        """
        found: list[tuple[str, StatedMeasure]] = []
        if self.min_size is not None:
            found.append(("min_size", StatedMeasure(self.min_size)))
        if self.max_size is not None:
            found.append(("max_size", StatedMeasure(most=min(self.max_size, LARGEST_SUM))))
        if self.sizes is not None:
            ranges = tuple(sorted(map(as_range, self.sizes)))
            found.append(("sizes", StatedMeasure(listed=ranges)))
        if self.min_weight is None and self.max_weight is None:
            return found
        weights = WeightUnits.of(self.weights, len(self.points))
        units = None if self.weights is None else weights.units
        if self.min_weight is not None:
            least = weights.least(self.min_weight)
            found.append(("min_weight", StatedMeasure(least, units=units)))
        if self.max_weight is not None:
            most = weights.most(self.max_weight)
            found.append(("max_weight", StatedMeasure(most=most, units=units)))
        return found

    def _limited_measures(self) -> Iterator[Quantity]:
        """Yield the points and the weights of clusters, if they are limited."""
        n = len(self.points)
        if self.size_limits is not None:
            yield Quantity.within(np.ones(n, np.int64), self.size_limits, POINTS)
        of_weight = [each for _, each in self.stated_measures if each.units is not None]
        if not of_weight:
            return
        values, least = of_weight[0].values(n), max(each.least for each in of_weight)
        if least <= values.min():
            least = 1  # every single point weighs enough
        most = min(each.most for each in of_weight)
        limits = SizeLimits.of(int(values.sum()), self.k, least, most)
        if limits is not None:
            yield Quantity.within(values, limits, WEIGHT)

    @cached_property
    def size_limits(self) -> SizeLimits | None:
        """Limits on the sizes of clusters that follow from all constraints; None: no limits.

        Limits on weights are limits on sizes if all points weigh 1.
        """
        counted = [each for _, each in self.stated_measures if each.units is None]
        least = max((each.least for each in counted), default=1)
        most = min((each.most for each in counted), default=None)
        sizes = next((each.listed for each in counted if each.listed), None)
        return SizeLimits.of(len(self.points), self.k, least, most, sizes)

    @property
    def stated_limits(self) -> list[str]:
        """Limits on sizes and weights of clusters as given, in words.

        The list is empty if every clustering is within them.
        """
        if not any(quantity.name for quantity in self.rules.quantities):
            return []
        most = self.max_size
        sizes = f"sizes {sizes_text(self.sizes).replace(' ', ', ')}" if self.sizes else ""
        points = "point" if (self.min_size if most is None else most) == 1 else "points"
        texts = (
            sizes,
            within(self.min_size, most, f"{{}} {points} each"),
            within(self.min_weight, self.max_weight, "weight {} each"),
        )
        return [text for text in texts if text]

    @property
    def has_constraints_beyond_sizes(self) -> bool:
        """True if constraints on clusters say more than cannot-links and limits could.

        Limits are on sizes and on weights.
        """
        rules = self.rules
        return bool(rules.oracles) or any(not quantity.name for quantity in rules.quantities)

    @property
    def limits_weight(self) -> bool:
        """True if the weights of clusters are limited, and not as numbers of points."""
        return any(quantity.name == WEIGHT for quantity in self.rules.quantities)


def within(least: float | None, most: float | None, text: str) -> str:
    """Return limits in words; "": no limits. In the text, {} stands for them."""
    if least is None and most is None:
        return ""
    low, high = (None if limit is None else f"{limit:.10g}" for limit in (least, most))
    if low is None or high is None:
        return text.format(f"at most {high}" if low is None else f"at least {low}")
    return text.format(low if low == high else f"{low} to {high}")
