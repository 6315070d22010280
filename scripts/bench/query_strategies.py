"""Published strategies of choosing pairs to ask about, written from their papers.

Each is a generator: it yields a pair of points, and is sent whether they belong together. Random
choices are those of the generator of random numbers that it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.ensemble import RandomForestClassifier

Pair = tuple[int, int]
Questions = Generator[Pair, bool, None]
Clustering = Callable[[], NDArray[np.intp]]
"""Function that returns labels (n,) of a clustering that keeps all answers so far."""

TREES = 50


class Neighbourhoods:
    """Sets of points that are known to belong together, and apart from those of the other sets."""

    def __init__(self, points: NDArray[np.float64], k: int, first: int) -> None:
        self.points = points
        self.k = k
        self.members: list[list[int]] = [[first]]

    @property
    def known(self) -> list[int]:
        """Points that are in one of them."""
        return [point for members in self.members for point in members]

    def others(self) -> NDArray[np.intp]:
        """Points that are in none."""
        return np.setdiff1d(np.arange(len(self.points)), self.known)

    def farthest(self) -> int | None:
        """The point whose least distance to a known one is largest; None if all are known."""
        others = self.others()
        if not len(others):
            return None
        distances = cdist(self.points[others], self.points[self.known]).min(axis=1)
        return int(others[np.argmax(distances)])

    def place(self, point: int, order: NDArray[np.intp], rng: np.random.Generator) -> Questions:
        """Ask about a point and a member of each neighbourhood in turn, until one is its own.

        If none is, it is the first of a new one. Of k neighbourhoods, the last need not be asked.
        """
        is_last_known = len(self.members) == self.k
        asked = order[:-1] if is_last_known else order
        for number in asked:
            if (yield point, int(rng.choice(self.members[number]))):
                self.members[number].append(point)
                return
        if is_last_known:
            self.members[order[-1]].append(point)
        else:
            self.members.append([point])

    def nearest_first(self, point: int) -> NDArray[np.intp]:
        """Order of the neighbourhoods by the distance of their nearest point."""
        distances = [
            cdist(self.points[[point]], self.points[members]).min() for members in self.members
        ]
        return np.argsort(distances, kind="stable")

    def nearest_centroid_first(self, point: int) -> NDArray[np.intp]:
        """Order of the neighbourhoods by the distance of their centroid."""
        centroids = np.array([self.points[members].mean(axis=0) for members in self.members])
        return np.argsort(cdist(self.points[[point]], centroids)[0], kind="stable")


def random_pairs(
    points: NDArray[np.float64], k: int, rng: np.random.Generator, clustering: Clustering
) -> Questions:
    """Pairs of points, each as likely as any other, none twice."""
    n = len(points)
    asked: set[Pair] = set()
    while len(asked) < n * (n - 1) // 2:
        i, j = sorted(rng.choice(n, 2, replace=False).tolist())
        if (i, j) not in asked:
            asked.add((i, j))
            yield i, j


def _explore(found: Neighbourhoods, rng: np.random.Generator) -> Questions:
    """Farthest-first traversal, until there are k neighbourhoods (Basu et al., 2004)."""
    while len(found.members) < found.k:
        point = found.farthest()
        if point is None:
            return
        yield from found.place(point, found.nearest_first(point), rng)


def explore_consolidate(
    points: NDArray[np.float64], k: int, rng: np.random.Generator, clustering: Clustering
) -> Questions:
    """Explore, then random points against the neighbourhoods, nearest centroid first.

    Source: S. Basu, A. Banerjee, R. J. Mooney, *Active semi-supervision for pairwise constrained
    clustering* (2004), section 4.
    """
    found = Neighbourhoods(points, k, int(rng.integers(len(points))))
    yield from _explore(found, rng)
    for point in rng.permutation(found.others()).tolist():
        yield from found.place(point, found.nearest_centroid_first(point), rng)


def min_max(
    points: NDArray[np.float64], k: int, rng: np.random.Generator, clustering: Clustering
) -> Questions:
    """Explore, then the point whose largest similarity to a known one is least.

    The similarity is a Gaussian of the distance, so that its width has no influence.

    Source: P. K. Mallapragada, R. Jin, A. K. Jain, *Active query selection for semi-supervised
    clustering* (2008).
    """
    found = Neighbourhoods(points, k, int(rng.integers(len(points))))
    yield from _explore(found, rng)
    while (point := found.farthest()) is not None:
        yield from found.place(point, found.nearest_first(point), rng)


def npu(
    points: NDArray[np.float64], k: int, rng: np.random.Generator, clustering: Clustering
) -> Questions:
    """Normalised point-based uncertainty.

    Before each point the points are clustered with all answers, and a random forest learns the
    clusters; the similarity of two points is the share of trees that have them in one leaf. A point
    belongs to each neighbourhood with a probability in proportion to its mean similarity to the
    members; the one with the largest entropy, per question that it is expected to take, is placed.

    Source: S. Xiong, J. Azimi, X. Z. Fern, *Active learning of constraints for semi-supervised
    clustering* (2014).
    """
    found = Neighbourhoods(points, k, int(rng.integers(len(points))))
    while len(others := found.others()):
        labels = clustering()
        forest = RandomForestClassifier(TREES, random_state=int(rng.integers(2**31)))
        leaves = forest.fit(points, labels).apply(points)
        similarity = np.column_stack(
            [
                (leaves[others][:, None] == leaves[members]).mean(axis=(1, 2))
                for members in found.members
            ]
        )
        # A point like no known one may be of any neighbourhood.
        similarity[similarity.sum(axis=1) == 0.0] = 1.0
        probability = similarity / similarity.sum(axis=1, keepdims=True)
        logarithm = np.log(np.where(probability > 0.0, probability, 1.0))
        entropy = -(probability * logarithm).sum(axis=1)
        order = np.argsort(-probability, axis=1, kind="stable")
        sorted_down = np.take_along_axis(probability, order, axis=1)
        questions = sorted_down @ np.arange(1, len(found.members) + 1)
        value = entropy / questions
        chosen = int(rng.choice(np.flatnonzero(value >= value.max() - 1e-12)))
        yield from found.place(int(others[chosen]), order[chosen], rng)


Strategy = Callable[[NDArray[np.float64], int, np.random.Generator, Clustering], Questions]
PUBLISHED: dict[str, Strategy] = {
    "random pairs": random_pairs,
    "explore-consolidate": explore_consolidate,
    "min-max": min_max,
    "NPU": npu,
}
