"""Clusterings of the points: their labels, costs and violated constraints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpbb.checker.kernel.sizes import SizeLimits, StatedMeasure, sums_over
from sdpbb.errors import InstanceError
from sdpbb.problem.checks import SoftPairs
from sdpbb.problem.cluster_constraints import is_allowed
from sdpbb.problem.coordinates import members_of, sum_of_squares
from sdpbb.problem.graph import by_first_occurrence
from sdpbb.problem.instance import Instance
from sdpbb.problem.textfile import first_of, name_in_file
from sdpbb.runtime.results import values_of
from sdpbb.runtime.values import counted, plain_number

# Maximum number of clusters whose sizes are listed one by one in a line.
LISTED = 10


@dataclass(frozen=True, eq=False, repr=False)
class Partition:
    """Labels in canonical form: clusters are numbered 0, 1, ... by their first point.

    Two partitions are equal if they have the same clusters.

    Parameters
    ----------
    labels : array (n,) of integers, any numbering

    Raises
    ------
    InstanceError
        If labels is not a one-dimensional array of integers.
    """

    labels: NDArray[np.intp]

    def __post_init__(self) -> None:
        given = np.asarray(self.labels)
        if given.ndim != 1 or not np.issubdtype(given.dtype, np.integer):
            raise InstanceError("labels: expected a one-dimensional array of integers")
        labels = by_first_occurrence(given)
        labels.flags.writeable = False
        object.__setattr__(self, "labels", labels)

    @property
    def n_clusters(self) -> int:
        return int(self.labels.max()) + 1 if len(self.labels) else 0

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Numbers of points of the clusters 0, 1, ..., (k,)."""
        return np.bincount(self.labels)

    def means(
        self, points: NDArray[np.float64], weights: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the means of the clusters 0, 1, ..., (k, d), for points (n, d).

        weights : (n,) weights of the points; None: 1 each
        """
        if weights is not None:
            weights = weights / weights.max()  # products with coordinates must not overflow
        sums = np.zeros((self.n_clusters, points.shape[1]))
        np.add.at(sums, self.labels, points if weights is None else weights[:, None] * points)
        return sums / np.bincount(self.labels, weights)[:, None]

    def sum_of_squares(
        self, points: ArrayLike, weights: NDArray[np.float64] | None = None
    ) -> float:
        """Return the sum of squared Euclidean distances to the cluster means.

        weights : (n,) weights of the points, in the sum and in the means; None: 1 each

        The sum is 0 if, and only if, the points of each cluster coincide. The error is relative to
        the sum itself, no matter where the clusters are.
        """
        points = np.asarray(points, dtype=np.float64)
        return math.fsum(
            sum_of_squares(points[members], None if weights is None else weights[members])
            for members in members_of(self.labels)
        )

    def cost(self, instance: Instance) -> float:
        """Return the objective of the instance, which the engine minimises and reports.

        It is the sum of squares, weighted if points have weights, plus the weights of violated soft
        pairs. Labels need not satisfy any constraint.
        """
        cost = self.sum_of_squares(instance.points, instance.weights)
        return cost + self.penalty(instance) if instance.has_soft_constraints else cost

    def penalty(self, instance: Instance) -> float:
        """Return the sum of the weights of the violated soft pairs."""
        apart, together = self.soft_violations(instance)
        violated = (
            instance.soft_must_link.weights[apart],
            instance.soft_cannot_link.weights[together],
        )
        return math.fsum(np.concatenate(violated))

    def soft_violations(self, instance: Instance) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the positions of the violated soft must-links and soft cannot-links.

        Positions refer to the instance's lists.
        """
        return self._violated(instance.soft_must_link.pairs, instance.soft_cannot_link.pairs)

    def violations(self, instance: Instance) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the positions of the violated must-links and cannot-links.

        Positions refer to the instance's lists.
        """
        return self._violated(instance.must_link, instance.cannot_link)

    def _violated(
        self, must_link: NDArray[np.intp], cannot_link: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        label = self.labels
        return (
            np.flatnonzero(label[must_link[:, 0]] != label[must_link[:, 1]]),
            np.flatnonzero(label[cannot_link[:, 0]] == label[cannot_link[:, 1]]),
        )

    def is_feasible(self, instance: Instance) -> bool:
        """Return whether the partition has exactly k clusters and satisfies every constraint."""
        return len(self.labels) == instance.n_points and not objection(instance, self)

    def keeps_sizes(self, instance: Instance) -> bool:
        """Return whether the clusters satisfy the limits on sizes, weights and least amounts."""
        limited = (each for each in instance.rules.quantities if each.has_all_points)
        return all(each.is_satisfied(self.labels) for each in limited)

    def __str__(self) -> str:
        """Return the number of clusters and their sizes: "3 clusters of 50, 61, 39 points"."""
        sizes = self.sizes
        if len(sizes) > LISTED:
            return f"{len(sizes)} clusters of {sizes.min()} to {sizes.max()} points"
        return f"{counted(len(sizes), 'cluster')} of {', '.join(map(str, sizes.tolist()))} points"

    def __repr__(self) -> str:
        return f"<Partition: {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Partition) and np.array_equal(self.labels, other.labels)

    def __hash__(self) -> int:
        return hash(self.labels.tobytes())


@dataclass(frozen=True)
class Violation:
    """Constraint that a clustering violates.

    Attributes
    ----------
    kind : "must-link", "cannot-link", the class of a constraint on clusters, or "min_size",
        "max_size", "sizes", "min_weight" or "max_weight"
    position : in the instance's list of its kind (`must_link`, `cannot_link`,
        `cluster_constraints`), from 0; 0 for limits on sizes and weights
    points : the row numbers, from 0, of the pair; for a constraint on clusters, of the first
        cluster that violates it
    rows : the user's names of these rows
    place : the place in a file that states the constraint, such as "constraints.txt:17"; "": none
    constraint : text of a constraint on clusters; "" for pairs
    weight : weight of that cluster, for limits on weights; None: another constraint
    """

    kind: str
    position: int
    points: tuple[int, ...]
    rows: tuple[str, ...]
    place: str = ""
    constraint: str = ""
    weight: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return values_of(self)

    def __str__(self) -> str:
        place = f" ({self.place})" if self.place else ""
        if not self.constraint:
            return f"{self.kind} {' '.join(map(name_in_file, self.rows))}{place}"
        shown = first_of(map(name_in_file, self.rows), 8)
        weighs = "" if self.weight is None else f" that weighs {self.weight:.10g}"
        cluster = f"a cluster of {counted(len(self.rows), 'point')}{weighs}"
        return f"{self.constraint}{place}: {cluster}, rows {shown}"


def violations(instance: Instance, partition: Partition) -> Iterator[Violation]:
    """Yield the constraints that a clustering of the points violates.

    The order is: must-links, cannot-links and constraints on clusters, each in the order of the
    instance's list, then limits on sizes and weights.
    """
    must_link, cannot_link = partition.violations(instance)
    yield from _violated_pairs(instance, "must_link", must_link)
    yield from _violated_pairs(instance, "cannot_link", cannot_link)
    clusters = members_of(partition.labels)
    for position, constraint in enumerate(instance.cluster_constraints):
        wrong = (each for each in clusters if not is_allowed(constraint, instance, each))
        if (members := next(wrong, None)) is not None:
            place = instance.origin.place_on_clusters("cluster_constraints", constraint)
            kind, text = type(constraint).__name__, " ".join(repr(constraint).split())
            yield _violation(instance, kind, position, members.tolist(), place, text)
    yield from _on_limits(instance, partition)


def objection(instance: Instance, partition: Partition) -> str:
    """Return the reason why a clustering of the instance's points is infeasible; "": feasible.

    Examples: "violates must-link 3 7 (c.txt:17)", "violates min_size = 5: a cluster of 4 points,
    rows 0, 1, 8, 9".
    """
    if partition.n_clusters != instance.k:
        found = counted(partition.n_clusters, "cluster")
        return f"{found} instead of k = {instance.k}"
    first = next(violations(instance, partition), None)
    return "" if first is None else f"violates {first}"


def _violated_pairs(
    instance: Instance, argument: str, positions: NDArray[np.intp]
) -> Iterator[Violation]:
    kind = argument.replace("_", "-")
    for position in positions.tolist():
        i, j = getattr(instance, argument)[position].tolist()
        yield _violation(instance, kind, position, (i, j), instance.origin.place(argument, i, j))


def _on_limits(instance: Instance, partition: Partition) -> Iterator[Violation]:
    """Yield the violated limits on sizes and weights, each with the first cluster."""
    wrong: dict[str, int] = {}
    for argument, stated in instance.stated_measures:
        are_wrong = _are_outside(stated, partition.labels)
        if are_wrong.any():
            wrong.setdefault(argument, int(are_wrong.argmax()))
    for argument, cluster in wrong.items():
        members, weight = np.flatnonzero(partition.labels == cluster), None
        if argument.endswith("weight"):
            weights = instance.weights
            weight = float(len(members) if weights is None else weights[members].sum())
        value = getattr(instance, argument)
        shown = plain_number(value) if isinstance(value, (int, float)) else str(value)
        place = instance.origin.place_on_clusters(argument, value)
        text = f"{argument} = {shown}"
        yield _violation(instance, argument, 0, members.tolist(), place, text, weight)


def _are_outside(stated: StatedMeasure, labels: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which clusters violate a limit, (k,).

    If each cluster is within a listed range, and only the numbers of clusters in the ranges are
    wrong, all clusters violate it.
    """
    n, held = len(labels), sums_over(stated.values(len(labels)), labels)
    wrong = np.asarray((held < stated.least) | (held > stated.most))
    if stated.listed:
        low, high = np.array(stated.listed).T
        wrong |= ~((low <= held[:, None]) & (held[:, None] <= high)).any(axis=1)
        limits = SizeLimits.of(n, len(low), listed=stated.listed)
        wrong |= not (wrong.any() or limits is None or limits.keeps(held))
    return wrong


def _violation(
    instance: Instance, kind: str, position: int, points: Iterable[int], *others: Any
) -> Violation:
    """Return a violation by points, with the user's names of their rows."""
    rows = tuple(points)
    return Violation(kind, position, rows, tuple(instance.origin.rows(rows)), *others)


Triple = tuple[int, int, float]


@dataclass(frozen=True)
class SoftViolations:
    """Soft pairs that a clustering violates, and the two parts of its cost.

    Attributes
    ----------
    sum_of_squares, penalty : the parts of the cost; the penalty is the sum of the weights below
    must_link, cannot_link : the violated pairs (i, j, weight), by row numbers from 0
    n_must_link, n_cannot_link : all soft pairs of the instance
    """

    sum_of_squares: float
    penalty: float
    must_link: tuple[Triple, ...]
    cannot_link: tuple[Triple, ...]
    n_must_link: int
    n_cannot_link: int

    @classmethod
    def of(cls, partition: Partition, instance: Instance) -> SoftViolations | None:
        """Return the violations of a clustering; None if the instance has no soft pairs."""
        if not instance.has_soft_constraints:
            return None
        apart, together = partition.soft_violations(instance)
        penalty = partition.penalty(instance)
        return cls(
            partition.sum_of_squares(instance.points, instance.weights),
            penalty,
            _triples(instance.soft_must_link, apart.tolist()),
            _triples(instance.soft_cannot_link, together.tolist()),
            len(instance.soft_must_link),
            len(instance.soft_cannot_link),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "sum_of_squares": self.sum_of_squares,
            "penalty": self.penalty,
            "violated_must_link": [list(triple) for triple in self.must_link],
            "violated_cannot_link": [list(triple) for triple in self.cannot_link],
            "n_must_link": self.n_must_link,
            "n_cannot_link": self.n_cannot_link,
        }

    def __str__(self) -> str:
        return (
            f"{len(self.must_link)} of {counted(self.n_must_link, 'soft must-link')}, "
            f"{len(self.cannot_link)} of {counted(self.n_cannot_link, 'soft cannot-link')}, "
            f"weight {self.penalty:.10g}"
        )


def _triples(soft: SoftPairs, positions: list[int]) -> tuple[Triple, ...]:
    pairs, weights = soft.pairs[positions].tolist(), soft.weights[positions].tolist()
    return tuple((i, j, weight) for (i, j), weight in zip(pairs, weights, strict=True))
