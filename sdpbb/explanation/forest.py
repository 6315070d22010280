"""Groups that grow together, pair by pair."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def joining(n: int, pairs: NDArray[np.intp]) -> Iterator[int]:
    """The positions of the pairs (p, 2) of n points that, in their order, join two groups of points
    which those before have left apart: a spanning forest."""
    parent = list(range(n))
    for position, (i, j) in enumerate(pairs.tolist()):
        first, second = _root(parent, i), _root(parent, j)
        if first != second:
            parent[second] = first
            yield position


def _root(parent: list[int], i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i
