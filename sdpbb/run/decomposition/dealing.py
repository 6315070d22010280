"""Partition of the blocks into similar subsets, by repeated halving.

Let U be a clustering, and let each subset have a share of each cluster with the same mean as the
cluster. Then the restrictions of U to the subsets together cost as much as U, and the sum of the
optima of subsets loses only the savings of their own clusterings. So halving a subset splits pairs
of near blocks, mostly of the same cluster, so that the means of both halves agree.

A subset has a better clustering of its own if the points of a cluster have another distribution
than in the whole. So halves are matched by more features than the means. One kind are the second
moments of each cluster, if there are few coordinates. The other are random waves cos(w'x),
sin(w'x), whose means describe the distribution in many directions and scales.

Source: anticlustering; H. Späth, Anticlustering: maximizing the variance criterion (1986). Random
Fourier features, Rahimi and Recht (2007); halves that agree in them, Dwivedi and Mackey, Kernel
thinning (2021).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Contraction
from sdpbb.problem.graph import connected_components
from sdpbb.run.decomposition.subsets import SubsetTree
from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit

# Directions of waves. On the colours of a picture (k = 16), the own clusterings of subsets of 1,000
# save 16 % without waves, 1.5 % with 32 directions and 0.9 % with 64.
N_WAVES = 32
# Waves and moments count less than the means, above all in small subsets.
WAVE_WEIGHT, MOMENT_WEIGHT = 0.25, 0.5
# The difference of the numbers of blocks counts even less, and subsets still have similar sizes.
# With 3,000 points in 20 clusters and 1,500 cannot-links, subsets of 190 lose 2.8 % of the cost at
# weight 1, and 2.0 % at this weight.
BALANCE = 0.05
# Second moments are features up to this number of coordinates. Points are pulled in to this
# multiple of the typical distance to their mean.
MOST_COORDINATES, FARTHEST = 12, 3.0


def features(contraction: Contraction, labels: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return the features (m, q) of the blocks, times their weights.

    The first columns are deviations from the means of clusters, in units of the largest one.

    labels : (m,) of the blocks, a clustering
    """
    means, weights, r = contraction.means, contraction.weights, contraction.means.shape[1]
    weight = np.bincount(labels, weights)
    weight[weight == 0.0] = 1.0  # clusters without blocks
    centres = np.array([np.bincount(labels, weights * column) / weight for column in means.T])
    deviations = means - centres.T[labels]
    deviations /= max(deviations.max(initial=0.0), -deviations.min(initial=0.0)) or 1.0
    length = np.sqrt(np.einsum("ij,ij->i", deviations, deviations))
    typical = np.sqrt(np.bincount(labels, weights * length**2) / weight)[labels]
    scaled = np.where(typical > 0.0, typical, 1.0)
    length, near = length / scaled, (deviations / scaled[:, None]).astype(np.float32)
    phases = near @ np.random.default_rng(0).normal(size=(N_WAVES, r)).astype(np.float32).T
    columns = [WAVE_WEIGHT * np.cos(phases), WAVE_WEIGHT * np.sin(phases)]
    if r <= MOST_COORDINATES:
        near *= np.minimum(1.0, FARTHEST / np.maximum(length, FARTHEST))[:, None]
        i, j = np.triu_indices(r)
        columns.append(MOMENT_WEIGHT * near[:, i] * near[:, j])
    found = np.hstack([deviations, *(typical[:, None] * column for column in columns)])
    return np.asarray(weights[:, None] * found, dtype=np.float32)


@njit(cache=True, nogil=True)
def match_halves(
    features: NDArray[np.float32],
    cluster: Integers,
    begins: Integers,
    members: Integers,
    signs: Reals,
    balance: float,
    passes: int,
) -> None:
    """Turn items until the features of both halves have similar sums in each cluster.

    The numbers of blocks of both halves should be similar, too.

    An item has blocks for the first half (sign 1) and for the second half (-1). Turning an item
    changes all of its signs. In each pass, an item is turned if this shortens the surplus of the
    first half over the second. The first pass adds the items to the halves one by one.

    features : (m, q) of the blocks of a subset
    cluster : (m,) of the blocks, from 0
    members : (b,) blocks of all items, one item after the other
    begins : (p + 1,) position in members at which each item begins
    signs : (b,) of the members; changed
    balance : weight of the squared difference of the numbers of blocks
    passes : over all items, at most, after the first one
    """
    width, k = features.shape[1], cluster.max() + 1
    surplus, step, n_more = np.zeros((k, width)), np.zeros((k, width)), 0.0
    for round_ in range(passes + 1):
        turned = False
        for item in range(len(begins) - 1):
            first, end = begins[item], begins[item + 1]
            n_step = signs[first:end].sum()
            if round_ == 0:
                n_more += n_step
            for place in range(first, end):
                i, c = members[place], cluster[members[place]]
                for a in range(width):
                    step[c, a] += signs[place] * features[i, a]
                    if round_ == 0:
                        surplus[c, a] += signs[place] * features[i, a]
            along, square = balance * n_more * n_step, balance * n_step * n_step
            for place in range(first, end):
                i, c = members[place], cluster[members[place]]
                for a in range(width):
                    along += signs[place] * features[i, a] * surplus[c, a]
                    square += signs[place] * features[i, a] * step[c, a]
            is_turned = square < along  # |surplus - 2 step| < |surplus|
            if is_turned:
                turned, n_more = True, n_more - 2.0 * n_step
            for place in range(first, end):
                i, c = members[place], cluster[members[place]]
                for a in range(width):
                    step[c, a] = 0.0
                    if is_turned:
                        surplus[c, a] -= 2.0 * signs[place] * features[i, a]
                if is_turned:
                    signs[place] = -signs[place]
        if not turned:
            break


# Maximum passes over all items, and approximate maximum of tried items. The first few passes have
# most of the effect.
PASSES, MOST_TRIED = 20, 1_000_000


def subset_tree(
    contraction: Contraction, labels: NDArray[np.intp], depth: int, most_linked: int
) -> SubsetTree:
    """Return the tree of subsets with 2**depth smallest subsets.

    Components of at most `most_linked` blocks that cannot-links connect stay together. Larger
    components are divided into pieces of this size, along a walk through them.

    labels : (m,) of the blocks, the clustering that subsets are matched to
    """
    unit_of = _units(contraction, most_linked)
    of_blocks = features(contraction, labels)
    balance = BALANCE * float(contraction.weights.mean()) ** 2
    parts = [_near_order(contraction.means)]
    for _ in range(depth):
        halves = (_halves(of_blocks, labels, unit_of, balance, part) for part in parts)
        parts = [half for pair in halves for half in pair]
    bounds = np.cumsum([0, *(len(part) for part in parts)])
    return SubsetTree(np.concatenate(parts), bounds.astype(np.intp))


def _near_order(means: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the blocks in an order with mostly near neighbours."""
    from scipy.spatial import KDTree  # seldom needed

    order: NDArray[np.intp] = KDTree(means, leafsize=2).indices
    return order


def _units(contraction: Contraction, most: int) -> NDArray[np.intp]:
    """Return the unit (m,) of each block: subsets do not divide units."""
    from scipy.sparse import coo_array  # seldom needed
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    m, pairs = (
        contraction.n_blocks,
        np.concatenate([contraction.cannot_link, contraction.soft.pairs]),
    )
    component = connected_components(m, pairs)
    graph = coo_array((np.ones(len(pairs)), tuple(pairs.T)), (m, m)).tocsr()
    walk = reverse_cuthill_mckee(graph + graph.T, symmetric_mode=True)
    walk = walk[np.argsort(component[walk], kind="stable")]
    of_walk = component[walk]
    unit = np.empty(m, dtype=np.intp)
    unit[walk] = of_walk * m + (np.arange(m) - np.searchsorted(of_walk, of_walk)) // most
    return unit


def _halves(
    features: NDArray[np.float32],
    labels: NDArray[np.intp],
    unit_of: NDArray[np.intp],
    balance: float,
    part: NDArray[np.intp],
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the two halves of a subset, each in the order of the subset, (b,).

    Each unit of several blocks goes to one half, large units first. Single blocks are paired with
    near blocks, mostly of the same cluster, and each half gets one block of a pair.

    features : (m, q) of all blocks
    balance : as for `match_halves`
    """
    cluster = np.unique(labels[part], return_inverse=True)[1]
    unit, size = np.unique(unit_of[part], return_inverse=True, return_counts=True)[1:]
    size = size[unit]
    # Units by size, then single blocks by cluster; otherwise in the order of the subset.
    members = np.lexsort((np.where(size > 1, unit, cluster), -size))
    n_dealt = int((size > 1).sum())
    n_pairs = (len(part) - n_dealt + 1) // 2
    is_begin = np.diff(unit[members[:n_dealt]], prepend=-1) != 0
    begins = np.concatenate(
        [np.flatnonzero(is_begin), n_dealt + 2 * np.arange(n_pairs), [len(part)]]
    )
    signs = np.ones(len(part))
    signs[n_dealt + 1 :: 2] = -1.0
    passes = min(PASSES, max(1, MOST_TRIED // max(n_pairs, 1)))
    match_halves(features[part], cluster, begins, members, signs, balance, passes)
    is_first = np.empty(len(part), dtype=bool)
    is_first[members] = signs > 0.0
    return part[is_first], part[~is_first]
