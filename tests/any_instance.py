"""Instances of every kind, small enough that enumeration knows the truth about them.

`any_instance` is a strategy of Hypothesis, `drawn_instance` the same from a `random.Random`:

    @given(any_instance())                      # every part may occur
    @given(any_instance("pairs", "weights"))    # only these may occur
    @given(any_instance(always=["sizes"]))      # this one occurs, the others may

`Truth` (tests/enumeration.py) has all clusterings of an instance, with their costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from random import Random
from typing import Any

import numpy as np
from hypothesis import note
from hypothesis import strategies as st
from numpy.typing import NDArray

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
from sdpbb.problem.checks import ClassSizes
from sdpbb.problem.known_classes import KnownClasses

Points = NDArray[np.float64]
# What an instance may have besides points and k.
PARTS = (
    "equal points",
    "far groups",
    "units",
    "pairs",
    "classes",
    "constraints",
    "own constraints",
    "weights",
    "sizes",
    "class sizes",
    "weight limits",
    "soft pairs",
)
# The largest distance over the least one, at most: all is solved to the requested gap there.
FAR = 12


@st.composite
def any_instance(
    draw: st.DrawFn,
    *parts: str,
    always: Sequence[str] = (),
    n: tuple[int, int] = (2, 7),
    k: tuple[int, int] = (1, 7),
    d: tuple[int, int] = (1, 3),
    far: int = FAR,
) -> Instance:
    """Instances with some of the parts; a third or so have no clustering.

    parts : the parts that may occur, of `PARTS`; none: all of them
    always : the parts that do occur
    n, k, d : least and largest number of points, of clusters and of coordinates
    far : groups are up to 10^far times farther apart than they are wide
    """
    random = draw(st.randoms(use_true_random=False))
    instance = drawn_instance(random, *parts, always=always, n=n, k=k, d=d, far=far)
    note(written(instance))
    return instance


def written(instance: Instance) -> str:
    """The call that makes the instance, for an example."""
    soft = {
        name: [(*pair, w) for pair, w in zip(of.pairs.tolist(), of.weights.tolist(), strict=True)]
        for name in ("soft_must_link", "soft_cannot_link")
        if len(of := getattr(instance, name))
    }
    arrays = ("must_link", "cannot_link", "weights")
    stated = {name: getattr(instance, name) for name in arrays}
    stated = {name: x.tolist() for name, x in stated.items() if x is not None and len(x)}
    others = ("min_size", "max_size", "sizes", "min_weight", "max_weight", "cluster_constraints")
    stated |= soft | {name: x for name in others if (x := getattr(instance, name))}
    if isinstance(instance.sizes, ClassSizes):
        stated["known_classes"] = instance.origin.known_classes.numbers.tolist()
    arguments = [f"{name}={value!r}" for name, value in stated.items()]
    return f"Instance({', '.join([repr(instance.points.tolist()), str(instance.k), *arguments])})"


def drawn_instance(
    random: Random,
    *parts: str,
    always: Sequence[str] = (),
    n: tuple[int, int] = (2, 7),
    k: tuple[int, int] = (1, 7),
    d: tuple[int, int] = (1, 3),
    far: int = FAR,
) -> Instance:
    """One of `any_instance`."""
    assert set(PARTS) >= {*parts, *always}
    possible = parts or PARTS
    # Some instances are simple, and some have nearly everything at once.
    chance = random.choice([0.15, 0.4, 0.8])
    chosen = [x for x in PARTS if x in always or (x in possible and random.random() < chance)]
    n_points = random.randint(*n)
    points = drawn_points(random, n_points, random.randint(*d))
    if "equal points" in chosen:
        points = with_equal_points(random, points)
    if "far groups" in chosen:
        points = with_far_groups(random, points, far)
    if "units" in chosen:
        points = in_other_units(random, points)
    n_clusters = random.randint(min(k[0], n_points), min(k[1], n_points))
    instance = Instance(points, n_clusters, as_points=True)
    if "weights" in chosen or "weight limits" in chosen:
        instance = replace(instance, weights=drawn_weights(random, n_points))
    for part in chosen:
        if part in _CHANGES:
            instance = replace(instance, **_CHANGES[part](random, instance))
    return instance


def drawn_points(random: Random, n: int, d: int) -> Points:
    """Points (n, d) at random, in groups, or on a grid, where many distances are equal."""
    rng = np.random.default_rng(random.randint(0, 2**32 - 1))
    kind = random.choice(["grid", "any", "groups"])
    if kind == "grid":
        return rng.integers(0, 4, (n, d)).astype(float)
    points = rng.normal(size=(n, d))
    if kind == "groups":
        points += 6.0 * rng.normal(size=(3, d))[rng.integers(0, 3, n)]
    return points


def with_equal_points(random: Random, points: Points) -> Points:
    """The same, with some points in the places of others."""
    points = points.copy()
    for _ in range(random.randint(1, max(1, len(points) // 2))):
        points[random.randrange(len(points))] = points[random.randrange(len(points))]
    return points


def with_far_groups(random: Random, points: Points, far: int) -> Points:
    """The same, in two or three groups that are many times farther apart than they are wide."""
    n, d = points.shape
    rng = np.random.default_rng(random.randint(0, 2**32 - 1))
    size = 10.0 ** random.randint(2, far - 1)
    centres = size * rng.integers(-3, 4, (3, d))
    return points + centres[[random.randrange(3) for _ in range(n)]]


def in_other_units(random: Random, points: Points) -> Points:
    """The same, in other units or far from the origin."""
    if random.random() < 0.5:
        return points * 10.0 ** random.choice([-60, -9, -3, 3, 9, 60])
    return points + 10.0 ** random.randint(1, 4)


def drawn_weights(random: Random, n: int) -> Points:
    """Weights (n,): whole, equal, near to each other or of many scales, in any unit."""
    kind = random.choice(["whole", "equal", "near", "scales"])
    if kind == "whole":
        return np.array([random.randint(1, 5) for _ in range(n)], float)
    unit = 10.0 ** random.choice([-9, -1, 0, 9])
    if kind == "equal":
        return np.full(n, unit)
    spread = 0.5 if kind == "near" else 3.0
    return np.array([unit * 10.0 ** random.uniform(-spread, spread) for _ in range(n)])


def drawn_pairs(random: Random, n: int, most: int) -> list[tuple[int, int]]:
    """At most this number of pairs of different points, in any order."""
    pairs = [random.choice([(i, j), (j, i)]) for i, j in combinations(range(n), 2)]
    return random.sample(pairs, min(len(pairs), random.randint(0, most)))


@dataclass(frozen=True)
class ForbiddenSets(ClusterConstraint):
    """A user's own: no cluster holds all of one of these sets of points."""

    sets: tuple[frozenset[int], ...]

    def allows(self, instance: Instance, members: NDArray[np.intp]) -> bool:
        inside = set(members.tolist())
        return not any(points <= inside for points in self.sets)


def _pairs(random: Random, instance: Instance) -> dict[str, Any]:
    n = instance.n_points
    must_link = drawn_pairs(random, n, random.choice([0, 1, 1, 2]))
    cannot_link = drawn_pairs(random, n, random.choice([1, 2, n, 2 * n]))
    if random.random() < 0.9:  # else they may contradict each other
        stated = {frozenset(pair) for pair in must_link}
        cannot_link = [pair for pair in cannot_link if frozenset(pair) not in stated]
    return {"must_link": must_link, "cannot_link": cannot_link}


def _maximum_size(random: Random, instance: Instance) -> ClusterConstraint:
    return MaximumSize(random.randint(1, instance.n_points))


def _maximum_diameter(random: Random, instance: Instance) -> ClusterConstraint:
    """One that is not within rounding of a distance."""
    points = instance.points
    i, j = (random.randrange(len(points)) for _ in range(2))
    distance = float(np.linalg.norm(points[i] - points[j]))
    return MaximumDiameter(1.000001 * distance + 1e-6 * float(np.ptp(points, axis=0).max()))


def _maximum_overlap(random: Random, instance: Instance) -> ClusterConstraint:
    n = instance.n_points
    return MaximumOverlap(random.sample(range(n), random.randint(1, n)), random.randint(1, 3))


def _minimum_difference(random: Random, instance: Instance) -> ClusterConstraint:
    n = instance.n_points
    return MinimumDifference(random.sample(range(n), random.randint(0, n)), random.randint(1, 3))


def _soft_cannot_links(random: Random, instance: Instance) -> ClusterConstraint:
    pairs = drawn_pairs(random, instance.n_points, 2 * instance.n_points)
    return SoftCannotLinks(pairs, random.randint(0, 3))


SIMPLE: tuple[Callable[[Random, Instance], ClusterConstraint], ...] = (
    _maximum_size,
    _maximum_diameter,
    _maximum_overlap,
    _minimum_difference,
    _soft_cannot_links,
)


def drawn_constraint(random: Random, instance: Instance) -> ClusterConstraint:
    parts = [random.choice(SIMPLE)(random, instance) for _ in range(2)]
    kind = random.choice(["one", "one", "one", "all", "any"])
    return {"one": parts[0], "all": AllOf([parts[0], AllOf(parts[1:])]), "any": AnyOf(parts)}[kind]


def _constraints(random: Random, instance: Instance) -> dict[str, Any]:
    more = [drawn_constraint(random, instance) for _ in range(random.randint(1, 2))]
    return {"cluster_constraints": (*instance.cluster_constraints, *more)}


def _own_constraints(random: Random, instance: Instance) -> dict[str, Any]:
    """Mostly on three points and more, so that pairs of blocks do not say it all."""
    n = instance.n_points
    sizes = [min(n, random.randint(2, 4)) for _ in range(random.randint(1, n))]
    own = ForbiddenSets(tuple(frozenset(random.sample(range(n), size)) for size in sizes))
    return {"cluster_constraints": (*instance.cluster_constraints, own)}


def _classes(random: Random, instance: Instance) -> dict[str, Any]:
    """Classes of some points, which may be wrong, share clusters or be split."""
    n = instance.n_points
    n_classes = random.randint(1, instance.k)
    given = [random.choice([-1, random.randrange(n_classes)]) for _ in range(n)]
    classes = KnownClasses.of(given, n)
    if random.random() < 0.3:
        weight = 10.0 ** random.uniform(-2.0, 2.0) * np.square(instance.points).max()
        classes = replace(classes, weight=float(weight) or 1.0)
    return {"known_classes": replace(classes, may=random.choice([None, None, "share", "split"]))}


def drawn_sizes(random: Random, instance: Instance) -> dict[str, Any]:
    n, k = instance.n_points, instance.k
    kind = random.choice(["least", "most", "both", "listed", "ranges"])
    if kind == "listed":
        return {"sizes": _listed_sizes(random, n, k)}
    if kind == "ranges":
        return {"sizes": _ranges_of_sizes(random, n, k)}
    limits = {}
    if kind != "most":
        limits["min_size"] = random.randint(1, n // k + (random.random() < 0.1))
    if kind != "least":
        limits["max_size"] = random.randint(-(-n // k), n)
    return limits


def _listed_sizes(random: Random, n: int, k: int) -> list[int]:
    cuts = sorted(random.sample(range(1, n), k - 1))
    return [b - a for a, b in zip([0, *cuts], [*cuts, n], strict=True)]


def _ranges_of_sizes(random: Random, n: int, k: int) -> list[tuple[int, int]]:
    width = [0, 0, 1, 2]
    return [
        (max(1, size - random.choice(width)), size + random.choice(width))
        for size in _listed_sizes(random, n, k)
    ]


def _class_sizes(random: Random, instance: Instance) -> dict[str, Any]:
    """Ranges of sizes of classes, if neither classes nor sizes are stated."""
    n, k = instance.n_points, instance.k
    stated = instance.origin.known_classes, instance.sizes, instance.min_size, instance.max_size
    if stated != (None,) * 4:
        return {}
    classes = np.full(n, -1)
    classes[random.sample(range(n), k)] = range(k)
    sizes = dict(enumerate(_ranges_of_sizes(random, n, k)))
    return {"sizes": sizes, "known_classes": classes}


def _weight_limits(random: Random, instance: Instance) -> dict[str, Any]:
    weights = instance.weights
    assert weights is not None
    mean = math.fsum(weights) / instance.k
    kind = random.choice(["least", "most", "both"])
    limits = {}
    if kind != "most":
        limits["min_weight"] = mean * random.choice([0.1, 0.3, 0.5, 0.8, 1.0])
    if kind != "least":
        limits["max_weight"] = max(mean, float(weights.max())) * random.choice([1.0, 1.3, 2.0])
    return limits


def _soft_pairs(random: Random, instance: Instance) -> dict[str, Any]:
    """Soft pairs of all weights, some of them stated twice, or both ways."""
    n = instance.n_points
    points, weights = instance.points, instance.weights
    spread = float(np.ptp(points, axis=0).max()) or 1.0
    unit = min(spread, 1e6) ** 2 * (1.0 if weights is None else float(weights.mean()))

    def weighed(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int, float]]:
        factors = [0.0, 0.01, 0.1, 0.5, 1.0, 3.0, 50.0]
        return [(i, j, unit * random.choice(factors)) for i, j in pairs]

    together, apart = weighed(drawn_pairs(random, n, n)), weighed(drawn_pairs(random, n, n))
    if random.random() < 0.3:
        together += together[:1]
        apart += [(j, i, 2.0 * weight) for i, j, weight in together[:1]]
    if random.random() < 0.1:
        together += [(0, n - 1, math.inf)]
    return {"soft_must_link": together, "soft_cannot_link": apart}


_CHANGES: dict[str, Callable[[Random, Instance], dict[str, Any]]] = {
    "pairs": _pairs,
    "classes": _classes,
    "constraints": _constraints,
    "own constraints": _own_constraints,
    "sizes": drawn_sizes,
    "class sizes": _class_sizes,
    "weight limits": _weight_limits,
    "soft pairs": _soft_pairs,
}
