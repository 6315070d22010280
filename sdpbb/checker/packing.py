"""Exact packing: whether k clusters can hold blocks, cannot-linked ones apart, within limits.

Limits are on measures of blocks: their points, or their whole units of weight. Without any, this
is whether k colours suffice for a graph. There are two searches.

*Block by block.* The block that cannot-links keep out of most clusters is next (DSATUR, Brelaz
1979), and of these the largest. Of clusters that are alike, by their measures, their limits and the
blocks still to come that they cannot take, only one is tried. Where there are limits, what was left
in vain is not tried again, and blocks of one point, and one unit, that have no cannot-links come
last. Whatever the others leave, these fill the clusters: they can if they are as many as the
clusters lack to their least measures, or more, and no more than there is room for.

*Cluster by cluster.* Where that takes long, as weights of many units are hardly ever alike, each
cluster in turn takes the largest block that is left and a set of others. All subsets of one half of
the others are met by those of the other half, sorted by their sums, that make up what is missing
(Horowitz and Sahni, Journal of the ACM 21, 1974).

The engine has searches of its own on purpose (`sdpbb.problem.feasibility`): the checker relies on
none of their code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

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


def is_packable(
    adjacency: NDArray[np.bool_],
    k: int,
    measures: Sequence[Measure] = (),
    steps: int = STEPS,
) -> bool:
    """Return whether k clusters can hold blocks within limits, cannot-linked ones apart.

    They may be empty as far as limits allow.

    Parameters
    ----------
    adjacency : (m, m) symmetric, the cannot-links; a block next to itself is in no cluster
    measures : of the blocks, with limits on k clusters
    steps : how often a block may be put into a cluster, in all

    Raises
    ------
    Rejected
        If that was not enough to tell.
    """
    if any(each.limits.is_empty for each in measures) or adjacency.diagonal().any():
        return False
    if measures:
        with suppress(Rejected):
            return _BlockByBlock(adjacency, k, measures, min(steps, FIRST_STEPS)).succeeds()
        with suppress(Rejected):
            return ClusterByCluster(measures, adjacency).succeeds()
    return _BlockByBlock(adjacency, k, measures, steps).succeeds()


class _Cluster(NamedTuple):
    """Cluster of a packing: its bounds and what it has, by each measure.

    barred : blocks that are cannot-linked to its own, as the bits of a number
    """

    bounds: Bounds
    has: tuple[int, ...]
    barred: int


class _BlockByBlock:
    """Depth-first search for a packing, a block at each depth."""

    def __init__(
        self, adjacency: NDArray[np.bool_], k: int, measures: Sequence[Measure], steps: int
    ) -> None:
        m, degrees = len(adjacency), adjacency.sum(axis=1)
        values = np.array([each.values for each in measures], np.int64).reshape(len(measures), m)
        is_filler = (values == 1).all(axis=0) & (degrees == 0)
        largest = (values / values.sum(axis=1, keepdims=True)).max(axis=0, initial=0.0)
        others = np.flatnonzero(~is_filler)
        order = others[np.lexsort((-degrees[others], -largest[others]))]
        # Of each block in this order: what it has, and its neighbours as the bits of a number.
        self._blocks = list(map(tuple, values[:, order].T.tolist()))
        self._neighbours = [
            int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little")
            for row in adjacency[np.ix_(order, order)]
        ]
        self._n_fillers = int(is_filler.sum())
        bounds = list(zip(*(each.limits.bounds() for each in measures), strict=True)) or [()] * k
        self._clusters = tuple(_Cluster(each, (0,) * len(measures), 0) for each in bounds)
        self._left = tuple((values.sum(axis=1)).tolist())
        self._budget, self._steps = steps, steps

    def succeeds(self) -> bool:
        stack = [((1 << len(self._blocks)) - 1, self._left, self._clusters)]
        seen: set[tuple[object, ...]] = set()
        while stack:
            still, left, clusters = stack.pop()
            if not _leave_room(left, clusters):
                continue
            if not still:
                if self._fill(clusters):
                    return True
                continue
            likeness = [(each.bounds, each.has, each.barred & still) for each in clusters]
            if left:
                key = (still, *sorted(likeness))
                if key in seen:
                    continue
                seen.add(key)
            block = _most_barred(still, clusters)
            of_block = self._blocks[block]
            rest = tuple(a - b for a, b in zip(left, of_block, strict=True))
            for place in {like: place for place, like in enumerate(likeness)}.values():
                bounds, has, barred = clusters[place]
                has = tuple(a + b for a, b in zip(has, of_block, strict=True))
                if barred >> block & 1 or any(a > b for a, (_, b) in zip(has, bounds, strict=True)):
                    continue
                self._steps -= 1
                if self._steps < 0:
                    raise Rejected(
                        "a packing, or a colouring, that could not be decided within "
                        f"{self._budget} steps"
                    )
                new = _Cluster(bounds, has, barred | self._neighbours[block])
                others = (*clusters[:place], new, *clusters[place + 1 :])
                stack.append((still & ~(1 << block), rest, others))
        return False

    def _fill(self, clusters: tuple[_Cluster, ...]) -> bool:
        """Return whether the blocks of one point, and one unit, fill the clusters."""
        lacking = room = 0
        for bounds, has, _ in clusters:
            fewest = max((low - own for (low, _), own in zip(bounds, has, strict=True)), default=0)
            most = min(
                (high - own for (_, high), own in zip(bounds, has, strict=True)),
                default=self._n_fillers,
            )
            if max(0, fewest) > most:
                return False
            lacking += max(0, fewest)
            room += most
        return lacking <= self._n_fillers <= room


def _leave_room(left: tuple[int, ...], clusters: tuple[_Cluster, ...]) -> bool:
    """Return whether what is left is as much as clusters lack, and no more than their room.

    By each measure alone.
    """
    for measure, amount in enumerate(left):
        bounds = [(*each.bounds[measure], each.has[measure]) for each in clusters]
        lacking = sum(max(0, low - has) for low, _, has in bounds)
        if not lacking <= amount <= sum(high - has for _, high, has in bounds):
            return False
    return True


def _most_barred(still: int, clusters: tuple[_Cluster, ...]) -> int:
    """Return the block that is kept out of most clusters; of several the first in order."""
    barred = [still]  # from the first number of clusters on
    for each in clusters:
        more = [a & each.barred for a in barred]
        barred = [a | b for a, b in zip([*barred, 0], [still, *more], strict=True)]
    most = next(each for each in reversed(barred) if each)
    return (most & -most).bit_length() - 1


class ClusterByCluster:
    """Depth-first search for a packing, a cluster at each depth.

    measures : one or more, of the blocks
    adjacency : (m, m) symmetric, the cannot-links
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
