"""Components of hard cannot-links that are too wide for dynamic programming."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment.building import mend
from heuristics.assignment.exact import cheapest_labels, partition_into_cliques
from heuristics.assignment.improving import improve
from heuristics.assignment.parameters import MAX_ROWS, ROWS_PER_SECOND
from heuristics.assignment.potts import Potts
from heuristics.assignment.programme import AssignmentProgramme, size_of
from heuristics.assignment.reduction import rename_clusters
from sdpbb.time_left import TimeLeft, no_limit

# So that the first of many programmes does not take all the time.
PROGRAMME_SHARE = 0.1


class WideComponent:
    """Component of hard cannot-links solved by search.

    It is solved by branch and bound, where that ends soon; else by local search, and by an integer
    programme where there is time for it.

    Parameters
    ----------
    blocks : (b,) its numbers, increasing
    pairs : (p, 2) of these
    """

    def __init__(self, blocks: NDArray[np.int64], pairs: NDArray[np.int64], k: int) -> None:
        self.blocks = blocks
        ends = np.sort(np.searchsorted(blocks, pairs), axis=1)
        self._potts = Potts(np.zeros((len(blocks), 0)), None, ends, np.full(len(ends), np.inf))
        starts, neighbours, _ = self._potts.neighbours
        self._starts, self._neighbours = starts, neighbours
        sets = [set(part.tolist()) for part in np.split(neighbours, starts[1:-1])]
        self._cliques = partition_into_cliques(sets)
        self._programme: AssignmentProgramme | None = None

    def solve(
        self,
        costs: NDArray[np.float64],
        last: NDArray[np.int64],
        time_limit: float,
        time_left: TimeLeft,
    ) -> tuple[NDArray[np.int64], float]:
        """Return labels (b,) that keep the cannot-links, and the seconds of integer programming.

        They are at most as costly as the last ones, (b,), under any renaming of the clusters.
        """
        start = rename_clusters(last, costs)
        labels, is_optimal = cheapest_labels(
            costs, self._starts, self._neighbours, self._cliques, start
        )
        if is_optimal:
            return labels, 0.0
        potts = Potts(costs, None, self._potts.pairs, self._potts.weights)
        labels = self._search(potts, labels, time_left)
        began = perf_counter()
        labels = self._solve_programme(
            potts, labels, PROGRAMME_SHARE * min(time_limit, time_left()), time_left
        )
        return labels, perf_counter() - began

    def exercise_search(self) -> None:
        """Search for labels of some costs, so that all of it is compiled."""
        b = len(self.blocks)
        potts = Potts(np.eye(b), None, self._potts.pairs, self._potts.weights)
        self._search(potts, np.arange(b), no_limit)

    def _search(
        self, potts: Potts, labels: NDArray[np.int64], time_left: TimeLeft
    ) -> NDArray[np.int64]:
        """Return the better labels of two descents.

        They are from these labels, and from the cheapest of each block with the broken pairs
        mended.
        """
        found = improve(potts, labels, time_left, by_tabu=False)
        near = mend(potts, potts.costs.argmin(axis=1), time_left)
        if near is None:
            return found
        return min(found, improve(potts, near, time_left, by_tabu=False), key=potts.value)

    def _solve_programme(
        self, potts: Potts, labels: NDArray[np.int64], seconds: float, time_left: TimeLeft
    ) -> NDArray[np.int64]:
        size = size_of(potts)
        if seconds <= 0 or size > min(MAX_ROWS, ROWS_PER_SECOND * seconds):
            return labels
        if self._programme is None:
            self._programme = AssignmentProgramme(potts)
        found = self._programme.minimise(
            potts.costs, potts.weights, labels, seconds, time_left
        ).labels
        if found is None or potts.value(found) > potts.value(labels):
            return labels
        return found
