"""Exact packing: whether blocks can be put into clusters of allowed sizes and weights.

Both are measures of blocks: their points, or their whole units of weight. There are two searches.

*Block by block.* Blocks are put into clusters one after the other, large ones first, but for those
of one point, and one unit, that have no cannot-links. Whatever the others leave, these fill the
clusters: they can if they are as many as the clusters lack to their least measures, or more, and no
more than there is room for. Of clusters that are alike, by their measures, their limits and the
blocks still to come that they cannot take, only one is tried; and what was left in vain is not
tried again.

*Cluster by cluster.* Where that takes long, as weights of many units are hardly ever alike, each
cluster in turn takes the largest block that is left and a set of others. All subsets of one half of
the others are met by those of the other half, sorted by their sums, that make up what is missing
(Horowitz and Sahni, Journal of the ACM 21, 1974).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from .kernel.rejection import Rejected
from .kernel.sizes import Measure

# How often a block may be put into a cluster, in all: some minutes at most; and before clusters are
# filled one after the other.
STEPS, FIRST_STEPS = 500_000, 5_000
# Blocks of a half; sums of sets that are looked at, in all; sets that are handled at once.
_HALF, WORK, _AT_ONCE = 20, 2**23, 2**14

Integers = NDArray[np.int64]
Bounds = tuple[tuple[int, int], ...]
"""The least and the most of a cluster, by each measure."""
# Of each cluster: what it has by each measure, and its blocks as the bits of a number.
_State = tuple[tuple[tuple[int, ...], int], ...]


def is_packable(
    measures: Sequence[Measure], adjacency: NDArray[np.bool_], steps: int = STEPS
) -> bool:
    """Return whether blocks can be put into clusters within limits, cannot-linked ones apart.

    Parameters
    ----------
    measures : one or more, of the blocks
    adjacency : (m, m) symmetric, the cannot-links
    steps : how often a block may be put into a cluster, in all

    Raises
    ------
    Rejected
        If that was not enough to tell.
    """
    if any(each.limits.is_empty for each in measures) or adjacency.diagonal().any():
        return False
    with suppress(Rejected):
        return _Packing(measures, adjacency, min(steps, FIRST_STEPS)).succeeds()
    with suppress(Rejected):
        return ClusterByCluster(measures, adjacency).succeeds()
    return _Packing(measures, adjacency, steps).succeeds()


class _Packing:
    """Depth-first search for a packing."""

    def __init__(
        self, measures: Sequence[Measure], adjacency: NDArray[np.bool_], steps: int
    ) -> None:
        degrees = adjacency.sum(axis=1)
        is_filler = np.logical_and.reduce([each.values == 1 for each in measures])
        is_filler &= degrees == 0
        largest = np.max([each.values / each.values.sum() for each in measures], axis=0)
        others = np.flatnonzero(~is_filler)
        order = others[np.lexsort((-degrees[others], -largest[others]))]
        # Of each block in this order, by each measure.
        self._blocks: list[tuple[int, ...]] = list(
            zip(*(each.values[order].tolist() for each in measures), strict=True)
        )
        inside = adjacency[np.ix_(order, order)]
        self._neighbours = [_bits(row) for row in inside]
        self._n_fillers = int(is_filler.sum())
        # Of each cluster, by each measure.
        self._bounds = list(zip(*(each.limits.bounds() for each in measures), strict=True))
        left = np.zeros((len(order) + 1, len(measures)), object)
        for position in reversed(range(len(order))):
            left[position] = left[position + 1] + np.array(self._blocks[position], object)
        self._left: list[list[int]] = (left + self._n_fillers).tolist()
        self._steps = steps

    def succeeds(self) -> bool:
        nothing = (0,) * len(self._left[0])
        empty: _State = tuple((nothing, 0) for _ in self._bounds)
        seen: set[tuple[object, ...]] = set()
        stack = [(0, empty)]
        while stack:
            position, state = stack.pop()
            if not self._leaves_room(position, state):
                continue
            if position == len(self._blocks):
                if self._fills(state):
                    return True
                continue
            key = (position, *sorted(self._likeness(position, state)))
            if key not in seen:
                seen.add(key)
                stack += [(position + 1, each) for each in self._put(position, state)]
        return False

    def _leaves_room(self, position: int, state: _State) -> bool:
        """Return whether what is left is as much as clusters lack, and no more than their room.

        By each measure alone.
        """
        for measure, left in enumerate(self._left[position]):
            lacking = room = 0
            for bounds, (has, _) in zip(self._bounds, state, strict=True):
                least, most = bounds[measure]
                lacking += max(0, least - has[measure])
                room += most - has[measure]
            if not lacking <= left <= room:
                return False
        return True

    def _fills(self, state: _State) -> bool:
        """Return whether the blocks of one point, and one unit, fill the clusters."""
        lacking = room = 0
        for bounds, (has, _) in zip(self._bounds, state, strict=True):
            fewest = max(least - own for (least, _), own in zip(bounds, has, strict=True))
            most = min(most - own for (_, most), own in zip(bounds, has, strict=True))
            if max(0, fewest) > most:
                return False
            lacking += max(0, fewest)
            room += most
        return lacking <= self._n_fillers <= room

    def _likeness(self, position: int, state: _State) -> list[tuple[object, ...]]:
        """Return of each cluster what matters of it from now on."""
        found: list[tuple[object, ...]] = []
        for bounds, (has, blocks) in zip(self._bounds, state, strict=True):
            kept_out = 0
            for later in range(position, len(self._blocks)):
                if self._neighbours[later] & blocks:
                    kept_out |= 1 << later
            found.append((bounds, has, kept_out))
        return found

    def _put(self, position: int, state: _State) -> list[_State]:
        """Return the states after a block is put into each cluster that can take it."""
        found, tried = [], set()
        block, likenesses = self._blocks[position], self._likeness(position, state)
        for cluster, (bounds, (has, blocks)) in enumerate(zip(self._bounds, state, strict=True)):
            more = tuple(map(sum, zip(has, block, strict=True)))
            fits = all(own <= most for own, (_, most) in zip(more, bounds, strict=True))
            if not fits or likenesses[cluster] in tried or self._neighbours[position] & blocks:
                continue
            tried.add(likenesses[cluster])
            self._steps -= 1
            if self._steps < 0:
                raise Rejected("a packing that could not be decided within the steps of a search")
            new = list(state)
            new[cluster] = (more, blocks | 1 << position)
            found.append(tuple(new))
        return found


def _bits(row: NDArray[np.bool_]) -> int:
    """Return a set of blocks as an integer: bit i stands for block i."""
    return int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little")


class ClusterByCluster:
    """Depth-first search for a packing, a cluster at each depth.

    measures, adjacency : as of `is_packable`
    work : sums of sets that it may look at
    """

    def __init__(
        self, measures: Sequence[Measure], adjacency: NDArray[np.bool_], work: int = WORK
    ) -> None:
        self._values = np.array([each.values for each in measures], np.int64)
        self._bounds: list[Bounds] = list(
            zip(*(each.limits.bounds() for each in measures), strict=True)
        )
        self._adjacency, self._work = adjacency, work
        # Sets are looked for by the measure that tells most of them apart.
        self._finest = int(self._values.sum(axis=1).argmax())

    def succeeds(self) -> bool:
        """Return whether there is a packing; `Rejected` if the work does not suffice to tell."""
        return self._packs(np.argsort(-self._values[self._finest], kind="stable"), self._bounds)

    def _packs(self, blocks: NDArray[np.intp], bounds: list[Bounds]) -> bool:
        """Return whether blocks, the largest first, can be put into clusters within bounds."""
        if not bounds or not len(blocks):
            return not bounds and not len(blocks)
        for own in dict.fromkeys(bounds):
            others = [*bounds]
            others.remove(own)
            for members in self._clusters(blocks, own, others):
                if self._packs(blocks[~members], others):
                    return True
        return False

    def _clusters(
        self, blocks: NDArray[np.intp], own: Bounds, others: list[Bounds]
    ) -> Iterator[NDArray[np.bool_]]:
        """Yield the sets with the first block that are within bounds, as marks (q,).

        They leave as much to the other clusters as these may have.
        """
        values, near = self._values[:, blocks], self._finest
        left = values.sum(axis=1)[:, None] - np.array(others, np.int64).reshape(
            -1, len(own), 2
        ).sum(axis=0)
        low = np.maximum(np.array(own)[:, 0], left[:, 1])
        high = np.minimum(np.array(own)[:, 1], left[:, 0])
        first = values[near, 0]
        adjacent = self._adjacency[np.ix_(blocks, blocks)].astype(np.int64)
        for sets in self._sets(values[near, 1:], int(low[near] - first), int(high[near] - first)):
            members = np.insert(sets, 0, True, axis=1)
            sums = members.astype(np.int64) @ values.T
            fits = ((low <= sums) & (sums <= high)).all(axis=1)
            yield from members[fits & ~((members @ adjacent > 0) & members).any(axis=1)]

    def _sets(self, values: Integers, low: int, high: int) -> Iterator[NDArray[np.bool_]]:
        """Yield the sets (s, q) of values (q,) whose sums are from low to high."""
        half, q = len(values) // 2, len(values)
        if q - half > _HALF:
            raise Rejected("a packing of too many blocks to look at all sets of them")
        one, other = _sums_of_subsets(values[:half]), _sums_of_subsets(values[half:])
        order = np.argsort(other, kind="stable")
        begin = np.searchsorted(other[order], low - one, "left")
        count = np.searchsorted(other[order], high - one, "right") - begin
        np.maximum(count, 0, out=count)
        self._work -= len(one) + len(other) + int(count.sum())
        if self._work < 0:
            raise Rejected("a packing that could not be decided within the work of a search")
        first = np.repeat(np.arange(len(one)), count)
        place = np.arange(len(first)) - np.repeat(np.cumsum(count) - count - begin, count)
        codes = first | order[place] << half
        for start in range(0, len(codes), _AT_ONCE):
            yield (codes[start : start + _AT_ONCE, None] >> np.arange(q) & 1).astype(np.bool_)


def _sums_of_subsets(values: Integers) -> Integers:
    """Return the sums (2^q,) of all subsets of values (q,): bit i of a position is value i."""
    sums = np.zeros(1, np.int64)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums
