"""Constraints of an instance in the forms that the engine works with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sdpbb.checker.sizes import SizeLimits
from sdpbb.checker.weight_units import WeightUnits
from sdpbb.errors import InstanceError
from sdpbb.problem.budgets import PointBudget
from sdpbb.problem.checks import SoftPairs
from sdpbb.problem.cluster_constraints import (
    BUILT_IN,
    AllOf,
    AnyOf,
    BuiltInConstraint,
    ClusterConstraint,
    MaximumSize,
)
from sdpbb.problem.graph import distinct_edges
from sdpbb.problem.size_limits import (
    WeightLimits,
    least_units,
    sizes_of_weights,
    within,
)


@dataclass(frozen=True, eq=False)
class CompiledConstraints:
    """Constraints on clusters of n points in the forms that the engine works with.

    A cluster keeps the constraints if it holds no forbidden pair, is within each budget, and is
    allowed by each of the others.

    Attributes
    ----------
    forbidden : (q, 2) pairs of points
    budgets : those that the set of all points exceeds
    others : those without such a form
    """

    forbidden: NDArray[np.intp]
    budgets: tuple[PointBudget, ...]
    others: tuple[ClusterConstraint, ...]

    @classmethod
    def of(
        cls, constraints: Iterable[ClusterConstraint], points: NDArray[np.float64]
    ) -> CompiledConstraints:
        """Return the compiled form of constraints on clusters of points (n, d)."""
        forbidden = [np.empty((0, 2), np.intp)]
        budgets, others = [], []
        for constraint in _conjuncts(constraints):
            if type(constraint) not in BUILT_IN or not isinstance(constraint, BuiltInConstraint):
                others.append(constraint)
                continue
            forbidden.append(constraint.forbidden_pairs(points))
            budget = constraint.budget(len(points))
            if budget is not None and budget.can_be_exceeded:
                budgets.append(budget)
        return cls(np.concatenate(forbidden), tuple(budgets), tuple(others))

    def with_most_points(self, n: int, most: int) -> CompiledConstraints:
        """Add the budget "at most `most` of n points", and remove weaker ones."""
        others = tuple(b for b in self.budgets if not (b.counts_points and b.limit >= most))
        budget = PointBudget(np.ones(n), np.empty((0, 2), np.intp), most)
        return replace(self, budgets=(budget, *others) if budget.can_be_exceeded else others)

    def with_most_weight(self, units: NDArray[np.int64], most: int) -> CompiledConstraints:
        """Return these constraints with a budget of so many whole units of weight, (n,) of all."""
        budget = PointBudget(units.astype(np.float64), np.empty((0, 2), np.intp), max(most, 0))
        return replace(self, budgets=(budget, *self.budgets)) if budget.can_be_exceeded else self


def stated_maxima(constraints: Iterable[ClusterConstraint]) -> list[int]:
    """Return the limits of all `MaximumSize` that every cluster has to keep."""
    return [each.limit for each in _conjuncts(constraints) if type(each) is MaximumSize]


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


def leaves(constraint: ClusterConstraint) -> Iterator[ClusterConstraint]:
    """Yield the parts of a constraint; itself if it is not AllOf or AnyOf."""
    if isinstance(constraint, AllOf | AnyOf):
        for part in constraint.constraints:
            yield from leaves(part)
    else:
        yield constraint


def is_built_in(constraint: ClusterConstraint) -> bool:
    """Return whether a constraint, and all that it is composed of, comes with this package."""
    if type(constraint) not in BUILT_IN:
        return False
    parts = constraint.constraints if isinstance(constraint, AllOf | AnyOf) else ()
    return all(map(is_built_in, parts))


def _conjuncts(constraints: Iterable[ClusterConstraint]) -> Iterator[ClusterConstraint]:
    for constraint in constraints:
        if type(constraint) is AllOf:
            yield from _conjuncts(constraint.constraints)
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
    sizes: tuple[int, ...] | None
    min_weight: float | None
    max_weight: float | None

    @property
    def has_constraints(self) -> bool:
        """True if anything is stated besides the points and k."""
        limits = (self.min_size, self.max_size, self.sizes, self.min_weight, self.max_weight)
        hard = len(self.must_link) or len(self.cannot_link) or len(self.cluster_constraints)
        stated = any(limit is not None for limit in limits)
        return bool(hard or stated or self.has_soft_constraints)

    @property
    def has_soft_constraints(self) -> bool:
        return bool(len(self.soft_must_link) or len(self.soft_cannot_link))

    @property
    def is_monotone(self) -> bool:
        """True if the optimum never rises when k does, as long as must-links leave k components.

        A cluster of several components is divided between two of them: each part satisfies the
        constraints, and the cost does not rise. So a lower bound for k + 1 clusters is valid for k.

        Least sizes and weights may forbid a part, unless a single point satisfies them. Listed
        sizes are for one k. A part may violate a soft must-link. A constraint of the user's own may
        depend on the k of the instance that it is given.
        """
        units = WeightUnits.of(self.weights, len(self.points))
        has_least = (self.min_size or 1) > 1 or least_units(units, self.min_weight) > 1
        is_known = all(map(is_built_in, self.cluster_constraints))
        return is_known and not has_least and self.sizes is None and not len(self.soft_must_link)

    @cached_property
    def compiled_constraints(self) -> CompiledConstraints:
        """Constraints on clusters in the forms that the engine works with.

        Limits on sizes and weights are budgets among them.
        """
        compiled, sizes, weights = self._stated_constraints, self.size_limits, self.weight_limits
        if sizes is not None:
            compiled = compiled.with_most_points(len(self.points), sizes.most)
        if weights is not None:
            compiled = compiled.with_most_weight(weights.weights.units, weights.limits.most)
        return compiled

    @cached_property
    def _stated_constraints(self) -> CompiledConstraints:
        """Compiled `cluster_constraints`, without limits that are arguments of their own."""
        return CompiledConstraints.of(self.cluster_constraints, self.points)

    @property
    def largest_size(self) -> int | None:
        """The least of max_size and what each `MaximumSize` says, None for none."""
        stated = [self.max_size, *stated_maxima(self.cluster_constraints)]
        return min((size for size in stated if size is not None), default=None)

    @cached_property
    def size_limits(self) -> SizeLimits | None:
        """Limits on the sizes of clusters that follow from all that is stated, None for none.

        Limits on weights are among them where points weigh 1 each.
        """
        n, k = len(self.points), self.k
        least, most = [self.min_size], [self.largest_size]
        if self.weights is None:
            lightest, heaviest = sizes_of_weights(
                len(self.points), self.min_weight, self.max_weight
            )
            least, most = [*least, lightest], [*most, heaviest]
        fewest = max((size for size in least if size is not None), default=1)
        largest = min((size for size in most if size is not None), default=None)
        return SizeLimits.of(n, k, fewest, largest, self.sizes)

    @cached_property
    def weight_limits(self) -> WeightLimits | None:
        """Limits on the weights of clusters where points have weights, None for none."""
        if self.weights is None:
            return None
        return WeightLimits.of(self.weights, self.k, self.min_weight, self.max_weight)

    @property
    def stated_limits(self) -> list[str]:
        """Limits on sizes and weights of clusters, as they are stated, as texts.

        None where every clustering is within them.
        """
        if self.size_limits is None and self.weight_limits is None:
            return []
        most = self.largest_size
        listed = f"sizes {', '.join(map(str, self.sizes))}" if self.sizes else ""
        points = "point" if (self.min_size if most is None else most) == 1 else "points"
        texts = (
            listed,
            within(self.min_size, most, f"{{}} {points} each"),
            within(self.min_weight, self.max_weight, "weight {} each"),
        )
        return [text for text in texts if text]

    @property
    def other_constraints(self) -> tuple[ClusterConstraint, ...]:
        """Constraints on clusters but for largest sizes, which `stated_limits` tells."""
        return tuple(one for one in self.cluster_constraints if type(one) is not MaximumSize)

    @property
    def has_constraints_beyond_pairs(self) -> bool:
        """True if constraints on clusters, or on sizes, say more than cannot-links could."""
        if self.size_limits is not None or self.weight_limits is not None:
            return True
        compiled = self.compiled_constraints
        return bool(compiled.budgets or compiled.others)

    @property
    def has_constraints_beyond_sizes(self) -> bool:
        """True if constraints on clusters say more than cannot-links and limits could.

        Limits are on sizes and on weights.
        """
        compiled = self._stated_constraints
        return bool(compiled.others) or not all(b.counts_points for b in compiled.budgets)

    def _all_cannot_links(self) -> NDArray[np.intp]:
        """Return the cannot-links (q, 2), and those that constraints on clusters amount to."""
        links = np.concatenate([self.cannot_link, self.compiled_constraints.forbidden])
        return distinct_edges(links)
