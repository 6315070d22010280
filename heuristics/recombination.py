"""Recombination of two clusterings: of each region in which they differ, the better part."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from heuristics.kmeans_steps import cluster_means
from sdpbb.problem import Contraction
from sdpbb.problem.graph import connected_components


def recombine(
    contraction: Contraction, first: NDArray[np.intp], second: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return the cheapest clustering (m,) made of whole regions of two.

    Clusters of the first and of the second are linked where they share a block. A component of this
    graph holds the same blocks in clusters of either, so that these can be exchanged for each
    other, and any choice is a clustering; dynamic programming over the components chooses so that
    there are k clusters. Each of its clusters is one of the two clusterings', so that it keeps the
    constraints if both do; and it costs no more than either.

    Source: the idea is that of partition crossover for the travelling salesman, D. Whitley,
    D. Hains, A. Howe, Tunneling between optima, GECCO (2009).

    Parameters
    ----------
    first, second : (m,) exactly the clusters 0..k-1
    """
    k = contraction.k
    region = connected_components(2 * k, np.column_stack([first, k + second]))
    n_regions = int(region.max()) + 1
    saved = _sums(region[:k], _costs(contraction, first), n_regions)
    saved -= _sums(region[k:], _costs(contraction, second), n_regions)
    more = np.bincount(region[k:], minlength=n_regions)
    more -= np.bincount(region[:k], minlength=n_regions)
    is_second = (more == 0) & (saved > 0.0)
    uneven = np.flatnonzero(more)
    is_second[uneven] = _choose(saved[uneven], more[uneven])
    chosen = np.where(is_second[region[first]], k + second, first)
    return np.unique(chosen, return_inverse=True)[1].astype(np.intp)


def _costs(contraction: Contraction, labels: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the cost of each cluster, (k,), without the scatter inside of blocks."""
    away = contraction.means - cluster_means(contraction, labels)[labels]
    of_blocks = contraction.weights * (away**2).sum(axis=1)
    return _sums(labels, of_blocks, contraction.k)


def _sums(labels: NDArray[np.integer], values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return the sum of the values of each label, (n,)."""
    return np.asarray(np.bincount(labels, weights=values, minlength=n), np.float64)


def _choose(saved: NDArray[np.float64], more: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which regions (t,) to take from the second clustering: those that save most together.

    Together they have as many clusters in the one as in the other.

    more : (t,) clusters of each region in the second clustering beyond those in the first, none 0
    """
    reach = int(more[more > 0].sum())  # and as many fewer
    best = np.full(2 * reach + 1, -np.inf)
    best[reach] = 0.0
    taken = np.zeros((len(more), len(best)), bool)
    for number, (gain, step) in enumerate(zip(saved.tolist(), more.tolist(), strict=True)):
        with_it = np.full(len(best), -np.inf)
        if step > 0:
            with_it[step:] = best[:-step] + gain
        else:
            with_it[:step] = best[-step:] + gain
        taken[number] = with_it > best
        best = np.where(taken[number], with_it, best)
    chosen, at = np.zeros(len(more), bool), reach
    for number in range(len(more) - 1, -1, -1):
        if taken[number, at]:
            chosen[number] = True
            at -= int(more[number])
    return chosen
