"""The clustering that queries are about, and the clusters that its blocks may belong to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from heuristics.first_clustering import first_clustering
from heuristics.incumbents import IncumbentSearch, PreparedSearch
from heuristics.kmeans_steps import cluster_means
from heuristics.method import RunClock
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem import Contraction, Infeasibility, Instance, contract
from sdpbb.problem.graph import by_first_occurrence


class NoClusteringToAskAbout(InstanceError):
    """No clustering keeps the constraints, so that there is nothing to ask about."""


@dataclass(frozen=True, eq=False)
class Standing:
    """Blocks of points that are known to be together, and a clustering of them.

    Attributes
    ----------
    instance : points, k and the constraints known so far
    contraction : of the instance: blocks, and pairs of blocks that are known to be apart
    labels : (m,) cluster of each block, 0..k-1, numbered by their first points
    """

    instance: Instance
    contraction: Contraction
    labels: NDArray[np.intp]

    @property
    def k(self) -> int:
        return self.contraction.k

    @cached_property
    def centres(self) -> NDArray[np.float64]:
        """Means of the clusters, (k, r), in the coordinates of the blocks."""
        return cluster_means(self.contraction, self.labels)

    @cached_property
    def masses(self) -> NDArray[np.float64]:
        """Sums of the weights of the clusters, (k,)."""
        masses = np.bincount(self.labels, self.contraction.weights, minlength=self.k)
        return masses.astype(np.float64)

    @cached_property
    def squares(self) -> NDArray[np.float64]:
        """Squared distances of the blocks' means to those of the clusters, (m, k)."""
        means, centres = self.contraction.means, self.centres
        squares: NDArray[np.float64] = (means**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)
        squares -= 2.0 * means @ centres.T
        return np.maximum(squares, 0.0, out=squares)

    @cached_property
    def representatives(self) -> NDArray[np.intp]:
        """The block that stands for each cluster in queries, (k,).

        It is the one of most points, among equals that with most cannot-links, then the one
        nearest to the cluster's mean: what is known of it is used by every answer.
        """
        n_apart = np.bincount(self.contraction.cannot_link.ravel(), minlength=len(self.labels))
        own = self.squares[np.arange(len(self.labels)), self.labels]
        order = np.lexsort((own, -n_apart, -self.contraction.counts, self.labels))
        return order[np.searchsorted(self.labels[order], np.arange(self.k))]


def standing_of(
    instance: Instance, labels: NDArray[np.intp] | None, seed: int, time_limit: float
) -> Standing:
    """Return the standing of an instance: with labels (n,) that keep its constraints, or found.

    Raises
    ------
    NoClusteringToAskAbout
        If no clustering keeps the constraints.
    InstanceError
        If there are constraints on clusters beyond limits on their sizes.
    ParameterError
        If the time was too short to find any clustering.
    """
    if instance.has_constraints_beyond_sizes:
        raise InstanceError(
            "cluster_constraints: queries are about pairs and sizes only; expected an instance "
            "without other constraints on clusters"
        )
    contraction = contract(instance.in_pairs_and_sizes())
    if isinstance(contraction, Infeasibility):
        raise _nothing(instance, contraction)
    if labels is None:
        found = _searched(instance, contraction, seed, time_limit)
    else:
        found = labels[contraction.representatives]
    return Standing(instance, contraction, by_first_occurrence(found))


def _nothing(instance: Instance, proof: Infeasibility) -> NoClusteringToAskAbout:
    named = Infeasibility(proof.kind, proof.points, rows=tuple(instance.origin.rows(proof.points)))
    return NoClusteringToAskAbout(
        f"no clustering satisfies the constraints: {named}; 'sdpbb check' names the contradictory "
        "ones"
    )


def _searched(
    instance: Instance, contraction: Contraction, seed: int, time_limit: float
) -> NDArray[np.intp]:
    """Return labels (m,) of the best clustering that the engine's first search finds."""
    clock = RunClock(time_limit)
    first = first_clustering(contraction, clock.time_left)
    if isinstance(first, Infeasibility):
        raise _nothing(instance, first)
    if first is None:
        raise ParameterError(
            f"time_limit = {time_limit:g}: too short to find a clustering; expected more seconds"
        )
    # What is found first may violate limits: anything that keeps them is better.
    best, least = first, contraction.cost(first) if contraction.keeps(first) else math.inf

    def found(labels: NDArray[np.intp], source: str) -> None:
        nonlocal best, least
        if contraction.keeps(labels) and (cost := contraction.cost(labels)) < least:
            best, least = labels, cost

    search = PreparedSearch(IncumbentSearch(), contraction, first, clock.time_left)
    search.search(np.random.default_rng(seed), None, lambda: clock.is_over, found)
    return best


Memberships = NDArray[np.float64]

# Share of a round covariance that is mixed in: measured in docs/benchmarks/queries.md.
SHRINKAGE = 0.2


def memberships_of(standing: Standing) -> Memberships:
    """Return probabilities (m, k) of the clusters that each block may truly belong to.

    They are the posteriors of normal distributions around the clusters' means, which share one
    covariance: that of the blocks around their clusters' means, drawn towards a round one. So
    distances are measured as the clusters are shaped, which answers change: the linear discriminant
    of the present clusters. Clusters weigh as much as their points.

    Clusters whose representative a block is known to be apart from have probability 0; a block that
    no cluster is left for belongs to its own. Those of representatives are 1 and 0.
    """
    contraction, labels, k = standing.contraction, standing.labels, standing.k
    deviations = contraction.means - standing.centres[labels]
    total = contraction.weights.sum()
    scatter = (deviations * contraction.weights[:, None]).T @ deviations / total
    dimension = len(scatter)
    # Of clusters without any extent: that of all blocks; of equal blocks: 1.
    variance = float(np.trace(scatter)) / dimension or float((contraction.means**2).mean()) or 1.0
    scatter *= 1.0 - SHRINKAGE
    scatter.flat[:: dimension + 1] += SHRINKAGE * variance
    factor = cholesky(scatter, lower=True)
    means = solve_triangular(factor, contraction.means.T, lower=True).T
    centres = solve_triangular(factor, standing.centres.T, lower=True).T
    squares = (means**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2.0 * means @ centres.T
    logarithms = np.log(standing.masses / standing.masses.sum()) - 0.5 * squares
    shares = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    cluster = np.full(contraction.n_blocks, -1)
    cluster[standing.representatives] = np.arange(k)
    ends = np.concatenate([contraction.cannot_link, contraction.cannot_link[:, ::-1]])
    ends = ends[cluster[ends[:, 1]] >= 0]
    shares[ends[:, 0], cluster[ends[:, 1]]] = 0.0
    gone = shares.sum(axis=1) <= 0.0
    shares[gone] = np.eye(k)[labels[gone]]
    shares[standing.representatives] = np.eye(k)
    found: Memberships = shares / shares.sum(axis=1, keepdims=True)
    return found
