"""Clusterings with more clusters by splitting, with fewer by merging, that keep the constraints."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Contraction, Instance, Partition, contract

# Steps of k-means after a cluster was cut along its longest axis.
STEPS = 50


def clustering_from(instance: Instance, other: Partition) -> NDArray[np.intp] | None:
    """Return labels (n,) of an instance from a clustering of its points into other than k clusters.

    Clusters are split, or merged, one at a time, whichever leaves the least sum of squares. None
    where the result breaks a constraint, limits on sizes included.
    """
    contraction = contract(instance)
    if not isinstance(contraction, Contraction):
        return None
    labels = other.labels[contraction.representatives]
    if not np.array_equal(labels[contraction.block_of], other.labels):
        return None  # k clusters force must-links that the others do not keep
    n_clusters: int = other.n_clusters
    changed: NDArray[np.intp] | None = labels.astype(np.intp)
    while changed is not None and n_clusters != instance.k:
        is_fewer = n_clusters < instance.k
        step = split_best if is_fewer else merged_best
        changed = step(contraction, changed)
        n_clusters += 1 if is_fewer else -1
    if changed is None:
        return None
    found = Partition(changed[contraction.block_of])
    return found.labels if found.is_feasible(instance) else None


def split_best(contraction: Contraction, labels: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """Return labels (m,) of the blocks with that cluster split whose halves save most.

    None where every cluster is a single block.
    """
    best, saved = None, -1.0
    for cluster in range(int(labels.max()) + 1):
        members = np.flatnonzero(labels == cluster)
        if len(members) < 2:
            continue
        weights, means = contraction.weights[members], contraction.means[members]
        half = _halved(weights, means)
        gain = _scatter(weights, means) - sum(
            _scatter(weights[side], means[side]) for side in (half, ~half)
        )
        if gain > saved:
            best, saved = members[half], gain
    if best is None:
        return None
    found = labels.copy()
    found[best] = int(labels.max()) + 1
    return found


def merged_best(contraction: Contraction, labels: NDArray[np.intp]) -> NDArray[np.intp] | None:
    """Return labels (m,) of the blocks with the two clusters merged that this costs least.

    It costs W V / (W + V) ||difference of means||^2 (J. H. Ward, Hierarchical grouping to optimize
    an objective function, 1963). None where cannot-links keep all apart.
    """
    k = int(labels.max()) + 1
    weights = np.bincount(labels, contraction.weights, k)
    sums = np.zeros((k, contraction.means.shape[1]))
    np.add.at(sums, labels, contraction.weights[:, None] * contraction.means)
    means = sums / weights[:, None]
    squares = ((means[:, None] - means) ** 2).sum(axis=2)
    costs = weights[:, None] * weights / (weights[:, None] + weights) * squares
    i, j = labels[contraction.cannot_link].T
    costs[i, j] = costs[j, i] = np.inf
    np.fill_diagonal(costs, np.inf)
    first, second = sorted(divmod(int(costs.argmin()), k))
    if not np.isfinite(costs[first, second]):
        return None
    found = np.where(labels == second, first, labels)
    return np.asarray(np.where(found > second, found - 1, found))


def _halved(weights: NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return one half (m,) of two or more blocks: cut along their longest axis, then by k-means."""
    centred = means - weights @ means / weights.sum()
    axis = np.linalg.svd(np.sqrt(weights)[:, None] * centred, full_matrices=False)[2][0]
    half = np.asarray(centred @ axis > 0.0)
    if half.all() or not half.any():  # equal points
        half = np.arange(len(weights)) > 0
    for _ in range(STEPS):
        first, second = (weights[s] @ means[s] / weights[s].sum() for s in (half, ~half))
        nearer = np.asarray(2.0 * means @ (first - second) > first @ first - second @ second)
        if nearer.all() or not nearer.any() or np.array_equal(nearer, half):
            break
        half = nearer
    return half


def _scatter(weights: NDArray[np.float64], means: NDArray[np.float64]) -> float:
    """Return the sum of squares of weighted points around their mean."""
    mean = weights @ means / weights.sum()
    return float(weights @ ((means - mean) ** 2).sum(axis=1))
