"""COP-k-means: k-means whose assignment goes from point to point and never looks back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment import fill_empty_clusters
from heuristics.kmeans import KMeansClustering, best_of_starts, unconstrained
from heuristics.kmeans_steps import cluster_means
from heuristics.method import Heuristic, RunClock, SearchResult
from heuristics.neighbours import neighbour_lists
from heuristics.result import Stop
from heuristics.starts import kmeans_plus_plus
from sdpbb.problem import Contraction, Infeasibility, Instance, contract
from sdpbb.problem.graph import distinct_edges
from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.declaration import parameter
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import OutOfTime, check_time, chunks


@dataclass(frozen=True, eq=False, kw_only=True)
class COPKMeans(Heuristic):
    """k-means that keeps hard constraints point by point, or fails.

    In random order, each point goes to the nearest centre at which no constraint with a point
    assigned before it in this pass is violated; then the centres become the means of their points,
    and the next pass begins, in the same order.

    Where a point has no such centre the start has failed: assignments are never taken back. A run
    whose starts have all failed proves nothing, unless the constraints are contradictory at sight
    (`contract`), which is told as such.

    The constraints are closed first, as in the source: must-linked points form blocks, and a
    cannot-link between two points holds between all points of their blocks. The first point of a
    block in the order then meets the cannot-links of all of them, and the others, must-linked to
    it, can only follow; what is assigned in between keeps away from their cluster. So the block is
    assigned as a whole where its first point comes, to the centre nearest to that point: each pass
    ends as that over single points does. An empty cluster is filled after the pass by moving one
    block.

    Source: K. Wagstaff, C. Cardie, S. Rogers, S. Schroedl, Constrained k-means clustering with
    background knowledge (2001), Table 1. Centres are those of k-means++ (PC-SOS-SDP, section 4.4).
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
        points = unconstrained(instance)
        passes = _Passes(instance, points)

        def starts() -> Iterator[KMeansClustering]:
            for _ in range(self.n_starts):
                check_time(clock.time_left)
                order = rng.permutation(instance.n_points)
                centres = kmeans_plus_plus(points, rng, clock.time_left)
                yield passes.run(order, centres, clock, self.max_iterations)

        best = best_of_starts(starts(), clock)
        has_failed = best.cost == math.inf
        if has_failed and clock.is_over:
            raise OutOfTime
        labels = None if has_failed else passes.blocks.lift(best.labels)
        return SearchResult(labels, best.stop, best.n_iterations)


class _Order(NamedTuple):
    """Blocks in the order of their first points, and these points."""

    blocks: NDArray[np.int64]
    points: NDArray[np.int64]


class _Passes:
    """Passes over one instance.

    They have its must-linked blocks, and their cannot-links as an adjacency list.
    """

    def __init__(self, instance: Instance, points: Contraction) -> None:
        # Without the cannot-links nothing is contracted but the must-link components.
        pairs, weights = instance.must_link, instance.weights
        blocks = contract(Instance(instance.points, instance.k, pairs, weights=weights))
        assert isinstance(blocks, Contraction)  # with them there were k blocks, or more
        self.blocks = blocks
        self._rows = np.ascontiguousarray(points.means)
        edges = distinct_edges(blocks.block_of[instance.cannot_link])
        self._first, self._neighbours, _ = neighbour_lists(blocks.n_blocks, edges)

    def run(
        self,
        order: NDArray[np.intp],
        centres: NDArray[np.float64],
        clock: RunClock,
        max_iterations: int,
    ) -> KMeansClustering:
        """Make passes over the points in the given order (n,), from centres (k, r).

        They end when one repeats the last one or meets a dead end.

        Raises
        ------
        OutOfTime
            If the clock is over before the first pass has ended.
        """
        first_points = self._first_points(order)
        blocks = self.blocks
        labels = np.full(blocks.n_blocks, -1, np.int64)
        best: NDArray[np.int64] = labels
        cost, stop = math.inf, Stop.ITERATION_LIMIT
        n_iterations = 0
        while n_iterations < max_iterations:
            try:
                updated = self._pass(first_points, centres, clock)
            except OutOfTime:
                if not n_iterations:
                    raise
                stop = clock.reason
                break
            n_iterations += 1
            if updated is None:
                return KMeansClustering(labels[:0], math.inf, Stop.DEAD_END, n_iterations)
            if np.array_equal(updated, labels):
                stop = Stop.CONVERGED
                break
            labels = updated
            centres = cluster_means(blocks, labels)
            updated_cost = blocks.cost(labels)
            if updated_cost < cost:
                best, cost = labels, updated_cost
            if clock.is_over:
                stop = clock.reason
                break
        return KMeansClustering(best, cost, stop, n_iterations)

    def _pass(
        self, first_points: _Order, centres: NDArray[np.float64], clock: RunClock
    ) -> NDArray[np.int64] | None:
        """Return the labels (m,) of one pass, None for a dead end."""
        blocks, time_left = self.blocks, clock.time_left
        labels = np.full(blocks.n_blocks, -1, np.int64)
        for first, last in chunks(blocks.n_blocks, centres.size, time_left):
            part = _Order(first_points.blocks[first:last], first_points.points[first:last])
            if not _assign_in_order(
                self._rows, centres, *part, self._first, self._neighbours, labels
            ):
                return None
        return fill_empty_clusters(labels, blocks.weights, blocks.means, blocks.k, time_left)

    def _first_points(self, order: NDArray[np.intp]) -> _Order:
        block_in_order = self.blocks.block_of[order]
        position = np.sort(np.unique(block_in_order, return_index=True)[1])
        return _Order(block_in_order[position].astype(np.int64), order[position].astype(np.int64))


@njit(cache=True, nogil=True)
def _assign_in_order(
    rows: Reals,
    centres: Reals,
    blocks: Integers,
    points: Integers,
    first: Integers,
    neighbours: Integers,
    labels: Integers,
) -> bool:
    """Fill the labels of these blocks, one by one; return False if one has no cluster left."""
    k, r = centres.shape
    taken = np.full(k, -1, np.int64)  # the last step at which a neighbour was found in the cluster
    for step in range(len(blocks)):
        block, point = blocks[step], points[step]
        for q in range(first[block], first[block + 1]):
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
