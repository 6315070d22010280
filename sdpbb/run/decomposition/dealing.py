"""Partition of the blocks into subsets that look alike, by halving.

Let U be a clustering. If each subset has a share of each cluster of U whose mean is the cluster's
mean, the restrictions of U to the subsets cost together what U costs, and what the sum of their
optima loses is only what the subsets' own optima save. So each subset is halved by splitting pairs
of near blocks of the same cluster, whichever way keeps the means of the halves together.

A subset has a better clustering of its own where the points of a cluster are distributed otherwise
than in the whole. So halves are matched by more features than the means: by the second moments of
each cluster, where there are few coordinates, and by random waves cos(w'x), sin(w'x), whose means
are those of the distribution in many directions and scales.

Source: anticlustering; H. Späth, Anticlustering: maximizing the variance criterion (1986). Random
Fourier features, Rahimi and Recht (2007); halves that agree in them, Dwivedi and Mackey, Kernel
thinning (2021).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Contraction
from sdpbb.problem.graph import connected_components
from sdpbb.run.decomposition.subsets import SubsetTree
from sdpbb.runtime.arrays import Booleans, Integers, Reals
from sdpbb.runtime.jit import njit

# Directions of waves. On the colours of a picture (k = 16), subsets of 1,000 save 16 % by
# clusterings of their own without waves, 1.5 % with 32 and 0.9 % with 64.
N_WAVES = 32
# They are worth less than the means, which nothing makes up for, above all in small subsets.
WAVE_WEIGHT, MOMENT_WEIGHT = 0.25, 0.5
# Second moments are features where there are so many coordinates at most, of points that are pulled
# in to so many times the typical distance to their mean.
MOST_COORDINATES, FARTHEST = 12, 3.0


def features(contraction: Contraction, labels: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return the features (m, q) of the blocks, times their weights, less the means of clusters.

    The first columns are deviations from the means of clusters, in units of the largest one.

    labels : (m,) of the blocks, a clustering
    """
    weights, (m, r) = contraction.weights, contraction.means.shape
    weight = np.bincount(labels, weights).astype(np.float64)
    weight[weight == 0.0] = 1.0  # of a cluster without blocks here
    deviations = np.empty((m, r))
    for place in range(r):
        deviations[:, place] = _centred(contraction.means[:, place], weights, labels, weight)
    deviations /= max(deviations.max(initial=0.0), -deviations.min(initial=0.0)) or 1.0
    n_moments = r * (r + 1) // 2 if r <= MOST_COORDINATES else 0
    found = np.empty((m, r + 2 * N_WAVES + n_moments), np.float32)
    found[:, :r] = weights[:, None] * deviations
    squares = np.einsum("ij,ij->i", deviations, deviations)
    typical = np.sqrt(np.bincount(labels, weights * squares) / weight)[labels]
    deviations /= np.where(typical > 0.0, typical, 1.0)[:, None]
    for place, column in enumerate(_others(deviations), r):
        found[:, place] = weights * _centred(typical * column, weights, labels, weight)
    return found


def _others(scaled: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """Yield the columns (m,) of second moments and of waves.

    scaled : (m, r) deviations from the means of clusters, in units of typical ones
    """
    r = scaled.shape[1]
    rng = np.random.default_rng(0)
    for direction in rng.normal(size=(N_WAVES, r)):
        phase = scaled @ direction
        yield WAVE_WEIGHT * np.cos(phase)
        yield WAVE_WEIGHT * np.sin(phase)
    if r > MOST_COORDINATES:
        return
    length = np.sqrt((scaled**2).sum(axis=1))
    near = scaled * np.minimum(1.0, FARTHEST / np.maximum(length, FARTHEST))[:, None]
    for a in range(r):
        for b in range(a, r):
            yield MOMENT_WEIGHT * near[:, a] * near[:, b]


def _centred(
    column: NDArray[np.float64],
    weights: NDArray[np.float64],
    labels: NDArray[np.intp],
    weight: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return a feature (m,) less its mean in each cluster."""
    means = np.bincount(labels, weights * column, len(weight)) / weight
    return np.asarray(column - means[labels])


@njit(cache=True, nogil=True)
def match_halves(
    features: NDArray[np.float32],
    first: Integers,
    second: Integers,
    cluster: Integers,
    surplus: Reals,
    passes: int,
) -> Booleans:
    """Return for each pair whether its first block is in the first half, (p,).

    Pairs are split so that, cluster by cluster, the features of both halves have about the same
    sums: pair by pair, whichever way the surplus is shorter, and then in so many passes over all
    pairs, each of which is turned if that makes it shorter.

    features : (m, q) of the blocks
    first, second, cluster : (p,) blocks of each pair, and their cluster
    surplus : (k, q) of the features of the first half over those of the second so far; changed
    """
    p, width = len(first), features.shape[1]
    kept = first >= 0
    step = np.empty(width)
    for round_ in range(passes + 1):
        turned = False
        for pair in range(p):
            i, j, c = first[pair], second[pair], cluster[pair]
            sign = 1.0 if kept[pair] else -1.0
            along, square = 0.0, 0.0
            for a in range(width):
                step[a] = sign * (features[i, a] - features[j, a])
                if round_ == 0:
                    surplus[c, a] += step[a]
                along += surplus[c, a] * step[a]
                square += step[a] * step[a]
            if square < along:  # |surplus - 2 step| < |surplus|
                turned = True
                kept[pair] = not kept[pair]
                for a in range(width):
                    surplus[c, a] -= 2.0 * step[a]
        if not turned:
            break
    return kept


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
