"""Memberships: for each block, probabilities of the clusters that it may truly belong to.

Each function of `MEMBERSHIPS` takes a `Standing` and returns an array (m, k); rows add up to 1.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.questions.queries.standing import Standing

Memberships = NDArray[np.float64]

# Share of a round covariance that is mixed in: measured in docs/benchmarks/queries.md.
SHRINKAGE = 0.2


def by_covariance(standing: Standing, time_limit: float = math.inf) -> Memberships:
    """Return the posteriors of normal distributions around the clusters' means.

    They share one covariance, that of the blocks around their clusters' means, drawn towards a
    round one. So distances are measured as the clusters are shaped, which answers change: the
    linear discriminant of the present clusters. Clusters weigh as much as their points.
    """
    contraction, labels = standing.contraction, standing.labels
    deviations = contraction.means - standing.centres[labels]
    total = contraction.weights.sum()
    scatter = (deviations * contraction.weights[:, None]).T @ deviations / total
    dimension = len(scatter)
    variance = float(np.trace(scatter)) / dimension or _variance(standing)
    scatter *= 1.0 - SHRINKAGE
    scatter.flat[:: dimension + 1] += SHRINKAGE * variance
    factor = cholesky(scatter, lower=True)
    means = solve_triangular(factor, contraction.means.T, lower=True).T
    centres = solve_triangular(factor, standing.centres.T, lower=True).T
    squares = (means**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2.0 * means @ centres.T
    return _softmax(np.log(standing.masses / standing.masses.sum()) - 0.5 * squares)


def by_cost(standing: Standing, time_limit: float = math.inf) -> Memberships:
    """Return memberships that fall off with the cost of moving a block to another cluster.

    The cost is the squared distance to the mean, in units of the variance of one coordinate within
    clusters: a small margin is a close second-best clustering.
    """
    contraction, squares = standing.contraction, standing.squares
    own = squares[np.arange(len(squares)), standing.labels]
    dimension = contraction.means.shape[1]
    within = float(contraction.weights @ own) / contraction.weights.sum() / dimension
    return _softmax(-0.25 * squares / (within or _variance(standing)))


def by_relaxation(standing: Standing, time_limit: float = math.inf) -> Memberships:
    """Return the undecided affinities Z of the root's semidefinite relaxation, by cluster.

    A block i is in cluster C with the share sum_{j in C} e_j Z_ij: 0 and 1 where the relaxation
    has decided, since Z e = 1. It often has decided everything, and `by_cost` counts as much.

    time_limit : seconds for the relaxation

    Raises
    ------
    InstanceError
        If there are too many blocks.
    ParameterError
        If the time is too short.
    """
    from sdpbb.run.heuristic import RootRelaxation, size_problem

    contraction = standing.contraction
    if problem := size_problem(contraction):
        raise InstanceError(f"{problem}; expected memberships by covariance or cost")
    last = deque(RootRelaxation(time_limit)(contraction), maxlen=1)
    if not last:
        raise ParameterError(
            f"time_limit = {time_limit:g}: too short for {contraction.n_blocks} blocks; expected "
            "more seconds"
        )
    clusters = np.zeros((contraction.n_blocks, standing.k))
    clusters[np.arange(contraction.n_blocks), standing.labels] = contraction.weights
    shares = normalised(np.maximum(last[0] @ clusters, 0.0))
    return 0.5 * (shares + by_cost(standing))


MEMBERSHIPS: dict[str, Callable[[Standing, float], Memberships]] = {
    "covariance": by_covariance,
    "cost": by_cost,
    "relaxation": by_relaxation,
}
"""Memberships by name; the first is the default."""


def possible(standing: Standing, memberships: Memberships) -> Memberships:
    """Return the memberships without the clusters whose representative a block is known apart from.

    Those of representatives are 1 and 0; a block that no cluster is left for keeps its own.
    """
    cluster = np.full(standing.contraction.n_blocks, -1)
    cluster[standing.representatives] = np.arange(standing.k)
    pairs = standing.contraction.cannot_link
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    ends = ends[cluster[ends[:, 1]] >= 0]
    left = memberships.copy()
    left[ends[:, 0], cluster[ends[:, 1]]] = 0.0
    gone = left.sum(axis=1) <= 0.0
    left[gone] = np.eye(standing.k)[standing.labels[gone]]
    left[standing.representatives] = np.eye(standing.k)
    return normalised(left)


def normalised(shares: Memberships) -> Memberships:
    """Return shares >= 0 with rows that add up to 1; those that add up to 0 become equal shares."""
    sums = shares.sum(axis=1, keepdims=True)
    equal = np.full_like(shares, 1.0 / shares.shape[1])
    np.divide(shares, sums, out=equal, where=sums > 0.0)
    return equal


def _softmax(logarithms: NDArray[np.float64]) -> Memberships:
    shares = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    return normalised(shares)


def _variance(standing: Standing) -> float:
    """Return the variance of a coordinate over all blocks, for clusters without any; 1 for none."""
    return float((standing.contraction.means**2).mean()) or 1.0
