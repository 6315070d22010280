"""Random instances with limits on sizes of every kind, and pairs."""

from itertools import combinations

import numpy as np

from sdpbb.problem import Instance, MaximumSize


def sized_instance(seed: int, most_points: int = 9) -> Instance:
    """A small instance; a third of them or so have no clustering."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, most_points + 1))
    k = int(rng.integers(1, min(n, 4) + 1))
    shape = n, int(rng.integers(1, 4))
    points = rng.normal(size=shape) if rng.random() < 0.7 else rng.integers(0, 3, shape) * 1.0
    pairs = list(combinations(range(n), 2))

    def drawn() -> list[tuple[int, int]]:
        chosen = rng.choice(len(pairs), min(int(rng.integers(0, 4)), len(pairs)), replace=False)
        return [pairs[i] for i in chosen]

    limits, kind = {}, rng.integers(0, 6)
    if kind in (0, 2):
        limits["min_size"] = int(rng.integers(1, n // k + 2))
    if kind in (1, 2):
        limits["max_size"] = int(rng.integers(max(1, n // k), n + 1))
    if kind in (3, 5):
        limits["sizes"] = (rng.multinomial(n - k, np.ones(k) / k) + 1).tolist()
    if kind == 5:
        wide = rng.integers(0, 3, (k, 2)).tolist()
        limits["sizes"] = [
            (max(1, size - less), size + more)
            for size, (less, more) in zip(limits["sizes"], wide, strict=True)
        ]
    if kind == 4:
        limits["cluster_constraints"] = [MaximumSize(int(rng.integers(max(1, n // k), n + 1)))]
        limits["min_size"] = int(rng.integers(1, n // k + 1))
    return Instance(points, k, must_link=drawn(), cannot_link=drawn(), **limits)
