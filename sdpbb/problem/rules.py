"""Rules on clusters of an instance: pairs apart, quantities within limits, and oracles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.cluster_constraints import (
    BUILT_IN,
    AllOf,
    BuiltInConstraint,
    ClusterConstraint,
    MaximumSize,
    leaves,
)
from sdpbb.problem.quantities import Quantity

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
                if quantity is not None and (quantity.name or quantity.can_exceed()):
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


def split_maxima(
    constraints: Iterable[ClusterConstraint],
) -> tuple[list[int], tuple[ClusterConstraint, ...]]:
    """Return the limits of all `MaximumSize`, those inside AllOf included, and the other rules."""
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
    """Return limits in words; "": no limits. In the text, {} stands for them."""
    if least is None and most is None:
        return ""
    low, high = (None if limit is None else f"{limit:.10g}" for limit in (least, most))
    if low is None or high is None:
        return text.format(f"at most {high}" if low is None else f"at least {low}")
    return text.format(low if low == high else f"{low} to {high}")
