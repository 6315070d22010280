"""The strategy: which pairs of blocks are asked about, in their order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from sdpbb.questions.queries.batch import Batch
from sdpbb.questions.queries.memberships import Memberships
from sdpbb.questions.queries.scores import block_scores
from sdpbb.questions.queries.standing import Standing

# Of a batch, the share that asks whether clusters are apart: measured in docs/queries.md.
EXPLORING = 0.2


class QueryKind(Enum):
    """Kind of a query, by what it asks."""

    CLUSTERS = "clusters"
    """Whether the representatives of two clusters belong together."""
    POINT = "point"
    """Whether a point belongs to the cluster that it is most likely of."""
    REST = "rest"
    """Whether two other points belong together, where nothing else is left to ask."""


@dataclass(frozen=True)
class ChosenPair:
    """Pair of blocks to ask about.

    kind : what is asked
    blocks : (i, j); of POINT the block in question and the cluster's representative
    score : by which it was chosen among those of its kind
    likely : probability that they belong together
    """

    kind: QueryKind
    blocks: tuple[int, int]
    score: float
    likely: float


def chosen_pairs(
    standing: Standing, memberships: Memberships, q: int, rng: np.random.Generator
) -> list[ChosenPair]:
    """Return q pairs of blocks to ask about, or fewer if no more are left.

    A fifth of them are representatives of clusters that are not known to be apart, near ones first
    (a single query is one of these with that probability): they make answers about points add up,
    as a point that belongs to one does not belong to the others. The rest are the blocks with the
    highest scores, each with the representative of the likeliest cluster that is not excluded.
    Where these end, any pair comes whose answer is open.

    memberships : (m, k), of blocks in clusters that are possible
    rng : decides between equals
    """
    batch = Batch(standing)
    if batch.is_full:
        return []
    exploring = math.floor(EXPLORING * q + rng.random())
    chosen: list[ChosenPair] = []
    stages = (
        (_between_clusters(standing, memberships), exploring),
        (_of_points(standing, memberships, batch, rng), q),
        (_between_clusters(standing, memberships), q),
        (_of_the_rest(standing, memberships, rng), q),
    )
    for candidates, until in stages:
        for pair in candidates:
            if len(batch) >= until or batch.is_full:
                break
            if batch.add(*pair.blocks):
                chosen.append(pair)
    return chosen


def _between_clusters(standing: Standing, memberships: Memberships) -> Iterator[ChosenPair]:
    """Yield the pairs of representatives, nearest clusters first."""
    first, second = np.triu_indices(standing.k, 1)
    centres, representatives = standing.centres, standing.representatives
    squares = ((centres[first] - centres[second]) ** 2).sum(axis=1)
    for at in np.argsort(squares, kind="stable").tolist():
        a, b = int(first[at]), int(second[at])
        blocks = int(representatives[a]), int(representatives[b])
        # As likely as it is that points of one are of the other.
        of_a, of_b = standing.labels == a, standing.labels == b
        shares = memberships[of_a, b].mean(), memberships[of_b, a].mean()
        likely = float(sum(shares) / 2.0)
        yield ChosenPair(QueryKind.CLUSTERS, blocks, _bits(likely), likely)


def _of_points(
    standing: Standing, memberships: Memberships, batch: Batch, rng: np.random.Generator
) -> Iterator[ChosenPair]:
    """Yield blocks with representatives, by falling score; none that the batch holds already."""
    scores = block_scores(standing, memberships)
    representatives = standing.representatives
    for block in _by_falling(scores, rng):
        if block in representatives:
            continue
        for cluster in np.argsort(-memberships[block], kind="stable").tolist():
            likely = float(memberships[block, cluster])
            if batch.holds(block) or likely <= 0.0:
                break
            blocks = int(block), int(representatives[cluster])
            yield ChosenPair(QueryKind.POINT, blocks, float(scores[block]), likely)


def _of_the_rest(
    standing: Standing, memberships: Memberships, rng: np.random.Generator
) -> Iterator[ChosenPair]:
    """Yield all pairs of blocks: the least certain blocks first, each with its likeliest mates."""
    certainty = memberships.max(axis=1)
    for block in _by_falling(-certainty, rng):
        together = memberships @ memberships[block]
        for other in np.argsort(-together, kind="stable").tolist():
            if other != block:
                likely = float(together[other])
                blocks = int(block), int(other)
                yield ChosenPair(QueryKind.REST, blocks, _bits(likely), likely)


def _by_falling(values: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the order of falling values, equal ones in a random order."""
    return np.lexsort((rng.permutation(len(values)), -values))


def _bits(likely: float) -> float:
    """Return the entropy of an answer that is "together" with this probability."""
    shares = np.array([share for share in (likely, 1.0 - likely) if share > 0.0])
    return float(-(shares * np.log2(shares)).sum())
