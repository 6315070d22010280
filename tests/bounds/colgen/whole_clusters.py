"""Contractions whose clusters are judged as a whole: least sizes or weights, lists, soft pairs."""

import numpy as np

from sdpbb.problem import Contraction, Instance, MaximumSize, contract


def whole_contraction(seed: int, n_max: int = 9) -> Contraction:
    """The first one from this seed on, with limits on sizes or weights, soft pairs, or both."""
    return whole_instance(seed, n_max)[1]


def whole_instance(seed: int, n_max: int = 9) -> tuple[Instance, Contraction]:
    """The same, and the instance that it is of."""
    rng = np.random.default_rng(seed)
    while True:
        instance = drawn_instance(rng, n_max)
        contraction = contract(instance)
        if isinstance(contraction, Contraction) and not contraction.is_monotone:
            return instance, contraction


def drawn_instance(rng: np.random.Generator, n_max: int) -> Instance:
    n = int(rng.integers(3, n_max + 1))
    k = int(rng.integers(1, min(n, 4) + 1))
    points = rng.normal(size=(n, int(rng.integers(1, 5))))
    if rng.random() < 0.3:
        points = np.round(points)
    limits, kind = {}, rng.integers(0, 6)
    if kind == 1:
        limits["min_size"] = int(rng.integers(2, max(3, n // k + 1)))
    if kind == 2:
        limits["sizes"] = (rng.multinomial(n - k, np.ones(k) / k) + 1).tolist()
    if kind == 3:
        limits = {"min_size": 2, "cluster_constraints": [MaximumSize(int(rng.integers(2, n + 1)))]}

    def pairs(most: int) -> list[tuple[int, int]]:
        count = int(rng.integers(0, most + 1))
        return [tuple(rng.choice(n, 2, replace=False).tolist()) for _ in range(count)]

    def soft() -> list[tuple[int, int, float]]:
        scale = rng.choice([0.0, 0.1, 1.0, 10.0])
        return [(i, j, float(scale * rng.random())) for i, j in pairs(n)]

    weights = rng.uniform(0.2, 3.0, n) if rng.random() < 0.3 or kind > 3 else None
    if kind > 3:
        mean = weights.sum() / k
        limits["min_weight"] = float(mean * rng.uniform(0.3, 1.0))
    if kind == 5:
        limits["max_weight"] = float(mean * rng.uniform(1.0, 2.0))
        limits["min_size"] = int(rng.integers(1, 3))
    return Instance(
        points, k, pairs(2), pairs(3), weights=weights, soft_must_link=soft(),
        soft_cannot_link=soft(), **limits,
    )  # fmt: skip
