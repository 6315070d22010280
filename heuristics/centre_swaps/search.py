"""`CentreSwaps`: the search over swaps of centres in one contraction."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from heuristics.centre_swaps.loop import DRAWS, prepare, price_all, try_swaps
from heuristics.centre_swaps.state import (
    DISTANCES,
    LAST_KEPT,
    TRIALS,
    Clusters,
    Rounds,
    Trial,
)
from heuristics.cluster_state import BlockData
from heuristics.local_search import MINIMUM_IMPROVEMENT
from sdpbb.problem import Contraction
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
