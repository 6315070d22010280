"""Exact packing: whether blocks can be put into clusters of allowed sizes.

Blocks of more than one point, and those with cannot-links, are put into clusters one after the
other, large ones first. Whatever sizes that leaves, single points without cannot-links fill them:
they can if they are as many as the clusters lack to their least sizes, or more, and no more than
there is room for. Of clusters that are alike, by their points, their limits and the blocks still to
come that they cannot take, only one is tried; and what was left in vain is not tried again.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .rejection import Rejected
from .sizes import CheckedSizes

# How often a block may be put into a cluster, in all: some minutes at most.
STEPS = 500_000

# Of each cluster: its points, and its blocks as the bits of a number.
_State = tuple[tuple[int, int], ...]


def is_packable(
    counts: NDArray[np.integer],
    adjacency: NDArray[np.bool_],
    limits: CheckedSizes,
    steps: int = STEPS,
) -> bool:
    """Return whether blocks can be put into clusters within limits, cannot-linked ones apart.

    Parameters
    ----------
    counts : (m,) points of each block
    adjacency : (m, m) symmetric, the cannot-links
    steps : how often a block may be put into a cluster, in all

    Raises
    ------
    Rejected
        If that was not enough to tell.
    """
    if limits.is_empty or adjacency.diagonal().any():
        return False
    return _Packing(counts, adjacency, limits, steps).succeeds()


class _Packing:
    """Depth-first search for a packing."""

    def __init__(
        self,
        counts: NDArray[np.integer],
        adjacency: NDArray[np.bool_],
        limits: CheckedSizes,
        steps: int,
    ) -> None:
        is_single = (counts == 1) & ~adjacency.any(axis=1)
        degrees = adjacency.sum(axis=1)
        others = np.flatnonzero(~is_single)
        order = others[np.lexsort((-degrees[others], -counts[others]))]
        self._counts = counts[order].tolist()
        inside = adjacency[np.ix_(order, order)]
        self._neighbours = [_bits(row) for row in inside]
        self._n_single = int(is_single.sum())
        self._bounds = limits.bounds()
        self._steps = steps

    def succeeds(self) -> bool:
        empty: _State = tuple((0, 0) for _ in self._bounds)
        seen: set[tuple[object, ...]] = set()
        stack = [(0, empty)]
        while stack:
            position, state = stack.pop()
            if not self._leaves_room(position, state):
                continue
            if position == len(self._counts):
                return True
            key = (position, *sorted(self._likeness(position, state)))
            if key not in seen:
                seen.add(key)
                stack += [(position + 1, each) for each in self._put(position, state)]
        return False

    def _leaves_room(self, position: int, state: _State) -> bool:
        """Return whether what is left is as much as clusters lack, and no more than their room."""
        left = sum(self._counts[position:]) + self._n_single
        pairs = list(zip(self._bounds, state, strict=True))
        lacking = sum(max(0, least - size) for (least, _), (size, _) in pairs)
        room = sum(most - size for (_, most), (size, _) in pairs)
        return bool(lacking <= left <= room)

    def _likeness(self, position: int, state: _State) -> list[tuple[int, int, int, int]]:
        """Return of each cluster what matters of it from now on."""
        found = []
        for (least, most), (size, blocks) in zip(self._bounds, state, strict=True):
            kept_out = 0
            for later in range(position, len(self._counts)):
                if self._neighbours[later] & blocks:
                    kept_out |= 1 << later
            found.append((least, most, size, kept_out))
        return found

    def _put(self, position: int, state: _State) -> list[_State]:
        """Return the states after a block is put into each cluster that can take it."""
        found, tried = [], set()
        for cluster, like in enumerate(self._likeness(position, state)):
            _, most, size, kept_out = like
            if like in tried or kept_out >> position & 1 or size + self._counts[position] > most:
                continue
            tried.add(like)
            self._steps -= 1
            if self._steps < 0:
                raise Rejected("a packing that could not be decided within the steps of a search")
            new = list(state)
            new[cluster] = (size + self._counts[position], state[cluster][1] | 1 << position)
            found.append(tuple(new))
        return found


def _bits(row: NDArray[np.bool_]) -> int:
    """Return a set of blocks as an integer: bit i stands for block i."""
    return int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little")
