"""Strategy of queries: a clustering, the clusters that blocks may belong to, and what to ask."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.spatial import KDTree

from heuristics.alternating import cluster_means
from heuristics.incumbents import good_clustering
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem import Contraction, Infeasibility, Instance, contract
from sdpbb.problem.graph import by_first_occurrence
from sdpbb.runtime.time_left import at_most, no_limit

# Share of a round covariance in the mixture, measured in docs/benchmarks/queries.md.
SHRINKAGE = 0.2
# Neighbours that measure density, and its maximum in medians.
NEIGHBOURS, DENSEST = 10, 2.0
# Share of the chosen pairs that ask whether clusters are apart (docs/benchmarks/queries.md).
EXPLORING = 0.2


class NoClusteringToAskAbout(InstanceError):
    """No clustering satisfies the constraints, so there is nothing to ask about."""


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
    def representatives(self) -> NDArray[np.intp]:
        """The block that represents each cluster in queries, (k,).

        It has the most points, among equals the most cannot-links, then the least distance from the
        mean of the cluster: every answer uses what is known of it.
        """
        n_apart = np.bincount(self.contraction.cannot_link.ravel(), minlength=len(self.labels))
        own = ((self.contraction.means - self.centres[self.labels]) ** 2).sum(axis=1)
        order = np.lexsort((own, -n_apart, -self.contraction.counts, self.labels))
        return order[np.searchsorted(self.labels[order], np.arange(self.k))]

    @cached_property
    def memberships(self) -> NDArray[np.float64]:
        """Probabilities (m, k) of the clusters that each block may truly belong to.

        They are the posteriors of normal distributions around the means of the clusters (linear
        discriminant analysis). All share the covariance of the blocks around their means, mixed
        with a round one. Clusters weigh as much as their points.

        A cluster has probability 0 if the block is known to be apart from its representative. A
        block without any possible cluster belongs to its own. Probabilities of representatives are
        1 and 0.
        """
        contraction, labels, k = self.contraction, self.labels, self.k
        deviations = contraction.means - self.centres[labels]
        total = contraction.weights.sum()
        scatter = (deviations * contraction.weights[:, None]).T @ deviations / total
        dimension = len(scatter)
        # Clusters without any extent have the variance of all blocks; equal blocks have 1.
        variance = (
            float(np.trace(scatter)) / dimension or float((contraction.means**2).mean()) or 1.0
        )
        scatter *= 1.0 - SHRINKAGE
        scatter.flat[:: dimension + 1] += SHRINKAGE * variance
        factor = cholesky(scatter, lower=True)
        means = solve_triangular(factor, contraction.means.T, lower=True).T
        centres = solve_triangular(factor, self.centres.T, lower=True).T
        squares = (means**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)
        squares -= 2.0 * means @ centres.T
        logarithms = np.log(self.masses / self.masses.sum()) - 0.5 * squares
        shares = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
        cluster = np.full(contraction.n_blocks, -1)
        cluster[self.representatives] = np.arange(k)
        ends = np.concatenate([contraction.cannot_link, contraction.cannot_link[:, ::-1]])
        ends = ends[cluster[ends[:, 1]] >= 0]
        shares[ends[:, 0], cluster[ends[:, 1]]] = 0.0
        gone = shares.sum(axis=1) <= 0.0
        shares[gone] = np.eye(k)[labels[gone]]
        shares[self.representatives] = np.eye(k)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    @cached_property
    def scores(self) -> NDArray[np.float64]:
        """Score of each block, (m,): its information times its density."""
        return information(self.memberships) * density(self)


def standing_of(
    instance: Instance, labels: NDArray[np.intp] | None, seed: int, time_limit: float
) -> Standing:
    """Return the standing of an instance, with feasible labels (n,), or labels that are found.

    Raises
    ------
    NoClusteringToAskAbout
        If no clustering satisfies the constraints.
    InstanceError
        If the instance has constraints on clusters apart from limits on sizes.
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
    time_left, rng = at_most(no_limit, time_limit), np.random.default_rng(seed)
    found = good_clustering(contraction, time_left, rng)
    if isinstance(found, Infeasibility):
        raise _nothing(instance, found)
    if found is None:
        raise ParameterError(
            f"time_limit = {time_limit:g}: too short to find a clustering; expected more seconds"
        )
    return found


class IndependentPairs:
    """Pairs of blocks to ask about, none of which the others can decide.

    Answers can decide a pair if a path of chosen pairs, with at most one known cannot-link,
    connects its blocks: must-links along the path mean "together", one cannot-link on it "apart".
    Such a pair is not added, nor a pair that the constraints decide, as far as propagation finds.
    """

    def __init__(self, standing: Standing) -> None:
        self._standing, contraction = standing, standing.contraction
        # A number for each block, the same for blocks that are connected by pairs.
        self._group = np.arange(contraction.n_blocks)
        # Blocks that are the clusters, or one cluster: there is one clustering only.
        self._is_decided = contraction.k in (1, contraction.n_blocks)
        self.pairs: list[ChosenPair] = []

    @property
    def is_full(self) -> bool:
        """True if every further answer is or may come to be implied."""
        return self._is_decided or len(self.pairs) == len(self._group) - 1

    def holds(self, block: int) -> bool:
        """Return whether a chosen pair holds the block."""
        return bool(np.count_nonzero(self._group == self._group[block]) > 1)

    def add(self, pair: ChosenPair) -> None:
        """Add a pair of blocks, unless its answer is or may come to be implied."""
        instance, contraction = self._standing.instance, self._standing.contraction
        a, b = np.sort(self._group[list(pair.blocks)])
        apart = np.sort(self._group[contraction.cannot_link], axis=1)
        if a == b or (apart == (a, b)).all(axis=1).any():
            return
        pairs = contraction.representatives[[pair.blocks]]
        answers = (contract(instance, must_link=pairs), contract(instance, cannot_link=pairs))
        if any(isinstance(answer, Infeasibility) for answer in answers):
            return
        self._group[self._group == b] = a
        self.pairs.append(pair)


def information(memberships: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the entropy of each row, (m,), in bits per question needed to find its cluster.

    Clusters are asked about in the order of their probability, until one is right.

    Source: the normalised uncertainty of S. Xiong, J. Azimi, X. Z. Fern, *Active learning of
    constraints for semi-supervised clustering* (2014).
    """
    logarithms = np.log2(np.where(memberships > 0.0, memberships, 1.0))
    entropy = (memberships * -logarithms).sum(axis=1)
    falling = -np.sort(-memberships, axis=1)
    bits: NDArray[np.float64] = entropy / (falling @ np.arange(1.0, memberships.shape[1] + 1.0))
    return bits


def density(standing: Standing) -> NDArray[np.float64]:
    """Return the density around each block, (m,): 1 for the median block.

    An answer about a block in a dense region also informs about its neighbours.
    """
    means = standing.contraction.means
    if len(means) == 1:
        return np.ones(1)
    n_neighbours = min(NEIGHBOURS, len(means) - 1)
    distances = KDTree(means).query(means, n_neighbours + 1)[0][:, 1:].mean(axis=1)
    median = float(np.median(distances))
    if median == 0.0:
        return np.ones(len(means))
    # The densest count DENSEST; a block whose neighbours coincide with it is among them.
    found: NDArray[np.float64] = median / np.maximum(distances, median / DENSEST)
    return found


class QueryKind(Enum):
    """Kind of a query, by what it asks."""

    CLUSTERS = "clusters"
    """Whether the representatives of two clusters belong together."""
    POINT = "point"
    """Whether a point belongs to the cluster that it is most likely of."""
    REST = "rest"
    """Whether two other points belong together, after all other queries."""
    CLASS = "class"
    """Of which class a point is."""


class ChosenPair(NamedTuple):
    """Pair of blocks to ask about.

    kind : what is asked
    blocks : (i, j); for POINT and CLASS, the block in question and the representative of its
        likeliest cluster
    score : score by which it was chosen
    likely : probability that they belong together
    """

    kind: QueryKind
    blocks: tuple[int, int]
    score: float
    likely: float


def chosen_pairs(standing: Standing, q: int, rng: np.random.Generator) -> list[ChosenPair]:
    """Return at most q pairs of blocks to ask about.

    A fifth are pairs of representatives that are not known to be apart, near clusters first. Then a
    point that belongs to one cluster is known to be apart from the others. The rest are the blocks
    with the highest scores, each with the representative of its likeliest possible cluster. After
    these, any pair with an open answer follows.

    rng : decides between equals
    """
    chosen = IndependentPairs(standing)
    if chosen.is_full:
        return []
    exploring = math.floor(EXPLORING * q + rng.random())
    stages = (
        (_between_clusters(standing), exploring),
        (_of_points(standing, chosen, rng), q),
        (_between_clusters(standing), q),
        (_of_the_rest(standing, rng), q),
    )
    for candidates, until in stages:
        for pair in candidates:
            if len(chosen.pairs) >= until or chosen.is_full:
                break
            chosen.add(pair)
    return chosen.pairs


def chosen_blocks(standing: Standing, q: int, rng: np.random.Generator) -> list[ChosenPair]:
    """Return at most q blocks to ask the class of.

    First come the representatives of clusters without a known class, the heaviest clusters first.
    The rest are the blocks with the highest scores.

    rng : decides between equals
    """
    classes, contraction = standing.instance.origin.known_classes, standing.contraction
    is_known = np.zeros(contraction.n_blocks, np.bool_)
    if classes is not None:
        is_known[contraction.block_of[classes.numbers >= 0]] = True
    representatives, scores = standing.representatives, standing.scores
    unnamed = np.setdiff1d(np.arange(standing.k), standing.labels[is_known])
    unnamed = unnamed[np.argsort(-standing.masses[unnamed], kind="stable")]
    first, others = representatives[unnamed], _by_falling(scores, rng)
    # A block whose cluster is certain has the class of that cluster.
    others = others[~is_known[others] & (scores[others] > 0.0) & ~np.isin(others, first)]
    chosen = np.concatenate([first, others])[:q].tolist()
    likeliest = standing.memberships.argmax(axis=1).tolist()
    return [_with_cluster(standing, QueryKind.CLASS, block, likeliest[block]) for block in chosen]


def _with_cluster(standing: Standing, kind: QueryKind, block: int, cluster: int) -> ChosenPair:
    """Return a block with the representative of a cluster."""
    blocks = block, int(standing.representatives[cluster])
    likely = float(standing.memberships[block, cluster])
    return ChosenPair(kind, blocks, float(standing.scores[block]), likely)


def _between_clusters(standing: Standing) -> Iterator[ChosenPair]:
    """Yield the pairs of representatives, nearest clusters first."""
    first, second = np.triu_indices(standing.k, 1)
    centres, representatives = standing.centres, standing.representatives
    squares = ((centres[first] - centres[second]) ** 2).sum(axis=1)
    for pair in np.argsort(squares, kind="stable").tolist():
        a, b = int(first[pair]), int(second[pair])
        blocks = int(representatives[a]), int(representatives[b])
        # Mean probability that points of one cluster belong to the other.
        of_a, of_b = standing.labels == a, standing.labels == b
        memberships = standing.memberships
        likely = float((memberships[of_a, b].mean() + memberships[of_b, a].mean()) / 2.0)
        yield ChosenPair(QueryKind.CLUSTERS, blocks, _bits(likely), likely)


def _of_points(
    standing: Standing, chosen: IndependentPairs, rng: np.random.Generator
) -> Iterator[ChosenPair]:
    """Yield blocks with representatives, by falling score; skip blocks in chosen pairs."""
    for block in _by_falling(standing.scores, rng).tolist():
        if block in standing.representatives:
            continue
        for cluster in np.argsort(-standing.memberships[block], kind="stable").tolist():
            if chosen.holds(block) or standing.memberships[block, cluster] <= 0.0:
                break
            yield _with_cluster(standing, QueryKind.POINT, block, cluster)


def _of_the_rest(standing: Standing, rng: np.random.Generator) -> Iterator[ChosenPair]:
    """Yield all pairs of blocks: the least certain first, each with its likeliest partners."""
    memberships = standing.memberships
    for block in _by_falling(-memberships.max(axis=1), rng).tolist():
        together = memberships @ memberships[block]
        for other in np.argsort(-together, kind="stable").tolist():
            if other != block:
                likely = float(together[other])
                yield ChosenPair(QueryKind.REST, (block, other), _bits(likely), likely)


def _by_falling(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the order of falling values; ties are random."""
    return np.lexsort((rng.permutation(len(values)), -values))


def _bits(likely: float) -> float:
    """Return the entropy of an answer that is "together" with this probability."""
    shares = np.array([share for share in (likely, 1.0 - likely) if share > 0.0])
    return float(-(shares * np.log2(shares)).sum())
