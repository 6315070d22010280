"""State of a search over swaps of centres: moves of blocks, the journal, lists of near centres."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.alternating import cluster_means
from heuristics.cluster_state import BlockData
from sdpbb.problem import Contraction
from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit

# Entries of the counts of a search.
TRIALS, LAST_KEPT, DISTANCES = range(3)


class Clusters(NamedTuple):
    """Clustering of the blocks, updated block by block.

    labels (m,) of the blocks; n_blocks (k,), weight (k,) and centres (k, r) of the clusters.
    The blocks of cluster c are first[c], after[first[c]] and so on to -1; `before` leads back.
    near (k, l) are clusters whose centres are near, the nearest ones first as far as known. cost
    (k,) and removal (k,), the approximate cost of removing the centre, belong to the last accepted
    clustering.
    """

    labels: Integers
    n_blocks: Integers
    weight: Reals
    centres: Reals
    first: Integers
    after: Integers
    before: Integers
    near: Integers
    cost: Reals
    removal: Reals

    @classmethod
    def of(cls, contraction: Contraction, labels: NDArray[np.integer], n_near: int) -> Clusters:
        """Return the clusters of labels (m,), none of them empty, without near clusters yet."""
        k, own = contraction.k, labels.astype(np.int64)
        # Blocks in the order of their clusters: each list is one run.
        order = np.argsort(own, kind="stable")
        after, before = np.full(len(own), -1, np.int64), np.full(len(own), -1, np.int64)
        is_same = np.diff(own[order]) == 0
        ahead, behind = order[1:][is_same], order[:-1][is_same]
        after[behind], before[ahead] = ahead, behind
        return cls(
            own,
            np.bincount(own, minlength=k).astype(np.int64),
            np.asarray(np.bincount(own, weights=contraction.weights, minlength=k), np.float64),
            cluster_means(contraction, own),
            order[np.append(True, ~is_same)],
            after,
            before,
            np.zeros((k, n_near), np.int64),
            np.zeros(k),
            np.zeros(k),
        )


class Journal(NamedTuple):
    """Record for undoing a trial.

    n (2,) are the numbers of changed blocks and clusters, which are the first entries of `blocks`
    and `clusters`. Stamps are the number of the last trial that changed each. The other arrays hold
    the values before it. (With a second `Clusters` instead of these arrays, searches over swaps
    take 1.2 times as long: kernels count references to each array.)
    """

    n: Integers
    blocks: Integers
    block_stamp: Integers
    clusters: Integers
    cluster_stamp: Integers
    labels: Integers
    n_blocks: Integers
    weight: Reals
    centres: Reals
    near: Integers

    @classmethod
    def of(cls, clusters: Clusters) -> Journal:
        m, k = len(clusters.labels), len(clusters.n_blocks)
        unknown = (np.full(n, -1, np.int64) for n in (2, m, m, k, k))
        of = clusters.labels, clusters.n_blocks, clusters.weight, clusters.centres, clusters.near
        return cls._make([*unknown, *map(np.empty_like, of)])


class Rounds(NamedTuple):
    """Rounds of descents: the last changes of clusters, and work arrays.

    number (1,) is the last round of all descents; changed (k,) and listed (k,) are the last rounds
    in which a cluster was changed, and visited. queue (k,), candidates (l,) and distances (l,) are
    work arrays.
    """

    number: Integers
    changed: Integers
    listed: Integers
    queue: Integers
    candidates: Integers
    distances: Reals

    @classmethod
    def of(cls, clusters: Clusters) -> Rounds:
        k, n_near = clusters.near.shape
        unknown = (np.full(n, -1, np.int64) for n in (k, k, k, n_near))
        return cls._make([np.zeros(1, np.int64), *unknown, np.zeros(n_near)])


class Trial(NamedTuple):
    """Trial of a search: its data, and counts over all trials.

    blocks, clusters, journal, rounds : of the search
    threshold : least saving of a move, and of a trial
    counts : (3,) number of this trial; number of the last accepted one; computed distances
    """

    blocks: BlockData
    clusters: Clusters
    journal: Journal
    rounds: Rounds
    threshold: float
    counts: Integers

    @classmethod
    def of(cls, blocks: BlockData, clusters: Clusters, threshold: float) -> Trial:
        """Return the state before the first trial, with near clusters and costs."""
        rounds, counts = Rounds.of(clusters), np.zeros(3, np.int64)
        _prepare(blocks, clusters, rounds.distances)
        return cls(blocks, clusters, Journal.of(clusters), rounds, threshold, counts)


# If a cluster loses all but this share of its weight, its centre is computed anew: differences of
# nearly equal sums lose too many digits.
LITTLE = 1e-3


@njit(cache=True, nogil=True)
def squared_distance(rows: Reals, i: int, others: Reals, j: int) -> float:
    """Return || rows[i] - others[j] ||^2."""
    total = 0.0
    for t in range(rows.shape[1]):
        total += (rows[i, t] - others[j, t]) ** 2
    return total


@njit(cache=True, nogil=True)
def centre_anew(c: int, blocks: BlockData, clusters: Clusters) -> None:
    """Compute centre and weight of a cluster from its blocks, so that rounding cannot add up."""
    weight, r = 0.0, blocks.means.shape[1]
    for t in range(r):
        clusters.centres[c, t] = 0.0
    i = clusters.first[c]
    while i >= 0:
        w = blocks.weights[i]
        weight += w
        for t in range(r):
            clusters.centres[c, t] += w * blocks.means[i, t]
        i = clusters.after[i]
    clusters.weight[c] = weight
    for t in range(r):
        clusters.centres[c, t] /= weight


@njit(cache=True, nogil=True)
def move(
    i: int, b: int, trial: int, blocks: BlockData, clusters: Clusters, journal: Journal
) -> float:
    """Move block i to another cluster b, which may be empty; return the change of the cost.

    A cluster whose last block leaves keeps its centre.
    """
    a, w = clusters.labels[i], blocks.weights[i]
    keep_cluster(a, trial, clusters, journal)
    keep_cluster(b, trial, clusters, journal)
    if journal.block_stamp[i] != trial:
        journal.block_stamp[i] = trial
        journal.blocks[journal.n[0]] = i
        journal.n[0] += 1
        journal.labels[i] = a
    _unlink(i, clusters)
    _link(i, b, clusters)
    clusters.labels[i] = b
    clusters.n_blocks[a] -= 1
    clusters.n_blocks[b] += 1
    change: float = 0.0
    r = blocks.means.shape[1]
    weight = clusters.weight[a] - w
    if clusters.n_blocks[a] > 0:
        distance = squared_distance(blocks.means, i, clusters.centres, a)
        if weight > LITTLE * clusters.weight[a]:
            change -= w * clusters.weight[a] / weight * distance
            for t in range(r):
                away = blocks.means[i, t] - clusters.centres[a, t]
                clusters.centres[a, t] -= away * (w / weight)
            clusters.weight[a] = weight
        else:
            centre_anew(a, blocks, clusters)
            weight = clusters.weight[a]
            distance = squared_distance(blocks.means, i, clusters.centres, a)
            change -= w * weight / (w + weight) * distance
    else:
        clusters.weight[a] = 0.0
    weight = clusters.weight[b] + w
    distance = squared_distance(blocks.means, i, clusters.centres, b)
    change += w * clusters.weight[b] / weight * distance
    for t in range(r):
        clusters.centres[b, t] += (blocks.means[i, t] - clusters.centres[b, t]) * (w / weight)
    clusters.weight[b] = weight
    return change


@njit(cache=True, nogil=True)
def _copy_cluster(c: int, source: Clusters | Journal, target: Clusters | Journal) -> None:
    target.n_blocks[c] = source.n_blocks[c]
    target.weight[c] = source.weight[c]
    for t in range(source.centres.shape[1]):
        target.centres[c, t] = source.centres[c, t]
    for t in range(source.near.shape[1]):
        target.near[c, t] = source.near[c, t]


@njit(cache=True, nogil=True)
def keep_cluster(c: int, trial: int, clusters: Clusters, journal: Journal) -> None:
    """Record a cluster unless the trial has already done so."""
    if journal.cluster_stamp[c] == trial:
        return
    journal.cluster_stamp[c] = trial
    journal.clusters[journal.n[1]] = c
    journal.n[1] += 1
    _copy_cluster(c, clusters, journal)


@njit(cache=True, nogil=True)
def undo(clusters: Clusters, journal: Journal) -> None:
    """Undo all changes in the journal; only the order of blocks in their clusters may differ."""
    for number in range(journal.n[0]):
        i = journal.blocks[number]
        if clusters.labels[i] != journal.labels[i]:
            _unlink(i, clusters)
            _link(i, journal.labels[i], clusters)
            clusters.labels[i] = journal.labels[i]
    for number in range(journal.n[1]):
        c = journal.clusters[number]
        _copy_cluster(c, journal, clusters)


@njit(cache=True, nogil=True)
def find_near(c: int, clusters: Clusters, distances: Reals) -> None:
    """Write the list of the clusters nearest to c."""
    k, n_near = len(clusters.n_blocks), clusters.near.shape[1]
    n_found = 0
    for b in range(k):
        if b == c:
            continue
        distance = squared_distance(clusters.centres, b, clusters.centres, c)
        if n_found < n_near:
            position = n_found
            n_found += 1
        elif distance < distances[n_near - 1]:
            position = n_near - 1
        else:
            continue
        while position > 0 and distances[position - 1] > distance:
            distances[position] = distances[position - 1]
            clusters.near[c, position] = clusters.near[c, position - 1]
            position -= 1
        distances[position] = distance
        clusters.near[c, position] = b


@njit(cache=True, nogil=True)
def price(c: int, blocks: BlockData, clusters: Clusters) -> None:
    """Compute the cost of a cluster, and what it costs if its blocks go elsewhere, one by one."""
    cost, elsewhere = 0.0, 0.0
    i = clusters.first[c]
    while i >= 0:
        w, least = blocks.weights[i], np.inf
        cost += w * squared_distance(blocks.means, i, clusters.centres, c)
        for position in range(clusters.near.shape[1]):
            b = clusters.near[c, position]
            distance = squared_distance(blocks.means, i, clusters.centres, b)
            least = min(least, distance * clusters.weight[b] / (clusters.weight[b] + w))
        elsewhere += w * least
        i = clusters.after[i]
    clusters.cost[c] = cost
    clusters.removal[c] = elsewhere - cost


@njit(cache=True, nogil=True)
def _prepare(blocks: BlockData, clusters: Clusters, distances: Reals) -> None:
    """Find what is near each cluster, the costs of all, and about what it costs to remove each."""
    for c in range(len(clusters.n_blocks)):
        find_near(c, clusters, distances)
    for c in range(len(clusters.n_blocks)):
        price(c, blocks, clusters)


@njit(cache=True, nogil=True)
def _unlink(i: int, clusters: Clusters) -> None:
    ahead, behind = clusters.after[i], clusters.before[i]
    if behind >= 0:
        clusters.after[behind] = ahead
    else:
        clusters.first[clusters.labels[i]] = ahead
    if ahead >= 0:
        clusters.before[ahead] = behind


@njit(cache=True, nogil=True)
def _link(i: int, c: int, clusters: Clusters) -> None:
    ahead = clusters.first[c]
    clusters.after[i] = ahead
    clusters.before[i] = -1
    if ahead >= 0:
        clusters.before[ahead] = i
    clusters.first[c] = i
