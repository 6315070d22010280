"""Compiled loop over moves of single blocks without pairs, if there are many."""

from __future__ import annotations

import numpy as np

from heuristics.cluster_state import BlockData, ClusterState, fits
from sdpbb.runtime.arrays import Booleans, Integers, Reals
from sdpbb.runtime.jit import njit

# A move nearly improves if it costs less than this times what it saves: while means change but
# little, no other will improve.
NEARLY = 1.02


@njit(cache=True, nogil=True)
def move_blocks(
    numbers: Integers,
    blocks: BlockData,
    clusters: ClusterState,
    columns: Reals,
    threshold: float,
    nearly: Booleans,
) -> int:
    """Move each of the blocks to the cluster where it saves most; return how many were moved.

    The sums of the clusters are not kept up.

    Parameters
    ----------
    columns : (r, k) the coordinates of the means of the clusters, kept up
    nearly : set to whether a move improves, or nearly so, for each of the blocks
    """
    labels, amounts, weight = clusters.labels, clusters.amounts, clusters.weight
    means, (r, k) = blocks.means, columns.shape
    distances = np.empty(k)
    n_moved = 0
    for number in range(len(numbers)):
        i = numbers[number]
        a, w = labels[i], blocks.weights[i]
        if amounts[a, 0] == 1:
            continue
        distances[:] = 0.0
        for t in range(r):
            for c in range(k):
                distances[c] += (means[i, t] - columns[t, c]) ** 2
        saved = distances[a] * weight[a] / (weight[a] - w)
        distances[a] = np.inf
        b = 0
        for c in range(k):
            distances[c] *= weight[c] / (weight[c] + w)
            if distances[c] < distances[b]:
                b = c
        nearly[number] = distances[b] <= NEARLY * saved
        while w * (saved - distances[b]) > threshold:
            if fits(a, b, blocks.amounts[i], blocks, amounts):
                break
            distances[b] = np.inf
            b = int(np.argmin(distances))
        if w * (saved - distances[b]) <= threshold:
            continue
        for t in range(r):
            columns[t, a] -= (means[i, t] - columns[t, a]) * (w / (weight[a] - w))
            columns[t, b] += (means[i, t] - columns[t, b]) * (w / (weight[b] + w))
        weight[a] -= w
        weight[b] += w
        for q in range(amounts.shape[1]):
            amounts[a, q] -= blocks.amounts[i, q]
            amounts[b, q] += blocks.amounts[i, q]
        labels[i] = b
        n_moved += 1
    return n_moved
