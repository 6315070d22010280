"""Descent: alternate k-means (with exact assignment) and local search.

Within limits on sizes or weights, steps ignore soft pairs (`SizedAssignment`). If soft pairs exist
and the integer programme is small, a second descent starts from labels that include them. So blocks
that belong together move together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from heuristics.alternating import Decreases, alternate, cluster_means, explained
from heuristics.assignment import Assignment
from heuristics.assignment.steps import SizedAssignment, assignment_of
from heuristics.centre_swaps import CentreSwaps
from heuristics.local_search import LocalSearch
from heuristics.parameters import MultiStartParameters
from heuristics.starts import is_large
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Infeasibility
from sdpbb.problem.feasibility import find_feasible
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, check_time, no_limit, with_stop

# A hasty descent ends k-means once a step saves less than this share of the cost: local search is
# faster from there.
HASTY_DECREASE = 1e-5
# Maximum assignment steps of one descent by k-means; a few are enough almost always.
MAX_STEPS = 100


@dataclass(frozen=True, eq=False)
class HeuristicSolution:
    """Clustering of the blocks that satisfies the constraints.

    Attributes
    ----------
    labels : (m,) exactly the clusters 0..k-1
    cost : `Contraction.cost(labels)`
    source : where the search started: "k-means++", "sdp" or "given"; "colouring" if the time was
        over before
    """

    labels: NDArray[np.intp]
    cost: float
    source: str


OnImproved = Callable[[HeuristicSolution], None]


class Descent:
    """k-means and local search in turn, until neither improves; prepared for one contraction.

    It records the best clustering of a search, which consists of any number of descents.

    Parameters
    ----------
    parameters : only `local_search` and `assignment_time_limit` are used
    known : labels (m,), exactly the clusters 0..k-1, that satisfy the cannot-links, but perhaps
        not the limits; None: found when they are needed
    time_left : for all descents together, checked every 0.1 s. Once it is over, a descent ends with
        its labels so far
    is_hasty : whether descents end k-means early; None: if there are many blocks

    Attributes
    ----------
    best : the cheapest clustering of the search so far, or None
    """

    def __init__(
        self,
        contraction: Contraction,
        parameters: MultiStartParameters,
        known: NDArray[np.intp] | None = None,
        time_left: TimeLeft = no_limit,
        is_hasty: bool | None = None,
    ) -> None:
        self.contraction = contraction
        self._parameters, self._known, self._all_time = parameters, known, time_left
        self._is_hasty = is_large(contraction) if is_hasty is None else is_hasty
        self.begin("given")

    def begin(
        self,
        source: str,
        stop: Callable[[], bool] | None = None,
        found: OnImproved | None = None,
    ) -> None:
        """Begin a search, without a best clustering.

        Parameters
        ----------
        source : where the search starts
        stop : checked like the time left; true once the search is to end
        found : called with each clustering that is cheaper than all before
        """
        self.best: HeuristicSolution | None = None
        self._source, self._found = source, found
        self.time_left = with_stop(self._all_time, stop)

    @property
    def cost(self) -> float:
        """Cost of the best clustering; inf without one."""
        return np.inf if self.best is None else self.best.cost

    def offer(self, labels: NDArray[np.intp], cost: float | None = None) -> None:
        """Record labels (m,) if they are the cheapest; None: compute their cost."""
        cost = self.contraction.cost(labels) if cost is None else cost
        if cost < self.cost:
            self.best = HeuristicSolution(labels, cost, self._source)
            if self._found is not None:
                self._found(self.best)

    @cached_property
    def assign(self) -> Assignment | SizedAssignment:
        """The assignment step."""
        seconds = self._parameters.assignment_time_limit
        return assignment_of(self.contraction, seconds, self._known)

    @cached_property
    def _search(self) -> LocalSearch:
        return LocalSearch(self.contraction)

    @cached_property
    def swap_centres(self) -> CentreSwaps:
        """The search over swaps of centres."""
        return CentreSwaps(self.contraction)

    def known(self) -> NDArray[np.intp]:
        """Return labels (m,) known before the search.

        Raises
        ------
        ParameterError
            If no clustering satisfies the cannot-links.
        """
        if self._known is None:
            feasible = find_feasible(self.contraction)
            if isinstance(feasible, Infeasibility):
                raise ParameterError(f"no clustering satisfies the cannot-links: {feasible}")
            self._known = feasible
        assert self._known is not None  # no time limit was given
        return self._known

    def from_centres(self, centres: NDArray[np.float64]) -> HeuristicSolution | None:
        """Return the clustering at the end of a descent from centres (k, r).

        Abandon a hasty descent once it is not expected to beat the best. Return None if no labels
        within limits are found.

        Raises
        ------
        OutOfTime
            If the time is over before the first labels.
        """
        if not self.assign.is_possible:
            return None
        goal = self.cost
        try:
            labels = self.assign(centres, self.time_left)
        except OutOfTime:  # or no labels within limits were found
            check_time(self.time_left)
            return None
        # Soft pairs cost at least nothing.
        if self.contraction.total - explained(self.contraction, labels) < goal:
            self.offer(labels)
        reached = self.from_labels(labels, goal)
        together = self.assign.labels_with_soft_pairs(centres, self.time_left)
        if together is None:
            return reached
        self.offer(together)
        other = self.from_labels(together, goal)
        return other if other.cost < reached.cost else reached

    def from_labels(self, labels: NDArray[np.intp], goal: float = np.inf) -> HeuristicSolution:
        """Return the clustering at the end of a descent from labels (m,).

        The labels are exactly the clusters 0..k-1. Within limits, omit k-means if its steps are
        integer programmes.

        goal : abandon a hasty descent once it is not expected to become cheaper
        """
        contraction, cost = self.contraction, np.inf
        has_pairs = len(contraction.cannot_link) > 0 or bool(contraction.soft)
        while True:
            reached = labels
            if self.assign.is_quick:
                reached, is_hopeless = self._kmeans(labels, goal)
                if cost < np.inf and np.array_equal(reached, labels):
                    break  # it is a local optimum of exchanges, too
                if is_hopeless:
                    labels, cost = reached, contraction.cost(reached)
                    break
            if self._parameters.local_search and self.time_left() > 0.0:
                reached = self._search(reached, self.time_left)
            reached_cost = contraction.cost(reached)
            if reached_cost >= cost:
                break
            labels, cost = reached, reached_cost
            self.offer(labels, cost)
            # Without pairs, a hasty k-means does not continue from a local optimum of moves.
            if (self._is_hasty and not has_pairs) or self.time_left() <= 0.0:
                break
        return HeuristicSolution(labels, cost, self._source)

    def _kmeans(self, labels: NDArray[np.intp], goal: float) -> tuple[NDArray[np.intp], bool]:
        """Return labels of k-means from labels (m,), and whether it will probably miss the goal."""
        contraction = self.contraction
        has_goal = self._is_hasty or self.assign.may_fail  # within limits: 0.7 times the CPU
        least = HASTY_DECREASE if self._is_hasty else 0.0
        rule = Decreases(contraction, labels, goal if has_goal else np.inf, least)
        centres, time_left = cluster_means(contraction, labels), self.time_left

        def assign(at: NDArray[np.float64]) -> NDArray[np.intp]:
            return self.assign(at, time_left)

        found = alternate(contraction, assign, centres, rule, MAX_STEPS, labels, time_left)
        return found.found, rule.is_hopeless
