"""Improvement of the best clustering known: by swaps of centres, recombination and relocations."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heuristics.coresets import coreset, is_large
from heuristics.descent import LEAST_DECREASE, Descent, HeuristicSolution, OnImproved
from heuristics.kmeans_steps import cluster_means
from heuristics.parameters import MultiStartParameters
from heuristics.recombination import recombine
from heuristics.starts import with_one_elsewhere
from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, check_time, with_stop

IN_CORESET = MultiStartParameters(n_starts=5, n_relocations=0, swap_effort=0.02, local_search=False)
# Relocations in coresets end when so many, one after the other, have saved less than that.
MOST_FAILURES = 3
# Up to so many blocks to a cluster, swaps of centres pay where there are many blocks: a trial looks
# at those of some dozen clusters.
LARGE_CLUSTERS = 1_000
# Of the effort of the search over swaps of centres, what it has where there are many blocks.
EFFORT_OF_LARGE = 0.1


class BestClustering:
    """Cheapest clustering so far, if there is any; `found` is called with each that is cheaper."""

    def __init__(
        self, known: HeuristicSolution | None = None, found: OnImproved | None = None
    ) -> None:
        self.known = known
        self._found = found

    @property
    def solution(self) -> HeuristicSolution:
        """The cheapest clustering, where there is one."""
        assert self.known is not None
        return self.known

    @property
    def cost(self) -> float:
        """Cost of the cheapest clustering; inf without one."""
        return np.inf if self.known is None else self.known.cost

    def offer(self, solution: HeuristicSolution) -> None:
        """Take a clustering if it is cheaper."""
        if solution.cost < self.cost:
            self.known = solution
            if self._found is not None:
                self._found(solution)


@dataclass(frozen=True, eq=False)
class Improvement:
    """Improvement of the best clustering of a contraction.

    best : is improved
    rng : the only source of randomness
    descent : of the contraction, with the time left
    stop : asked between chunks of bounded work; nothing goes on once it is true
    """

    contraction: Contraction
    parameters: MultiStartParameters
    best: BestClustering
    rng: np.random.Generator
    descent: Descent
    stop: Callable[[], bool] | None = None

    @property
    def time_left(self) -> TimeLeft:
        """Time left to the descent, none once it is to stop."""
        return with_stop(self.descent.time_left, self.stop)

    def run(self) -> None:
        """Improve the best clustering by swaps of centres, and by relocations.

        Raises
        ------
        OutOfTime
            The best clustering is then the best so far, as in all methods.
        """
        if not is_large(self.contraction):
            self.swap_centres(self.best.solution, 1.0)
            self._relocate()
            return
        self._relocate_in_coresets()
        if self.contraction.n_blocks <= LARGE_CLUSTERS * self.contraction.k:
            self.swap_centres(self.best.solution, EFFORT_OF_LARGE)

    def swap_centres(self, solution: HeuristicSolution, share: float) -> None:
        """Improve a clustering by swaps of centres, and recombine it with the best so far.

        The solution may be that itself. A descent ends it.

        share : of the effort of the parameters
        """
        effort, best = share * self.parameters.swap_effort, self.best
        # They know of no soft pairs.
        if effort == 0.0 or self.contraction.soft:
            return
        labels = self.descent.swap_centres(solution.labels, self.rng, effort, self.stop)
        if best.solution is not solution:
            labels = recombine(self.contraction, best.solution.labels, labels)
        cost = self.contraction.cost(labels)
        if cost < best.cost:
            best.offer(HeuristicSolution(labels, cost, solution.source))
            self.descent.from_labels(labels, solution.source, self.stop, best.offer, cost)

    def _relocate(self) -> None:
        """Descend from the best clustering with one centre put elsewhere, again and again."""
        time_left = self.time_left
        for _ in range(self.parameters.n_relocations):
            check_time(time_left)
            labels = self.best.solution.labels
            self._descend(with_one_elsewhere(self.contraction, labels, self.rng))

    def _relocate_in_coresets(self) -> None:
        """Descend from centres of the best clustering, some put elsewhere in a coreset."""
        time_left = self.time_left
        n_failures = 0
        for _ in range(self.parameters.n_relocations):
            check_time(time_left)
            before = self.best.cost
            known = cluster_means(self.contraction, self.best.solution.labels)
            centres = relocated_in_coreset(self.contraction, known, self.rng, time_left)
            if centres is not None:
                self._descend(centres)
            has_failed = self.best.cost >= (1.0 - LEAST_DECREASE) * before
            n_failures = n_failures + 1 if has_failed else 0
            if n_failures == MOST_FAILURES:
                return

    def _descend(self, centres: NDArray[np.float64]) -> None:
        """Descend from centres (k, r), with the best cost as the goal."""
        best = self.best
        self.descent.from_centres(centres, best.solution.source, self.stop, best.offer, best.cost)


def relocated_in_coreset(
    contraction: Contraction,
    known: NDArray[np.float64],
    rng: np.random.Generator,
    time_left: TimeLeft,
) -> NDArray[np.float64] | None:
    """Return centres (k, r) that cost less than known ones in a coreset.

    None if none are found there, and where it has too few blocks.

    Raises
    ------
    OutOfTime
        If no time is left on the way.
    """
    few = coreset(contraction, rng)
    if few.n_blocks < contraction.k:
        return None
    descent = Descent(few, IN_CORESET, None, time_left, is_hasty=True)
    start = descent.from_centres(known, "given")
    best = BestClustering(start)
    with suppress(OutOfTime):
        Improvement(few, IN_CORESET, best, rng, descent).run()
    check_time(time_left)
    return None if best.solution is start else cluster_means(few, best.solution.labels)
