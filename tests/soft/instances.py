"""Random instances with soft pairs, and the truth about them: every clustering, one by one."""

from dataclasses import replace

import numpy as np

from sdpbb.problem import Instance, Partition
from tests.enumeration import feasible_clusterings, random_instance
from tests.sizes.instances import sized_instance
from tests.sizes.weighted_instances import weighted_instance


def random_soft_pairs(rng: np.random.Generator, n: int) -> list[tuple[int, int, float]]:
    """Soft pairs of n points of all weights, 0 included; some may be there several times."""
    drawn = [rng.choice(n, 2, replace=False).tolist() for _ in range(rng.integers(0, n + 3))]
    scales = rng.choice([0.0, 0.01, 0.1, 0.5, 1.0, 3.0, 50.0, 1e6], len(drawn))
    return [(i, j, scale * rng.random()) for (i, j), scale in zip(drawn, scales, strict=True)]


def random_soft_instance(rng: np.random.Generator, n_max: int = 9) -> Instance:
    """An instance with hard and soft pairs of all weights, some contradictory, some repeated."""
    instance = random_instance(rng, n_max, n_min=2)
    n = instance.n_points
    weights = rng.uniform(0.01, 3.0, n) * rng.choice([1e-3, 1.0, 1e6])
    return replace(
        instance,
        soft_must_link=random_soft_pairs(rng, n),
        soft_cannot_link=random_soft_pairs(rng, n),
        weights=weights if rng.random() < 0.25 else None,
    )


def random_mixture(seed: int, n_max: int = 8) -> Instance:
    """Limits on sizes of every kind, weights of points, hard pairs and soft ones of all weights.

    Some soft pairs are stated twice, some both ways, some of them are inside blocks or across
    cannot-links, and some weights are infinite.
    """
    instance, rng = sized_instance(seed, n_max), np.random.default_rng([seed, 1])
    n = instance.n_points
    together, apart = random_soft_pairs(rng, n), random_soft_pairs(rng, n)
    opposed = [(j, i, weight * rng.uniform(0.5, 2.0)) for i, j, weight in together[:2]]
    decided = [(i, j, rng.random()) for i, j in instance.must_link[:1].tolist()]
    decided_apart = [(i, j, rng.random()) for i, j in instance.cannot_link[:1].tolist()]
    if rng.random() < 0.2:
        together.append((0, n - 1, np.inf))
    return replace(
        instance,
        soft_must_link=[*together, *together[:1], *decided_apart, *decided],
        soft_cannot_link=[*apart, *opposed, *decided],
        weights=rng.uniform(0.01, 3.0, n) if rng.random() < 0.5 else None,
    )


def weighted_mixture(seed: int, n_max: int = 8) -> Instance:
    """Limits on weights, and soft pairs of all weights beside those of points in any unit."""
    instance, rng = weighted_instance(seed, n_max), np.random.default_rng([seed, 2])
    unit = float(np.mean(instance.weights))

    def drawn() -> list[tuple[int, int, float]]:
        pairs = random_soft_pairs(rng, instance.n_points)
        return [(i, j, weight * unit) for i, j, weight in pairs]

    return replace(instance, soft_must_link=drawn(), soft_cannot_link=drawn())


def least_cost(instance: Instance) -> float | None:
    """The cost of the best clustering, by enumeration; None if there is none."""
    costs = [Partition(labels).cost(instance) for labels in feasible_clusterings(instance)]
    return min(costs, default=None)
