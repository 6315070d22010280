"""State of a search over swaps of centres, as compiled loops take it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.cluster_state import BlockData
from heuristics.kmeans_steps import cluster_means
from sdpbb.problem import Contraction
from sdpbb.runtime.arrays import Integers, Reals

# Entries of the counts of a search.
TRIALS, LAST_KEPT, DISTANCES = range(3)


class Clusters(NamedTuple):
    """Clustering of the blocks, kept up block by block.

    labels (m,) of the blocks; n_blocks (k,), weight (k,) and centres (k, r) of the clusters.
    The blocks of cluster c are first[c], after[first[c]] and so on to -1; `before` leads back.
    near (k, l) are clusters whose centres are near, the nearest ones first as far as that is known.
    cost (k,) and removal (k,), about what it costs to remove the centre, are those of the last
    clustering that was accepted.
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
        """Return the clusters of labels (m,), none of them empty.

        What is near, costs, and the blocks of each cluster are not yet known.
        """
        k, own = contraction.k, labels.astype(np.int64)
        return cls(
            own,
            np.bincount(own, minlength=k).astype(np.int64),
            np.asarray(np.bincount(own, weights=contraction.weights, minlength=k), np.float64),
            cluster_means(contraction, own),
            np.full(k, -1, np.int64),
            np.full(len(own), -1, np.int64),
            np.full(len(own), -1, np.int64),
            np.zeros((k, n_near), np.int64),
            np.zeros(k),
            np.zeros(k),
        )


class Journal(NamedTuple):
    """Record of a trial, from which it is undone, and room for it.

    n (2,) says how many blocks and clusters the trial has changed: these are the first entries of
    `blocks` and `clusters`. Their stamps are the number of the last trial that changed them; the
    other arrays have what they were before it.
    """

    n: Integers
    blocks: Integers
    block_stamp: Integers
    labels: Integers
    clusters: Integers
    cluster_stamp: Integers
    n_blocks: Integers
    weight: Reals
    centres: Reals
    near: Integers

    @classmethod
    def of(cls, clusters: Clusters) -> Journal:
        m, k = len(clusters.labels), len(clusters.n_blocks)
        return cls(
            np.zeros(2, np.int64),
            np.zeros(m, np.int64),
            np.full(m, -1, np.int64),
            np.zeros(m, np.int64),
            np.zeros(k, np.int64),
            np.full(k, -1, np.int64),
            np.zeros(k, np.int64),
            np.zeros(k),
            np.zeros_like(clusters.centres),
            np.zeros_like(clusters.near),
        )


class Rounds(NamedTuple):
    """Rounds of descents: what changed when, and room.

    number (1,) of the last round of all descents; changed (k,) and listed (k,) are those in which a
    cluster was changed, and looked at; queue (k,), candidates (l,) and distances (l,) are room.
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
        return cls(
            np.zeros(1, np.int64),
            np.full(k, -1, np.int64),
            np.full(k, -1, np.int64),
            np.zeros(k, np.int64),
            np.zeros(n_near, np.int64),
            np.zeros(n_near),
        )


class Trial(NamedTuple):
    """Trial of a search: what it works on, and counts over all trials.

    blocks, clusters, journal, rounds : of the search
    threshold : a move counts if it saves more, and so does a trial
    counts : (3,) trials so far, which is the number of this one; the last one that was kept;
        distances computed
    """

    blocks: BlockData
    clusters: Clusters
    journal: Journal
    rounds: Rounds
    threshold: float
    counts: Integers

    @classmethod
    def of(cls, blocks: BlockData, clusters: Clusters, rounds: Rounds, threshold: float) -> Trial:
        """Return the trial before the first one, of clusters whose costs are known."""
        journal = Journal.of(clusters)
        return cls(blocks, clusters, journal, rounds, threshold, np.zeros(3, np.int64))
