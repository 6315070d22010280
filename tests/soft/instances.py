"""Random instances with soft pairs, and the truth about them: every clustering, one by one."""

from dataclasses import replace

import numpy as np

from sdpbb.problem import Instance, Partition
from tests.enumeration import feasible_clusterings, random_instance


def random_soft_instance(rng: np.random.Generator, n_max: int = 9) -> Instance:
    """An instance with hard and soft pairs of all weights, some contradictory, some repeated."""
    instance = random_instance(rng, n_max, n_min=2)
    n = instance.n_points

    def pairs() -> list[tuple[int, int, float]]:
        drawn = [rng.choice(n, 2, replace=False).tolist() for _ in range(rng.integers(0, n + 3))]
        scales = rng.choice([0.0, 0.01, 0.1, 0.5, 1.0, 3.0, 50.0, 1e6], len(drawn))
        return [(i, j, scale * rng.random()) for (i, j), scale in zip(drawn, scales, strict=True)]

    weights = rng.uniform(0.01, 3.0, n) * rng.choice([1e-3, 1.0, 1e6])
    return replace(
        instance,
        soft_must_link=pairs(),
        soft_cannot_link=pairs(),
        weights=weights if rng.random() < 0.25 else None,
    )


def least_cost(instance: Instance) -> float | None:
    """The cost of the best clustering, by enumeration; None if there is none."""
    costs = [Partition(labels).cost(instance) for labels in feasible_clusterings(instance)]
    return min(costs, default=None)
