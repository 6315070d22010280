"""The optimum of up to 16 points in rational arithmetic, by dynamic programming over sets.

Floats are integers times powers of two, so that all coordinates times one power of two are
integers; a common multiple clears the denominators of the costs. Sets are bits of an integer.
Clusters that cost more than a known clustering are left out, which leaves few where groups of
points are far apart.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


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


class _Blocks(NamedTuple):
    """Points that must be together: squared distances inside and between; barred : as bits"""

    sizes: list[int]
    inside: list[int]
    between: list[list[int]]
    barred: list[int]


def least_cost(
    exact: Exact,
    k: int,
    must_link: NDArray[np.intp],
    cannot_link: NDArray[np.intp],
    known: Fraction | None = None,
) -> Fraction | None:
    """The least cost of a clustering into exactly k clusters that keeps the links, if any does.

    known : the cost of one that does; less of the sets has to be looked at then
    """
    n = len(exact.distances)
    blocks = _blocks(exact, must_link, cannot_link)
    if blocks is None or len(blocks.sizes) < k:
        return None
    whole = math.lcm(*range(1, n + 1))
    most = None if known is None else known * exact.unit * whole
    clusters = _clusters(blocks, whole, most)
    cost_of = {cluster: cost for found in clusters for cluster, cost in found}
    everything = 2 ** len(blocks.sizes) - 1

    @cache
    def least(left: int, count: int) -> int | None:
        """Of the blocks that are left, in so many clusters; None if that cannot be."""
        if left.bit_count() < count:
            return None
        if count == 1:
            return cost_of.get(left)
        best: int | None = None
        for cluster, cost in clusters[(left & -left).bit_length() - 1]:
            if best is not None and cost >= best:
                break  # they are in the order of their costs
            if cluster & left != cluster:
                continue
            rest = least(left ^ cluster, count - 1)
            if rest is not None and (best is None or cost + rest < best):
                best = cost + rest
        return best

    found = least(everything, k)
    return None if found is None else Fraction(found, whole * exact.unit)


def _blocks(
    exact: Exact, must_link: NDArray[np.intp], cannot_link: NDArray[np.intp]
) -> _Blocks | None:
    """None if the links contradict each other."""
    n = len(exact.distances)
    together, apart_points = links_of(n, must_link), links_of(n, cannot_link)
    members: list[list[int]] = []
    seen: set[int] = set()
    for i in range(n):
        if i in seen:
            continue
        block, waiting = {i}, [i]
        while waiting:
            near = np.flatnonzero(together[waiting.pop()]).tolist()
            waiting += [j for j in near if j not in block]
            block |= set(near)
        seen |= block
        members.append(sorted(block))
    apart = [[bool(apart_points[np.ix_(a, b)].any()) for b in members] for a in members]
    if any(apart[i][i] for i in range(len(members))):
        return None

    def total(a: list[int], b: list[int]) -> int:
        return sum(exact.distances[i][j] for i in a for j in b)

    return _Blocks(
        [len(a) for a in members],
        [total(a, a) // 2 for a in members],
        [[total(a, b) for b in members] for a in members],
        [sum(2**j for j, is_apart in enumerate(row) if is_apart) for row in apart],
    )


def _clusters(blocks: _Blocks, whole: int, most: Fraction | None) -> list[list[tuple[int, int]]]:
    """By their first blocks: sets that keep the links and cost no more than `most`. What is added
    to a set never makes it cheaper."""
    count = len(blocks.sizes)
    found: list[list[tuple[int, int]]] = [[] for _ in range(count)]

    def add(first: int, last: int, cluster: int, barred: int, size: int, total: int) -> None:
        cost = total * (whole // size)
        if most is not None and cost > most:
            return
        found[first].append((cluster, cost))
        for j in range(last + 1, count):
            if barred >> j & 1:
                continue
            between = sum(blocks.between[j][i] for i in range(first, j) if cluster >> i & 1)
            add(
                first,
                j,
                cluster | 1 << j,
                barred | blocks.barred[j],
                size + blocks.sizes[j],
                total + between + blocks.inside[j],
            )

    for i in range(count):
        add(i, i, 1 << i, blocks.barred[i], blocks.sizes[i], blocks.inside[i])
    for clusters in found:
        clusters.sort(key=lambda entry: entry[1])
    return found


def links_of(n: int, pairs: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Pairs (p, 2) as a symmetric matrix (n, n)."""
    matrix = np.zeros((n, n), np.bool_)
    matrix[pairs[:, 0], pairs[:, 1]] = matrix[pairs[:, 1], pairs[:, 0]] = True
    return matrix
