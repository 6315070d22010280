"""Constraints that a clustering violates, hard and soft, and what a message says of the first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.checker.kernel.sizes import SizeLimits, as_range, sums_over
from sdpbb.checker.kernel.weight_units import WeightUnits
from sdpbb.problem.checks import SoftPairs
from sdpbb.problem.class_sizes import Sizes, class_measures, listed
from sdpbb.problem.cluster_constraints import is_allowed
from sdpbb.problem.instance import Instance
from sdpbb.problem.partition import Partition
from sdpbb.problem.textfile import first_of, name_in_file
from sdpbb.runtime.results import values_of
from sdpbb.runtime.values import counted, plain_number


@dataclass(frozen=True)
class Violation:
    """Constraint that a clustering does not satisfy.

    Attributes
    ----------
    kind : "must-link", "cannot-link", the class of a constraint on clusters, or "min_size",
        "max_size", "sizes", "min_weight" or "max_weight"
    position : in the instance's list of its kind (`must_link`, `cannot_link`,
        `cluster_constraints`), from 0; 0 for limits on sizes and weights
    points : the row numbers, from 0, of the pair; for a constraint on clusters, of the first
        cluster that does not satisfy it
    rows : what the user calls them
    place : where a file states it, such as "constraints.txt:17"; "" if none does
    constraint : what a constraint on clusters says; "" for pairs
    weight : of that cluster, for limits on weights; None for others
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
        return f"{self.constraint}{place}: {self.cluster_in_words}, rows {shown}"

    @property
    def cluster_in_words(self) -> str:
        """The size of the cluster, and what it weighs where that is limited."""
        weighs = "" if self.weight is None else f" that weighs {self.weight:.10g}"
        return f"a cluster of {counted(len(self.rows), 'point')}{weighs}"


def violations(instance: Instance, partition: Partition) -> tuple[Violation, ...]:
    """Return the constraints that a clustering of the points violates.

    They are must-links, cannot-links, those on clusters, each in the order of the instance's list.
    """
    must_link, cannot_link = partition.violations(instance)
    return (
        *_violated_pairs(instance, "must_link", must_link),
        *_violated_pairs(instance, "cannot_link", cannot_link),
        *(
            _on_clusters(instance, partition, int(position))
            for position in partition.cluster_violations(instance)
        ),
        *_on_limits(instance, partition),
    )


def objection(instance: Instance, partition: Partition) -> str:
    """Return why a clustering of the instance's points is not feasible; "" if it is.

    Examples: "violates must-link 3 7 (c.txt:17)", "violates min_size = 5: a cluster of 4 points,
    rows 0, 1, 8, 9".
    """
    if partition.n_clusters != instance.k:
        found = counted(partition.n_clusters, "cluster")
        return f"{found} instead of k = {instance.k}"
    first = next(iter(violations(instance, partition)), None)
    return "" if first is None else f"violates {first}"


def _on_limits(instance: Instance, partition: Partition) -> Iterable[Violation]:
    """Yield the violated limits on sizes and weights, each with the first cluster."""
    limits, sizes = instance.limits, np.bincount(partition.labels)
    units = WeightUnits.of(instance.weights, instance.n_points)
    weighed = sums_over(units.units, partition.labels)
    wrong: dict[str, Callable[[Any], NDArray[np.bool_]]] = {
        "min_size": lambda size: sizes < size,
        "max_size": lambda size: sizes > size,
        "sizes": lambda stated: _unlisted(instance, partition.labels, stated),
        "min_weight": lambda weight: weighed < units.least(weight),
        "max_weight": lambda weight: weighed > units.most(weight),
    }
    for argument, value in limits.items():
        clusters = np.flatnonzero(wrong[argument](value))
        if len(clusters):
            first, is_weight = int(clusters[0]), argument.endswith("weight")
            weight = units.unit * float(weighed[first]) if is_weight else None
            yield _of_cluster(instance, partition, first, argument, weight)


def _unlisted(instance: Instance, labels: NDArray[np.intp], stated: Sizes) -> NDArray[np.bool_]:
    """Return which clusters are in no listed range, (k,); all if only their numbers are wrong.

    Where classes have sizes of their own, it is the range of its class.
    """
    sizes, ranges = np.bincount(labels), list(map(as_range, listed(stated)))
    low, high = np.array(ranges).T
    inside = (low <= sizes[:, None]) & (sizes[:, None] <= high)
    wrong: NDArray[np.bool_] = ~inside.any(axis=1)
    for each in class_measures(stated, instance.origin.known_classes):
        sums = sums_over(each.values(len(labels)), labels)
        wrong |= (sums < each.least) | (sums > each.most)
    if wrong.any():
        return wrong
    limits = SizeLimits.of(len(labels), len(ranges), listed=ranges)
    return np.full(len(sizes), limits is not None and not limits.keeps(sizes))


def _of_cluster(
    instance: Instance,
    partition: Partition,
    cluster: int,
    limit: str,
    weight: float | None = None,
) -> Violation:
    """Return the violation of a limit, named like its argument, by a cluster of this weight."""
    points = tuple(np.flatnonzero(partition.labels == cluster).tolist())
    rows, value = tuple(instance.origin.rows(points)), getattr(instance, limit)
    shown = plain_number(value) if isinstance(value, (int, float)) else str(value)
    place = instance.origin.place_on_clusters(limit, value)
    return Violation(limit, 0, points, rows, place, f"{limit} = {shown}", weight)


def _violated_pairs(
    instance: Instance, argument: str, positions: NDArray[np.intp]
) -> Iterable[Violation]:
    pairs = getattr(instance, argument)
    for position in positions.tolist():
        i, j = pairs[position].tolist()
        yield Violation(
            kind=argument.replace("_", "-"),
            position=position,
            points=(i, j),
            rows=tuple(instance.origin.rows((i, j))),
            place=instance.origin.place(argument, i, j),
        )


def _on_clusters(instance: Instance, partition: Partition, position: int) -> Violation:
    constraint = instance.cluster_constraints[position]
    clusters = (np.flatnonzero(partition.labels == c) for c in range(partition.n_clusters))
    members = next(cluster for cluster in clusters if not is_allowed(constraint, instance, cluster))
    points = tuple(members.tolist())
    return Violation(
        kind=type(constraint).__name__,
        position=position,
        points=points,
        rows=tuple(instance.origin.rows(points)),
        place=instance.origin.place_on_clusters("cluster_constraints", constraint),
        constraint=" ".join(repr(constraint).split()),
    )


Triple = tuple[int, int, float]


@dataclass(frozen=True)
class SoftViolations:
    """Soft pairs that a clustering violates, and the two parts of what it costs.

    Attributes
    ----------
    sum_of_squares, penalty : the parts of the cost; the second is the sum of the weights below
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
            partition.cost(instance.without_soft_pairs()),
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
