"""Constraints on clusters in the forms that the engine works with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.budgets import PointBudget
from sdpbb.problem.cluster_constraints import (
    BUILT_IN,
    AllOf,
    AnyOf,
    BuiltInConstraint,
    ClusterConstraint,
    MaximumSize,
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
        """Return these constraints with a budget of so many points of n, and none of more."""
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
