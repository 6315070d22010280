"""IPC-k-means from several starts, each polished by local search: the engine's incumbents.

Works on the blocks of a contraction, so that the nodes of a tree can use it; `best_of` is the same
for instances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment import Assignment
from heuristics.local_search import LocalSearch
from heuristics.parameters import MultiStartParameters
from heuristics.starts import (
    from_affinity,
    from_pivots,
    kmeans_plus_plus,
    smoothed_means,
    truncated_means,
)
from sdpbb.problem import Contraction


@dataclass(frozen=True, eq=False)
class HeuristicSolution:
    """A clustering of the blocks that keeps the constraints.

    Attributes
    ----------
    labels : (m,) exactly the clusters 0..k-1
    cost : its sum of squares, `Contraction.cost(labels)`
    source : where it began: "k-means++", "sdp" or "given"
    """

    labels: NDArray[np.intp]
    cost: float
    source: str


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
        stop: Callable[[], bool] = lambda: False,
    ) -> HeuristicSolution:
        """The best clustering met over all starts and relocations.

        Parameters
        ----------
        contraction : must have a clustering (see `sdpbb.feasibility.find_feasible`)
        rng : the only source of randomness
        affinity : (m, m) approximate solution Z of the semidefinite relaxation, with Z e = 1, or
            None. With it the starts are k-means on the rows of its rank-k truncation times the
            data (the first) and of itself times the data (the others, the second of them from
            blocks that it sets apart); without it, k-means++.
        descent : the contraction's, where several runs share it; prepared here if None
        stop : asked after every descent; when true the best so far is returned

        Raises
        ------
        ParameterError
            If no clustering keeps the cannot-links.
        """
        descent = descent or Descent(contraction, self.parameters)
        source = "k-means++" if affinity is None else "sdp"
        best: HeuristicSolution | None = None
        for centres in self._initial_centres(contraction, rng, affinity):
            best = _cheaper(best, descent.from_centres(centres, source))
            if stop():
                return best
        assert best is not None  # n_starts >= 1
        return self.relocate(contraction, best, rng, descent, stop)

    def improve(
        self,
        contraction: Contraction,
        labels: NDArray[np.intp],
        descent: Descent | None = None,
    ) -> HeuristicSolution:
        """A clustering at most as costly as the given one, by a single descent from it.

        Parameters
        ----------
        labels : (m,) exactly the clusters 0..k-1, the cannot-links kept
        """
        given = np.array(labels, dtype=np.intp)
        start = HeuristicSolution(given, contraction.cost(given), "given")
        descent = descent or Descent(contraction, self.parameters)
        return _cheaper(start, descent.from_labels(given, "given"))

    def relocate(
        self,
        contraction: Contraction,
        best: HeuristicSolution,
        rng: np.random.Generator,
        descent: Descent,
        stop: Callable[[], bool] = lambda: False,
    ) -> HeuristicSolution:
        """The best of a clustering and of the descents from it with one centre put elsewhere, each
        from the best so far."""
        for _ in range(self.parameters.n_relocations):
            if stop():
                break
            centres = _relocated(contraction, best, rng)
            best = _cheaper(best, descent.from_centres(centres, best.source))
        return best

    def _initial_centres(
        self,
        contraction: Contraction,
        rng: np.random.Generator,
        affinity: NDArray[np.float64] | None,
    ) -> Iterator[NDArray[np.float64]]:
        if affinity is None:
            for _ in range(self.parameters.n_starts):
                yield kmeans_plus_plus(contraction, rng)
            return
        yield from_affinity(contraction, truncated_means(contraction, affinity), rng)
        if self.parameters.n_starts == 1:
            return
        rows = smoothed_means(contraction, affinity)
        yield from_pivots(contraction, rows, affinity)
        for _ in range(self.parameters.n_starts - 2):
            yield from_affinity(contraction, rows, rng)


@dataclass(frozen=True, eq=False)
class Steps:
    """What k-means steps have come to: labels (m,) of the blocks, and whether they would repeat."""

    labels: NDArray[np.intp]
    has_converged: bool


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
        seconds_left: Callable[[], float] = lambda: np.inf,
    ) -> None:
        """
        Parameters
        ----------
        known : labels (m,) that keep the cannot-links (see `Assignment`)
        seconds_left : how long there is for all descents together. Integer programmes get their
            shares of it, a descent ends after the assignment in which it runs out, and local
            search after the sweep
        """
        self._contraction = contraction
        self._parameters = parameters
        limit = parameters.assignment_time_limit
        self._seconds_left = seconds_left
        self._assign = Assignment(
            contraction, time_limit=limit, known=known, seconds_left=seconds_left
        )
        self._search = LocalSearch(contraction) if parameters.local_search else None
        self.n_iterations = 0

    def from_centres(self, centres: NDArray[np.float64], source: str) -> HeuristicSolution:
        return self.from_labels(self._assign(centres), source)

    def from_labels(self, labels: NDArray[np.intp], source: str) -> HeuristicSolution:
        cost = np.inf
        while True:
            found = self.kmeans(_cluster_means(self._contraction, labels), labels).labels
            if self._search is not None:
                found = self._search(found, self._is_over)
            found_cost = self._contraction.cost(found)
            if found_cost >= cost:
                return HeuristicSolution(labels, cost, source)
            labels, cost = found, found_cost
            if self._is_over():
                return HeuristicSolution(labels, cost, source)

    def _is_over(self) -> bool:
        return self._seconds_left() <= 0.0

    def kmeans(
        self,
        centres: NDArray[np.float64],
        labels: NDArray[np.intp] | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> Steps:
        """Assign and update in turn, from centres (k, r), until the labels (m,) repeat.

        Parameters
        ----------
        labels : those that the centres are the means of, if there are any
        stop : asked after every assignment
        """
        has_converged = False
        for _ in range(self._parameters.max_iterations):
            updated = self._assign(centres)
            self.n_iterations += 1
            has_converged = labels is not None and np.array_equal(updated, labels)
            labels = updated
            if has_converged or stop() or self._is_over():
                break
            centres = _cluster_means(self._contraction, labels)
        assert labels is not None  # max_iterations >= 1
        return Steps(labels, has_converged)


def _cheaper(best: HeuristicSolution | None, other: HeuristicSolution) -> HeuristicSolution:
    return other if best is None or other.cost < best.cost else best


def _relocated(
    contraction: Contraction, solution: HeuristicSolution, rng: np.random.Generator
) -> NDArray[np.float64]:
    """The means of a clustering, one of them (at random) put on a random block: k-means from there
    merges one cluster into its neighbours and splits another.

    Source: P. Fränti, J. Kivijärvi, Randomised local search algorithm for the clustering problem,
    Pattern Analysis and Applications 3 (2000).
    """
    centres = _cluster_means(contraction, solution.labels)
    centres[rng.integers(contraction.k)] = contraction.means[rng.integers(contraction.n_blocks)]
    return centres


def _cluster_means(contraction: Contraction, labels: NDArray[np.intp]) -> NDArray[np.float64]:
    member = np.zeros((contraction.k, len(labels)))
    member[labels, np.arange(len(labels))] = contraction.sizes
    return (member @ contraction.means) / member.sum(axis=1)[:, None]
