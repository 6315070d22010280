"""Instances of 256 blocks and more, from which the bound of a root takes other steps, with costs
that are known without it."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Instance
from tests.any_instance import drawn_points, in_other_units, with_equal_points, with_far_groups
from tests.contracts.test_numbers import CHANGES

Points = NDArray[np.float64]
Labels = NDArray[np.intp]
Pairs = NDArray[np.intp]


class LargeRoot(NamedTuple):
    """labels : of a clustering that keeps the constraints, an optimal one of points on a line"""

    instance: Instance
    labels: Labels
    name: str


# What is done to points, besides what is done to them in contracts.
CHANGED = (*CHANGES, with_equal_points, in_other_units, partial(with_far_groups, far=14))


def random_large_root(rng: np.random.Generator) -> LargeRoot:
    """Points of some shape, changed, with constraints that hold for clusters drawn first."""
    random = Random(int(rng.integers(2**32)))
    n = random.randint(256, 420)
    k = random.choice([2, 3, random.randint(4, 12), random.randint(13, 40)])
    points = drawn_points(random, n, random.choice([1, random.randint(2, 29)]))
    for change in random.sample(CHANGED, random.choice([0, 1, 1, 2])):
        points = within_limits(change(random, points))
    # Slices of the points in some direction.
    place = np.argsort(np.argsort(points @ rng.normal(size=points.shape[1])))
    labels, is_line = place * k // n, points.shape[1] == 1
    constrain = CONSTRAINTS[0 if is_line else rng.integers(len(CONSTRAINTS))]
    points, labels, must_link, cannot_link = constrain(rng, points, labels)
    name = f"{constrain.__name__} n={len(points)} d={points.shape[1]} k={k}"
    if is_line:
        labels = optimum_on_a_line(points[:, 0], k)
    return LargeRoot(Instance(points, k, must_link, cannot_link), labels, name)


def within_limits(points: Points) -> Points:
    """The same by a power of two where it leaves what docs/limits.md says is accepted."""
    spread = float(np.ptp(points, axis=0).max())
    largest = float(np.abs(points).max())
    if largest > 1e99:
        return points * 2.0 ** -np.ceil(np.log2(largest / 1e99))
    if 0.0 < spread < 1e-99:
        return points * 2.0 ** np.ceil(np.log2(1e-99 / spread))
    return points


NONE = np.empty((0, 2), np.intp)


def unconstrained(rng, points, labels):
    return points, labels, NONE, NONE


def cannot_links(rng, points, labels):
    return points, labels, NONE, pairs_apart(rng, labels, int(rng.integers(1, len(labels))))


def cliques(rng, points, labels):
    """Sets of one point of each cluster, all apart."""
    chosen = [rng.choice(np.flatnonzero(labels == c), 3) for c in range(labels.max() + 1)]
    sets = np.array(chosen).T
    a, b = np.triu_indices(sets.shape[1], 1)
    pairs = np.concatenate([np.column_stack([row[a], row[b]]) for row in sets])
    return points, labels, NONE, pairs[rng.permutation(len(pairs))[:600]]


def matching(rng, points, labels):
    """Disjoint cannot-linked pairs, as many as there are."""
    order = rng.permutation(len(labels))
    pairs = order[: len(order) // 2 * 2].reshape(-1, 2)
    return points, labels, NONE, pairs[labels[pairs[:, 0]] != labels[pairs[:, 1]]]


def heavy_blocks(rng, points, labels):
    """Hundreds of points more, in one block or in three, and cannot-links."""
    block_of = rng.integers(0, rng.choice([1, 3]), int(rng.integers(100, 400)))
    kept = np.array([rng.choice(np.flatnonzero(labels == labels[b])) for b in range(3)])
    n, more = len(labels), len(block_of)
    points = np.concatenate([points, points[kept[block_of]] + rng.normal() * points[:1]])
    labels = np.concatenate([labels, labels[kept[block_of]]])
    must_link = np.column_stack([kept[block_of], np.arange(n, n + more)])
    return points, labels, must_link, pairs_apart(rng, labels, int(rng.choice([0, 50])))


def must_links(rng, points, labels):
    """Few, and cannot-links."""
    pairs = rng.integers(0, len(labels), (200, 2))
    together = pairs[(labels[pairs[:, 0]] == labels[pairs[:, 1]]) & (pairs[:, 0] != pairs[:, 1])]
    most = max(0, len(labels) - 256)
    return points, labels, together[:most], pairs_apart(rng, labels, int(rng.integers(0, 100)))


CONSTRAINTS = (unconstrained, cannot_links, cliques, matching, heavy_blocks, must_links)


def pairs_apart(rng: np.random.Generator, labels: Labels, count: int) -> Pairs:
    pairs = rng.integers(0, len(labels), (count, 2))
    return pairs[labels[pairs[:, 0]] != labels[pairs[:, 1]]]


def optimum_on_a_line(x: NDArray[np.float64], k: int) -> Labels:
    """Labels of an optimal clustering of points on a line, up to rounding.

    Clusters of an optimal one are intervals: dynamic programming over the last cluster's beginning.
    """
    order = np.argsort(x)
    values = x[order] - np.median(x)
    n = len(values)
    sums, squares = (np.concatenate([[0.0], np.cumsum(values**p)]) for p in (1, 2))
    least = np.full((k + 1, n + 1), np.inf)
    least[0, 0] = 0.0
    begins = np.zeros((k + 1, n + 1), np.intp)
    for clusters in range(1, k + 1):
        for end in range(clusters, n + 1):
            first = np.arange(clusters - 1, end)
            total = sums[end] - sums[first]
            cost = np.maximum(squares[end] - squares[first] - total**2 / (end - first), 0.0)
            found = least[clusters - 1, first] + cost
            best = int(found.argmin())
            least[clusters, end], begins[clusters, end] = found[best], first[best]
    labels = np.empty(n, np.intp)
    end = n
    for clusters in range(k, 0, -1):
        first = begins[clusters, end]
        labels[order[first:end]] = clusters - 1
        end = first
    return labels


def exact_cost(points: Points, labels: Labels) -> Fraction:
    """The sum of squares of labels (n,) in rational arithmetic."""
    rows = [[Fraction(value) for value in row] for row in points.tolist()]
    scale = max(value.denominator for row in rows for value in row)
    whole = [[value.numerator * (scale // value.denominator) for value in row] for row in rows]
    total = Fraction(0)
    for label in set(labels.tolist()):
        members = [whole[i] for i in np.flatnonzero(labels == label)]
        for column in zip(*members, strict=True):
            total += sum(x * x for x in column) - Fraction(sum(column) ** 2, len(members))
    return total / scale**2
