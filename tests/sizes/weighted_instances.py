"""Random instances with limits on the weights of clusters, of every kind, and pairs."""

from itertools import combinations

import numpy as np

from sdpbb.problem import Instance


def weighted_instance(seed: int, most_points: int = 8) -> Instance:
    """A small instance with weights; a third of them or so have no clustering.

    Weights are whole, or of many scales in any unit; limits are on weights, and on sizes in some.
    """
    rng = np.random.default_rng([seed, 77])
    n = int(rng.integers(3, most_points + 1))
    k = int(rng.integers(2, min(n, 4) + 1))
    shape = n, int(rng.integers(1, 4))
    points = rng.normal(size=shape) if rng.random() < 0.7 else rng.integers(0, 3, shape) * 1.0
    weights = (
        rng.integers(1, 5, n).astype(float),
        rng.uniform(0.5, 2.0, n) * 10.0 ** rng.integers(-9, 9),
        10.0 ** rng.uniform(-2.0, 2.0, n),
        np.full(n, 0.1),
    )[rng.integers(4)]
    pairs = list(combinations(range(n), 2))

    def drawn() -> list[tuple[int, int]]:
        chosen = rng.choice(len(pairs), min(int(rng.integers(0, 3)), len(pairs)), replace=False)
        return [pairs[i] for i in chosen]

    limits, kind, mean = {}, rng.integers(0, 6), weights.sum() / k
    if kind in (0, 2, 3):
        limits["min_weight"] = float(mean * rng.uniform(0.2, 1.0))
    if kind in (1, 2, 4):
        limits["max_weight"] = float(mean * rng.uniform(1.0, 2.0))
    if kind in (3, 5):
        limits["max_size"] = int(rng.integers(max(1, n // k), n + 1))
    if kind in (4, 5):
        limits["min_size"] = int(rng.integers(1, n // k + 1))
    return Instance(points, k, drawn(), drawn(), weights=weights, **limits)
