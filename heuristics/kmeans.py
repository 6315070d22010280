"""k-means without constraints, and COP-k-means, which assigns points one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from heuristics.alternating import ComesBack, StepVerdict, alternate, fill_empty_clusters, kmeans
from heuristics.cluster_state import Neighbours, neighbour_lists
from heuristics.method import Heuristic, RunClock, Soft, cheapest_of
from heuristics.result import SearchResult, Stop
from heuristics.starts import kmeans_plus_plus
from sdpbb.problem import Contraction, Infeasibility, Instance, contract
from sdpbb.problem.graph import distinct_edges
from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.declaration import parameter
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import check_time, chunks


@dataclass(frozen=True, eq=False, kw_only=True)
class KMeans(Heuristic):
    """k-means without constraints, for comparison.

    Lloyd's algorithm from k-means++ centres finds a local minimum of (2a)-(2c) of PC-SOS-SDP,

        minimise    sum_i || p_i - m_l(i) ||^2,  m_c the mean of { p_i : l(i) = c }    (2a), (3)
        subject to  one label l(i) for every point i, no cluster empty.                 (2b), (2c)

    It ignores constraints on pairs, (2d) and (2e), and all others. Points go to their nearest
    centres and centres to the means of their points in turn, which never increases the sum. The
    result lists the constraints that the clustering violates.

    Sources: S. P. Lloyd, Least squares quantization in PCM, IEEE Transactions on Information Theory
    28 (1982); D. Arthur, S. Vassilvitskii, k-means++: the advantages of careful seeding (2007).
    """

    name = "kmeans"
    soft = Soft.IGNORED

    n_starts: int = parameter(
        1, "Sets of initial centres; the cheapest clustering is the result.", ge=1
    )
    max_iterations: int = parameter(300, "Assignment steps of one start.", ge=1)

    def search(self, instance: Instance, rng: np.random.Generator, clock: RunClock) -> SearchResult:
        points = unconstrained(instance)
        found = best_kmeans(points, rng, clock, self.n_starts, self.max_iterations)
        return found.lifted(points)


def unconstrained(instance: Instance) -> Contraction:
    """Return each point as a block, without cannot-links, even if k forces points together."""
    n, weights = instance.n_points, instance.scaled[1]
    return Contraction(
        instance.k,
        np.arange(n),
        np.ones(n) if weights is None else weights,
        instance.centred,
        np.zeros(n),
        np.empty((0, 2), np.intp),
    )


def best_kmeans(
    contraction: Contraction, rng: np.random.Generator, clock: RunClock, n_starts: int, most: int
) -> SearchResult:
    """Return the cheapest clustering of `kmeans` from n_starts sets of k-means++ centres.

    most : assignment steps of one start

    Raises
    ------
    OutOfTime
        If the clock is over before the first assignment step has ended.
    """

    def start() -> SearchResult:
        centres = kmeans_plus_plus(contraction, rng, clock.time_left)
        found = kmeans(contraction, centres, most, clock.time_left)
        return replace(found, cost=contraction.cost(found.found))

    return cheapest_of((start() for _ in range(n_starts)), clock)


@dataclass(frozen=True, eq=False, kw_only=True)
class COPKMeans(Heuristic):
    """k-means that keeps hard constraints point by point, or fails.

    In random order, each point goes to the nearest centre at which no constraint with a point
    assigned before it in this pass is violated; then the centres become the means of their points,
    and the next pass begins, in the same order.

    If a point has no such centre, the start fails: assignments are never undone. If all starts of a
    run fail, that proves nothing. Constraints that `contract` finds contradictory are reported as
    infeasible.

    The constraints are closed first, as in the source: must-linked points form blocks, and a
    cannot-link between two points holds between all points of their blocks. Then the first point of
    a block in the order has the cannot-links of the whole block, and the other points must follow
    it. So the block is assigned as a whole, to the centre nearest to its first point. The pass ends
    as a pass over single points would. An empty cluster is filled after the pass by moving one
    block.

    Source: K. Wagstaff, C. Cardie, S. Rogers, S. Schroedl, Constrained k-means clustering with
    background knowledge (2001), Table 1; initial centres from k-means++ as in PC-SOS-SDP, section
    4.4.
    """

    name = "cop-kmeans"

    n_starts: int = parameter(
        1,
        "Sets of initial centres, each with its own order of points. The cheapest clustering "
        "found is the result.",
        ge=1,
    )
    max_iterations: int = parameter(
        100,
        "Maximum passes of one start; its cheapest clustering counts.",
        reason="Passes may not converge.",
        ge=1,
    )

    def search(
        self, instance: Instance, rng: np.random.Generator, clock: RunClock
    ) -> SearchResult | Infeasibility:
        contracted = contract(instance)
        if isinstance(contracted, Infeasibility):
            return contracted
        # Without the cannot-links, only must-link components are contracted.
        pairs, weights = instance.must_link, instance.weights
        blocks = contract(Instance(instance.points, instance.k, pairs, weights=weights))
        assert isinstance(blocks, Contraction)  # with them there were k blocks, or more
        edges = distinct_edges(blocks.block_of[instance.cannot_link])
        apart, points = neighbour_lists(blocks.n_blocks, edges), unconstrained(instance)

        def starts() -> Iterator[SearchResult]:
            for _ in range(self.n_starts):
                check_time(clock.time_left)
                order = rng.permutation(instance.n_points)
                centres = kmeans_plus_plus(points, rng, clock.time_left)
                yield self._run(order, centres, points.means, blocks, apart, clock)

        return cheapest_of(starts(), clock).lifted(blocks)

    def _run(
        self,
        order: NDArray[np.intp],
        centres: NDArray[np.float64],
        rows: NDArray[np.float64],
        blocks: Contraction,
        apart: Neighbours,
        clock: RunClock,
    ) -> SearchResult:
        """Make passes over the points (n, r) in the given order (n,), from centres (k, r).

        They end when a clustering repeats or a point has no centre; the cheapest pass counts.

        blocks, apart : must-linked points, and the cannot-links between them

        Raises
        ------
        OutOfTime
            If the time is over before the first pass has ended.
        """
        first = order[np.sort(np.unique(blocks.block_of[order], return_index=True)[1])]
        rows, comes_back, time_left = np.ascontiguousarray(rows), ComesBack(), clock.time_left
        met: list[tuple[float, NDArray[np.intp]]] = []

        def assign(at: NDArray[np.float64]) -> NDArray[np.intp]:
            labels = np.full(blocks.n_blocks, -1, np.int64)
            for start, end in chunks(blocks.n_blocks, at.size, time_left):
                part = first[start:end]
                if not _assign_in_order(part, blocks.block_of, rows, at, apart, labels):
                    raise _DeadEnd
            return fill_empty_clusters(blocks, labels, time_left)

        def rule(labels: NDArray[np.intp]) -> StepVerdict:
            met.append((blocks.cost(labels), labels))
            return comes_back(labels)

        most = self.max_iterations
        try:
            found = alternate(blocks, assign, centres, rule, most, time_left=time_left)
        except _DeadEnd:
            return SearchResult(None, Stop.DEAD_END, len(met) + 1)
        cost, labels = min(met, key=itemgetter(0))
        return SearchResult(labels, found.stop, found.n_iterations, cost=cost)


class _DeadEnd(Exception):
    """A point could not join any cluster."""


@njit(cache=True, nogil=True)
def _assign_in_order(
    points: Integers,
    block_of: Integers,
    rows: Reals,
    centres: Reals,
    apart: Neighbours,
    labels: Integers,
) -> bool:
    """Label the blocks of these points; return False if one has no possible cluster."""
    starts, neighbours = apart.starts, apart.block
    k, r = centres.shape
    taken = np.full(k, -1, np.int64)  # the last step at which a neighbour was found in the cluster
    for step in range(len(points)):
        point, block = points[step], block_of[points[step]]
        for q in range(starts[block], starts[block + 1]):
            if labels[neighbours[q]] >= 0:
                taken[labels[neighbours[q]]] = step
        nearest, least = -1, np.inf
        for c in range(k):
            if taken[c] == step:
                continue
            distance = 0.0
            for t in range(r):
                distance += (rows[point, t] - centres[c, t]) ** 2
            if distance < least:
                nearest, least = c, distance
        if nearest < 0:
            return False
        labels[block] = nearest
    return True
