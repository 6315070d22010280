"""Clusterings from solutions of master programmes: rounding, and splitting into k clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sdpbb.bounds.lagrangian.columns import Membership
from sdpbb.problem import Contraction

Labels = NDArray[np.intp]


def round_to_clustering(
    contraction: Contraction, members: Membership, x: NDArray[np.float64]
) -> Labels | None:
    """Round a solution of the master programme: return labels (m,), or None.

    They have exactly k clusters and satisfy the constraints. The solution uses each of the clusters
    (t, m) x (t,) > 0 times. None: a remaining block fits no cluster.

    Up to k times, the cluster with the largest x times its number of uncovered points becomes a
    cluster of its uncovered blocks. Remaining blocks join, one by one, the cluster whose cost they
    increase least. A cover by k clusters with x = 1 is returned without its overlaps.
    """
    labels, left = np.full(contraction.n_blocks, -1, np.intp), contraction.weights.copy()
    points = csr_array(members.astype(np.float64))
    for cluster in range(contraction.k):
        gains = x * (points @ left)
        if not gains.max(initial=0.0) > 0.0:
            break
        best = int(np.argmax(gains))
        labels[members[best] & (labels < 0)] = cluster
        left[members[best]] = 0.0
    for block in np.argsort(-contraction.weights, kind="stable"):
        if labels[block] < 0:
            joined = _cheapest(contraction, labels, int(block))
            if joined is None:
                return None
            labels[block] = joined
    return split(contraction, labels)


def split(contraction: Contraction, labels: Labels) -> Labels:
    """Split clusters until there are k: the block farthest from its mean leaves its cluster.

    That never raises the cost, and any subset of a cluster is allowed.
    """
    labels = labels.copy()
    for new in range(int(labels.max()) + 1, contraction.k):
        _, means = _weights_and_means(contraction, labels == np.arange(new)[:, None])
        distances = ((contraction.means - means[labels]) ** 2).sum(axis=1)
        gain = contraction.weights * distances
        gain[np.bincount(labels)[labels] == 1] = -1.0
        labels[np.argmax(gain)] = new
    return labels


def _cheapest(contraction: Contraction, labels: Labels, block: int) -> int | None:
    """Return the cluster whose cost the block increases least.

    It may be a new cluster if there are fewer than k. None: the block may join none.
    """
    n_clusters = int(labels.max()) + 1
    if n_clusters < contraction.k:
        return n_clusters
    candidates = labels == np.arange(n_clusters)[:, None]
    weights, means = _weights_and_means(contraction, candidates)
    distances = ((means - contraction.means[block]) ** 2).sum(axis=1)
    added = weights / (weights + contraction.weights[block]) * distances
    candidates[:, block] = True
    for cluster in np.argsort(added, kind="stable"):
        if contraction.allows(np.flatnonzero(candidates[cluster])):
            return int(cluster)
    return None


def _weights_and_means(
    contraction: Contraction, members: Membership
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights (t,) and the means (t, r) of clusters (t, m)."""
    weights = members @ contraction.weights
    sums = members @ (contraction.weights[:, None] * contraction.means)
    return weights, sums / weights[:, None]
