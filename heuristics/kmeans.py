"""k-means without constraints."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment import fill_empty_clusters
from heuristics.method import Heuristic, RunClock, SearchResult, Soft, check_integer
from heuristics.result import Stop
from heuristics.starts import cluster_means, kmeans_plus_plus, nearest_labels
from heuristics.time_left import OutOfTime
from sdpbb.problem import Contraction, Instance


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

    def __init__(
        self, *, n_starts: int = 1, max_iterations: int = 300, time_limit: float = math.inf
    ) -> None:
        """
        Parameters
        ----------
        n_starts : sets of initial centres, >= 1; the cheapest clustering is kept
        max_iterations : assignment steps of one start, >= 1
        time_limit : seconds, as `Heuristic` has it

        Raises
        ------
        ParameterError
            If a parameter is outside of its domain.
        """
        super().__init__(time_limit)
        check_integer("n_starts", n_starts, 1)
        check_integer("max_iterations", max_iterations, 1)
        self.n_starts = n_starts
        self.max_iterations = max_iterations

    def search(self, instance: Instance, rng: np.random.Generator, clock: RunClock) -> SearchResult:
        points = unconstrained(instance)
        found = best_kmeans(points, rng, clock, self.n_starts, self.max_iterations)
        return SearchResult(points.lift(found.labels), found.stop, found.n_iterations)


@dataclass(frozen=True, eq=False)
class KMeansClustering:
    """Clustering that k-means ends with.

    Attributes
    ----------
    labels : (m,) exactly the clusters 0..k-1
    cost : its sum of squares, `Contraction.cost(labels)`
    stop : why its start ended
    n_iterations : assignment steps
    """

    labels: NDArray[np.intp]
    cost: float
    stop: Stop
    n_iterations: int


def unconstrained(instance: Instance) -> Contraction:
    """Every point a block by itself, also where k forces points together; no cannot-links."""
    n = instance.n_points
    return Contraction(
        instance.k,
        np.arange(n),
        np.ones(n),
        instance.centred,
        np.zeros(n),
        np.empty((0, 2), np.intp),
    )


def best_kmeans(
    contraction: Contraction,
    rng: np.random.Generator,
    clock: RunClock,
    n_starts: int,
    max_iterations: int,
) -> KMeansClustering:
    """The cheapest of `kmeans` from n_starts sets of k-means++ centres; n_iterations is the sum of
    all starts.

    Raises
    ------
    OutOfTime
        If the clock is over before the first assignment step has ended.
    """
    best: KMeansClustering | None = None
    n_iterations = 0
    try:
        for _ in range(n_starts):
            centres = kmeans_plus_plus(contraction, rng, clock.time_left)
            found = kmeans(contraction, centres, clock, max_iterations)
            n_iterations += found.n_iterations
            if best is None or found.cost < best.cost:
                best = found
            if clock.is_over:
                break
    except OutOfTime:
        if best is None:
            raise
    assert best is not None  # n_starts >= 1
    stop = clock.reason if clock.is_over else best.stop
    return KMeansClustering(best.labels, best.cost, stop, n_iterations)


def kmeans(
    contraction: Contraction,
    centres: NDArray[np.float64],
    clock: RunClock,
    max_iterations: int,
) -> KMeansClustering:
    """k-means over the blocks, weighted by their sizes, from centres (k, r); cannot-links are not
    looked at.

    The cost never increases from one step to the next: a block that fills an empty cluster is the
    one whose move reduces it most. It has converged once labels come back: those of the step
    before, or, where points coincide and clusters are filled in turn, earlier ones.

    Raises
    ------
    OutOfTime
        If the clock is over before the first assignment step has ended.
    """
    k, left = contraction.k, clock.time_left
    labels: NDArray[np.int64] | None = None
    stop = Stop.ITERATION_LIMIT
    met: set[bytes] = set()
    n_iterations = 0
    while n_iterations < max_iterations:
        try:
            updated = nearest_labels(contraction.means, centres, left)
            fill_empty_clusters(updated, contraction.sizes, contraction.means, k, left)
        except OutOfTime:
            if labels is None:
                raise
            stop = clock.reason
            break
        n_iterations += 1
        if (key := updated.tobytes()) in met:
            stop = Stop.CONVERGED
            break
        met.add(key)
        labels = updated
        centres = cluster_means(contraction, labels)
        if clock.is_over:
            stop = clock.reason
            break
    assert labels is not None  # max_iterations >= 1
    return KMeansClustering(labels, contraction.cost(labels), stop, n_iterations)
