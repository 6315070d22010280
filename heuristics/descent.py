"""Descent: k-means with exact assignment steps, and local search, in turn; swaps of centres.

Within limits on sizes or weights, assignment steps are those of `SizedAssignment`. Each set of
centres has one for each order of listed sizes. If there are soft pairs and integer programmes are
small, it has another one with the pairs, so that blocks which belong together move together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment import Assignment
from heuristics.centre_swaps.search import CentreSwaps
from heuristics.coresets import is_large
from heuristics.kmeans_steps import (
    KMeansLabels,
    alternate_kmeans,
    cluster_means,
    digest,
    explained,
)
from heuristics.local_search import LocalSearch
from heuristics.parameters import MultiStartParameters
from heuristics.sizes.assignment import SizedAssignment
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
    """k-means and local search in turn, until neither improves; prepared for one contraction."""

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
        self._sized: SizedAssignment | None = None
        if contraction.has_limits:
            self._sized = SizedAssignment(contraction, parameters.assignment_time_limit)
        self._search: LocalSearch | None = None
        self._swaps: CentreSwaps | None = None
        self._n_steps = 0
        self._met: set[bytes] = set()  # digests of what k-means within limits has ended with

    @property
    def n_iterations(self) -> int:
        """Assignment steps so far, over all descents."""
        return self._n_steps if self._sized is None else self._sized.n_steps

    @property
    def can_assign(self) -> bool:
        """True unless the integer programmes of assignment steps are too large."""
        return self._sized is None or self._sized.is_possible

    @property
    def is_quick(self) -> bool:
        """True unless each assignment step is an integer programme."""
        return self._sized is None or self._sized.is_quick

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
        rng: np.random.Generator | None = None,
    ) -> HeuristicSolution:
        """Return the clustering that a descent from centres (k, r) ends with.

        `found` is called with each on the way that may be cheaper than the goal. A hasty descent is
        left once it is not expected to become cheaper than the goal; so is one within limits. The
        known clustering is returned if no labels within limits are found.

        rng : of the orders of listed sizes

        Raises
        ------
        OutOfTime
            If no time is left before there is one.
        """
        contraction = self._contraction
        best: HeuristicSolution | None = None
        for labels, order in self._assigned(centres, with_stop(self.time_left, stop), rng):
            # Soft pairs cost at least nothing.
            if found is not None and contraction.total - explained(contraction, labels) < goal:
                found(HeuristicSolution(labels, contraction.cost(labels), source))
            reached = self.from_labels(labels, source, stop, found, goal, order)
            if best is None or reached.cost < best.cost:
                best = reached
        return self.known() if best is None else best

    def _assigned(
        self,
        centres: NDArray[np.float64],
        time_left: TimeLeft,
        rng: np.random.Generator | None,
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp] | None]]:
        """Yield labels (m,) for centres (k, r), with the order of listed sizes for k-means."""
        sized, soft = self._sized, bool(self._contraction.soft)
        if sized is None:
            yield self._assign_to(centres, time_left), None
            return
        if not sized.is_possible:
            return
        for order in sized.orders(centres, rng or np.random.default_rng(0)):
            labels = sized(centres, time_left, order, np.zeros(len(order)))
            if labels is not None and self._contraction.keeps_sizes(labels):
                yield labels, order
            labels = sized.with_soft_pairs(centres, time_left, order) if soft else None
            if labels is not None and self._contraction.keeps_sizes(labels):
                yield labels, None

    def from_labels(
        self,
        labels: NDArray[np.intp],
        source: str,
        stop: Callable[[], bool] | None = None,
        found: OnImproved | None = None,
        goal: float = np.inf,
        order: NDArray[np.intp] | None = None,
    ) -> HeuristicSolution:
        """Return the clustering that a descent from labels (m,) ends with.

        The labels are exactly the clusters 0..k-1; the others as for `from_centres`.

        order : (k,) the place of each cluster's size among the listed ones. Within limits, the
            descent is a local search without k-means if None
        """
        contraction, time_left = self._contraction, with_stop(self.time_left, stop)
        best = HeuristicSolution(labels, np.inf, source)
        while True:
            reached = best.labels
            if self._sized is None or (order is not None and self._sized.is_quick):
                centres, pace = cluster_means(contraction, reached), self._pace(goal)
                reached = self.kmeans(centres, reached, stop, pace, order).labels
                if best.cost < np.inf and np.array_equal(reached, best.labels):
                    return best  # it is a local optimum of exchanges, too
                if pace is not None and (pace.is_hopeless or self._has_met(reached)):
                    return HeuristicSolution(reached, contraction.cost(reached), source)
            if self._parameters.local_search:
                reached = self._search_locally(reached, time_left)
            cost = contraction.cost(reached)
            if cost >= best.cost:
                return best
            best = HeuristicSolution(reached, cost, source)
            if found is not None:
                found(best)
            # Without cannot-links, k-means does not continue from a local optimum of moves.
            is_done = self._is_hasty and not len(contraction.cannot_link)
            if is_done or time_left() <= 0.0:
                return best
            if order is not None and self._sized is not None:
                # Sizes of listed clusters may have changed places.
                order = self._sized.order_of(reached)

    def _pace(self, goal: float) -> _Pace | None:
        """Return the pace of k-means of a hasty descent, or of one within limits."""
        if self._is_hasty:
            return _Pace(self._contraction, goal, LEAST_DECREASE)
        if self._sized is not None and not self._contraction.soft:
            return _Pace(self._contraction, goal, 0.0)
        return None

    def _has_met(self, labels: NDArray[np.intp]) -> bool:
        """Return whether k-means within limits has ended with this clustering before.

        It leads where it has led.
        """
        if self._sized is None:
            return False
        reached = digest(labels)
        has_met = reached in self._met
        self._met.add(reached)
        return has_met

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
        order: NDArray[np.intp] | None = None,
    ) -> KMeansLabels:
        """Run k-means with exact assignments from centres (k, r), until the pace is too slow.

        Labels and the time limit as for `alternate_kmeans`, the order as for `from_labels`.
        """
        contraction, time_left = self._contraction, with_stop(self.time_left, stop)

        if self._sized is not None:
            order = np.arange(contraction.k) if order is None else order
            steps = self._sized.steps(order, time_left, labels)
            return alternate_kmeans(
                contraction,
                steps,
                centres,
                self._parameters.max_iterations,
                labels,
                time_left,
                None if pace is None else lambda _: pace.is_enough(steps.explained),
            )
        return alternate_kmeans(
            contraction,
            lambda at: self._assign_to(at, time_left),
            centres,
            self._parameters.max_iterations,
            labels,
            time_left,
            None if pace is None else lambda at: pace.is_enough(explained(contraction, at)),
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
        self._n_steps += 1
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
