"""Search over swaps of centres: one is removed, another put on a block, and what is near descends.

A trial of that kind changes clusters near both places alone. Blocks look at the centres near their
own only, moves are priced exactly, and a trial that does not end cheaper is undone from a journal:
with k in the hundreds it takes as long as with k in the tens, tens of microseconds.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from heuristics.centre_swaps.state import (
    DISTANCES,
    LAST_KEPT,
    TRIALS,
    Clusters,
    Rounds,
    Trial,
    centre_anew,
    find_near,
    link_all,
    price,
    squared_distance,
    undo,
)
from heuristics.centre_swaps.trials import swap
from heuristics.cluster_state import BlockData
from heuristics.local_search import MINIMUM_IMPROVEMENT
from sdpbb.problem import Contraction
from sdpbb.runtime.arrays import Reals
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import WORK, TimeLeft, chunks, no_limit

# Centres near each centre that its blocks look at. In the plane about six have a border with it.
NEAR = 12
# Differences of coordinates after which a search ends, with effort 1: some seconds.
STEPS, STEPS_PER_CENTRE = 1_000_000_000, 10_000_000
# Trials whose random numbers are drawn at once.
BATCH = 256


class CentreSwaps:
    """Search over swaps of centres in one contraction, prepared for many clusterings."""

    def __init__(self, contraction: Contraction) -> None:
        self._contraction = contraction
        self._blocks = BlockData.of(contraction)
        self._threshold = MINIMUM_IMPROVEMENT * contraction.total

    def __call__(
        self,
        labels: NDArray[np.intp],
        rng: np.random.Generator,
        effort: float = 1.0,
        time_left: TimeLeft = no_limit,
    ) -> NDArray[np.intp]:
        """Return labels (m,) at most as costly, with k clusters that keep the cannot-links.

        Parameters
        ----------
        labels : (m,) exactly the clusters 0..k-1, the cannot-links kept; not modified
        effort : the search ends when this many times k min(4 k, 100) trials, one after the other,
            have not improved, and where it takes far longer than that takes in most cases
        time_left : asked between pieces of work; when no time is left the search ends with what it
            has

        Raises
        ------
        OutOfTime
            If no time is left before the first trial.
        """
        k, r = self._contraction.k, self._contraction.means.shape[1]
        if not 1 < k < self._contraction.n_blocks or effort == 0.0:
            return labels
        n_failures = math.ceil(effort * k * min(4 * k, 100))
        most_steps = effort * (STEPS + k * STEPS_PER_CENTRE)
        clusters = Clusters.of(self._contraction, labels, min(NEAR, k - 1))
        rounds = Rounds.of(clusters)
        for first, last in chunks(k, k * r, time_left):
            prepare(first, last, clusters, rounds)
        price_all(self._blocks, clusters)
        trial = Trial.of(self._blocks, clusters, rounds, self._threshold)
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


# Random numbers in [0, 1) that a trial takes.
DRAWS = 5
# Share of the trials that put a centre near to where it was. At first the others save more; later
# four of five improvements are of these.
NEAR_SHARE = 0.6


@njit(cache=True, nogil=True)
def prepare(first: int, last: int, clusters: Clusters, rounds: Rounds) -> None:
    """Find what is near clusters from the first to before the last; with the first, link blocks."""
    if first == 0:
        link_all(clusters)
    for c in range(first, last):
        find_near(c, clusters, rounds.distances)


@njit(cache=True, nogil=True)
def price_all(blocks: BlockData, clusters: Clusters) -> None:
    """Compute the costs of all clusters, and about what it costs to remove their centres."""
    for c in range(len(clusters.n_blocks)):
        price(c, blocks, clusters)


@njit(cache=True, nogil=True)
def try_swaps(draws: Reals, first: int, work: int, trial: Trial) -> int:
    """Try swaps from row `first` of the draws on, until about `work` distances are computed.

    Trials that improve by more than the threshold are kept, the others are undone.

    Parameters
    ----------
    draws : (s, DRAWS) in [0, 1)
    trial : the last one before; its counts go on

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
    """Return a random cluster; if the centre goes far away, the one of two cheaper to remove."""
    k = len(clusters.n_blocks)
    a, b = min(k - 1, int(one * k)), min(k - 1, int(other * k))
    return a if is_near or clusters.removal[a] <= clusters.removal[b] else b


@njit(cache=True, nogil=True)
def _cluster_to_split(a: int, is_near: bool, draw: float, clusters: Clusters) -> int:
    """Return a random cluster of several blocks, near a or any but a; -1 if there is none.

    It is drawn with probabilities proportional to the costs.
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
    """Return a random block of a cluster, drawn by its part of the cost."""
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
    """Compute anew what a trial has changed: centres, what is near them, and costs.

    Return whether it costs less than before, which is plain but for rounding.
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
