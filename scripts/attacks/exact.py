"""The best clustering of a few points in rational arithmetic.

Floats are integers times powers of two, so that all coordinates times one power of two are
integers; and n! clears the denominators of the costs.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attacks.exhaustive import relations


class Exact(NamedTuple):
    """distances : n x n squared distances in units of 1 / unit"""

    distances: list[list[int]]
    unit: int

    @classmethod
    def of(cls, points: NDArray[np.float64]) -> Exact:
        rows = [[Fraction(value) for value in row] for row in points.tolist()]
        scale = max((value.denominator for row in rows for value in row), default=1)
        whole = [[int(value * scale) for value in row] for row in rows]
        distances = [
            [sum((a - b) ** 2 for a, b in zip(p, q, strict=True)) for q in whole] for p in whole
        ]
        return cls(distances, scale**2)

    def cost_of(self, labels: NDArray[np.intp]) -> Fraction:
        """The sum of squares of labels (n,)."""
        total = Fraction(0)
        for label in set(labels.tolist()):
            members = np.flatnonzero(labels == label).tolist()
            inside = sum(self.distances[i][j] for i in members for j in members if i < j)
            total += Fraction(inside, len(members) * self.unit)
        return total


def best_cost(
    exact: Exact, k: int, must_link: NDArray[np.intp], cannot_link: NDArray[np.intp]
) -> Fraction | None:
    """The least cost of a clustering into exactly k clusters that keeps the links, if any does."""
    n = len(exact.distances)
    relation = relations(n, must_link, cannot_link).tolist()
    share = [0, *(math.factorial(n) // size for size in range(1, n + 1))]
    best: int | None = None
    clusters: list[list[int]] = []
    sums: list[int] = []

    def go_on(i: int) -> None:
        nonlocal best
        if i == n:
            if len(clusters) == k:
                cost = sum(
                    total * share[len(cluster)]
                    for total, cluster in zip(sums, clusters, strict=True)
                )
                best = cost if best is None else min(best, cost)
            return
        if k - len(clusters) > n - i:
            return
        for c, cluster in enumerate(clusters):
            if _fits(relation[i], cluster, clusters):
                added = sum(exact.distances[i][j] for j in cluster)
                cluster.append(i)
                sums[c] += added
                go_on(i + 1)
                sums[c] -= added
                cluster.pop()
        if len(clusters) < k and _fits(relation[i], [], clusters):
            clusters.append([i])
            sums.append(0)
            go_on(i + 1)
            clusters.pop()
            sums.pop()

    go_on(0)
    return None if best is None else Fraction(best, math.factorial(n) * exact.unit)


def _fits(related: list[int], cluster: list[int], clusters: list[list[int]]) -> bool:
    """Whether a point whose links are `related` may go to this of the clusters."""
    if any(related[j] in (-1, 2) for j in cluster):
        return False
    return not any(
        related[j] in (1, 2) for other in clusters if other is not cluster for j in other
    )
