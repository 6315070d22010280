"""IPC-k-means from several starts, each polished by local search: the engine's incumbents.

Works on the blocks of a contraction, so that the nodes of a tree can use it; `best_of` is the same
for instances.

What a start ends with is searched over swaps of centres (`heuristics.centre_swaps`), and recombined
with the best so far, region by region. At last the best clustering is improved at length, by swaps
of centres and by relocations.

Within limits on sizes or weights, a search begins with a descent from the known clustering, and
centres are not swapped.

Where there are many blocks, initial centres and centres put elsewhere are found in a coreset, a few
thousand weighted blocks, and a descent over all blocks starts from the best of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heuristics.descent import (
    LEAST_DECREASE,
    BestClustering,
    Descent,
    HeuristicSolution,
    OnImproved,
)
from heuristics.kmeans_steps import cluster_means
from heuristics.parameters import MultiStartParameters
from heuristics.starts import (
    coreset,
    initial_centres,
    is_large,
    kmeans_plus_plus,
    with_one_elsewhere,
)
from sdpbb.problem import Contraction
from sdpbb.problem.graph import connected_components
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, check_time, with_stop

# Starts in a row that may find nothing better if each takes integer programmes: of 8 points, 15
# of them took ten times as long as the bound of a node.
IDLE_STARTS = 2
# Of the effort of the search over swaps of centres, what all starts together have before the best.
BEFORE_THE_BEST = 0.4
IN_CORESET = MultiStartParameters(n_starts=5, n_relocations=0, swap_effort=0.02, local_search=False)
# Relocations in coresets end when so many, one after the other, have saved less than that.
MOST_FAILURES = 3
# Up to so many blocks to a cluster, swaps of centres pay where there are many blocks: a trial looks
# at those of some dozen clusters.
LARGE_CLUSTERS = 1_000
# Of the effort of the search over swaps of centres, what it has where there are many blocks.
EFFORT_OF_LARGE = 0.1


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
        start: NDArray[np.intp] | None = None,
    ) -> HeuristicSolution:
        """Return the best clustering over all starts and relocations.

        Parameters
        ----------
        contraction : must have a clustering (see `sdpbb.problem.feasibility.find_feasible`)
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
        start : labels (m,) to begin from instead of all starts, exactly the clusters 0..k-1, the
            cannot-links kept

        Raises
        ------
        ParameterError
            If no clustering keeps the cannot-links.
        """
        descent = descent or Descent(contraction, self.parameters)
        source = "given" if start is not None else "k-means++" if affinity is None else "sdp"
        best = BestClustering(contraction, source, with_stop(descent.time_left, stop), found)
        search = _Search(contraction, self.parameters, best, rng, descent)
        with suppress(OutOfTime):
            if start is None:
                search.start(affinity)
            else:
                given = np.array(start, dtype=np.intp)
                best.offer(given)
                descent.from_labels(given, best)
            search.improve()
        if best.known is not None:
            return best.known
        known = descent.known()
        solution = HeuristicSolution(known, contraction.cost(known), "colouring")
        if found is not None and contraction.keeps_sizes(known):
            found(solution)
        return solution


@dataclass(frozen=True, eq=False)
class _Search:
    """Search for better clusterings of a contraction.

    best : the cheapest clustering so far, if there is any
    rng : the only source of randomness

    The methods raise OutOfTime once no time is left: the best is then the best so far.
    """

    contraction: Contraction
    parameters: MultiStartParameters
    best: BestClustering
    rng: np.random.Generator
    descent: Descent

    def start(self, affinity: NDArray[np.float64] | None) -> None:
        """Descend from initial centres, and search over swaps of centres from there.

        affinity : as for `MultiStart.run`
        """
        n_starts, best, descent = self.parameters.n_starts, self.best, self.descent
        if self.contraction.has_limits:  # assignment steps may find nothing
            known = descent.known()
            if self.contraction.keeps_sizes(known):
                best.offer(known)
                descent.from_labels(known, best)
        swaps = n_starts > 1 and not is_large(self.contraction)
        n_idle = 0
        for centres in self._initial_centres(affinity):
            before = best.cost
            found = descent.from_centres(centres, best)
            check_time(best.time_left)
            if swaps and found is not None:
                self.swap_centres(found.labels, BEFORE_THE_BEST / n_starts)
            n_idle = 0 if best.cost < before else n_idle + 1
            if n_idle == IDLE_STARTS and not descent.assign.is_quick:
                return

    def _initial_centres(
        self, affinity: NDArray[np.float64] | None
    ) -> Iterator[NDArray[np.float64]]:
        n_starts, time_left = self.parameters.n_starts, self.best.time_left
        if not self.descent.assign.is_possible:
            return
        if affinity is not None or not is_large(self.contraction):
            yield from initial_centres(self.contraction, n_starts, self.rng, affinity, time_left)
            return
        for _ in range(n_starts):
            centres = _centres_in_coreset(self.contraction, None, self.rng, time_left)
            if centres is None:
                centres = kmeans_plus_plus(self.contraction, self.rng, time_left)
            yield centres

    def improve(self) -> None:
        """Improve the best clustering by swaps of centres, and by relocations."""
        if self.best.known is None or not self.descent.assign.is_possible:
            return
        large, m = is_large(self.contraction), self.contraction.n_blocks
        if not large:
            self.swap_centres(self.best.solution.labels, 1.0)
        self._relocate()
        if large and m <= LARGE_CLUSTERS * self.contraction.k:
            self.swap_centres(self.best.solution.labels, EFFORT_OF_LARGE)

    def swap_centres(self, labels: NDArray[np.intp], share: float) -> None:
        """Improve a clustering by swaps of centres, and recombine it with the best so far.

        The labels (m,) may be that itself. A descent ends it.

        share : of the effort of the parameters
        """
        effort, best = share * self.parameters.swap_effort, self.best
        # They know of no soft pairs and no limits.
        if effort == 0.0 or self.contraction.soft or self.contraction.has_limits:
            return
        swapped = self.descent.swap_centres(labels, self.rng, effort, best.time_left)
        if best.solution.labels is not labels:
            swapped = recombine(self.contraction, best.solution.labels, swapped)
        cost = self.contraction.cost(swapped)
        if cost < best.cost:
            best.offer(swapped, cost)
            self.descent.from_labels(swapped, best, cost)

    def _relocate(self) -> None:
        """Descend from the best clustering with centres put elsewhere, again and again.

        It is one centre, or where there are many blocks, as many as a search in a coreset moves.
        Within limits, until so many in a row have saved next to nothing.
        """
        best, most, contraction = self.best, self.parameters.n_relocations, self.contraction
        patience = most
        if is_large(contraction):
            patience = MOST_FAILURES
        elif not self.descent.assign.is_quick:
            patience = IDLE_STARTS
        n_done = n_idle = 0
        while n_idle < patience and n_idle < most and (n_done < most or contraction.has_limits):
            check_time(best.time_left)
            before, labels = best.cost, best.solution.labels
            if is_large(contraction):
                known = cluster_means(contraction, labels)
                centres = _centres_in_coreset(contraction, known, self.rng, best.time_left)
            else:
                centres = with_one_elsewhere(contraction, labels, self.rng)
            if centres is not None:
                self.descent.from_centres(centres, best)
            n_idle = 0 if best.cost < (1.0 - LEAST_DECREASE) * before else n_idle + 1
            n_done += 1


def _centres_in_coreset(
    contraction: Contraction,
    known: NDArray[np.float64] | None,
    rng: np.random.Generator,
    time_left: TimeLeft,
) -> NDArray[np.float64] | None:
    """Return the best centres (k, r) that a search in a coreset finds.

    None if the coreset has too few blocks, or no centres there cost less than known ones.

    known : (k, r) to start from; None: from several sets of k-means++ centres

    Raises
    ------
    OutOfTime
        If no time is left on the way.
    """
    few = coreset(contraction, rng)
    if few.n_blocks < contraction.k:
        return None
    descent = Descent(few, IN_CORESET, None, time_left, is_hasty=True)
    start, cost = None, np.inf
    if known is not None:
        reached = descent.from_centres(known, BestClustering(few, "given", time_left))
        assert reached is not None  # a coreset has no limits
        start, cost = reached.labels, reached.cost
    found = MultiStart(IN_CORESET).run(few, rng, descent=descent, start=start)
    check_time(time_left)
    return cluster_means(few, found.labels) if found.cost < cost else None


def recombine(
    contraction: Contraction, first: NDArray[np.intp], second: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return the cheapest clustering (m,) made of whole regions of two.

    Clusters of the first and of the second are linked where they share a block. A component of this
    graph holds the same blocks in clusters of either, so that these can be exchanged for each
    other, and any choice is a clustering; dynamic programming over the components chooses so that
    there are k clusters. Each of its clusters is one of the two clusterings', so that it keeps the
    constraints if both do; and it costs no more than either.

    Source: the idea is that of partition crossover for the travelling salesman, D. Whitley,
    D. Hains, A. Howe, Tunneling between optima, GECCO (2009).

    Parameters
    ----------
    first, second : (m,) exactly the clusters 0..k-1
    """
    k = contraction.k
    region = connected_components(2 * k, np.column_stack([first, k + second]))
    n_regions = int(region.max()) + 1
    saved = _sums(region[:k], _costs(contraction, first), n_regions)
    saved -= _sums(region[k:], _costs(contraction, second), n_regions)
    more = np.bincount(region[k:], minlength=n_regions)
    more -= np.bincount(region[:k], minlength=n_regions)
    is_second = (more == 0) & (saved > 0.0)
    uneven = np.flatnonzero(more)
    is_second[uneven] = _choose(saved[uneven], more[uneven])
    chosen = np.where(is_second[region[first]], k + second, first)
    return np.unique(chosen, return_inverse=True)[1].astype(np.intp)


def _costs(contraction: Contraction, labels: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the cost of each cluster, (k,), without the scatter inside of blocks."""
    away = contraction.means - cluster_means(contraction, labels)[labels]
    of_blocks = contraction.weights * (away**2).sum(axis=1)
    return _sums(labels, of_blocks, contraction.k)


def _sums(labels: NDArray[np.integer], values: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return the sum of the values of each label, (n,)."""
    return np.asarray(np.bincount(labels, weights=values, minlength=n), np.float64)


def _choose(saved: NDArray[np.float64], more: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which regions (t,) to take from the second clustering: those that save most together.

    Together they have as many clusters in the one as in the other.

    more : (t,) clusters of each region in the second clustering beyond those in the first, none 0
    """
    reach = int(more[more > 0].sum())  # and as many fewer
    best = np.full(2 * reach + 1, -np.inf)
    best[reach] = 0.0
    taken = np.zeros((len(more), len(best)), bool)
    for number, (gain, step) in enumerate(zip(saved.tolist(), more.tolist(), strict=True)):
        with_it = np.full(len(best), -np.inf)
        if step > 0:
            with_it[step:] = best[:-step] + gain
        else:
            with_it[:step] = best[-step:] + gain
        taken[number] = with_it > best
        best = np.where(taken[number], with_it, best)
    chosen, at = np.zeros(len(more), bool), reach
    for number in range(len(more) - 1, -1, -1):
        if taken[number, at]:
            chosen[number] = True
            at -= int(more[number])
    return chosen
