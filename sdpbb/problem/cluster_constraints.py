"""Constraints on single clusters.

But for least amounts they are anti-monotone: subsets of an allowed set are allowed. The word is
from Babaki, Guns, Nijssen, Constrained clustering using column generation (2014), section 2.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.checks import checked_integer, checked_number, checked_pairs
from sdpbb.problem.coordinates import pairs_farther_than
from sdpbb.problem.quantities import Quantity
from sdpbb.runtime.archive import stored


class ClusterConstraint(ABC):
    """Condition on each cluster; subclasses define it by `allows`.

    It must be anti-monotone: if a set of points is allowed, so is each of its non-empty subsets.
    The engine prunes by this property; without it (a least size, say) answers are wrong. Least
    amounts are supported as a `BuiltInConstraint` only. The condition must depend on nothing but
    the arguments, and a subclass must be picklable if other processes use it.
    """

    @abstractmethod
    def allows(self, instance: Any, members: NDArray[np.intp]) -> bool:
        """Return whether a set of points may be a cluster of the instance, or part of a cluster.

        instance : the `Instance`
        members : (s,) the row numbers of the points in increasing order, s >= 1
        """

    def restricted(self, row: NDArray[np.intp]) -> ClusterConstraint | None:
        """Return a constraint on clusters of some of the points that follows from this one.

        It allows every set of these points that this constraint allows. None: it allows all sets.

        row : (n,) new row numbers of the chosen points; -1: not chosen
        """
        return None


def is_allowed(constraint: ClusterConstraint, instance: Any, members: NDArray[np.intp]) -> bool:
    """Return whether a constraint allows a cluster, members (s,).

    Raises
    ------
    InstanceError
        If `allows` returns neither true nor false. A user's method without a return statement
        would forbid all clusters otherwise.
    """
    members.flags.writeable = False
    answer = constraint.allows(instance, members)
    if not isinstance(answer, (bool, np.bool_)):
        raise InstanceError(
            f"cluster_constraints: {type(constraint).__name__}.allows returned {answer!r}; "
            "expected True or False"
        )
    return bool(answer)


class BuiltInConstraint(ClusterConstraint):
    """Constraint of this package: limits on a quantity, forbidden pairs, or both.

    It allows a cluster that is within the limits and holds none of the pairs. Subclasses are frozen
    dataclasses with hashable values.
    """

    is_anti_monotone: ClassVar[bool] = True
    """Whether every part of an allowed cluster is allowed; False if the quantity has a least."""

    def allows(self, instance: Any, members: NDArray[np.intp]) -> bool:
        quantity = _known_quantity(self, instance.n_points, instance.k)
        if quantity is not None and not quantity.allows_set(members):
            return False
        return not len(self.forbidden_pairs(instance.points[members]))

    def rows(self) -> Iterable[int]:
        """Return the row numbers that the constraint names."""
        return ()

    def quantity(self, n: int, k: int) -> Quantity | None:
        """Return the quantity that the constraint limits, for k clusters of n points; or None."""
        return None

    def forbidden_pairs(self, points: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the pairs (q, 2) of points (n, d) that no cluster may hold."""
        return np.empty((0, 2), np.intp)

    def restricted(self, row: NDArray[np.intp]) -> ClusterConstraint | None:
        """Return the constraint itself; None if parts of a cluster may violate it."""
        return self if self.is_anti_monotone else None


@lru_cache(maxsize=64)
def _known_quantity(constraint: BuiltInConstraint, n: int, k: int) -> Quantity | None:
    """Return the quantity of a constraint; searches need it for each cluster."""
    return constraint.quantity(n, k)


@stored
@dataclass(frozen=True)
class MaximumSize(BuiltInConstraint):
    """A cluster has at most `limit` points: |C| <= limit.

    limit : an integer >= 1, or an InstanceError is raised
    """

    limit: int

    def __post_init__(self) -> None:
        _set(self, "limit", _limit(self, self.limit, 1))

    def quantity(self, n: int, k: int) -> Quantity:
        return Quantity.at_most(self.limit, np.ones(n), k)


@stored
@dataclass(frozen=True)
class MaximumDiameter(BuiltInConstraint):
    """No two points of a cluster are more than `distance` apart.

    The engine converts it to cannot-links.

    distance : finite, >= 0, in the units of the points, or an InstanceError is raised
    """

    distance: float

    def __post_init__(self) -> None:
        _set(self, "distance", checked_number(self.distance, "MaximumDiameter: distance", 0.0))

    def forbidden_pairs(self, points: NDArray[np.float64]) -> NDArray[np.intp]:
        return pairs_farther_than(points, self.distance, "MaximumDiameter")


@dataclass(frozen=True)
class _OnPoints(BuiltInConstraint):
    points: tuple[int, ...]
    limit: int

    def __post_init__(self) -> None:
        name = f"{type(self).__name__}: points"
        if isinstance(self.points, str) or not isinstance(self.points, Iterable):
            raise InstanceError(f"{name} = {self.points!r}; expected row numbers")
        rows = {checked_integer(row, f"{name}[{at}]", 0) for at, row in enumerate(self.points)}
        _set(self, "points", tuple(sorted(rows)))
        _set(self, "limit", _limit(self, self.limit, 0))

    def rows(self) -> Iterable[int]:
        return self.points

    def _is_named(self, n: int) -> NDArray[np.bool_]:
        return np.isin(np.arange(n), self.points)

    def restricted(self, row: NDArray[np.intp]) -> ClusterConstraint:
        points = row[list(self.points)]
        return replace(self, points=tuple(points[points >= 0].tolist()))


@stored
@dataclass(frozen=True)
class MaximumOverlap(_OnPoints):
    """A cluster has at most `limit` of some points X: |C n X| <= limit.

    With a limit of 1 all of these points are cannot-linked to each other. With one such constraint
    for each cluster of a known clustering, the result is a different clustering.

    points : row numbers X; a row given twice counts once
    limit : an integer >= 0; with 0 a clustering exists only if X is empty

    InstanceError for other arguments.
    """

    def quantity(self, n: int, k: int) -> Quantity:
        return Quantity.at_most(self.limit, self._is_named(n), k)


@stored
@dataclass(frozen=True)
class MinimumDifference(_OnPoints):
    """A cluster has at most `limit` points outside some points X: |C \\ X| <= limit.

    The name is from the paper; the constraint requires clusters to be similar to X.

    points : row numbers X; a row given twice counts once
    limit : an integer >= 0

    InstanceError for other arguments.
    """

    def quantity(self, n: int, k: int) -> Quantity:
        return Quantity.at_most(self.limit, ~self._is_named(n), k)


@stored
@dataclass(frozen=True)
class SoftCannotLinks(BuiltInConstraint):
    """A cluster holds at most `limit` of some pairs of points.

    Not to be confused with `Instance.soft_cannot_link`, whose violation has a price.

    pairs : pairs (i, j) of different row numbers; a pair given twice counts once
    limit : an integer >= 0; with 0 they are cannot-links

    InstanceError for other arguments.
    """

    pairs: tuple[tuple[int, int], ...]
    limit: int

    def __post_init__(self) -> None:
        if self.pairs is None:
            raise InstanceError("SoftCannotLinks: pairs = None; expected pairs of row numbers")
        pairs = checked_pairs(self.pairs, None, "SoftCannotLinks: pairs")
        _set(self, "pairs", tuple(sorted(set(map(tuple, pairs.tolist())))))
        _set(self, "limit", _limit(self, self.limit, 0))

    def rows(self) -> Iterable[int]:
        return chain.from_iterable(self.pairs)

    def quantity(self, n: int, k: int) -> Quantity:
        return Quantity.at_most(self.limit, np.zeros(n), k, self._array())

    def restricted(self, row: NDArray[np.intp]) -> ClusterConstraint:
        pairs = row[self._array()]
        inside = pairs[(pairs >= 0).all(axis=1)]
        return replace(self, pairs=tuple(map(tuple, inside.tolist())))

    def _array(self) -> NDArray[np.intp]:
        return np.array(self.pairs, np.intp).reshape(-1, 2)


@stored
@dataclass(frozen=True)
class AllOf(ClusterConstraint):
    """A cluster satisfies all of these constraints.

    constraints : of any kind, in any number; an InstanceError for other objects
    """

    constraints: tuple[ClusterConstraint, ...]

    def __post_init__(self) -> None:
        _set(self, "constraints", checked_constraints(self.constraints, "AllOf: constraints"))

    def allows(self, instance: Any, members: NDArray[np.intp]) -> bool:
        return all(is_allowed(each, instance, members) for each in self.constraints)

    def restricted(self, row: NDArray[np.intp]) -> ClusterConstraint:
        each = [constraint.restricted(row) for constraint in self.constraints]
        return AllOf(tuple(constraint for constraint in each if constraint is not None))


@stored
@dataclass(frozen=True)
class AnyOf(ClusterConstraint):
    """A cluster satisfies at least one of these constraints; another cluster may satisfy another.

    constraints : of any kind, one or more; an InstanceError for other objects
    """

    constraints: tuple[ClusterConstraint, ...]

    def __post_init__(self) -> None:
        _set(self, "constraints", checked_constraints(self.constraints, "AnyOf: constraints"))
        if not self.constraints:
            raise InstanceError("AnyOf: constraints is empty; expected at least one")
        if wrong := [type(leaf).__name__ for leaf in leaves(self) if has_least(leaf)]:
            raise InstanceError(
                f"AnyOf: {wrong[0]} is not anti-monotone; expected constraints that allow every "
                "part of an allowed cluster"
            )

    def allows(self, instance: Any, members: NDArray[np.intp]) -> bool:
        return any(is_allowed(each, instance, members) for each in self.constraints)

    def restricted(self, row: NDArray[np.intp]) -> ClusterConstraint | None:
        each = [constraint.restricted(row) for constraint in self.constraints]
        known = [constraint for constraint in each if constraint is not None]
        return AnyOf(tuple(known)) if len(known) == len(each) else None


def leaves(constraint: ClusterConstraint) -> Iterator[ClusterConstraint]:
    """Yield the parts of a constraint, or itself if it is neither AllOf nor AnyOf."""
    if isinstance(constraint, AllOf | AnyOf) and type(constraint) in BUILT_IN:
        for part in constraint.constraints:
            yield from leaves(part)
    else:
        yield constraint


def has_least(leaf: ClusterConstraint) -> bool:
    """Return whether a part of an allowed cluster may violate a constraint without parts."""
    return isinstance(leaf, BuiltInConstraint) and not leaf.is_anti_monotone


# Constraints that checkpoints can hold and certificates can state.
BUILT_IN: list[type[ClusterConstraint]] = [
    MaximumSize,
    MaximumDiameter,
    MaximumOverlap,
    MinimumDifference,
    SoftCannotLinks,
    AllOf,
    AnyOf,
]


def checked_constraints(values: Any, argument: str) -> tuple[ClusterConstraint, ...]:
    """Return constraints as a tuple, or raise an InstanceError that names the argument.

    values : an iterable of constraints; None: no constraints
    """
    expected = "expected ClusterConstraint objects"
    if values is None:
        return ()
    if isinstance(values, ClusterConstraint):
        raise InstanceError(f"{argument}: a single {type(values).__name__}; {expected} in a list")
    if not isinstance(values, Iterable):
        raise InstanceError(f"{argument} = {values!r}; {expected}")
    constraints = tuple(values)
    for position, constraint in enumerate(constraints):
        if not isinstance(constraint, ClusterConstraint):
            raise InstanceError(f"{argument}[{position}] = {constraint!r}; {expected}")
    return constraints


def _set(constraint: ClusterConstraint, attribute: str, value: object) -> None:
    object.__setattr__(constraint, attribute, value)


def _limit(constraint: ClusterConstraint, value: Any, least: int) -> int:
    return checked_integer(value, f"{type(constraint).__name__}: limit", least)
