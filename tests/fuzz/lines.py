"""Points on a line, whose best clusterings dynamic programming knows at any size."""

from __future__ import annotations

import numpy as np

from sdpbb.problem import Instance


def random_line(rng: np.random.Generator, n_min: int = 10, n_max: int = 60) -> Instance:
    """Points on a line, some of them equal, in clusters that are apart or not."""
    n, k = int(rng.integers(n_min, n_max + 1)), int(rng.integers(1, 6))
    centres = rng.integers(0, k, (n, 1)) * rng.choice([0.0, 2.0, 10.0])
    points = rng.normal(size=(n, 1)) + centres
    if rng.random() < 0.3:
        points = np.round(points)
    return Instance(points * 10.0 ** rng.integers(-3, 4), k)


def cheapest_on_line(instance: Instance) -> float:
    """The least sum of squares of k clusters of points (n, 1), by dynamic programming.

    Clusters of a best clustering are intervals of the points in order.
    """
    x = np.sort(instance.points[:, 0])
    n = len(x)
    cost = np.full((n, n), np.inf)
    for first in range(n):
        from_first = x[first:] - x[first]  # equal points cost 0 exactly
        size = np.arange(1.0, n - first + 1.0)
        own = np.cumsum(np.square(from_first)) - np.cumsum(from_first) ** 2 / size
        cost[first, first:] = np.maximum(own, 0.0)
    best = cost[0]
    for _ in range(instance.k - 1):
        following = np.full(n, np.inf)
        for end in range(1, n):
            following[end] = (best[:end] + cost[1 : end + 1, end]).min()
        best = following
    return float(best[-1])
