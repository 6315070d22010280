"""k-means without constraints."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from heuristics.alternating import kmeans
from heuristics.method import Heuristic, RunClock, Soft, best_of_starts
from heuristics.result import SearchResult
from heuristics.starts import kmeans_plus_plus
from sdpbb.problem import Contraction, Instance
from sdpbb.runtime.declaration import parameter


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
        return found.lifted(points)


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

    return best_of_starts((start() for _ in range(n_starts)), clock)
