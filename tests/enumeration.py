"""The truth about small instances: every clustering, one by one."""

import math
import operator
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations, permutations
from random import Random

import numpy as np

from sdpbb.problem import (
    AllOf,
    AnyOf,
    ClusterConstraint,
    Instance,
    MaximumDiameter,
    MaximumOverlap,
    MaximumSize,
    MinimumDifference,
    SoftCannotLinks,
)
from sdpbb.problem.checks import ClassSizes, SoftPairs, sizes_alone
from tests.any_instance import drawn_instance


@cache
def clusterings(n: int, k: int) -> np.ndarray:
    """All partitions of n points into exactly k clusters, as canonical labels (number, n)."""
    rows = [(0,)]
    for _ in range(n - 1):
        rows = [(*row, c) for row in rows for c in range(min(max(row) + 2, k))]
    return np.array([row for row in rows if max(row) == k - 1], dtype=np.intp).reshape(-1, n)


def all_sets(n: int) -> np.ndarray:
    """All sets of n points but the empty one, as booleans (number, n)."""
    return (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1 > 0


class Truth:
    """All feasible clusterings of an instance, and what they cost.

    labels : (number, n), with exactly k clusters
    costs : (number,) the sums of squares plus the penalties of soft pairs, exact up to rounding
    exact_costs : the same numbers in rational arithmetic
    """

    def __init__(self, instance: Instance) -> None:
        labels = clusterings(instance.n_points, instance.k)
        # The sets of points that are clusters, as numbers whose binary digits are the points.
        powers = 1 << np.arange(instance.n_points)
        sets = np.stack([(labels == c) @ powers for c in range(instance.k)], axis=1)
        different, which = np.unique(sets, return_inverse=True)
        clusters = (different[:, None] >> np.arange(instance.n_points)) & 1 > 0
        allowed = np.array([is_allowed(instance, x) for x in clusters], bool)
        values = np.where(allowed, 0.0, np.nan)
        exact = cluster_costs(instance, clusters[allowed])
        values[allowed] = [float(cost) for cost in exact]
        costs = values[which.reshape(sets.shape)].sum(axis=1)
        keep = ~np.isnan(costs)
        if instance.sizes is not None:
            sizes = clusters.sum(axis=1)[which.reshape(sets.shape)]
            keep &= are_in_ranges(sizes, sizes_alone(instance.sizes))
        if isinstance(instance.sizes, ClassSizes):
            classes = instance.origin.known_classes
            for name, size in zip(instance.sizes.names, instance.sizes.sizes, strict=True):
                row = classes.numbers.tolist().index(classes.names.index(name))
                own = (labels == labels[:, [row]]).sum(axis=1)
                keep &= are_in_ranges(own[:, None], [size])
            first = [classes.numbers.tolist().index(c) for c in range(len(classes.names))]
            keep &= np.array([len(set(row[first])) == len(first) for row in labels], bool)
        self.labels, self.costs = labels[keep], costs[keep]
        number = (allowed.cumsum() - 1)[which.reshape(sets.shape)[keep]]
        self._clusters = [[exact[c] for c in row] for row in number]

    @cached_property
    def exact_costs(self) -> list[Fraction]:
        return [sum(clusters, Fraction()) for clusters in self._clusters]

    @property
    def is_feasible(self) -> bool:
        return len(self.labels) > 0

    @property
    def optimum(self) -> float | None:
        """The least cost, or None if there is no clustering."""
        return float(self.costs.min()) if self.is_feasible else None

    @property
    def best(self) -> np.ndarray:
        """Labels (n,) of an optimal clustering."""
        return self.labels[self.costs.argmin()]

    def has(self, labels: np.ndarray) -> bool:
        """Whether these are the labels (n,) of a feasible clustering, in any numbering."""
        return bool((self.labels == canonical(labels)).all(axis=1).any())

    def cost_of(self, labels: np.ndarray) -> float:
        """The cost of a feasible clustering with these labels (n,), in any numbering."""
        return float(self.costs[(self.labels == canonical(labels)).all(axis=1)][0])


def canonical(labels: np.ndarray) -> np.ndarray:
    """Labels (n,) with clusters numbered by their first points."""
    number: dict[int, int] = {}
    return np.array([number.setdefault(int(label), len(number)) for label in labels], np.intp)


def is_allowed(instance: Instance, inside: np.ndarray) -> bool:
    """Whether a set of points, (n,) booleans, may be a cluster, by the definitions."""
    if any(inside[i] != inside[j] for i, j in instance.must_link):
        return False
    if any(inside[i] and inside[j] for i, j in instance.cannot_link):
        return False
    size, least, most = int(inside.sum()), instance.min_size or 1, instance.max_size or len(inside)
    weights = np.ones(len(inside)) if instance.weights is None else instance.weights
    weight = math.fsum(weights[inside])
    lightest, heaviest = instance.min_weight or 0.0, instance.max_weight or math.inf
    members = set(np.flatnonzero(inside).tolist())
    return (
        least <= size <= most
        and lightest * (1 - 1e-9) <= weight <= heaviest * (1 + 1e-9)
        and all(holds(c, instance, members) for c in instance.cluster_constraints)
    )


def holds(constraint: ClusterConstraint, instance: Instance, members: set[int]) -> bool:
    """Whether a constraint on clusters allows a set of points, by its definition."""
    match constraint:
        case MaximumSize(limit):
            return len(members) <= limit
        case MaximumDiameter(distance):
            points, pairs = instance.points, combinations(members, 2)
            return all(math.dist(points[i], points[j]) <= distance for i, j in pairs)
        case MaximumOverlap(given, limit):
            return len(members & set(given)) <= limit
        case MinimumDifference(given, limit):
            return len(members - set(given)) <= limit
        case SoftCannotLinks(pairs, limit):
            return len([pair for pair in pairs if members >= set(pair)]) <= limit
        case AllOf(parts):
            return all(holds(part, instance, members) for part in parts)
        case AnyOf(parts):
            return any(holds(part, instance, members) for part in parts)
        case _:
            return constraint.allows(instance, np.array(sorted(members), np.intp))


def cluster_costs(instance: Instance, clusters: np.ndarray) -> list[Fraction]:
    """What sets of points (t, n), booleans, add to the cost: sums of squares and penalties; half of
    the penalty of a pair that is cut."""
    squares = ExactSquares(instance.points, instance.weights)
    costs = [squares.of_cluster(np.flatnonzero(inside)) for inside in clusters]
    for (i, j), price in zip(*_parts(instance.soft_must_link), strict=True):
        for c in np.flatnonzero(clusters[:, i] != clusters[:, j]):
            costs[c] += Fraction(price) / 2
    for (i, j), price in zip(*_parts(instance.soft_cannot_link), strict=True):
        for c in np.flatnonzero(clusters[:, i] & clusters[:, j]):
            costs[c] += Fraction(price)
    return costs


class ExactSquares:
    """Sums of squares of clusters of points (n, d) with weights (n,), in integers."""

    def __init__(self, points: np.ndarray, weights: np.ndarray | None = None) -> None:
        numbers, self.unit = whole_numbers(points.ravel())
        self.rows = np.array(numbers, object).reshape(points.shape).tolist()
        self.weights, self.weight_unit = [1] * len(points), 1
        if weights is not None:
            self.weights, self.weight_unit = whole_numbers(weights)

    def of_cluster(self, members: np.ndarray) -> Fraction:
        """The weighted squares of points around their weighted mean."""
        w = [self.weights[i] for i in members]
        rows = [self.rows[i] for i in members]
        squares = sum(own * x * x for own, row in zip(w, rows, strict=True) for x in row)
        columns = zip(*rows, strict=True)
        sums = sum(sum(map(operator.mul, w, column)) ** 2 for column in columns)
        return Fraction(sum(w) * squares - sums, sum(w) * self.unit**2 * self.weight_unit)

    def of(self, labels: np.ndarray) -> Fraction:
        """Of all clusters of labels (n,)."""
        clusters = (self.of_cluster(np.flatnonzero(labels == c)) for c in np.unique(labels))
        return sum(clusters, Fraction())


def _parts(soft: SoftPairs) -> tuple[list[list[int]], list[float]]:
    return soft.pairs.tolist(), soft.weights.tolist()


def whole_numbers(values: np.ndarray) -> tuple[list[int], int]:
    """Floats (t,) as integers, and how many of their units are 1: a power of two."""
    exact = [Fraction(value) for value in values.tolist()]
    unit = max(value.denominator for value in exact)
    return [int(value * unit) for value in exact], unit


def feasible_clusterings(instance: Instance) -> np.ndarray:
    """All labels (number, n) with exactly k clusters that satisfy the constraints."""
    return Truth(instance).labels


def optimum(instance: Instance) -> float | None:
    """The least cost of a feasible clustering, or None if there is none."""
    return Truth(instance).optimum


def are_in_ranges(sizes: np.ndarray, listed: Sequence[int | tuple[int, int]]) -> np.ndarray:
    """Whether rows of sizes (c, k) have listed ones, or are in listed ranges, in some order."""
    ranges = [(each, each) if isinstance(each, int) else each for each in listed]
    found = np.zeros(len(sizes), bool)
    for low, high in {tuple(zip(*order, strict=True)) for order in permutations(ranges)}:
        found |= ((low <= sizes) & (sizes <= high)).all(axis=1)
    return found


def clustering_matrix(labels: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Z over blocks: 1/|C| for two blocks of the same cluster C, |C| counted in points."""
    weight = np.bincount(labels, weights=sizes)
    return (labels[:, None] == labels) / weight[labels]


def random_instance(rng: np.random.Generator, n_max: int = 9, n_min: int = 1) -> Instance:
    """Points with pairs, any k: the plain instances of `tests.any_instance`."""
    random = Random(int(rng.integers(2**32)))
    return drawn_instance(random, "equal points", always=["pairs"], n=(n_min, n_max), k=(1, n_max))
