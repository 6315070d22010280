"""Partition of the blocks into subsets that look alike, by halving.

Let U be a clustering. If each subset has a share of each cluster of U whose mean is the cluster's
mean, the restrictions of U to the subsets cost together what U costs, and what the sum of their
optima loses is only what the subsets' own optima save. So each subset is halved by splitting pairs
of near blocks of the same cluster, whichever way keeps the means of the halves together.

Source: anticlustering; H. Späth, Anticlustering: maximizing the variance criterion (1986).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.decomposition.halving import match_halves
from sdpbb.decomposition.subsets import SubsetTree
from sdpbb.problem import Contraction
from sdpbb.problem.graph import connected_components

# Passes over all pairs that try to turn each of them; the first few do most.
SWAPS = 20


def subset_tree(
    contraction: Contraction, labels: NDArray[np.intp], depth: int, most_linked: int
) -> SubsetTree:
    """Return the tree of subsets whose smallest ones are 2**depth.

    Blocks that cannot-links connect stay together where there are at most `most_linked` of them;
    of larger components, that many at a time in the order of a walk through them.

    labels : (m,) of the blocks, a clustering to whose clusters subsets are matched
    """
    unit_of = _units(contraction, most_linked)
    near = _near_order(contraction.means)
    parts = [near]
    for _ in range(depth):
        parts = [half for part in parts for half in _halves(contraction, labels, unit_of, part)]
    bounds = np.cumsum([0, *(len(part) for part in parts)])
    return SubsetTree(np.concatenate(parts), bounds.astype(np.intp))


def _near_order(means: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the blocks in an order in which neighbours are mostly near each other."""
    from scipy.spatial import KDTree  # seldom needed

    order: NDArray[np.intp] = KDTree(means, leafsize=2).indices
    return order


def _units(contraction: Contraction, most: int) -> NDArray[np.intp]:
    """Return the unit (m,) of each block: what is not divided between subsets."""
    component = connected_components(contraction.n_blocks, contraction.cannot_link)
    counts = np.bincount(component)
    if counts.max() <= most:
        return component
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    i, j = contraction.cannot_link.T
    graph = coo_array((np.ones(len(i)), (i, j)), (contraction.n_blocks,) * 2).tocsr()
    unit = component.copy()
    n_units = len(counts)
    first = np.unique(component, return_index=True)[1]
    for large in np.flatnonzero(counts > most):
        walk = breadth_first_order(graph, first[large], directed=False)[0]
        pieces = np.arange(len(walk)) // most
        unit[walk] = np.where(pieces == 0, large, n_units + pieces - 1)
        n_units += int(pieces[-1])
    return unit


def _halves(
    contraction: Contraction,
    labels: NDArray[np.intp],
    unit_of: NDArray[np.intp],
    part: NDArray[np.intp],
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the two halves of a subset, each in the order of the subset, (b,)."""
    cluster = np.unique(labels[part], return_inverse=True)[1]
    sizes, means = contraction.sizes[part], contraction.means[part]
    deviations = _weighted_deviations(sizes, means, cluster)
    unit = np.unique(unit_of[part], return_inverse=True)[1]
    is_single = np.bincount(unit)[unit] == 1
    is_first = np.zeros(len(part), dtype=bool)
    _deal_units(np.flatnonzero(~is_single), unit, cluster, deviations, is_first)
    sums = np.zeros((int(cluster.max()) + 1, means.shape[1]))
    dealt = ~is_single & is_first
    np.add.at(sums, cluster[dealt], deviations[dealt])
    singles = np.flatnonzero(is_single)
    singles = singles[np.argsort(cluster[singles], kind="stable")]
    first, second, left = _neighbours(singles, cluster)
    kept = match_halves(deviations, first, second, cluster[first], sums, SWAPS)
    is_first[np.where(kept, first, second)] = True
    is_first[_to_balance(left, is_first, ~is_single, len(first))] = True
    return part[is_first], part[~is_first]


def _weighted_deviations(
    sizes: NDArray[np.float64], means: NDArray[np.float64], cluster: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the deviations (b, r) of blocks from their clusters' means, times their sizes."""
    weight = np.bincount(cluster, sizes)
    columns = [np.bincount(cluster, sizes * column) / weight for column in means.T]
    centres = np.column_stack(columns) if columns else np.zeros((len(weight), 0))
    return np.ascontiguousarray(sizes[:, None] * (means - centres[cluster]))


def _deal_units(
    blocks: NDArray[np.intp],
    unit: NDArray[np.intp],
    cluster: NDArray[np.intp],
    deviations: NDArray[np.float64],
    is_first: NDArray[np.bool_],
) -> None:
    """Put each unit of several blocks into the half that has fewer blocks of its clusters so far.

    The largest come first. Where the halves have equally many, it is the one in which deviations
    add up to less, or else the smaller one. `is_first` (b,) is changed.
    """
    if not len(blocks):
        return
    n_clusters = int(cluster.max()) + 1
    surplus = np.zeros(n_clusters)  # of blocks of each cluster in the first half
    sums = np.zeros((n_clusters, deviations.shape[1]))
    by_unit = blocks[np.argsort(unit[blocks], kind="stable")]
    units = np.split(by_unit, np.flatnonzero(np.diff(unit[by_unit])) + 1)
    for members in sorted(units, key=len, reverse=True):
        counts = np.bincount(cluster[members], minlength=n_clusters)
        added = np.zeros_like(sums)
        np.add.at(added, cluster[members], deviations[members])
        leans = (float(surplus @ counts), float((sums * added).sum()), float(surplus.sum()))
        sign = -1.0 if next((lean for lean in leans if lean != 0.0), 0.0) > 0.0 else 1.0
        surplus += sign * counts
        sums += sign * added
        is_first[members] = sign > 0


def _neighbours(
    blocks: NDArray[np.intp], cluster: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return pairs of blocks that follow each other in a cluster, and those without a partner.

    blocks : sorted by cluster
    """
    of = cluster[blocks]
    begins = np.flatnonzero(np.diff(of, prepend=-1))
    place = np.arange(len(blocks)) - np.repeat(begins, np.diff(np.append(begins, len(blocks))))
    is_pair = (place[:-1] % 2 == 0) & (of[:-1] == of[1:])
    at = np.flatnonzero(is_pair)
    left = np.ones(len(blocks), dtype=bool)
    left[at] = left[at + 1] = False
    return blocks[at], blocks[at + 1], blocks[left]


def _to_balance(
    left: NDArray[np.intp], is_first: NDArray[np.bool_], is_dealt: NDArray[np.bool_], n_pairs: int
) -> NDArray[np.intp]:
    """Return those of the blocks left that the first half takes, so that both are equally large."""
    n_first = int((is_first & is_dealt).sum()) + n_pairs
    n_second = int((~is_first & is_dealt).sum()) + n_pairs
    n_taken = (len(left) + n_second - n_first + 1) // 2
    return left[: min(max(n_taken, 0), len(left))]
