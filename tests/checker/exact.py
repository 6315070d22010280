"""Sums of squares and eigenvalues in rational arithmetic; random problems with all clusterings."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from sdpbb.checker.kernel.geometry import Contracted, Geometry
from tests.enumeration import clusterings

Rational = list[Fraction]


class Costs:
    """Exact sums of squares of clusterings of points (n, d)."""

    def __init__(self, points: np.ndarray) -> None:
        self.points = [[Fraction(float(value)) for value in row] for row in points]
        self.known: dict[tuple[int, ...], Fraction] = {}

    def of_cluster(self, members: tuple[int, ...]) -> Fraction:
        if members not in self.known:
            rows = [self.points[i] for i in members]
            self.known[members] = sum(
                (
                    sum((x * x for x in column), Fraction()) - sum(column) ** 2 / len(rows)
                    for column in zip(*rows, strict=True)
                ),
                Fraction(),
            )
        return self.known[members]

    def of(self, labels: np.ndarray) -> Fraction:
        clusters = (tuple(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels))
        return sum((self.of_cluster(members) for members in clusters), Fraction())


@dataclass(frozen=True, eq=False)
class Problem:
    """Points in blocks, k clusters, cannot-links between blocks, all clusterings that keep them
    (number, n), with their exact costs."""

    points: np.ndarray
    block_of: np.ndarray
    k: int
    adjacency: np.ndarray
    labels: np.ndarray
    costs: Rational

    @property
    def contracted(self) -> Contracted:
        return Geometry.of(self.points).contracted(self.block_of)

    @property
    def optimum(self) -> Fraction:
        return min(self.costs)


def random_points(rng: np.random.Generator, n: int, scale: float, offset: float) -> np.ndarray:
    """Ordinary ones, whole numbers, or with duplicates; in one to three coordinates."""
    points = rng.normal(size=(n, int(rng.integers(1, 4))))
    if rng.random() < 0.3:
        points = np.round(points)
    if rng.random() < 0.3:
        points[rng.integers(n, size=n // 2)] = points[rng.integers(n)]
    return points * scale + offset


def random_problem(
    rng: np.random.Generator,
    scale: float = 1.0,
    offset: float = 0.0,
    k: int | None = None,
    n_min: int = 1,
    n_max: int = 7,
) -> Problem:
    """One that some clustering keeps, with few or many must-links and cannot-links."""
    n = int(rng.integers(n_min, n_max + 1))
    k = int(rng.integers(1, n + 1)) if k is None else k
    every = clusterings(n, k)
    kept = every[rng.integers(len(every))]
    block = np.arange(n)
    for _ in range(int(rng.integers(0, n // 2 + 1))):
        i, j = rng.integers(n, size=2)
        if kept[i] == kept[j]:
            block[block == block[j]] = block[i]
    first = np.array([np.flatnonzero(block == b)[0] for b in block])
    block_of = np.unique(first, return_inverse=True)[1].reshape(-1)
    of_block = kept[np.unique(first)]
    adjacency = np.triu(rng.random((len(of_block),) * 2) < rng.choice([0.0, 0.2, 0.8]), 1)
    adjacency &= of_block[:, None] != of_block
    adjacency |= adjacency.T
    points = random_points(rng, n, scale, offset)
    labels = np.array([row for row in every if _keeps(row, block_of, adjacency)])
    costs = Costs(points)
    return Problem(points, block_of, k, adjacency, labels, [costs.of(row) for row in labels])


def _keeps(labels: np.ndarray, block_of: np.ndarray, adjacency: np.ndarray) -> bool:
    same = labels[:, None] == labels
    blocks = block_of[:, None] == block_of
    return bool(same[blocks].all()) and not same[adjacency[block_of[:, None], block_of]].any()


def is_sum_of_smallest_at_least(M: np.ndarray, k: int, bound: float) -> bool:
    """Whether the sum of the k smallest eigenvalues of a symmetric matrix (m, m) is at least bound,
    decided exactly: sums of k eigenvalues are the eigenvalues of the additive compound matrix."""
    sets = list(combinations(range(len(M)), k))
    compound = [[_compound_entry(M, row, column) for column in sets] for row in sets]
    for row in range(len(sets)):
        compound[row][row] -= Fraction(bound)
    return _is_positive_semidefinite(compound)


def _compound_entry(M: np.ndarray, row: tuple[int, ...], column: tuple[int, ...]) -> Fraction:
    if row == column:
        return sum((Fraction(float(M[i, i])) for i in row), Fraction())
    only_row, only_column = set(row) - set(column), set(column) - set(row)
    if len(only_row) > 1:
        return Fraction()
    (i,), (j,) = only_row, only_column
    return Fraction(float(M[i, j])) * (-1) ** (row.index(i) + column.index(j))


def _is_positive_semidefinite(A: list[Rational]) -> bool:
    """By elimination: a pivot is not negative, and the rest of its row is 0 where it is 0."""
    for p in range(len(A)):
        pivot, row = A[p][p], A[p][p + 1 :]
        if pivot < 0 or (pivot == 0 and any(row)):
            return False
        if pivot:
            for i in range(p + 1, len(A)):
                factor = A[i][p] / pivot
                if factor:
                    for j in range(p + 1, len(A)):
                        A[i][j] -= factor * A[p][j]
    return True
