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
from heuristics.first_clustering import first_clustering
from heuristics.incumbents import PreparedSearch
from heuristics.method import RunClock
from heuristics.parameters import HeuristicSchedule
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem import Contraction, Infeasibility, Instance, contract
from sdpbb.problem.graph import by_first_occurrence

# Share of a round covariance that is mixed in: measured in docs/benchmarks/queries.md.
SHRINKAGE = 0.2
# Neighbours by which density is measured, and how much of it counts at most, in medians.
NEIGHBOURS, DENSEST = 10, 2.0
# Of a batch, the share that asks whether clusters are apart (docs/benchmarks/queries.md).
EXPLORING = 0.2


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
    def representatives(self) -> NDArray[np.intp]:
        """The block that stands for each cluster in queries, (k,).

        It is the one of most points, among equals that with most cannot-links, then the one
        nearest to the cluster's mean: what is known of it is used by every answer.
        """
        n_apart = np.bincount(self.contraction.cannot_link.ravel(), minlength=len(self.labels))
        own = ((self.contraction.means - self.centres[self.labels]) ** 2).sum(axis=1)
        order = np.lexsort((own, -n_apart, -self.contraction.counts, self.labels))
        return order[np.searchsorted(self.labels[order], np.arange(self.k))]

    @cached_property
    def memberships(self) -> NDArray[np.float64]:
        """Probabilities (m, k) of the clusters that each block may truly belong to.

        They are the posteriors of normal distributions around the clusters' means, which share one
        covariance: that of the blocks around their clusters' means, drawn towards a round one. So
        distances are measured as the clusters are shaped, which answers change: the linear
        discriminant of the present clusters. Clusters weigh as much as their points.

        Clusters whose representative a block is known to be apart from have probability 0; a block
        that no cluster is left for belongs to its own. Those of representatives are 1 and 0.
        """
        contraction, labels, k = self.contraction, self.labels, self.k
        deviations = contraction.means - self.centres[labels]
        total = contraction.weights.sum()
        scatter = (deviations * contraction.weights[:, None]).T @ deviations / total
        dimension = len(scatter)
        # Of clusters without any extent: that of all blocks; of equal blocks: 1.
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

    search = PreparedSearch(HeuristicSchedule(), contraction, first, clock.time_left)
    search.search(np.random.default_rng(seed), None, lambda: clock.is_over, found)
    return best


class Batch:
    """Pairs of blocks that are asked about together.

    The answers to some can imply that to another if its blocks are connected by pairs that are
    asked about and at most one known cannot-link: must-links all the way say "together", and with
    one cannot-link on the way "apart". No such pair is added. What constraints imply already, as
    far as propagation finds it, is not added either.
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
        """Return whether a pair of the batch holds the block."""
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
    """Return the entropy of each row, (m,), in bits per question that finding its cluster takes.

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
    """Return how near each block's neighbours are, (m,): 1 for the median block, more where denser.

    An answer about a block in a crowd tells of its neighbours; one about an outlier of itself.
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
    """Whether two other points belong together, where nothing else is left to ask."""
    CLASS = "class"
    """Of which class a point is."""


class ChosenPair(NamedTuple):
    """Pair of blocks to ask about.

    kind : what is asked
    blocks : (i, j); of POINT and CLASS the block in question and the representative of the cluster
        that it is most likely of
    score : by which it was chosen among those of its kind
    likely : probability that they belong together
    """

    kind: QueryKind
    blocks: tuple[int, int]
    score: float
    likely: float


def chosen_pairs(standing: Standing, q: int, rng: np.random.Generator) -> list[ChosenPair]:
    """Return q pairs of blocks to ask about, or fewer if no more are left.

    A fifth of them are representatives of clusters that are not known to be apart, near ones first
    (a single query is one of these with that probability): they make answers about points add up,
    as a point that belongs to one does not belong to the others. The rest are the blocks with the
    highest scores, each with the representative of the likeliest cluster that is not excluded.
    Where these end, any pair comes whose answer is open.

    rng : decides between equals
    """
    batch = Batch(standing)
    if batch.is_full:
        return []
    exploring = math.floor(EXPLORING * q + rng.random())
    stages = (
        (_between_clusters(standing), exploring),
        (_of_points(standing, batch, rng), q),
        (_between_clusters(standing), q),
        (_of_the_rest(standing, rng), q),
    )
    for candidates, until in stages:
        for pair in candidates:
            if len(batch.pairs) >= until or batch.is_full:
                break
            batch.add(pair)
    return batch.pairs


def chosen_blocks(standing: Standing, q: int, rng: np.random.Generator) -> list[ChosenPair]:
    """Return q blocks to ask the class of, or fewer if no more are left.

    The representatives of clusters of which no class is known come first, those of most weight
    first. The rest are the blocks with the highest scores. No class of one follows from others.

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
    # Blocks whose cluster is certain have its class.
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
        # As likely as it is that points of one are of the other.
        of_a, of_b = standing.labels == a, standing.labels == b
        memberships = standing.memberships
        likely = float((memberships[of_a, b].mean() + memberships[of_b, a].mean()) / 2.0)
        yield ChosenPair(QueryKind.CLUSTERS, blocks, _bits(likely), likely)


def _of_points(standing: Standing, batch: Batch, rng: np.random.Generator) -> Iterator[ChosenPair]:
    """Yield blocks with representatives, by falling score; none that the batch holds already."""
    for block in _by_falling(standing.scores, rng).tolist():
        if block in standing.representatives:
            continue
        for cluster in np.argsort(-standing.memberships[block], kind="stable").tolist():
            if batch.holds(block) or standing.memberships[block, cluster] <= 0.0:
                break
            yield _with_cluster(standing, QueryKind.POINT, block, cluster)


def _of_the_rest(standing: Standing, rng: np.random.Generator) -> Iterator[ChosenPair]:
    """Yield all pairs of blocks: the least certain blocks first, each with its likeliest mates."""
    memberships = standing.memberships
    for block in _by_falling(-memberships.max(axis=1), rng).tolist():
        together = memberships @ memberships[block]
        for other in np.argsort(-together, kind="stable").tolist():
            if other != block:
                likely = float(together[other])
                yield ChosenPair(QueryKind.REST, (block, other), _bits(likely), likely)


def _by_falling(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the order of falling values, equal ones in a random order."""
    return np.lexsort((rng.permutation(len(values)), -values))


def _bits(likely: float) -> float:
    """Return the entropy of an answer that is "together" with this probability."""
    shares = np.array([share for share in (likely, 1.0 - likely) if share > 0.0])
    return float(-(shares * np.log2(shares)).sum())
