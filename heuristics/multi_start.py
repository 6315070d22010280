"""IPC-k-means from several starts, each polished by local search: the engine's incumbents.

Works on the blocks of a contraction, so that the nodes of a tree can use it; `best_of` is the same
for instances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment import Assignment
from heuristics.assignment.cannot_links import WideComponent
from heuristics.local_search import LocalSearch
from heuristics.parameters import HeuristicSchedule, MultiStartParameters
from heuristics.starts import (
    KMeansLabels,
    alternate_kmeans,
    cluster_means,
    from_affinity,
    from_pivots,
    kmeans_plus_plus,
    smoothed_means,
    truncated_means,
)
from sdpbb.errors import ParameterError
from sdpbb.feasibility import find_feasible
from sdpbb.problem import Contraction, Infeasibility
from sdpbb.time_left import OutOfTime, TimeLeft, check_time, no_limit, with_stop


@dataclass(frozen=True, eq=False)
class HeuristicSolution:
    """Clustering of the blocks that keeps the constraints.

    Attributes
    ----------
    labels : (m,) exactly the clusters 0..k-1
    cost : its sum of squares, `Contraction.cost(labels)`
    source : where it began: "k-means++", "sdp" or "given"; "colouring" where the time was over
        before it could begin
    """

    labels: NDArray[np.intp]
    cost: float
    source: str


OnImproved = Callable[[HeuristicSolution], None]


class _Best:
    """Cheapest clustering so far; `found` is called with each that is cheaper."""

    def __init__(
        self, solution: HeuristicSolution | None = None, found: OnImproved | None = None
    ) -> None:
        self.solution = solution
        self._found = found

    def offer(self, solution: HeuristicSolution) -> None:
        if self.solution is None or solution.cost < self.solution.cost:
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
                descent.from_centres(centres, source, stop, best.offer)
                check_time(time_left)
            self._relocate(contraction, best, rng, descent, stop)
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
        """Return the best of a clustering and of descents from it with one centre put elsewhere.

        Each descent is from the best so far; `stop` and `found` as for `run`.
        """
        best = _Best(solution, found)
        with suppress(OutOfTime):
            self._relocate(contraction, best, rng, descent, stop)
        assert best.solution is not None
        return best.solution

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
            centres = _relocate_centre(contraction, best.solution, rng)
            descent.from_centres(centres, best.solution.source, stop, best.offer)

    def _initial_centres(
        self,
        contraction: Contraction,
        rng: np.random.Generator,
        affinity: NDArray[np.float64] | None,
        time_left: TimeLeft,
    ) -> Iterator[NDArray[np.float64]]:
        if affinity is None:
            for _ in range(self.parameters.n_starts):
                yield kmeans_plus_plus(contraction, rng, time_left)
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


@dataclass(frozen=True)
class IncumbentSearch:
    """Heuristic of the exact solver: `MultiStart`, as hard as its schedule says.

    It is a `sdpbb.search.primal.PrimalHeuristic`.
    """

    schedule: HeuristicSchedule = field(default_factory=HeuristicSchedule)

    def prepare(
        self, contraction: Contraction, known: NDArray[np.intp], time_left: TimeLeft
    ) -> PreparedSearch:
        return PreparedSearch(self.schedule, contraction, known, time_left)


class PreparedSearch:
    """`IncumbentSearch` prepared for one contraction: its descents share tables.

    It is a `sdpbb.search.primal.PreparedHeuristic`.
    """

    def __init__(
        self,
        schedule: HeuristicSchedule,
        contraction: Contraction,
        known: NDArray[np.intp],
        time_left: TimeLeft,
    ) -> None:
        self._schedule = schedule
        self._contraction = contraction
        self._known = known
        self._time_left = time_left
        self._descent: Descent | None = None  # with the parameters of the first search

    def search(
        self,
        rng: np.random.Generator,
        affinity: NDArray[np.float64] | None,
        stop: Callable[[], bool],
        found: Callable[[NDArray[np.intp], str], None],
    ) -> None:
        parameters = self._schedule.before if affinity is None else self._schedule.during
        if self._descent is None:
            self._descent = Descent(self._contraction, parameters, self._known, self._time_left)
        MultiStart(parameters).run(
            self._contraction,
            rng,
            affinity,
            self._descent,
            stop,
            lambda better: found(better.labels, better.source),
        )


class Descent:
    """k-means and local search in turn, until neither improves; prepared for one contraction.

    Attributes
    ----------
    n_iterations : assignment steps so far, over all descents
    """

    def __init__(
        self,
        contraction: Contraction,
        parameters: MultiStartParameters,
        known: NDArray[np.intp] | None = None,
        time_left: TimeLeft = no_limit,
    ) -> None:
        """
        Parameters
        ----------
        known : labels (m,), exactly the clusters 0..k-1, that keep the cannot-links; looked for
            where they are needed if None
        time_left : how long there is for all descents together, asked between pieces of bounded
            work. Where nothing is left a descent ends with what it has
        """
        self._contraction = contraction
        self._parameters = parameters
        self._known = known
        self.time_left = time_left
        self._assign: Assignment | None = None
        self._search: LocalSearch | None = None
        self.n_iterations = 0

    def known(self) -> HeuristicSolution:
        """Return the clustering that was known before.

        Raises
        ------
        ParameterError
            If no clustering keeps the cannot-links.
        """
        if self._known is None:
            feasible = find_feasible(self._contraction)
            if isinstance(feasible, Infeasibility):
                raise ParameterError(f"no clustering keeps the cannot-links: {feasible}")
            self._known = feasible
        assert self._known is not None  # no time limit was given
        return HeuristicSolution(self._known, self._contraction.cost(self._known), "colouring")

    def from_centres(
        self,
        centres: NDArray[np.float64],
        source: str,
        stop: Callable[[], bool] | None = None,
        found: OnImproved | None = None,
    ) -> HeuristicSolution:
        """Return the clustering that a descent from centres (k, r) ends with.

        `found` is called with each on the way, this one included.

        Raises
        ------
        OutOfTime
            If no time is left before there is one.
        """
        labels = self._assign_to(centres, with_stop(self.time_left, stop))
        if found is not None:
            found(HeuristicSolution(labels, self._contraction.cost(labels), source))
        return self.from_labels(labels, source, stop, found)

    def from_labels(
        self,
        labels: NDArray[np.intp],
        source: str,
        stop: Callable[[], bool] | None = None,
        found: OnImproved | None = None,
    ) -> HeuristicSolution:
        """Return the clustering that a descent from labels (m,) ends with.

        The labels are exactly the clusters 0..k-1; `stop` and `found` as for `from_centres`.
        """
        time_left = with_stop(self.time_left, stop)
        best = HeuristicSolution(labels, np.inf, source)
        while True:
            reached = self.kmeans(
                cluster_means(self._contraction, best.labels), best.labels, stop
            ).labels
            if self._parameters.local_search:
                reached = self._search_locally(reached, time_left)
            cost = self._contraction.cost(reached)
            if cost >= best.cost:
                return best
            best = HeuristicSolution(reached, cost, source)
            if found is not None:
                found(best)
            if time_left() <= 0.0:
                return best

    def kmeans(
        self,
        centres: NDArray[np.float64],
        labels: NDArray[np.intp] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> KMeansLabels:
        """Run k-means with exact assignments from centres (k, r).

        Labels and the time limit as for `alternate_kmeans`.
        """
        time_left = with_stop(self.time_left, stop)

        def assign(at: NDArray[np.float64]) -> NDArray[np.intp]:
            return self._assign_to(at, time_left)

        steps = self._parameters.max_iterations
        return alternate_kmeans(self._contraction, assign, centres, steps, labels, time_left)

    def _assign_to(self, centres: NDArray[np.float64], time_left: TimeLeft) -> NDArray[np.intp]:
        check_time(time_left)
        if self._assign is None:
            limit = self._parameters.assignment_time_limit
            self._assign = Assignment(self._contraction, time_limit=limit, known=self._known)
        labels = self._assign(centres, time_left)
        self.n_iterations += 1
        return labels

    def _search_locally(self, labels: NDArray[np.intp], time_left: TimeLeft) -> NDArray[np.intp]:
        if time_left() <= 0.0:
            return labels
        if self._search is None:
            self._search = LocalSearch(self._contraction)
        return self._search(labels, time_left)


def _relocate_centre(
    contraction: Contraction, solution: HeuristicSolution, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the means of a clustering with one of them, at random, put on a random block.

    k-means from there merges one cluster into its neighbours and splits another.

    Source: P. Fränti, J. Kivijärvi, Randomised local search algorithm for the clustering problem,
    Pattern Analysis and Applications 3 (2000).
    """
    centres = cluster_means(contraction, solution.labels)
    centres[rng.integers(contraction.k)] = contraction.means[rng.integers(contraction.n_blocks)]
    return centres


def exercise(contraction: Contraction) -> None:
    """Call the kernels that almost every run needs, also those of a start from an affinity."""
    found = MultiStart().run(contraction, np.random.default_rng(0))
    together = found.labels == found.labels[:, None]
    affinity = together / (together @ contraction.sizes)
    MultiStart().run(contraction, np.random.default_rng(0), affinity)


def exercise_wide_components(contraction: Contraction) -> None:
    """Call the kernels for components too wide for dynamic programming.

    These are components of cannot-links.

    contraction : with cannot-links
    """
    Assignment(contraction, 0)(contraction.means[: contraction.k])
    cannot_links = contraction.cannot_link
    WideComponent(np.unique(cannot_links), cannot_links).exercise_search()
