"""IPC-k-means from several starts, each polished by local search: the engine's incumbents.

Works on the blocks of a contraction, so that the nodes of a tree can use it; `best_of` is the same
for instances.

What a start ends with is searched over swaps of centres (`heuristics.centre_swaps`), and recombined
with the best so far, region by region; the best is searched at length in the end.

Where there are many blocks, initial centres and centres put elsewhere are looked for in a coreset,
a few thousand weighted blocks, and a descent over all blocks begins from the best of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from heuristics.coresets import coreset, is_large
from heuristics.descent import LEAST_DECREASE, Descent, HeuristicSolution, OnImproved
from heuristics.kmeans_steps import cluster_means
from heuristics.parameters import MultiStartParameters
from heuristics.recombination import recombine
from heuristics.starts import (
    from_affinity,
    from_pivots,
    kmeans_plus_plus,
    smoothed_means,
    truncated_means,
    with_one_elsewhere,
)
from sdpbb.problem import Contraction
from sdpbb.time_left import OutOfTime, TimeLeft, check_time, with_stop

IN_CORESET = MultiStartParameters(n_starts=5, n_relocations=0, swap_effort=0.02, local_search=False)
# Relocations in coresets end when so many, one after the other, have saved less than that.
MOST_FAILURES = 3
# Up to so many blocks to a cluster, swaps of centres pay where there are many blocks: a trial looks
# at those of some dozen clusters.
LARGE_CLUSTERS = 1_000
# Of the effort of the search over swaps of centres, what it has where there are many blocks.
EFFORT_OF_LARGE = 0.1
# Of the effort of the search over swaps of centres, what all starts together have before the best.
BEFORE_THE_BEST = 0.4


class _Best:
    """Cheapest clustering so far; `found` is called with each that is cheaper."""

    def __init__(
        self, solution: HeuristicSolution | None = None, found: OnImproved | None = None
    ) -> None:
        self.solution = solution
        self._found = found

    @property
    def cost(self) -> float:
        """Cost of the solution; inf without one."""
        return np.inf if self.solution is None else self.solution.cost

    def offer(self, solution: HeuristicSolution) -> None:
        if solution.cost < self.cost:
            self.solution = solution
            if self._found is not None:
                self._found(solution)


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
        contraction : must have a clustering (see `sdpbb.feasibility.find_feasible`)
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
        best = _Best(found=found)
        time_left = with_stop(descent.time_left, stop)
        try:
            for centres in self._initial_centres(contraction, rng, affinity, time_left):
                found_here = descent.from_centres(centres, source, stop, best.offer, best.cost)
                check_time(time_left)
                if self.parameters.n_starts > 1 and not is_large(contraction):
                    effort = BEFORE_THE_BEST / self.parameters.n_starts
                    self._swap_centres(contraction, found_here, effort, best, rng, descent, stop)
            self._improve(contraction, best, rng, descent, stop)
        except OutOfTime:
            if best.solution is None:
                best.offer(descent.known())
        assert best.solution is not None  # n_starts >= 1
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
        best = _Best(HeuristicSolution(given, contraction.cost(given), "given"))
        descent = descent or Descent(contraction, self.parameters)
        best.offer(descent.from_labels(given, "given", stop))
        assert best.solution is not None
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
        best = _Best(solution, found)
        with suppress(OutOfTime):
            self._improve(contraction, best, rng, descent, stop)
        assert best.solution is not None
        return best.solution

    def _improve(
        self,
        contraction: Contraction,
        best: _Best,
        rng: np.random.Generator,
        descent: Descent,
        stop: Callable[[], bool] | None,
    ) -> None:
        """Improve the best clustering by swaps of centres, and by relocations."""
        if is_large(contraction):
            self._relocate_in_coresets(contraction, best, rng, descent, stop)
            assert best.solution is not None
            if contraction.n_blocks <= LARGE_CLUSTERS * contraction.k:
                self._swap_centres(
                    contraction, best.solution, EFFORT_OF_LARGE, best, rng, descent, stop
                )
            return
        assert best.solution is not None
        self._swap_centres(contraction, best.solution, 1.0, best, rng, descent, stop)
        self._relocate(contraction, best, rng, descent, stop)

    def _swap_centres(
        self,
        contraction: Contraction,
        solution: HeuristicSolution,
        effort: float,
        best: _Best,
        rng: np.random.Generator,
        descent: Descent,
        stop: Callable[[], bool] | None,
    ) -> None:
        """Improve a clustering by swaps of centres, with a share of the effort, and recombine it.

        That is, with the best so far, of which the solution may be one. A descent ends it.
        """
        effort *= self.parameters.swap_effort
        if effort == 0.0:
            return
        assert best.solution is not None
        labels = descent.swap_centres(solution.labels, rng, effort, stop)
        if best.solution is not solution:
            labels = recombine(contraction, best.solution.labels, labels)
        cost = contraction.cost(labels)
        if cost < best.cost:
            best.offer(HeuristicSolution(labels, cost, solution.source))
            descent.from_labels(labels, solution.source, stop, best.offer, cost)

    def _relocate(
        self,
        contraction: Contraction,
        best: _Best,
        rng: np.random.Generator,
        descent: Descent,
        stop: Callable[[], bool] | None,
    ) -> None:
        time_left = with_stop(descent.time_left, stop)
        for _ in range(self.parameters.n_relocations):
            check_time(time_left)
            assert best.solution is not None
            centres = with_one_elsewhere(contraction, best.solution.labels, rng)
            descent.from_centres(centres, best.solution.source, stop, best.offer, best.cost)

    def _relocate_in_coresets(
        self,
        contraction: Contraction,
        best: _Best,
        rng: np.random.Generator,
        descent: Descent,
        stop: Callable[[], bool] | None,
    ) -> None:
        time_left = with_stop(descent.time_left, stop)
        n_failures = 0
        for _ in range(self.parameters.n_relocations):
            check_time(time_left)
            assert best.solution is not None
            before, known = best.cost, cluster_means(contraction, best.solution.labels)
            centres = _centres_from_coreset(contraction, rng, time_left, known)
            if centres is not None:
                descent.from_centres(centres, best.solution.source, stop, best.offer, before)
            has_failed = best.cost >= (1.0 - LEAST_DECREASE) * before
            n_failures = n_failures + 1 if has_failed else 0
            if n_failures == MOST_FAILURES:
                return

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
    contraction: Contraction,
    rng: np.random.Generator,
    time_left: TimeLeft,
    known: NDArray[np.float64] | None = None,
) -> NDArray[np.float64] | None:
    """Return the best centres (k, r) of a search in a coreset.

    They are None where it has too few blocks, and where nothing is better than known centres.

    known : some of which are put elsewhere; k-means++ centres if None

    Raises
    ------
    OutOfTime
        If no time is left on the way.
    """
    few = coreset(contraction, rng)
    if few.n_blocks < contraction.k:
        return None
    search = MultiStart(IN_CORESET)
    descent = Descent(few, IN_CORESET, None, time_left, is_hasty=True)
    if known is None:
        found = search.run(few, rng, descent=descent)
    else:
        start = descent.from_centres(known, "given")
        found = search.relocate(few, start, rng, descent)
        if found is start:
            return None
    check_time(time_left)
    return cluster_means(few, found.labels)
