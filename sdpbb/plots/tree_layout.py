"""Where the nodes of a tree are drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def layered(parents: Sequence[int | None]) -> NDArray[np.float64]:
    """Coordinates (n, 2) of the nodes of a forest: the number of the place from the left, in which
    leaves stand one beside the other and parents in the middle above their children; and the depth.

    parents : the position of each node's parent, which is before the node's own; None for a root
    """
    places = np.zeros((len(parents), 2))
    children: list[list[int]] = [[] for _ in parents]
    for node, parent in enumerate(parents):
        if parent is not None:
            children[parent].append(node)
            places[node, 1] = places[parent, 1] + 1
    for number, leaf in enumerate(_leaves(parents, children)):
        places[leaf, 0] = number
    for node in reversed(range(len(parents))):
        if children[node]:
            places[node, 0] = np.mean([places[child, 0] for child in children[node]])
    return places


def _leaves(parents: Sequence[int | None], children: list[list[int]]) -> list[int]:
    """From left to right."""
    leaves = []
    waiting = [node for node, parent in enumerate(parents) if parent is None][::-1]
    while waiting:
        node = waiting.pop()
        if children[node]:
            waiting += children[node][::-1]
        else:
            leaves.append(node)
    return leaves
