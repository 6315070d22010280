"""k-means without constraints."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment import fill_empty_clusters
from heuristics.kmeans_steps import alternate_kmeans, nearest_labels
from heuristics.method import Heuristic, RunClock, SearchResult, Soft
from heuristics.result import Stop
from heuristics.starts import kmeans_plus_plus
from sdpbb.problem import Contraction, Instance
from sdpbb.runtime.declaration import parameter
from sdpbb.runtime.time_left import OutOfTime


@dataclass(frozen=True, eq=False, kw_only=True)
class KMeans(Heuristic):
    """k-means without constraints, for comparison.

    Lloyd's algorithm from k-means++ centres; constraints of any kind are not looked at:

    minimise  sum_i || p_i - m_{l(i)} ||^2,  m_c the mean of { p_i : l(i) = c }, no cluster empty

    locally: points go to their nearest centres and centres to the means of their points in turn,
    which never increases the sum. The result lists the constraints that the clustering violates.

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
        return SearchResult(points.lift(found.labels), found.stop, found.n_iterations)


@dataclass(frozen=True, eq=False)
class KMeansClustering:
    """Clustering that k-means ends with.

    Attributes
    ----------
    labels : (m,) exactly the clusters 0..k-1; empty where the start has failed
    cost : its sum of squares, `Contraction.cost(labels)`; inf where the start has failed
    stop : why its start ended
    n_iterations : assignment steps
    """

    labels: NDArray[np.intp]
    cost: float
    stop: Stop
    n_iterations: int


def unconstrained(instance: Instance) -> Contraction:
    """Return each point as a block, even where k forces points together, without cannot-links."""
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
    contraction: Contraction,
    rng: np.random.Generator,
    clock: RunClock,
    n_starts: int,
    most: int,
) -> KMeansClustering:
    """Return the cheapest of `kmeans` from n_starts sets of k-means++ centres.

    most : assignment steps of one start

    Raises
    ------
    OutOfTime
        If the clock is over before the first assignment step has ended.
    """
    return best_of_starts(
        (
            kmeans(contraction, kmeans_plus_plus(contraction, rng, clock.time_left), clock, most)
            for _ in range(n_starts)
        ),
        clock,
    )


def best_of_starts(starts: Iterable[KMeansClustering], clock: RunClock) -> KMeansClustering:
    """Return the cheapest of the clusterings that starts end with.

    They are made one after the other until the clock is over; n_iterations is the sum of all
    starts.

    Raises
    ------
    OutOfTime
        If the clock is over before there is any.
    """
    best: KMeansClustering | None = None
    n_iterations = 0
    with suppress(OutOfTime):
        for found in starts:
            n_iterations += found.n_iterations
            if best is None or found.cost < best.cost:
                best = found
            if clock.is_over:
                break
    if best is None:
        raise OutOfTime
    stop = clock.reason if clock.is_over else best.stop
    return replace(best, stop=stop, n_iterations=n_iterations)


def kmeans(
    contraction: Contraction,
    centres: NDArray[np.float64],
    clock: RunClock,
    max_iterations: int,
) -> KMeansClustering:
    """Run k-means over the blocks, weighted by their weights, from centres (k, r).

    Cannot-links are not looked at.

    The cost never increases from one step to the next: a block that fills an empty cluster is the
    one whose move reduces it most. It has converged once labels come back: those of the step
    before, or, where points coincide and clusters are filled in turn, earlier ones.

    Raises
    ------
    OutOfTime
        If the clock is over before the first assignment step has ended.
    """

    def assign(at: NDArray[np.float64]) -> NDArray[np.intp]:
        labels = nearest_labels(contraction.means, at, clock.time_left)
        weights, means, k = contraction.weights, contraction.means, contraction.k
        return fill_empty_clusters(labels, weights, means, k, clock.time_left)

    found = alternate_kmeans(
        contraction, assign, centres, max_iterations, time_left=clock.time_left
    )
    stop = clock.reason if clock.is_over else Stop.ITERATION_LIMIT
    if found.has_converged:
        stop = Stop.CONVERGED
    cost = contraction.cost(found.labels)
    return KMeansClustering(found.labels, cost, stop, found.n_iterations)
