"""Searches of the engine: `MultiStart`, the best clustering over starts, swaps and relocations.

It works on the blocks of a contraction, so that the nodes of a tree can use it; `best_of` is the
same for instances. `PreparedSearch` runs it in one node, as hard as a schedule says.

Each start ends in a local optimum. A search over swaps of centres (`heuristics.centre_swaps`)
improves that, and it is recombined with the best so far, region by region. At last the best
clustering is improved at length, by swaps of centres and by relocations.

Within limits on sizes or weights, a search begins with a descent from the known clustering, and
centres are not swapped.

If there are many blocks, a coreset of a few thousand weighted blocks gives initial and relocated
centres. A descent over all blocks starts from the best of these.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from heuristics.alternating import cluster_means, costs_of_labels
from heuristics.assignment.potts import Potts, signed_pairs
from heuristics.assignment.search import construct, improve, mend
from heuristics.descent import HASTY_DECREASE, Descent, HeuristicSolution, OnImproved
from heuristics.first_clustering import first_clustering
from heuristics.local_search import SWAP_BLOCKS
from heuristics.parameters import HeuristicSchedule, MultiStartParameters
from heuristics.starts import (
    coreset,
    initial_centres,
    is_large,
    kmeans_plus_plus,
    with_one_elsewhere,
)
from sdpbb.problem import Contraction, Infeasibility
from sdpbb.problem.graph import connected_components
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, check_time

# With limits and at least this number of blocks times clusters, the search before the bound is
# long: the bound of 2,000 points in the plane in 20 clusters takes 100 s. Not above SWAP_BLOCKS:
# 100 relocations of 20,000 points took 17 s and found nothing.
MANY = 10_000
# A relocation merges one cluster into others and splits another. A long search ends after enough
# failures in a row to try each such pair of clusters this often. With 100 for any k, sets in 2 to 4
# clusters that are proven in half a second took up to 11 % longer.
EACH_PAIR = 2
# Failed starts in a row before the search ends, if starts solve integer programmes: with 8 points,
# 15 starts took ten times as long as the bound of a node.
IDLE_STARTS = 2
# Share of the effort of swaps of centres for all starts together, before the best is improved.
BEFORE_THE_BEST = 0.4
IN_CORESET = MultiStartParameters(n_starts=5, n_relocations=0, swap_effort=0.02, local_search=False)
# Relocations in coresets end after this number of failures in a row.
MOST_FAILURES = 3
# Maximum average blocks of a cluster for swaps of centres if there are many blocks: a trial scans
# the blocks of some dozen clusters.
LARGE_CLUSTERS = 1_000
# Share of the effort of swaps of centres if there are many blocks.
EFFORT_OF_LARGE = 0.1


@dataclass(eq=False)
class PreparedSearch:
    """Heuristic of the exact solver in one contraction: descents of its searches share tables.

    schedule : efforts of the searches
    known : labels (m,) that satisfy the cannot-links, the best so far
    time_left : time left for all searches together, inf for no limit, 0 when it is up
    is_root : whether the contraction belongs to the root of a search, which is searched longer
    """

    schedule: HeuristicSchedule
    contraction: Contraction
    known: NDArray[np.intp]
    time_left: TimeLeft
    is_root: bool = False

    def __post_init__(self) -> None:
        self._before, self._during = self.schedule.before, self.schedule.during
        contraction, limited = self.contraction, self.schedule.limited
        if contraction.has_limits and self.is_root:
            most = min(limited.n_relocations, EACH_PAIR * contraction.k**2)
            self._during = replace(limited, n_relocations=most)
            m = contraction.n_blocks
            if m <= SWAP_BLOCKS and m * contraction.k >= MANY:
                self._before = self._during
        self._descent: Descent | None = None

    def search(
        self,
        rng: np.random.Generator,
        affinity: NDArray[np.float64] | None,
        stop: Callable[[], bool],
        found: Callable[[NDArray[np.intp], str], None],
    ) -> None:
        """Search for better clusterings.

        Parameters
        ----------
        affinity : (m, m) Z of a relaxation's solution to start from; None: there is none yet
        stop : true once the search is to end
        found : called with labels (m,) and their origin, such as "k-means++", for every clustering
            that is cheaper than all before
        """
        parameters = self._before if affinity is None else self._during

        def offer(better: HeuristicSolution) -> None:
            self.known = better.labels
            found(better.labels, better.source)

        # Steps that may fail have the best clustering to fall back on, and seconds of their own.
        if self._descent is None or self._descent.assign.may_fail:
            self._descent = Descent(self.contraction, parameters, self.known, self.time_left)
        MultiStart(parameters).run(self.contraction, rng, affinity, self._descent, stop, offer)


class MultiStart:
    """Best clustering over starts, swaps of centres and relocations."""

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
        contraction : must have a clustering (see `sdpbb.problem.feasibility.find_feasible`)
        rng : the only source of randomness
        affinity : (m, m) approximate solution Z of the semidefinite relaxation, with Z e = 1. None:
            start from k-means++. Otherwise start 1 runs k-means on the rows of (the rank-k
            truncation of Z) times the data, start 2 on the rows of Z times the data from pivot
            blocks, later starts on the same rows from k-means++ seeds
        descent : shared by several runs of one contraction; None: a new one
        stop : checked every 0.1 s, like the time limit. Once true, return the best clustering so
            far, or `descent.known()`
        found : called at once with each clustering that is cheaper than all before: the first after
            one assignment step

        Raises
        ------
        ParameterError
            If no clustering satisfies the cannot-links.
        """
        descent = descent or Descent(contraction, self.parameters)
        source = "k-means++" if affinity is None else "sdp"
        descent.begin(source if self.parameters.n_starts else "given", stop, found)
        with suppress(OutOfTime):
            self._start(descent, rng, affinity)
            self._improve(descent, rng)
        if descent.best is not None:
            return descent.best
        known = descent.known()
        solution = HeuristicSolution(known, contraction.cost(known), "colouring")
        if found is not None and contraction.keeps_sizes(known):
            found(solution)
        return solution

    # The steps raise OutOfTime once the time is over: the best is then the best so far.

    def _start(
        self, descent: Descent, rng: np.random.Generator, affinity: NDArray[np.float64] | None
    ) -> None:
        """Descend from initial centres, and search over swaps of centres from there."""
        contraction, n_starts = descent.contraction, self.parameters.n_starts
        time_left, is_many = descent.time_left, is_large(descent.contraction)
        if not n_starts or descent.assign.may_fail:
            known = descent.known()
            if contraction.keeps_sizes(known):
                descent.offer(known)
                descent.from_labels(known)
        if not (n_starts and descent.assign.is_possible):
            return
        sets = initial_centres(contraction, n_starts, rng, affinity, time_left)
        if affinity is None and is_many:
            draws = range(n_starts)
            sets = iter(_centres_in_coreset(contraction, None, rng, time_left) for _ in draws)
        n_idle = 0
        for centres in sets:
            before = descent.cost
            found = descent.from_centres(centres)
            check_time(time_left)
            if n_starts > 1 and not is_many and found is not None:
                self._swap_centres(descent, rng, found.labels, BEFORE_THE_BEST / n_starts)
            n_idle = 0 if descent.cost < before else n_idle + 1
            if n_idle == IDLE_STARTS and not descent.assign.is_quick:
                return

    def _improve(self, descent: Descent, rng: np.random.Generator) -> None:
        """Improve the best clustering by swaps of centres, and by relocations."""
        if descent.best is None or not descent.assign.is_possible:
            return
        contraction = descent.contraction
        if not is_large(contraction):
            self._swap_centres(descent, rng, descent.best.labels, 1.0)
        self._relocate(descent, rng)
        if is_large(contraction) and contraction.n_blocks <= LARGE_CLUSTERS * contraction.k:
            self._swap_centres(descent, rng, descent.best.labels, EFFORT_OF_LARGE)

    def _swap_centres(
        self, descent: Descent, rng: np.random.Generator, labels: NDArray[np.intp], share: float
    ) -> None:
        """Improve a clustering by swaps of centres, recombine it with the best, and descend.

        labels : (m,) of any clustering, or of the best one
        share : of the effort of the parameters
        """
        effort, contraction = share * self.parameters.swap_effort, descent.contraction
        if effort == 0.0 or descent.best is None:
            return
        best = descent.best.labels
        swapped = descent.swap_centres(labels, rng, effort, descent.time_left)
        if swapped is labels:
            return
        if best is not labels:
            swapped = recombine(contraction, best, swapped)
        cost = contraction.cost(swapped)
        if cost < descent.cost:
            descent.offer(swapped, cost)
            descent.from_labels(swapped, cost)

    def _relocate(self, descent: Descent, rng: np.random.Generator) -> None:
        """Descend repeatedly from the best clustering with relocated centres.

        Relocate one centre; with many blocks, all centres that a search in a coreset moves. Within
        limits, end after a number of failures in a row.
        """
        contraction, most = descent.contraction, self.parameters.n_relocations
        patience = most
        if is_large(contraction):
            patience = MOST_FAILURES
        elif not descent.assign.is_quick:
            patience = IDLE_STARTS
        n_done = n_idle = 0
        while n_idle < patience and n_idle < most and (n_done < most or descent.assign.may_fail):
            check_time(descent.time_left)
            assert descent.best is not None
            before, known = descent.cost, cluster_means(contraction, descent.best.labels)
            if is_large(contraction):
                centres = _centres_in_coreset(contraction, known, rng, descent.time_left)
            else:
                centres = with_one_elsewhere(contraction, known, rng)
            if centres is not known:
                descent.from_centres(centres)
            n_idle = 0 if descent.cost < (1.0 - HASTY_DECREASE) * before else n_idle + 1
            n_done += 1


def _centres_in_coreset(
    contraction: Contraction,
    known: NDArray[np.float64] | None,
    rng: np.random.Generator,
    time_left: TimeLeft,
) -> NDArray[np.float64]:
    """Return the best centres (k, r) that a search in a coreset finds.

    If the coreset has fewer than k blocks, return the known centres, or k-means++ centres of all
    blocks.

    known : centres (k, r) where the search starts, returned unless others cost less in the coreset;
        None: it starts from k-means++

    Raises
    ------
    OutOfTime
        If the time is over before the end.
    """
    few = coreset(contraction, rng)
    if few.n_blocks < contraction.k:
        return kmeans_plus_plus(contraction, rng, time_left) if known is None else known
    descent = Descent(few, IN_CORESET, None, time_left, is_hasty=True)
    search = MultiStart(IN_CORESET)
    if known is None:
        found = search.run(few, rng, descent=descent)
        check_time(time_left)
        return cluster_means(few, found.labels)
    descent.from_centres(known)
    cost = descent.cost
    search._improve(descent, rng)
    check_time(time_left)
    assert descent.best is not None  # a step in a coreset finds labels
    return known if descent.cost >= cost else cluster_means(few, descent.best.labels)


def recombine(
    contraction: Contraction, first: NDArray[np.intp], second: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return the cheapest clustering (m,) made of whole regions of two.

    Clusters of the first and of the second are linked if they share a block. A component of this
    graph, a region, holds the same blocks in clusters of either, so each region can come from
    either clustering. Dynamic programming over the regions chooses the cheapest k clusters. So the
    result satisfies the constraints if both clusterings do, and costs at most as much as either.

    Source: partition crossover for the travelling salesman, D. Whitley, D. Hains, A. Howe,
    Tunneling between optima, GECCO (2009).

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
    """Return a mask (t,) of the regions of the second clustering that save most together.

    Together these regions have equally many clusters in both clusterings.

    more : (t,) clusters of each region in the second clustering minus clusters in the first, not 0
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


def exercise(contraction: Contraction) -> None:
    """Call the kernels that almost every run needs, including a start from an affinity."""
    found = MultiStart().run(contraction, np.random.default_rng(0))
    together = found.labels == found.labels[:, None]
    affinity = together / (together @ contraction.weights)
    MultiStart().run(contraction, np.random.default_rng(0), affinity)


def exercise_rare(contraction: Contraction) -> None:
    """Call the kernels for components of cannot-links too wide for dynamic programming.

    contraction : with cannot-links
    """
    costs = costs_of_labels(contraction, contraction.means[: contraction.k])
    potts, alike = Potts(costs, *signed_pairs(contraction)), np.zeros(len(costs), np.int64)
    for labels in (construct(potts), mend(potts, alike)):
        if labels is not None:
            improve(potts, labels)


def good_clustering(
    contraction: Contraction, time_left: TimeLeft, rng: np.random.Generator
) -> NDArray[np.intp] | Infeasibility | None:
    """Return labels (m,) of the best clustering that the search before the first bound finds.

    They satisfy the constraints, unless the time was over. None: the time was over before any.
    """
    first = first_clustering(contraction, time_left)
    if not isinstance(first, np.ndarray):
        return first
    effort = HeuristicSchedule().before
    descent = Descent(contraction, effort, first, time_left)
    return MultiStart(effort).run(contraction, rng, descent=descent).labels
