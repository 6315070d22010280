"""Trial of a search over swaps of centres: one goes, one comes, and blocks near by descend."""

from __future__ import annotations

import numpy as np

from heuristics.centre_swaps.state import (
    DISTANCES,
    TRIALS,
    Clusters,
    Journal,
    Rounds,
    Trial,
    find_near,
    keep_cluster,
    may_join,
    move,
    squared_distance,
)
from heuristics.cluster_state import BlockData
from sdpbb.runtime.jit import njit

# A descent is left if so many rounds, each as good as its last one, would not take it to the goal.
PATIENCE = 10.0
# Rounds of a descent, at most. It ends after some; but where weights differ by many orders of
# magnitude, blocks may go to and fro by what is rounded.
MOST_ROUNDS = 10_000


@njit(cache=True, nogil=True)
def swap(a: int, seed: int, goal: float, trial: Trial) -> float:
    """Remove centre a, put it on block `seed` of another cluster, and descend.

    Return the change of the cost, at least the goal where the trial was left on the way.
    """
    clusters, journal = trial.clusters, trial.journal
    journal.n[0] = 0
    journal.n[1] = 0
    keep_cluster(a, trial.counts[TRIALS], clusters, journal)
    trial.counts[DISTANCES] += clusters.n_blocks[a] * clusters.near.shape[1]
    change = _remove(a, trial)
    if change == np.inf or clusters.n_blocks[clusters.labels[seed]] == 1:
        return np.inf
    change += _insert(a, seed, trial)
    return _descend(change, goal, trial)


@njit(cache=True, nogil=True)
def _remove(a: int, trial: Trial) -> float:
    """Move each block of a to the cheapest cluster near it that it may join.

    Return the change of the cost; inf where a block may join none.
    """
    blocks, clusters, journal = trial.blocks, trial.clusters, trial.journal
    stamp, change = trial.counts[TRIALS], 0.0
    i = clusters.first[a]
    while i >= 0:
        following = clusters.after[i]
        w, best, target = blocks.weights[i], np.inf, -1
        for position in range(clusters.near.shape[1]):
            b = clusters.near[a, position]
            cost = squared_distance(blocks.means, i, clusters.centres, b)
            cost *= clusters.weight[b] / (clusters.weight[b] + w)
            if cost < best and may_join(i, b, blocks, clusters.labels):
                best, target = cost, b
        if target < 0:
            return np.inf
        change += move(i, target, stamp, blocks, clusters, journal)
        i = following
    return change


@njit(cache=True, nogil=True)
def _insert(a: int, seed: int, trial: Trial) -> float:
    """Put the empty cluster a on a block: blocks nearer to it than to their centre join it.

    No cluster is emptied. Return the change of the cost.
    """
    blocks, clusters, journal = trial.blocks, trial.clusters, trial.journal
    stamp, n_near = trial.counts[TRIALS], clusters.near.shape[1]
    home = clusters.labels[seed]
    for t in range(clusters.centres.shape[1]):
        clusters.centres[a, t] = blocks.means[seed, t]
    find_near(a, clusters, trial.rounds.distances)
    change = move(seed, a, stamp, blocks, clusters, journal)
    n_distances = len(clusters.n_blocks)
    for position in range(-1, n_near):
        c = home if position < 0 else clusters.near[a, position]
        if position >= 0 and c == home:
            continue
        i = clusters.first[c]
        while i >= 0 and clusters.n_blocks[c] > 1:
            following = clusters.after[i]
            n_distances += 2
            here = squared_distance(blocks.means, i, clusters.centres, c)
            there = squared_distance(blocks.means, i, blocks.means, seed)
            if there < here and may_join(i, a, blocks, clusters.labels):
                change += move(i, a, stamp, blocks, clusters, journal)
            i = following
    trial.counts[DISTANCES] += n_distances
    # It comes into the lists of those near it, in place of the last one.
    for position in range(n_near):
        c = clusters.near[a, position]
        is_listed = False
        for other in range(n_near):
            is_listed |= clusters.near[c, other] == a
        if not is_listed:
            keep_cluster(c, stamp, clusters, journal)
            clusters.near[c, n_near - 1] = a
    return change


@njit(cache=True, nogil=True)
def _descend(change: float, goal: float, trial: Trial) -> float:
    """Move blocks in and near the clusters that the trial has changed, until no move improves.

    A round is over the clusters that the last one changed and those near them; of the latter only
    moves to the former are looked at. No cluster is emptied.

    change : of the cost so far

    Return the change of the cost.
    """
    blocks, clusters, journal, rounds = trial.blocks, trial.clusters, trial.journal, trial.rounds
    stamp, threshold, n_distances = trial.counts[TRIALS], trial.threshold, 0
    rounds.number[0] += 1
    for number in range(journal.n[1]):
        rounds.changed[journal.clusters[number]] = rounds.number[0]
    for _ in range(MOST_ROUNDS):
        last = rounds.number[0]
        rounds.number[0] += 1
        n_listed = _list_clusters(last, clusters, journal, rounds)
        saved = 0.0
        for number in range(n_listed):
            change_here, n_more = _sweep(
                rounds.queue[number], last, threshold, stamp, blocks, clusters, journal, rounds
            )
            saved -= change_here
            n_distances += n_more
        change -= saved
        if saved <= 0.0 or change - PATIENCE * saved > goal:
            break
    trial.counts[DISTANCES] += n_distances
    return change


@njit(cache=True, nogil=True)
def _sweep(
    a: int,
    last: int,
    threshold: float,
    stamp: int,
    blocks: BlockData,
    clusters: Clusters,
    journal: Journal,
    rounds: Rounds,
) -> tuple[float, int]:
    """Move each block of a to the cluster near it where it saves most, if it saves anything.

    Return the change of the cost, and the distances that were computed.

    With s the distance of a block to its centre and D between two centres, it is at least D - s
    from the other one. So no move to it saves where D >= s (1 + sqrt(g)), with g the quotient of
    the factors of the squared distances, as large as it can be.
    """
    # A trial would be one argument, but to take it apart in each sweep costs a seventh of the time.
    n_candidates, lightest = _find_candidates(a, last, clusters, rounds)
    n_distances, change = n_candidates, 0.0
    i = clusters.first[a]
    while i >= 0 and n_candidates and clusters.n_blocks[a] > 1:
        following = clusters.after[i]
        n_distances += 1
        w = blocks.weights[i]
        stay = squared_distance(blocks.means, i, clusters.centres, a)
        factor = clusters.weight[a] / (clusters.weight[a] - w)
        reach = stay * (1.0 + np.sqrt(factor * (1.0 + w / lightest))) ** 2
        best, target = stay * factor - threshold / w, -1
        for position in range(n_candidates):
            if rounds.distances[position] >= reach:
                continue
            n_distances += 1
            b = rounds.candidates[position]
            cost = squared_distance(blocks.means, i, clusters.centres, b)
            cost *= clusters.weight[b] / (clusters.weight[b] + w)
            if cost < best and may_join(i, b, blocks, clusters.labels):
                best, target = cost, b
        if target >= 0:
            change += move(i, target, stamp, blocks, clusters, journal)
            rounds.changed[a] = rounds.changed[target] = rounds.number[0]
            n_candidates, lightest = _find_candidates(a, last, clusters, rounds)
            n_distances += n_candidates
        i = following
    return change, n_distances


@njit(cache=True, nogil=True)
def _find_candidates(a: int, last: int, clusters: Clusters, rounds: Rounds) -> tuple[int, float]:
    """List clusters near a to move to: those changed since the last round, or all if a is.

    Their squared distances are listed as well. Return how many, and the least of their weights.
    """
    n, lightest = 0, np.inf
    for position in range(clusters.near.shape[1]):
        b = clusters.near[a, position]
        if rounds.changed[a] >= last or rounds.changed[b] >= last:
            rounds.candidates[n] = b
            rounds.distances[n] = squared_distance(clusters.centres, a, clusters.centres, b)
            lightest = min(lightest, clusters.weight[b])
            n += 1
    return n, lightest


@njit(cache=True, nogil=True)
def _list_clusters(last: int, clusters: Clusters, journal: Journal, rounds: Rounds) -> int:
    """List the clusters changed in the last round and those near them; return how many."""
    n_listed = 0
    for number in range(journal.n[1]):
        c = journal.clusters[number]
        if rounds.changed[c] != last:
            continue
        for position in range(-1, clusters.near.shape[1]):
            b = c if position < 0 else clusters.near[c, position]
            if rounds.listed[b] != last:
                rounds.listed[b] = last
                rounds.queue[n_listed] = b
                n_listed += 1
    return n_listed
