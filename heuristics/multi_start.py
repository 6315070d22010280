"""IPC-k-means from several starts, each polished by local search: the engine's incumbents.

Works on the blocks of a contraction, so that the nodes of a tree can use it; `best_of` is the same
for instances.

What a start ends with is searched over swaps of centres (`heuristics.centre_swaps`), and recombined
with the best so far, region by region; the best is searched at length in the end
(`heuristics.improvement`).

Where there are many blocks, initial centres and centres put elsewhere are looked for in a coreset,
a few thousand weighted blocks, and a descent over all blocks begins from the best of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from heuristics.coresets import coreset, is_large
from heuristics.descent import Descent, HeuristicSolution, OnImproved
from heuristics.improvement import IN_CORESET, BestClustering, Improvement
from heuristics.kmeans_steps import cluster_means
from heuristics.parameters import MultiStartParameters
from heuristics.starts import (
    from_affinity,
    from_pivots,
    kmeans_plus_plus,
    smoothed_means,
    truncated_means,
)
from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, check_time

# Of the effort of the search over swaps of centres, what all starts together have before the best.
BEFORE_THE_BEST = 0.4


class MultiStart:
    """Upper bounds by IPC-k-means from several starts, each polished by local search."""

    def __init__(self, parameters: MultiStartParameters | None = None) -> None:
        self.parameters = parameters or MultiStartParameters()

    def run(
        self,
        contraction: Contraction,
        rng: np.random.Generator,
        affinity: NDArray[np.float64] | None = None,
        descent: Descent | None = None,
        stop: Callable[[], bool] | None = None,
        found: OnImproved | None = None,
    ) -> HeuristicSolution:
        """Return the best clustering over all starts and relocations.

        Parameters
        ----------
        contraction : must have a clustering (see `sdpbb.problem.feasibility.find_feasible`)
        rng : the only source of randomness
        affinity : (m, m) approximate solution Z of the semidefinite relaxation, with Z e = 1, or
            None. With it the starts are k-means on the rows of its rank-k truncation times the
            data (the first) and of itself times the data (the others, the second of them from
            blocks that it sets apart); without it, k-means++.
        descent : the contraction's, where several runs share it; prepared here if None
        stop : asked between chunks of bounded work, besides the time left to the descent; when true
            the best so far is returned, and the labels known to the descent if there is none
        found : called with each clustering that is cheaper than those before, as soon as it is
            found: the first after one assignment step

        Raises
        ------
        ParameterError
            If no clustering keeps the cannot-links.
        """
        descent = descent or Descent(contraction, self.parameters)
        source = "k-means++" if affinity is None else "sdp"
        best = BestClustering(found=found)
        improvement = Improvement(contraction, self.parameters, best, rng, descent, stop)
        time_left = improvement.time_left
        swaps_early = self.parameters.n_starts > 1 and not is_large(contraction)
        try:
            for centres in self._initial_centres(contraction, rng, affinity, time_left):
                found_here = descent.from_centres(centres, source, stop, best.offer, best.cost)
                check_time(time_left)
                if swaps_early:
                    share = BEFORE_THE_BEST / self.parameters.n_starts
                    improvement.swap_centres(found_here, share)
            improvement.run()
        except OutOfTime:
            if best.known is None:
                best.offer(descent.known())
        return best.solution

    def improve(
        self,
        contraction: Contraction,
        labels: NDArray[np.intp],
        descent: Descent | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> HeuristicSolution:
        """Return a clustering at most as costly as the given one, by a single descent from it.

        Parameters
        ----------
        labels : (m,) exactly the clusters 0..k-1, the cannot-links kept
        stop : as for `run`
        """
        given = np.array(labels, dtype=np.intp)
        best = BestClustering(HeuristicSolution(given, contraction.cost(given), "given"))
        descent = descent or Descent(contraction, self.parameters)
        best.offer(descent.from_labels(given, "given", stop))
        return best.solution

    def relocate(
        self,
        contraction: Contraction,
        solution: HeuristicSolution,
        rng: np.random.Generator,
        descent: Descent,
        stop: Callable[[], bool] | None = None,
        found: OnImproved | None = None,
    ) -> HeuristicSolution:
        """Return the best of a clustering and of descents from it with centres put elsewhere.

        Each descent is from the best so far; `stop` and `found` as for `run`.
        """
        best = BestClustering(solution, found)
        with suppress(OutOfTime):
            Improvement(contraction, self.parameters, best, rng, descent, stop).run()
        return best.solution

    def _initial_centres(
        self,
        contraction: Contraction,
        rng: np.random.Generator,
        affinity: NDArray[np.float64] | None,
        time_left: TimeLeft,
    ) -> Iterator[NDArray[np.float64]]:
        if affinity is None:
            for _ in range(self.parameters.n_starts):
                centres = None
                if is_large(contraction):
                    centres = _centres_from_coreset(contraction, rng, time_left)
                if centres is None:
                    centres = kmeans_plus_plus(contraction, rng, time_left)
                yield centres
            return
        yield from_affinity(
            contraction, truncated_means(contraction, affinity, time_left), rng, time_left
        )
        if self.parameters.n_starts == 1:
            return
        rows = smoothed_means(contraction, affinity)
        yield from_pivots(contraction, rows, affinity, time_left)
        for _ in range(self.parameters.n_starts - 2):
            yield from_affinity(contraction, rows, rng, time_left)


def _centres_from_coreset(
    contraction: Contraction, rng: np.random.Generator, time_left: TimeLeft
) -> NDArray[np.float64] | None:
    """Return the best centres (k, r) of several starts in a coreset; None if it has too few blocks.

    Raises
    ------
    OutOfTime
        If no time is left on the way.
    """
    few = coreset(contraction, rng)
    if few.n_blocks < contraction.k:
        return None
    descent = Descent(few, IN_CORESET, None, time_left, is_hasty=True)
    found = MultiStart(IN_CORESET).run(few, rng, descent=descent)
    check_time(time_left)
    return cluster_means(few, found.labels)
