"""Search where sizes or weights are limited: sized k-means, and exchanges, in turn.

Costs are of squares and of soft pairs. Exchanges count both. Of each set of centres there are two
assignments where there are soft pairs: one for squares alone, and one with the pairs where integer
programmes are small, so that blocks which belong together go to another cluster together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from heuristics.descent import PATIENCE
from heuristics.kmeans_steps import cluster_means, digest, explained
from heuristics.local_search import LocalSearch
from heuristics.parameters import MultiStartParameters
from heuristics.sizes.assignment import SizedAssignment
from heuristics.starts import initial_centres, with_one_elsewhere
from sdpbb.problem import Contraction
from sdpbb.problem.graph import by_first_occurrence
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, check_time, with_stop

# Starts in a row that may find nothing better where each takes integer programmes: of 8 points, 15
# of them took ten times as long as the bound of a node.
IDLE_STARTS = 2

# Changes of labels that save less than this part of the total and all weights of soft pairs are
# rounding.
LEAST_SAVING = 1e-12

OnFound = Callable[[NDArray[np.intp], str], None]


class SizedSearch:
    """Search for clusterings of one contraction whose sizes, or weights, are limited.

    Each start is a clustering of the blocks for given centres, cheapest within the limits, improved
    by k-means with such assignments and by exchanges in turn until neither does.
    """

    def __init__(
        self,
        contraction: Contraction,
        parameters: MultiStartParameters,
        known: NDArray[np.intp],
        time_left: TimeLeft,
    ) -> None:
        """known : labels (m,) that keep the cannot-links and the limits on sizes."""
        self._contraction = contraction
        self._parameters = parameters
        self._time_left = time_left
        self._assign = SizedAssignment(contraction, parameters.assignment_time_limit)
        self._search, self._least_saving = LocalSearch(contraction), least_saving(contraction)
        self._is_listed = contraction.limited_amounts[0].limits.listed is not None
        self._met: set[bytes] = set()  # digests of what k-means has ended with
        self.labels = known
        self.cost = contraction.cost(known) if contraction.keeps_sizes(known) else np.inf

    def run(
        self,
        rng: np.random.Generator,
        affinity: NDArray[np.float64] | None = None,
        stop: Callable[[], bool] | None = None,
        found: OnFound = lambda labels, source: None,
        begins_anew: bool = True,
    ) -> None:
        """Look for better clusterings; `found` is called with each that is cheaper than the best.

        affinity : (m, m) of the relaxation, for starts, or None
        begins_anew : whether to begin from other centres before those of the best are relocated
        """
        time_left = with_stop(self._time_left, stop)
        source = "k-means++" if affinity is None else "sdp"
        try:
            if np.isfinite(self.cost):
                self._descend(self.labels, time_left, source, found)
            if not self._assign.is_possible:
                return
            if begins_anew:
                n_starts = self._parameters.n_starts
                anew = initial_centres(self._contraction, n_starts, rng, affinity, time_left)
                self._start_often(anew, rng, time_left, source, found, False)
            elsewhere = self._relocated_centres(rng)
            self._start_often(elsewhere, rng, time_left, source, found, True)
        except OutOfTime:
            return

    def _start_often(
        self,
        starts: Iterator[NDArray[np.float64]],
        rng: np.random.Generator,
        time_left: TimeLeft,
        source: str,
        found: OnFound,
        is_hasty: bool,
    ) -> None:
        """Start from centres (k, r), one after the other.

        Where assignments are integer programmes, end after some that find nothing better.

        is_hasty : whether k-means is left where it is not expected to come to the best
        """
        n_idle = 0
        for centres in starts:
            before = self.cost
            self._from_centres(centres, rng, time_left, source, found, is_hasty)
            n_idle = 0 if self.cost < before else n_idle + 1
            if n_idle == IDLE_STARTS and not self._assign.is_quick:
                return

    def _relocated_centres(self, rng: np.random.Generator) -> Iterator[NDArray[np.float64]]:
        """Yield the centres of the best clustering, one of them elsewhere each time.

        Until so many in a row have come to nothing better.
        """
        most = n_left = self._parameters.n_relocations
        while n_left > 0 and np.isfinite(self.cost):
            before = self.cost
            yield with_one_elsewhere(self._contraction, self.labels, rng)
            n_left = most if self.cost < before else n_left - 1

    @property
    def n_steps(self) -> int:
        """Assignment steps of all runs."""
        return self._assign.n_steps

    def _from_centres(
        self,
        centres: NDArray[np.float64],
        rng: np.random.Generator,
        time_left: TimeLeft,
        source: str,
        found: OnFound,
        is_hasty: bool,
    ) -> None:
        # The pace is that of the sum of squares alone.
        goal = self.cost if is_hasty and not self._contraction.soft else np.inf
        for order in self._assign.orders(centres, rng):
            prices = np.zeros(len(order))
            labels = self._assign(centres, time_left, order, prices)
            if labels is not None:
                self._descend(labels, time_left, source, found, order, goal)
            if self._contraction.soft:
                labels = self._assign.with_soft_pairs(centres, time_left, order)
                if labels is not None:
                    self._descend(labels, time_left, source, found)

    def _descend(
        self,
        labels: NDArray[np.intp],
        time_left: TimeLeft,
        source: str,
        found: OnFound,
        order: NDArray[np.intp] | None = None,
        goal: float = np.inf,
    ) -> None:
        """Improve labels by k-means and exchanges, in turn, and offer what comes of it.

        Leave them once k-means is not expected to come to the goal.
        """
        contraction = self._contraction
        cost = contraction.cost(labels)
        self._offer(labels, cost, source, found)
        for _ in range(self._parameters.max_iterations):
            check_time(time_left)
            before = cost
            if order is not None and self._assign.is_quick:
                labels, is_hopeless = self._kmeans(labels, order, time_left, goal)
                # What k-means has ended with before leads where it has led.
                reached = digest(by_first_occurrence(labels))
                if is_hopeless or reached in self._met:
                    return
                self._met.add(reached)
                cost = contraction.cost(labels)
            exchanged = self._search(labels, time_left)
            if (lower := contraction.cost(exchanged)) < cost:
                # Sizes of listed clusters may have changed places.
                labels, cost = exchanged, lower
                order = self._order_of(labels, order)
            self._offer(labels, cost, source, found)
            if not cost < before - self._least_saving:
                return

    def _order_of(
        self, labels: NDArray[np.intp], order: NDArray[np.intp] | None
    ) -> NDArray[np.intp] | None:
        """Return the place of each cluster's size among the listed ones."""
        if order is None or not self._is_listed:
            return order
        sizes = np.bincount(labels, self._contraction.counts, self._contraction.k)
        places = np.empty(self._contraction.k, np.intp)
        places[np.argsort(sizes, kind="stable")] = np.arange(self._contraction.k)
        return places

    def _kmeans(
        self,
        labels: NDArray[np.intp],
        order: NDArray[np.intp],
        time_left: TimeLeft,
        goal: float,
    ) -> tuple[NDArray[np.intp], bool]:
        """Return labels after steps of k-means for as long as these save.

        And whether it was left because a few steps more, each as good as the last one, would not
        take it to the goal.
        """
        contraction, prices = self._contraction, np.zeros(len(order))
        cost = contraction.total - explained(contraction, labels)
        for _ in range(self._parameters.max_iterations):
            centres = cluster_means(contraction, labels)
            better = self._assign(centres, time_left, order, prices)
            if better is None or np.array_equal(better, labels):
                break
            new = contraction.total - explained(contraction, better)
            if not new < cost - LEAST_SAVING * contraction.total:
                break
            labels, decrease, cost = better, cost - new, new
            if cost - PATIENCE * decrease > goal:
                return labels, True
        return labels, False

    def _offer(self, labels: NDArray[np.intp], cost: float, source: str, found: OnFound) -> None:
        if cost < self.cost and self._contraction.keeps_sizes(labels):
            self.labels, self.cost = labels.copy(), cost
            found(self.labels, source)


def least_saving(contraction: Contraction) -> float:
    """Return what changes of labels save at least that are made: what is not rounding."""
    return LEAST_SAVING * (contraction.total + float(np.abs(contraction.soft.weights).sum()))
