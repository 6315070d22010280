"""The truth about small instances: every clustering, one by one."""

import math
from dataclasses import replace
from functools import cache

import numpy as np

from sdpbb.problem import Instance


@cache
def clusterings(n: int, k: int) -> np.ndarray:
    """All partitions of n points into exactly k clusters, as canonical labels (number, n)."""
    rows = [(0,)]
    for _ in range(n - 1):
        rows = [(*row, c) for row in rows for c in range(min(max(row) + 2, k))]
    return np.array([row for row in rows if max(row) == k - 1], dtype=np.intp).reshape(-1, n)


def feasible_clusterings(instance: Instance) -> np.ndarray:
    """All labels (number, n) with exactly k clusters that keep the constraints."""
    labels = clusterings(instance.n_points, instance.k)
    keep = np.ones(len(labels), dtype=bool)
    for i, j in instance.must_link:
        keep &= labels[:, i] == labels[:, j]
    for i, j in instance.cannot_link:
        keep &= labels[:, i] != labels[:, j]
    if instance.cluster_constraints:
        keep &= [keeps_cluster_constraints(instance, row) for row in labels]
    limits = (instance.min_size, instance.max_size, instance.sizes)
    if any((*limits, instance.min_weight, instance.max_weight)):
        keep &= [keeps_sizes(instance, row) for row in labels]
    return labels[keep]


def keeps_cluster_constraints(instance: Instance, labels: np.ndarray) -> bool:
    """Whether all clusters of labels (n,) are allowed."""
    clusters = [np.flatnonzero(labels == c) for c in range(labels.max() + 1)]
    return all(c.allows(instance, x) for c in instance.cluster_constraints for x in clusters)


def keeps_sizes(instance: Instance, labels: np.ndarray) -> bool:
    """Whether the clusters of labels (n,) have as many points, and weigh as much, as they may."""
    clusters = [labels == c for c in range(labels.max() + 1)]
    sizes = sorted(members.sum() for members in clusters)
    least, most = instance.min_size or 0, instance.max_size or len(labels)
    if instance.sizes is not None and sizes != sorted(instance.sizes):
        return False
    weights = np.ones(len(labels)) if instance.weights is None else instance.weights
    weighed = [math.fsum(weights[members]) for members in clusters]
    lightest, heaviest = instance.min_weight or 0.0, instance.max_weight or math.inf
    within = all(lightest * (1 - 1e-9) <= w <= heaviest * (1 + 1e-9) for w in weighed)
    return within and all(least <= size <= most for size in sizes)


def sums_of_squares(
    points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """The cost of each row of labels (number, n)."""
    total = np.zeros(len(labels))
    for c in range(labels.max(initial=-1) + 1):
        member = (labels == c) * (1.0 if weights is None else weights)
        size = member.sum(axis=1, keepdims=True)
        deviation = points - (member @ points / np.where(size > 0.0, size, 1.0))[:, None, :]
        total += (member * (deviation**2).sum(axis=2)).sum(axis=1)
    return total


def optimum(instance: Instance) -> float | None:
    """The least cost of a feasible clustering, or None if there is none."""
    labels = feasible_clusterings(instance)
    costs = sums_of_squares(instance.points, labels, instance.weights)
    return float(costs.min()) if len(labels) else None


def clustering_matrix(labels: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Z over blocks: 1/|C| for two blocks of the same cluster C, |C| counted in points."""
    weight = np.bincount(labels, weights=sizes)
    return (labels[:, None] == labels) / weight[labels]


def random_instance(rng: np.random.Generator, n_max: int = 9, n_min: int = 1) -> Instance:
    """An instance of any shape: few or many constraints, ties and duplicates, any k."""
    n = int(rng.integers(n_min, n_max + 1))
    d = int(rng.integers(1, 4))
    points = rng.normal(size=(n, d))
    if rng.random() < 0.25:
        points = np.round(points)
    if n > 1 and rng.random() < 0.15:
        points[rng.integers(n)] = points[rng.integers(n)]
    pairs = np.array([(i, j) for i in range(n) for j in range(i)]).reshape(-1, 2)
    n_ml, n_cl = rng.integers(0, max(n // 2, 1)), rng.integers(0, n + 1)
    draw = rng.permutation(len(pairs))
    must_link = pairs[draw[:n_ml]]
    cannot_link = pairs[draw[n_ml : n_ml + n_cl]]
    return Instance(points, int(rng.integers(1, n + 1)), must_link, cannot_link)


def weighted(instance: Instance, rng: np.random.Generator) -> Instance:
    """The instance with weights: near 1, of many scales or whole numbers, in any unit."""
    n = instance.n_points
    weights = (
        rng.uniform(0.1, 3.0, n),
        10.0 ** rng.uniform(-3.0, 3.0, n),
        rng.integers(1, 6, n).astype(float),
    )[rng.integers(3)]
    return replace(instance, weights=weights * 10.0 ** rng.uniform(-12.0, 12.0))
