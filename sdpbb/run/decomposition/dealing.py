"""Partition of the blocks into subsets that look alike, by halving.

Let U be a clustering. If each subset has a share of each cluster of U whose mean is the cluster's
mean, the restrictions of U to the subsets cost together what U costs, and what the sum of their
optima loses is only what the subsets' own optima save. So each subset is halved by splitting pairs
of near blocks of the same cluster, whichever way keeps the means of the halves together, and the
other features of `features`, too: what is alike saves little.

Source: anticlustering; H. Späth, Anticlustering: maximizing the variance criterion (1986).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Contraction
from sdpbb.problem.graph import connected_components
from sdpbb.run.decomposition.features import features
from sdpbb.run.decomposition.halving import match_halves
from sdpbb.run.decomposition.subsets import SubsetTree

# Passes over all pairs that try to turn each of them, at most; and pairs that are tried in all,
# about, where they are many. The first few passes do most.
PASSES, MOST_TRIED = 20, 1_000_000


def subset_tree(
    contraction: Contraction, labels: NDArray[np.intp], depth: int, most_linked: int
) -> SubsetTree:
    """Return the tree of subsets whose smallest ones are 2**depth.

    Blocks that cannot-links connect stay together where there are at most `most_linked` of them;
    of larger components, that many at a time in the order of a walk through them.

    labels : (m,) of the blocks, a clustering to whose clusters subsets are matched
    """
    unit_of = _units(contraction, most_linked)
    of_blocks = features(contraction, labels)
    parts = [_near_order(contraction.means)]
    for _ in range(depth):
        parts = [half for part in parts for half in _halves(of_blocks, labels, unit_of, part)]
    bounds = np.cumsum([0, *(len(part) for part in parts)])
    return SubsetTree(np.concatenate(parts), bounds.astype(np.intp))


def _near_order(means: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the blocks in an order in which neighbours are mostly near each other."""
    from scipy.spatial import KDTree  # seldom needed

    order: NDArray[np.intp] = KDTree(means, leafsize=2).indices
    return order


def _units(contraction: Contraction, most: int) -> NDArray[np.intp]:
    """Return the unit (m,) of each block: what is not divided between subsets."""
    pairs = np.concatenate([contraction.cannot_link, contraction.soft.pairs])
    component = connected_components(contraction.n_blocks, pairs)
    counts = np.bincount(component)
    if counts.max() <= most:
        return component
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    i, j = pairs.T
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
    features: NDArray[np.float32],
    labels: NDArray[np.intp],
    unit_of: NDArray[np.intp],
    part: NDArray[np.intp],
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the two halves of a subset, each in the order of the subset, (b,).

    features : (m, q) of all blocks
    """
    cluster = np.unique(labels[part], return_inverse=True)[1]
    unit = np.unique(unit_of[part], return_inverse=True)[1]
    is_single = np.bincount(unit)[unit] == 1
    is_first = np.zeros(len(part), dtype=bool)
    surplus = np.zeros((int(cluster.max()) + 1, features.shape[1]))
    _deal_units(np.flatnonzero(~is_single), unit, cluster, features, part, surplus, is_first)
    singles = np.flatnonzero(is_single)
    singles = singles[np.argsort(cluster[singles], kind="stable")]
    first, second, left = _neighbours(singles, cluster)
    passes = min(PASSES, max(1, MOST_TRIED // max(len(first), 1)))
    kept = match_halves(features, part[first], part[second], cluster[first], surplus, passes)
    is_first[np.where(kept, first, second)] = True
    is_first[_to_balance(left, is_first, ~is_single, len(first))] = True
    return part[is_first], part[~is_first]


def _deal_units(
    places: NDArray[np.intp],
    unit: NDArray[np.intp],
    cluster: NDArray[np.intp],
    features: NDArray[np.float32],
    part: NDArray[np.intp],
    surplus: NDArray[np.float64],
    is_first: NDArray[np.bool_],
) -> None:
    """Put each unit of several blocks into the half that has fewer blocks of its clusters so far.

    The largest come first. Where the halves have equally many, it is the one whose features come
    nearer to those of the other, or else the smaller one. `is_first` (b,) and `surplus` (k, q), of
    the first half's features over those of the second, are changed.

    places : of the blocks of such units in the subset, whose blocks are `part` (b,)
    """
    if not len(places):
        return
    n_more = np.zeros(len(surplus))  # blocks of each cluster in the first half
    by_unit = places[np.argsort(unit[places], kind="stable")]
    units = np.split(by_unit, np.flatnonzero(np.diff(unit[by_unit])) + 1)
    for members in sorted(units, key=len, reverse=True):
        of, added = cluster[members], features[part[members]].astype(float)
        leans = (float(n_more[of].sum()), float((surplus[of] * added).sum()), float(n_more.sum()))
        sign = -1.0 if next((lean for lean in leans if lean != 0.0), 0.0) > 0.0 else 1.0
        np.add.at(n_more, of, sign)
        np.add.at(surplus, of, sign * added)
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
