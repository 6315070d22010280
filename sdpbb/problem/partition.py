"""Clusterings of the points: labels, cost, violated constraints."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.cluster_constraints import is_allowed
from sdpbb.problem.coordinates import members_of, sum_of_squares
from sdpbb.problem.graph import by_first_occurrence
from sdpbb.problem.instance import Instance
from sdpbb.runtime.values import counted

# Clusters whose sizes are listed one by one in a line.
LISTED = 10


@dataclass(frozen=True, eq=False, repr=False)
class Partition:
    """Labels in canonical form: clusters numbered 0, 1, ... by their first point.

    Two partitions are equal when they put the same points together.

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
        """Return the means of the clusters 0, 1, ..., (k, d), of points (n, d).

        weights : (n,) of the points; None for 1 each
        """
        if weights is not None:
            weights = weights / weights.max()  # so that products with coordinates are no larger
        sums = np.zeros((self.n_clusters, points.shape[1]))
        np.add.at(sums, self.labels, points if weights is None else weights[:, None] * points)
        return sums / np.bincount(self.labels, weights)[:, None]

    def sum_of_squares(
        self, points: ArrayLike, weights: NDArray[np.float64] | None = None
    ) -> float:
        """Return the sum of squared Euclidean distances to the cluster means.

        weights : (n,) of the points, in the sum and in the means; None for 1 each

        It is computed from the points themselves: 0 if, and only if, the points of each cluster
        coincide, and elsewhere with an error relative to the sum itself, wherever the clusters are.
        """
        points = np.asarray(points, dtype=np.float64)
        return math.fsum(
            sum_of_squares(points[members], None if weights is None else weights[members])
            for members in members_of(self.labels)
        )

    def cost(self, instance: Instance) -> float:
        """Return the objective of the instance: what the engine minimises, proves and reports.

        It is the sum of squares, weighted where points have weights, plus the weights of the soft
        pairs that are violated; labels need not satisfy any constraint.
        """
        cost = self.sum_of_squares(instance.points, instance.weights)
        return cost + self.penalty(instance) if instance.has_soft_constraints else cost

    def penalty(self, instance: Instance) -> float:
        """Return the sum of the weights of the soft pairs that are violated."""
        apart, together = self.soft_violations(instance)
        violated = (
            instance.soft_must_link.weights[apart],
            instance.soft_cannot_link.weights[together],
        )
        return math.fsum(np.concatenate(violated))

    def soft_violations(self, instance: Instance) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the positions of the soft must-links and the soft cannot-links that do not hold.

        Positions are those in the instance's own lists.
        """
        return self._violated(instance.soft_must_link.pairs, instance.soft_cannot_link.pairs)

    def violations(self, instance: Instance) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the positions of the must-links and the cannot-links that do not hold.

        Positions are those in the instance's own lists.
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

    def cluster_violations(self, instance: Instance) -> NDArray[np.intp]:
        """Return the positions of `instance.cluster_constraints` that some cluster violates."""
        clusters = [np.flatnonzero(self.labels == c) for c in range(self.n_clusters)]
        violated = [
            position
            for position, constraint in enumerate(instance.cluster_constraints)
            if not all(is_allowed(constraint, instance, members) for members in clusters)
        ]
        return np.array(violated, np.intp)

    def is_feasible(self, instance: Instance) -> bool:
        """Return whether the partition has exactly k clusters and satisfies every constraint."""
        if len(self.labels) != instance.n_points or self.n_clusters != instance.k:
            return False
        if any(len(violated) for violated in self.violations(instance)):
            return False
        return not len(self.cluster_violations(instance)) and self.keeps_sizes(instance)

    def keeps_sizes(self, instance: Instance) -> bool:
        """Return whether the clusters have sizes, and weights, as the instance limits them."""
        limited = (each for each in instance.rules.quantities if each.name)
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
