"""Random instances with constraints on clusters, and their clusters one by one."""

from collections.abc import Iterable, Sequence

import numpy as np

from sdpbb.problem import (
    AllOf,
    AnyOf,
    Contraction,
    Instance,
    MaximumDiameter,
    MaximumOverlap,
    MaximumSize,
    MinimumDifference,
    SoftCannotLinks,
    contract,
)
from tests.any_instance import ForbiddenSets


def forbidden_sets(rng: np.random.Generator, n: int) -> ForbiddenSets:
    """Mostly of three points and more, so that pairs of blocks do not say it all."""
    sizes = rng.integers(2, 5, int(rng.integers(1, n + 1)))
    return ForbiddenSets(tuple(frozenset(some_points(rng, n, size)) for size in sizes))


def some_points(rng: np.random.Generator, n: int, count: int) -> list[int]:
    return rng.permutation(n)[:count].tolist()


def some_pairs(rng: np.random.Generator, n: int, count: int) -> list[tuple[int, int]]:
    pairs = [(i, j) for i in range(n) for j in range(i)]
    return [pairs[at] for at in rng.permutation(len(pairs))[:count]]


def maximum_size(rng, points):
    return MaximumSize(int(rng.integers(1, len(points) + 1)))


def maximum_diameter(rng, points):
    distances = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    # More than a distance that occurs, which is rounded in one way here, and in others elsewhere.
    return MaximumDiameter(float(rng.choice(distances.ravel())) * (1.0 + 1e-12))


def maximum_overlap(rng, points):
    n = len(points)
    return MaximumOverlap(some_points(rng, n, int(rng.integers(1, n + 1))), int(rng.integers(1, 4)))


def minimum_difference(rng, points):
    n = len(points)
    return MinimumDifference(some_points(rng, n, int(rng.integers(0, n))), int(rng.integers(1, 4)))


def soft_cannot_links(rng, points):
    n = len(points)
    count = int(rng.integers(1, 2 * n))
    return SoftCannotLinks(some_pairs(rng, n, count), int(rng.integers(0, 4)))


def all_of(rng, points):
    return AllOf([maximum_overlap(rng, points), AllOf([soft_cannot_links(rng, points)])])


def any_of(rng, points):
    return AnyOf([maximum_size(rng, points), minimum_difference(rng, points)])


def custom(rng, points):
    return forbidden_sets(rng, len(points))


COMPILED = (maximum_size, maximum_diameter, maximum_overlap, minimum_difference, soft_cannot_links)
KINDS = (*COMPILED, all_of, any_of, custom)


def constrained_instance(
    rng: np.random.Generator, kinds: Sequence, n_min: int = 4, n_max: int = 8, d_max: int = 3
) -> Instance:
    """Of one constraint of each of these kinds, and a few pairs: any k, ties and duplicates."""
    n = int(rng.integers(n_min, n_max + 1))
    points = rng.normal(size=(n, int(rng.integers(1, d_max + 1))))
    if rng.random() < 0.25:
        points = np.round(points)
    if rng.random() < 0.25:
        points[rng.integers(n)] = points[rng.integers(n)]
    constraints = [kind(rng, points) for kind in kinds]
    pairs = some_pairs(rng, n, n)
    split = int(rng.choice([0, 0, 1, 2]))
    more = int(rng.choice([0, 1, 2, n - 2]))
    return Instance(
        points,
        int(rng.integers(1, n + 1)),
        must_link=pairs[:split],
        cannot_link=pairs[split : split + more],
        cluster_constraints=constraints,
    )


def scaled(instance: Instance, factor: float, offset: float) -> Instance:
    """The same with other coordinates; not for constraints on distances."""
    return Instance(
        instance.points * factor + offset,
        instance.k,
        instance.must_link,
        instance.cannot_link,
        cluster_constraints=instance.cluster_constraints,
    )


def first_contraction(instances: Iterable[Instance], m_max: int) -> tuple[Instance, Contraction]:
    """The first that is not refused, of m_max blocks at most."""
    for instance in instances:
        contraction = contract(instance)
        if isinstance(contraction, Contraction) and contraction.n_blocks <= m_max:
            return instance, contraction
    raise AssertionError("no instance is left")


def allowed_sets(instance: Instance, contraction: Contraction) -> np.ndarray:
    """(t, m) all non-empty sets of blocks whose points keep cannot-links and constraints."""
    m = contraction.n_blocks
    sets = (np.arange(1, 2**m)[:, None] >> np.arange(m)) & 1 > 0
    return sets[[_is_allowed(instance, np.flatnonzero(x[contraction.block_of])) for x in sets]]


def _is_allowed(instance: Instance, members: np.ndarray) -> bool:
    i, j = instance.cannot_link.T
    if (np.isin(i, members) & np.isin(j, members)).any():
        return False
    return all(constraint.allows(instance, members) for constraint in instance.cluster_constraints)
