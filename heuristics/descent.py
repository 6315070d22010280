"""Descent: k-means with exact assignment steps, and local search, in turn; swaps of centres.

Within limits on sizes or weights, assignment steps are those of `SizedAssignment`. Each set of
centres has one for each order of listed sizes. If there are soft pairs and integer programmes are
small, it has another one with the pairs, so that blocks which belong together move together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from heuristics.alternating import ComesBack, StepVerdict, alternate
from heuristics.assignment import Assignment
from heuristics.centre_swaps import CentreSwaps
from heuristics.kmeans_steps import cluster_means, digest, explained
from heuristics.local_search import LocalSearch
from heuristics.parameters import MultiStartParameters
from heuristics.sizes.assignment import SizedAssignment, assignment_of
from heuristics.starts import is_large
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Infeasibility
from sdpbb.problem.feasibility import find_feasible
from sdpbb.runtime.time_left import TimeLeft, no_limit

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


class BestClustering:
    """Cheapest clustering of a search so far, and what its descents are told.

    Parameters
    ----------
    source : where clusterings begin
    time_left : asked between pieces of bounded work; the search ends when no time is left
    found : called with each clustering that is cheaper than those before
    known : the clustering before the search, if there is any
    """

    def __init__(
        self,
        contraction: Contraction,
        source: str,
        time_left: TimeLeft = no_limit,
        found: OnImproved | None = None,
        known: HeuristicSolution | None = None,
    ) -> None:
        self._contraction, self._found = contraction, found
        self.source, self.time_left, self.known = source, time_left, known

    @property
    def solution(self) -> HeuristicSolution:
        """The cheapest clustering, where there is one."""
        assert self.known is not None
        return self.known

    @property
    def cost(self) -> float:
        """Cost of the cheapest clustering; inf without one."""
        return np.inf if self.known is None else self.known.cost

    def offer(self, labels: NDArray[np.intp], cost: float | None = None) -> None:
        """Take labels (m,) if they are cheaper; their cost is computed if None."""
        cost = self._contraction.cost(labels) if cost is None else cost
        if cost < self.cost:
            self.known = HeuristicSolution(labels, cost, self.source)
            if self._found is not None:
                self._found(self.known)


class Descent:
    """k-means and local search in turn, until neither improves; prepared for one contraction.

    Parameters
    ----------
    known : labels (m,), exactly the clusters 0..k-1, that keep the cannot-links; looked for where
        they are needed if None
    time_left : how long there is for all descents together, asked between pieces of bounded work.
        Where nothing is left a descent ends with what it has
    is_hasty : whether descents leave k-means early (see `_Pace`); where there are many blocks if
        None
    """

    def __init__(
        self,
        contraction: Contraction,
        parameters: MultiStartParameters,
        known: NDArray[np.intp] | None = None,
        time_left: TimeLeft = no_limit,
        is_hasty: bool | None = None,
    ) -> None:
        self._contraction = contraction
        self._parameters = parameters
        self._known = known
        self.time_left = time_left
        hasty = is_large(contraction) if is_hasty is None else is_hasty
        # The pace is that of the sum of squares alone.
        self._is_hasty = hasty and not contraction.soft
        self._met: set[bytes] = set()  # digests of what k-means within limits has ended with

    @cached_property
    def assign(self) -> Assignment | SizedAssignment:
        """The assignment step."""
        seconds = self._parameters.assignment_time_limit
        return assignment_of(self._contraction, seconds, self._known)

    @cached_property
    def _search(self) -> LocalSearch:
        return LocalSearch(self._contraction)

    @cached_property
    def swap_centres(self) -> CentreSwaps:
        """The search over swaps of centres."""
        return CentreSwaps(self._contraction)

    def known(self) -> NDArray[np.intp]:
        """Return the labels (m,) that were known before.

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
        return self._known

    def from_centres(
        self,
        centres: NDArray[np.float64],
        best: BestClustering,
        rng: np.random.Generator | None = None,
    ) -> HeuristicSolution | None:
        """Return the clustering that a descent from centres (k, r) ends with.

        A hasty descent is left once it is not expected to become cheaper than the best; so is one
        within limits. None if no labels within limits are found.

        rng : of the orders of listed sizes

        Raises
        ------
        OutOfTime
            If no time is left before there is one.
        """
        if not self.assign.is_possible:
            return None
        contraction, goal = self._contraction, best.cost
        reached: HeuristicSolution | None = None
        for order in self.assign.orders(centres, rng or np.random.default_rng(0)):
            # Blocks that belong together move together; k-means would not look at their pairs.
            ways = (self.assign.labels_for, order), (self.assign.with_soft_pairs, None)
            for way, order_of_kmeans in ways:
                labels = way(centres, order, best.time_left)
                if labels is None:
                    continue
                # Soft pairs cost at least nothing.
                if contraction.total - explained(contraction, labels) < goal:
                    best.offer(labels)
                found = self.from_labels(labels, best, goal, order_of_kmeans)
                if reached is None or found.cost < reached.cost:
                    reached = found
        return reached

    def from_labels(
        self,
        labels: NDArray[np.intp],
        best: BestClustering,
        goal: float = np.inf,
        order: NDArray[np.intp] | None = None,
    ) -> HeuristicSolution:
        """Return the clustering that a descent from labels (m,) ends with.

        The labels are exactly the clusters 0..k-1.

        goal : a hasty descent is left once it is not expected to become cheaper
        order : (k,) the place of each cluster's size among the listed ones. Within limits, the
            descent is a local search without k-means if None
        """
        contraction, cost = self._contraction, np.inf
        has_kmeans = not contraction.has_limits or (order is not None and self.assign.is_quick)
        while True:
            reached = labels
            if has_kmeans:
                pace = self._pace(goal)
                reached = self._kmeans(labels, order, pace, best.time_left)
                if cost < np.inf and np.array_equal(reached, labels):
                    break  # it is a local optimum of exchanges, too
                if pace is not None and (pace.is_hopeless or self._has_met(reached)):
                    labels, cost = reached, contraction.cost(reached)
                    break
            if self._parameters.local_search and best.time_left() > 0.0:
                reached = self._search(reached, best.time_left)
            reached_cost = contraction.cost(reached)
            if reached_cost >= cost:
                break
            labels, cost = reached, reached_cost
            best.offer(labels, cost)
            # Without cannot-links, k-means does not continue from a local optimum of moves.
            is_done = self._is_hasty and not len(contraction.cannot_link)
            if is_done or best.time_left() <= 0.0:
                break
            if order is not None:
                order = self.assign.order_of(labels)  # sizes may have changed places
        return HeuristicSolution(labels, cost, best.source)

    def _kmeans(
        self,
        labels: NDArray[np.intp],
        order: NDArray[np.intp] | None,
        pace: _Pace | None,
        time_left: TimeLeft,
    ) -> NDArray[np.intp]:
        """Return what k-means from labels (m,) ends with, or is left with for its pace."""
        contraction, comes_back = self._contraction, ComesBack(labels)
        order = np.arange(contraction.k) if order is None else order
        assign = self.assign.steps(order, time_left, labels)

        def rule(updated: NDArray[np.intp]) -> StepVerdict:
            verdict = comes_back(updated)
            if verdict is StepVerdict.GO_ON and pace is not None:
                is_enough = pace.is_enough(explained(contraction, updated))
                return StepVerdict.LAST if is_enough else verdict
            return verdict

        centres, most = cluster_means(contraction, labels), self._parameters.max_iterations
        return alternate(contraction, assign, centres, rule, most, labels, time_left).labels

    def _pace(self, goal: float) -> _Pace | None:
        """Return the pace of k-means of a hasty descent, or of one within limits."""
        if self._is_hasty:
            return _Pace(self._contraction, goal, LEAST_DECREASE)
        if self._contraction.has_limits and not self._contraction.soft:
            return _Pace(self._contraction, goal, 0.0)
        return None

    def _has_met(self, labels: NDArray[np.intp]) -> bool:
        """Return whether k-means within limits has ended with this clustering before.

        It leads where it has led.
        """
        if not self._contraction.has_limits:
            return False
        reached = digest(labels)
        has_met = reached in self._met
        self._met.add(reached)
        return has_met


class _Pace:
    """Pace of k-means.

    Attributes
    ----------
    is_hopeless : whether it was left because it would not come to the goal
    """

    def __init__(self, contraction: Contraction, goal: float, least_decrease: float) -> None:
        self._contraction = contraction
        self._goal, self._least_decrease = goal, least_decrease
        self._cost = np.inf
        self.is_hopeless = False

    def is_enough(self, explained: float) -> bool:
        """Take what the labels of a step explain; return whether k-means is to be left."""
        cost = self._contraction.total - explained
        decrease, self._cost = self._cost - cost, cost
        self.is_hopeless = cost - PATIENCE * decrease > self._goal
        return self.is_hopeless or decrease <= self._least_decrease * cost
