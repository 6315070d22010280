"""Descent: k-means with exact assignment steps, and local search, in turn; swaps of centres."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment import Assignment
from heuristics.centre_swaps.search import CentreSwaps
from heuristics.coresets import is_large
from heuristics.kmeans_steps import KMeansLabels, alternate_kmeans, cluster_means, explained
from heuristics.local_search import LocalSearch
from heuristics.parameters import MultiStartParameters
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Infeasibility
from sdpbb.problem.feasibility import find_feasible
from sdpbb.runtime.time_left import TimeLeft, check_time, no_limit, with_stop

# A hasty descent is left if so many steps, each as good as its last one, would not take it to the
# goal; and goes from k-means to local search, which ends sooner from there, where a step saves less
# than this share of the cost.
PATIENCE = 20
LEAST_DECREASE = 1e-5


@dataclass(frozen=True, eq=False)
class HeuristicSolution:
    """Clustering of the blocks that keeps the constraints.

    Attributes
    ----------
    labels : (m,) exactly the clusters 0..k-1
    cost : `Contraction.cost(labels)`
    source : where it began: "k-means++", "sdp" or "given"; "colouring" where the time was over
        before it could begin
    """

    labels: NDArray[np.intp]
    cost: float
    source: str


OnImproved = Callable[[HeuristicSolution], None]


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
        is_hasty: bool | None = None,
    ) -> None:
        """
        Parameters
        ----------
        known : labels (m,), exactly the clusters 0..k-1, that keep the cannot-links; looked for
            where they are needed if None
        time_left : how long there is for all descents together, asked between pieces of bounded
            work. Where nothing is left a descent ends with what it has
        is_hasty : whether descents leave k-means early (see `_Pace`); where there are many blocks
            if None
        """
        self._contraction = contraction
        self._parameters = parameters
        self._known = known
        self.time_left = time_left
        hasty = is_large(contraction) if is_hasty is None else is_hasty
        # The pace is that of the sum of squares alone.
        self._is_hasty = hasty and not contraction.soft
        self._assign: Assignment | None = None
        self._search: LocalSearch | None = None
        self._swaps: CentreSwaps | None = None
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
                raise ParameterError(f"no clustering satisfies the cannot-links: {feasible}")
            self._known = feasible
        assert self._known is not None  # no time limit was given
        return HeuristicSolution(self._known, self._contraction.cost(self._known), "colouring")

    def from_centres(
        self,
        centres: NDArray[np.float64],
        source: str,
        stop: Callable[[], bool] | None = None,
        found: OnImproved | None = None,
        goal: float = np.inf,
    ) -> HeuristicSolution:
        """Return the clustering that a descent from centres (k, r) ends with.

        `found` is called with each on the way, this one included. A hasty descent is left once
        it is not expected to become cheaper than the goal.

        Raises
        ------
        OutOfTime
            If no time is left before there is one.
        """
        labels = self._assign_to(centres, with_stop(self.time_left, stop))
        if found is not None:
            found(HeuristicSolution(labels, self._contraction.cost(labels), source))
        return self.from_labels(labels, source, stop, found, goal)

    def from_labels(
        self,
        labels: NDArray[np.intp],
        source: str,
        stop: Callable[[], bool] | None = None,
        found: OnImproved | None = None,
        goal: float = np.inf,
    ) -> HeuristicSolution:
        """Return the clustering that a descent from labels (m,) ends with.

        The labels are exactly the clusters 0..k-1; the others as for `from_centres`.
        """
        time_left = with_stop(self.time_left, stop)
        best = HeuristicSolution(labels, np.inf, source)
        while True:
            centres = cluster_means(self._contraction, best.labels)
            pace = _Pace(self._contraction, goal) if self._is_hasty else None
            reached = self.kmeans(centres, best.labels, stop, pace).labels
            if pace is not None and pace.is_hopeless:
                return HeuristicSolution(reached, self._contraction.cost(reached), source)
            if self._parameters.local_search:
                reached = self._search_locally(reached, time_left)
            cost = self._contraction.cost(reached)
            if cost >= best.cost:
                return best
            best = HeuristicSolution(reached, cost, source)
            if found is not None:
                found(best)
            # Without cannot-links, k-means does not go on from a local optimum of moves.
            is_done = self._is_hasty and not len(self._contraction.cannot_link)
            if is_done or time_left() <= 0.0:
                return best

    def swap_centres(
        self,
        labels: NDArray[np.intp],
        rng: np.random.Generator,
        effort: float,
        stop: Callable[[], bool] | None = None,
    ) -> NDArray[np.intp]:
        """Return labels (m,) after a search over swaps of centres, as `CentreSwaps` does it."""
        if self._swaps is None:
            self._swaps = CentreSwaps(self._contraction)
        return self._swaps(labels, rng, effort, with_stop(self.time_left, stop))

    def kmeans(
        self,
        centres: NDArray[np.float64],
        labels: NDArray[np.intp] | None = None,
        stop: Callable[[], bool] | None = None,
        pace: _Pace | None = None,
    ) -> KMeansLabels:
        """Run k-means with exact assignments from centres (k, r), until the pace is too slow.

        Labels and the time limit as for `alternate_kmeans`.
        """
        time_left = with_stop(self.time_left, stop)

        def assign(at: NDArray[np.float64]) -> NDArray[np.intp]:
            return self._assign_to(at, time_left)

        return alternate_kmeans(
            self._contraction,
            assign,
            centres,
            self._parameters.max_iterations,
            labels,
            time_left,
            None if pace is None else pace.is_enough,
        )

    def _assign_to(self, centres: NDArray[np.float64], time_left: TimeLeft) -> NDArray[np.intp]:
        check_time(time_left)
        if self._assign is None:
            self._assign = Assignment(
                self._contraction,
                time_limit=self._parameters.assignment_time_limit,
                known=self._known,
            )
        labels = self._assign(centres, time_left)
        self.n_iterations += 1
        return labels

    def _search_locally(self, labels: NDArray[np.intp], time_left: TimeLeft) -> NDArray[np.intp]:
        if time_left() <= 0.0:
            return labels
        if self._search is None:
            self._search = LocalSearch(self._contraction)
        return self._search(labels, time_left)


class _Pace:
    """Pace of k-means.

    Attributes
    ----------
    is_hopeless : whether it was left because it would not come to the goal
    """

    def __init__(self, contraction: Contraction, goal: float) -> None:
        self._contraction = contraction
        self._goal = goal
        self._cost = np.inf
        self.is_hopeless = False

    def is_enough(self, labels: NDArray[np.intp]) -> bool:
        """Take the labels of a step; return whether k-means is to be left."""
        cost = self._contraction.total - explained(self._contraction, labels)
        decrease, self._cost = self._cost - cost, cost
        self.is_hopeless = cost - PATIENCE * decrease > self._goal
        return self.is_hopeless or decrease <= LEAST_DECREASE * cost
