"""Groups of points that are up to 10^16 times farther apart than they are wide, in groups of groups
and by themselves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Instance

N_MAX = 16
# Of a level, so that a hundred sets are looked at in a second.
LARGEST_GROUP = 7
# What is solved to the gap asked for, without exception: the largest ratio.
SOLVED = 1e12

Points = NDArray[np.float64]
Pairs = NDArray[np.intp]


class FarGroups(NamedTuple):
    """ratio : of the largest distance and the least, all levels together, about"""

    instance: Instance
    ratio: float


def random_far_groups(rng: np.random.Generator) -> FarGroups:
    """Levels of groups, each many times farther apart than what is inside of it."""
    d = int(rng.choice([1, 1, 2, 3]))
    integer = bool(rng.random() < 0.5)
    points, exponent = _spread(rng, 1, d, integer), 0
    n_levels = int(rng.choice([1, 1, 1, 2, 3]))
    left = float(rng.uniform(3, 16))
    for level in range(n_levels):
        step = left if level == n_levels - 1 else float(rng.uniform(1, left - 1)) if left > 2 else 0
        left -= step
        exponent += step
        size = 10.0**exponent
        if rng.random() < 0.3:
            size = 2.0 ** round(np.log2(size))
        points = _far(rng, points, size, d, integer)
    points = points[rng.permutation(len(points))]
    if not integer and rng.random() < 0.5:
        points = points * 10.0 ** float(rng.uniform(-9, 9))
    k = int(rng.integers(1, len(points) + 1))
    return FarGroups(Instance(points, k, *_links(rng, points)), 10.0**exponent)


def _spread(rng: np.random.Generator, level: int, d: int, integer: bool) -> Points:
    """A group about as wide as 1, or 10 for whole numbers, with some points twice."""
    n = int(rng.integers(1, LARGEST_GROUP + 1 if level else 3))
    points = rng.integers(0, 10, (n, d)).astype(float) if integer else rng.normal(size=(n, d))
    if n > 1 and rng.random() < 0.3:
        points[rng.integers(n)] = points[rng.integers(n)]
    return points


def _far(rng: np.random.Generator, points: Points, size: float, d: int, integer: bool) -> Points:
    """With more groups or single points so far away: of ordinary width, or as wide as that."""
    parts = [points]
    for _ in range(int(rng.integers(1, 4))):
        room = N_MAX - sum(map(len, parts))
        if room <= 0:
            break
        group = _spread(rng, int(rng.random() < 0.5), d, integer)[:room]
        if rng.random() < 0.2:
            group = group * size
        away = size * rng.normal(size=(1, d))
        if rng.random() < 0.5:
            away = size * rng.integers(1, 4, (1, d)).astype(float)
        parts.append(np.round(group + away) if integer else group + away)
    return np.concatenate(parts)


def _links(rng: np.random.Generator, points: Points) -> tuple[Pairs, Pairs]:
    """None, or a few, most of which the best clusterings would keep anyway."""
    n = len(points)
    none = np.empty((0, 2), np.intp)
    if n < 3 or rng.random() < 0.4:
        return none, none
    i, j = np.triu_indices(n, 1)
    pairs = np.column_stack([i, j])
    lengths = np.linalg.norm(points[i] - points[j], axis=1)
    chosen = rng.permutation(len(pairs))[: int(rng.integers(1, n))]
    if rng.random() < 0.3:
        return pairs[chosen[:1]], pairs[chosen[1:]]
    near = lengths[chosen] <= np.quantile(lengths, 0.3)
    return pairs[chosen[near]], pairs[chosen[~near]]
