"""Search over swaps of centres: remove one, put it on a block elsewhere, and descend near both.

A trial changes only clusters near both places. Blocks consider only centres near their own, moves
are priced exactly, and a trial that does not end cheaper is undone from a journal. So it takes tens
of microseconds, with k in the tens or in the hundreds.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from heuristics.centre_state import (
    DISTANCES,
    LAST_KEPT,
    TRIALS,
    Clusters,
    Journal,
    Rounds,
    Trial,
    centre_anew,
    find_near,
    keep_cluster,
    move,
    price,
    squared_distance,
    undo,
)
from heuristics.cluster_state import BlockData, may_join
from heuristics.local_search import MINIMUM_IMPROVEMENT
from sdpbb.problem import Contraction
from sdpbb.runtime.arrays import Reals
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import WORK, TimeLeft, no_limit

# Near centres that blocks of a cluster consider. In the plane a cluster has about six neighbours.
NEAR = 12
# Maximum differences of coordinates of a search with effort 1: some seconds.
STEPS, STEPS_PER_CENTRE = 1_000_000_000, 10_000_000
# Trials whose random numbers are drawn at once.
BATCH = 256


class CentreSwaps:
    """Search over swaps of centres in one contraction, prepared for many clusterings."""

    def __init__(self, contraction: Contraction) -> None:
        self._contraction = contraction
        self._blocks = BlockData.of(contraction)
        self._threshold = MINIMUM_IMPROVEMENT * contraction.total
        is_free = not (contraction.soft or contraction.has_limits)
        self._is_possible = is_free and 1 < contraction.k < contraction.n_blocks

    def __call__(
        self,
        labels: NDArray[np.intp],
        rng: np.random.Generator,
        effort: float = 1.0,
        time_left: TimeLeft = no_limit,
    ) -> NDArray[np.intp]:
        """Return labels (m,) at most as costly, with k clusters that satisfy the cannot-links.

        With soft pairs or limits, which the search does not support, return the given labels.

        Parameters
        ----------
        labels : (m,) exactly the clusters 0..k-1 that satisfy the cannot-links; not modified
        effort : the search ends after this many times k min(4 k, 100) trials in a row without
            improvement, or if it takes far longer than that usually does
        time_left : checked between pieces of work; once it is over, the search ends with its best
        """
        k, r = self._contraction.k, self._contraction.means.shape[1]
        if effort == 0.0 or not self._is_possible:
            return labels
        n_failures = math.ceil(effort * k * min(4 * k, 100))
        most_steps = effort * (STEPS + k * STEPS_PER_CENTRE)
        clusters = Clusters.of(self._contraction, labels, min(NEAR, k - 1))
        trial = Trial.of(self._blocks, clusters, self._threshold)
        counts = trial.counts
        draws, row = np.empty((0, DRAWS)), 0
        work = max(1, WORK // (2 * r))
        batch = min(BATCH, 1 + n_failures // 4)
        while (
            counts[TRIALS] - counts[LAST_KEPT] < n_failures
            and counts[DISTANCES] * r < most_steps
            and time_left() > 0.0
        ):
            if row == len(draws):
                draws, row = rng.random((batch, DRAWS)), 0
            row = try_swaps(draws, row, work, trial)
        return clusters.labels.astype(np.intp)


# Random numbers in [0, 1) of a trial.
DRAWS = 5
# Share of near trials, which move a centre to a place near by. At first far trials save more; later
# four of five improvements are near ones.
NEAR_SHARE = 0.6


@njit(cache=True, nogil=True)
def try_swaps(draws: Reals, first: int, work: int, trial: Trial) -> int:
    """Try swaps from row `first` of the draws on, until about `work` distances are computed.

    Trials that improve by more than the threshold are accepted, the others undone.

    Parameters
    ----------
    draws : (s, DRAWS) in [0, 1)
    trial : the state after the last trial

    Return the row to resume from.
    """
    clusters, counts = trial.clusters, trial.counts
    end = counts[DISTANCES] + work
    for number in range(first, len(draws)):
        if counts[DISTANCES] >= end:
            return number
        counts[TRIALS] += 1
        is_near = draws[number, 0] < NEAR_SHARE
        a = _centre_to_go(is_near, draws[number, 1], draws[number, 2], clusters)
        home = _cluster_to_split(a, is_near, draws[number, 3], clusters)
        counts[DISTANCES] += 2 * len(clusters.n_blocks)
        if home < 0:
            continue
        seed = _block_of(home, draws[number, 4], trial.blocks, clusters)
        if swap(a, seed, -trial.threshold, trial) >= -trial.threshold:
            undo(clusters, trial.journal)
            continue
        if _accept(trial):
            counts[LAST_KEPT] = counts[TRIALS]
    return len(draws)


@njit(cache=True, nogil=True)
def _centre_to_go(is_near: bool, one: float, other: float, clusters: Clusters) -> int:
    """Return a random cluster; for a far trial, the cheaper one to remove of two."""
    k = len(clusters.n_blocks)
    a, b = min(k - 1, int(one * k)), min(k - 1, int(other * k))
    return a if is_near or clusters.removal[a] <= clusters.removal[b] else b


@njit(cache=True, nogil=True)
def _cluster_to_split(a: int, is_near: bool, draw: float, clusters: Clusters) -> int:
    """Return a random cluster of several blocks, near a or any but a; -1: none exists.

    Probabilities are proportional to the costs.
    """
    n = clusters.near.shape[1] if is_near else len(clusters.n_blocks)
    total = 0.0
    for number in range(n):
        c = clusters.near[a, number] if is_near else number
        if c != a and clusters.n_blocks[c] > 1:
            total += clusters.cost[c]
    left, drawn = draw * total, -1
    for number in range(n):
        c = clusters.near[a, number] if is_near else number
        if c != a and clusters.n_blocks[c] > 1 and clusters.cost[c] > 0.0:
            drawn = c
            left -= clusters.cost[c]
            if left < 0.0:
                break
    return drawn


@njit(cache=True, nogil=True)
def _block_of(c: int, draw: float, blocks: BlockData, clusters: Clusters) -> int:
    """Return a random block of a cluster, with probabilities proportional to the costs."""
    left = draw * clusters.cost[c]
    drawn: int = clusters.first[c]
    i = drawn
    while i >= 0:
        drawn = i
        left -= blocks.weights[i] * squared_distance(blocks.means, i, clusters.centres, c)
        if left < 0.0:
            break
        i = clusters.after[i]
    return drawn


@njit(cache=True, nogil=True)
def _accept(trial: Trial) -> bool:
    """Recompute centres, near lists and costs after a trial.

    Return whether the cost is lower than before, which fails only by rounding.
    """
    blocks, clusters, journal = trial.blocks, trial.clusters, trial.journal
    change = 0.0
    for number in range(journal.n[1]):
        change -= clusters.cost[journal.clusters[number]]
    distances, stamp = trial.rounds.distances, trial.counts[TRIALS]
    n_changed = journal.n[1]
    for number in range(n_changed):
        centre_anew(journal.clusters[number], blocks, clusters)
    for number in range(n_changed):
        find_near(journal.clusters[number], clusters, distances)
    for number in range(n_changed):
        for position in range(clusters.near.shape[1]):
            c = clusters.near[journal.clusters[number], position]
            if journal.cluster_stamp[c] != stamp:
                journal.cluster_stamp[c] = stamp
                find_near(c, clusters, distances)
                price(c, blocks, clusters)
        price(journal.clusters[number], blocks, clusters)
    for number in range(n_changed):
        change += clusters.cost[journal.clusters[number]]
    return change < 0.0


# A descent is abandoned if this many rounds as good as the last one would not reach the goal.
ROUNDS_TO_GOAL = 10.0
# Maximum rounds of a descent. It ends after a few, unless weights differ by many orders of
# magnitude: then rounding may move blocks to and fro.
MOST_ROUNDS = 10_000


@njit(cache=True, nogil=True)
def swap(a: int, seed: int, goal: float, trial: Trial) -> float:
    """Remove centre a, put it on block `seed` of another cluster, and descend.

    Return the change of the cost; at least the goal if the trial was abandoned.
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

    Return the change of the cost; inf if a block may join none.
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
    # It replaces the last cluster in the lists of near clusters.
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

    A round visits the clusters that the last round changed, and clusters near them. Blocks of the
    latter only move to the former. No cluster is emptied.

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
        if saved <= 0.0 or change - ROUNDS_TO_GOAL * saved > goal:
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
    """Move each block of a to the near cluster where it saves most, if it saves anything.

    Return the change of the cost, and the number of computed distances.

    Let s be the distance of a block to its centre, and D the distance between two centres. The
    block is at least D - s from the other centre. So no move there saves if D >= s (1 + sqrt(g)),
    with g the largest possible quotient of the factors of the squared distances.
    """
    # The trial could be one argument, but unpacking it in each sweep costs a seventh of the time.
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
    """List near clusters changed since the last round, or all near clusters if a was changed.

    List their squared distances, too. Return their number, and the least of their weights.
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
    """List the clusters changed in the last round and near clusters; return their number."""
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
