"""Searches of the engine: `MultiStart`, IPC-k-means from several starts with local search.

It works on the blocks of a contraction, so that the nodes of a tree can use it; `best_of` is the
same for instances. `IncumbentSearch` runs it as hard as a schedule says.

What a start ends with is searched over swaps of centres (`heuristics.centre_swaps`), and recombined
with the best so far, region by region. At last the best clustering is improved at length, by swaps
of centres and by relocations.

Within limits on sizes or weights, a search begins with a descent from the known clustering, and
centres are not swapped.

Where there are many blocks, initial centres and centres put elsewhere are found in a coreset, a few
thousand weighted blocks, and a descent over all blocks starts from the best of these.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from heuristics.alternating import cluster_means, costs_of_labels
from heuristics.assignment.potts import Potts, signed_pairs
from heuristics.assignment.search import construct, improve, mend
from heuristics.descent import LEAST_DECREASE, Descent, HeuristicSolution, OnImproved
from heuristics.local_search import SWAP_BLOCKS
from heuristics.parameters import HeuristicSchedule, MultiStartParameters
from heuristics.starts import (
    coreset,
    initial_centres,
    is_large,
    kmeans_plus_plus,
    with_one_elsewhere,
)
from sdpbb.problem import Contraction
from sdpbb.problem.graph import connected_components
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, check_time

# Blocks times clusters from which on the search before the bound is a long one where sizes are
# limited: 2,000 points in the plane in 20 clusters are bounded for 100 s. Among more blocks than
# swaps are made of, 100 relocations take too long: 17 s of 20,000 points, and found nothing.
MANY = 10_000
# A relocation merges a cluster into others and splits one: in a long search as many in a row may
# find nothing better as try each pair so often. With 100 for any k, sets in 2 to 4 clusters that
# are proven in half a second took up to 11 % longer.
EACH_PAIR = 2
# Starts in a row that may find nothing better if each takes integer programmes: of 8 points, 15
# of them took ten times as long as the bound of a node.
IDLE_STARTS = 2
# Of the effort of the search over swaps of centres, what all starts together have before the best.
BEFORE_THE_BEST = 0.4
IN_CORESET = MultiStartParameters(n_starts=5, n_relocations=0, swap_effort=0.02, local_search=False)
# Relocations in coresets end after this number in a row that saved less.
MOST_FAILURES = 3
# Maximum blocks of a cluster for swaps of centres, if there are many blocks: a trial looks at the
# blocks of some dozen clusters.
LARGE_CLUSTERS = 1_000
# Of the effort of the search over swaps of centres, what it has where there are many blocks.
EFFORT_OF_LARGE = 0.1


@dataclass(frozen=True)
class IncumbentSearch:
    """Heuristic of the exact solver: `MultiStart`, as hard as its schedule says; picklable.

    knows_good : whether the clustering known before is a good one, so that the search before the
        bound is one descent from it
    """

    schedule: HeuristicSchedule = field(default_factory=HeuristicSchedule)
    knows_good: bool = False


@dataclass(eq=False)
class PreparedSearch:
    """`IncumbentSearch` of one contraction: its descents share tables.

    known : labels (m,) that keep the cannot-links, the best so far
    time_left : time left for all searches together, inf for no limit, 0 when it is up
    is_root : whether the contraction is that of a search's root, which may be searched longer
    descent : with the parameters of the first search
    """

    of: IncumbentSearch
    contraction: Contraction
    known: NDArray[np.intp]
    time_left: TimeLeft
    is_root: bool = False
    descent: Descent | None = None

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
        affinity : (m, m) Z of a relaxation's solution to begin from, or None before there is any
        stop : true once the search is to end
        found : called with labels (m,) and their origin, such as "k-means++", for every clustering
            that is cheaper than those before it
        """
        schedule, contraction = self.of.schedule, self.contraction
        parameters = schedule.before if affinity is None else schedule.during

        def offer(better: HeuristicSolution) -> None:
            self.known = better.labels
            found(better.labels, better.source)

        if contraction.has_limits:
            # Each search begins from the best clustering, and has the time of its own programmes.
            parameters, self.descent = self._within_limits(parameters, affinity is None), None
        start = None
        if affinity is None and self.of.knows_good and not contraction.has_limits:
            start = self.known
            parameters = replace(parameters, n_relocations=0, swap_effort=0.0)
        if self.descent is None:
            self.descent = Descent(contraction, parameters, self.known, self.time_left)
        search = MultiStart(parameters)
        search.run(contraction, rng, affinity, self.descent, stop, offer, start)

    def _within_limits(
        self, parameters: MultiStartParameters, is_before: bool
    ) -> MultiStartParameters:
        """Return the parameters of a search within limits: longer ones at most roots."""
        limited, contraction = self.of.schedule.limited, self.contraction
        m = contraction.n_blocks
        is_many = m <= SWAP_BLOCKS and m * contraction.k >= MANY
        if not self.is_root or (is_before and not is_many):
            return parameters
        most = min(limited.n_relocations, EACH_PAIR * contraction.k**2)
        return replace(limited, n_relocations=most)


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
        descent.begin(source, stop, found)
        with suppress(OutOfTime):
            if start is None:
                self._start(descent, rng, affinity)
            else:
                given = np.array(start, dtype=np.intp)
                descent.offer(given)
                descent.from_labels(given)
            self._improve(descent, rng)
        if descent.best is not None:
            return descent.best
        known = descent.known()
        solution = HeuristicSolution(known, contraction.cost(known), "colouring")
        if found is not None and contraction.keeps_sizes(known):
            found(solution)
        return solution

    # The steps raise OutOfTime once no time is left: the best is then the best so far.

    def _start(
        self, descent: Descent, rng: np.random.Generator, affinity: NDArray[np.float64] | None
    ) -> None:
        """Descend from initial centres, and search over swaps of centres from there."""
        contraction, n_starts = descent.contraction, self.parameters.n_starts
        time_left, is_many = descent.time_left, is_large(descent.contraction)
        if contraction.has_limits:  # assignment steps may find nothing
            known = descent.known()
            if contraction.keeps_sizes(known):
                descent.offer(known)
                descent.from_labels(known)
        if not descent.assign.is_possible:
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
        """Improve a clustering by swaps of centres, and recombine it with the best so far.

        The labels (m,) may be that itself. A descent ends it.

        share : of the effort of the parameters
        """
        effort, contraction = share * self.parameters.swap_effort, descent.contraction
        # They know of no soft pairs and no limits.
        if effort == 0.0 or contraction.soft or contraction.has_limits or descent.best is None:
            return
        best = descent.best.labels
        swapped = descent.swap_centres(labels, rng, effort, descent.time_left)
        if best is not labels:
            swapped = recombine(contraction, best, swapped)
        cost = contraction.cost(swapped)
        if cost < descent.cost:
            descent.offer(swapped, cost)
            descent.from_labels(swapped, cost)

    def _relocate(self, descent: Descent, rng: np.random.Generator) -> None:
        """Descend from the best clustering with centres put elsewhere, again and again.

        It is one centre, or where there are many blocks, as many as a search in a coreset moves.
        Within limits, until a number of them in a row have saved next to nothing.
        """
        contraction, most = descent.contraction, self.parameters.n_relocations
        patience = most
        if is_large(contraction):
            patience = MOST_FAILURES
        elif not descent.assign.is_quick:
            patience = IDLE_STARTS
        n_done = n_idle = 0
        while n_idle < patience and n_idle < most and (n_done < most or contraction.has_limits):
            check_time(descent.time_left)
            assert descent.best is not None
            before, known = descent.cost, cluster_means(contraction, descent.best.labels)
            if is_large(contraction):
                centres = _centres_in_coreset(contraction, known, rng, descent.time_left)
            else:
                centres = with_one_elsewhere(contraction, known, rng)
            if centres is not known:
                descent.from_centres(centres)
            n_idle = 0 if descent.cost < (1.0 - LEAST_DECREASE) * before else n_idle + 1
            n_done += 1


def _centres_in_coreset(
    contraction: Contraction,
    known: NDArray[np.float64] | None,
    rng: np.random.Generator,
    time_left: TimeLeft,
) -> NDArray[np.float64]:
    """Return the best centres (k, r) that a search in a coreset finds, or those known.

    The known ones (k, r), where the search starts, are returned if no others cost less there, or if
    the coreset has too few blocks. None: it starts from k-means++ centres, those of all blocks
    where there are too few.

    Raises
    ------
    OutOfTime
        If no time is left on the way.
    """
    few = coreset(contraction, rng)
    if few.n_blocks < contraction.k:
        return kmeans_plus_plus(contraction, rng, time_left) if known is None else known
    descent, start = Descent(few, IN_CORESET, None, time_left, is_hasty=True), None
    cost = np.inf
    if known is not None:
        reached = descent.from_centres(known)
        assert reached is not None  # a coreset has no limits
        start, cost = reached.labels, reached.cost
    found = MultiStart(IN_CORESET).run(few, rng, descent=descent, start=start)
    check_time(time_left)
    if known is not None and found.cost >= cost:
        return known
    return cluster_means(few, found.labels)


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
    """Return a mask (t,) of the regions of the second clustering that save most together.

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


def exercise(contraction: Contraction) -> None:
    """Call the kernels that almost every run needs, also those of a start from an affinity."""
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
