"""Pairs of points: those at a distance, and lists of pairs without duplicates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError

# Pairs that a distance may stand for: 0.3 GiB. All pairs of 6,000 points, far beyond what can be
# solved to optimality.
MAX_PAIRS = 20_000_000


def pairs_farther_than(
    points: NDArray[np.float64], distance: float, constraint: str = "GAMMA"
) -> NDArray[np.intp]:
    """The pairs (i, j), i < j, with ||p_i - p_j|| > distance: the cannot-links that a maximum
    cluster diameter amounts to. InstanceError, naming the constraint, if more than MAX_PAIRS."""
    name = f"{constraint} {distance:g}"
    return _pairs_where(points, lambda d: d > distance, name, "cannot-links")


def pairs_closer_than(points: NDArray[np.float64], distance: float) -> NDArray[np.intp]:
    """The pairs (i, j), i < j, with ||p_i - p_j|| < distance: the must-links that a minimum
    separation between clusters (DELTA) amounts to. InstanceError if more than MAX_PAIRS."""
    return _pairs_where(points, lambda d: d < distance, f"DELTA {distance:g}", "must-links")


def _pairs_where(
    points: NDArray[np.float64],
    condition: Callable[[NDArray[np.float64]], NDArray[np.bool_]],
    constraint: str,
    pairs: str,
) -> NDArray[np.intp]:
    found, counts = [], np.zeros(len(points), np.intp)
    for i in range(len(points) - 1):
        # Differences, not inner products: the comparison decides constraints, every digit counts.
        distances = np.sqrt(((points[i + 1 :] - points[i]) ** 2).sum(axis=1))
        js = np.flatnonzero(condition(distances)) + (i + 1)
        found.append(js.astype(np.int32))
        counts[i] = len(js)
        if counts.sum() > MAX_PAIRS:
            raise InstanceError(
                f"{constraint} stands for more than {MAX_PAIRS:,} {pairs}; expected a distance "
                "that fewer pairs of points are at"
            )
    result = np.empty((counts.sum(), 2), np.intp)
    result[:, 0] = np.repeat(np.arange(len(points)), counts)
    np.concatenate([np.empty(0, np.int32), *found], out=result[:, 1], casting="same_kind")
    return result


def distinct_pairs(pairs: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """The pairs (i, j) of 0 to n - 1 as i < j, sorted, each once."""
    i, j = pairs.T
    keys = np.minimum(i, j) * n + np.maximum(i, j)
    keys.sort()  # np.unique hashes, which takes five times as long for millions
    return np.column_stack(np.divmod(keys[np.diff(keys, prepend=-1) > 0], n))
