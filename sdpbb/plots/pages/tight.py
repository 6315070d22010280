"""Tight constraints of a clustering: those that keep a point from a cluster where it costs less.

A must-link is tight if one of its points alone, a cannot-link if one of its points in the cluster
of the other, would lower the sum of squares while all other points stay where they are. This is a
look at single moves, and no price (`sdpbb price`), which is proven.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Instance, Partition

# Points times clusters up to which single moves are looked at.
MOST_MOVES = 20_000_000


@dataclass(frozen=True)
class TightConstraint:
    """Constraint that keeps a point from a cluster where it costs less.

    kind : "must_link" or "cannot_link"
    rows : (i, j)
    moved, cluster : the point, and the cluster that it is kept from
    saving : by how much the sum of squares would be less
    """

    kind: str
    rows: tuple[int, int]
    moved: int
    cluster: int
    saving: float


def tight_constraints(instance: Instance, partition: Partition) -> list[TightConstraint] | None:
    """Return the tight constraints, the largest savings first; None where points are too many."""
    if instance.n_points * partition.n_clusters > MOST_MOVES:
        return None
    pairs = len(instance.must_link) + len(instance.cannot_link)
    if not pairs:
        return []
    savings = _savings(instance, partition)
    savings[savings <= 1e-12 * np.abs(savings).max(initial=0.0)] = 0.0
    labels = partition.labels
    found = []
    for i, j in instance.must_link.tolist():
        moved = max((i, j), key=lambda row: float(savings[row].max()))
        cluster = int(savings[moved].argmax())
        found.append(("must_link", i, j, moved, cluster))
    for i, j in instance.cannot_link.tolist():
        moved, other = max(
            ((i, j), (j, i)), key=lambda ends: float(savings[ends[0], labels[ends[1]]])
        )
        found.append(("cannot_link", i, j, moved, int(labels[other])))
    tight = [
        TightConstraint(kind, (i, j), moved, cluster, float(savings[moved, cluster]))
        for kind, i, j, moved, cluster in found
        if savings[moved, cluster] > 0.0
    ]
    return sorted(tight, key=lambda each: -each.saving)


def _savings(instance: Instance, partition: Partition) -> NDArray[np.float64]:
    """Return by how much each point alone in each other cluster lowers the sum of squares, (n, k).

    A point of weight w at a distance d from the mean of its cluster of weight W saves
    W w / (W - w) d^2, and costs V w / (V + w) e^2 at a distance e from that of another one of V.
    """
    points, labels, k = instance.points, partition.labels, partition.n_clusters
    weights = np.ones(len(points)) if instance.weights is None else instance.weights
    total = np.bincount(labels, weights, k)
    means = partition.means(points, instance.weights)
    squares = np.stack([((points - mean) ** 2).sum(axis=1) for mean in means], axis=1)
    costs = squares * (total * weights[:, None] / (total + weights[:, None]))
    rows = np.arange(len(points))
    left = total[labels] - weights
    own = squares[rows, labels]
    saved = np.zeros(len(points))
    rest = left > 1e-12 * total[labels]
    saved[rest] = own[rest] * total[labels[rest]] * weights[rest] / left[rest]
    savings = saved[:, None] - costs
    savings[rows, labels] = 0.0
    return savings
