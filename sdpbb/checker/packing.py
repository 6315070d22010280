"""Exact packing: whether k clusters can hold blocks, cannot-linked ones apart, within limits.

Limits are on measures of blocks: their points, or their whole units of weight. Without limits the
question is whether k colours suffice for a graph. There are two searches.

*Block by block.* The next block is the one that cannot-links keep out of most clusters (DSATUR,
Brelaz 1979), and of these the largest. Clusters are alike if their measures, their limits and the
remaining blocks that they cannot hold are the same; only one of them is tried. With limits, a state
that failed is not tried again. Fillers come last: blocks of one point and one unit without
cannot-links. They fit if they are at least as many as the clusters lack to their least measures,
and at most as many as the clusters have room for.

*Cluster by cluster.* The first search takes long if weights have many units, as clusters are hardly
ever alike. The second one gives each cluster in turn the largest remaining block and a set of
others. Each subset of one half of the others meets the subsets of the other half, sorted by their
sums, that complete it (Horowitz and Sahni, Journal of the ACM 21, 1974).

The engine has other searches on purpose (`sdpbb.problem.feasibility`): the checker relies on none
of their code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .kernel.rejection import Rejected
from .kernel.rules import Measure

# Most steps, each of which puts a block into a cluster: in all, which takes minutes, and before
# the second search begins.
STEPS, FIRST_STEPS = 500_000, 5_000
# Most blocks of a half; most sums of sets, in all; sets handled at once.
_HALF, WORK, _AT_ONCE = 20, 2**23, 2**14

Integers = NDArray[np.int64]
Bounds = tuple[tuple[int, int], ...]
"""Least and greatest sum of a cluster, by each measure."""


def is_packable(
    adjacency: NDArray[np.bool_],
    k: int,
    measures: Sequence[Measure] = (),
    steps: int = STEPS,
) -> bool:
    """Return whether k clusters can hold blocks within limits, cannot-linked ones apart.

    Clusters may be empty if the limits allow it.

    Parameters
    ----------
    adjacency : (m, m) symmetric, the cannot-links; a block next to itself is in no cluster
    measures : of the blocks, with limits on k clusters
    steps : how often the search may put a block into a cluster

    Raises
    ------
    Rejected
        If the search needs more steps.
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
    """Cluster of a packing: its bounds and its sums, by each measure.

    barred : blocks with a cannot-link to one of its blocks, as the bits of a number
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
        """Return whether there is a packing; `Rejected` if the search needs more steps."""
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
        """Return whether the fillers fit into the clusters."""
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
    """Return whether each measure alone allows to put the remaining blocks into the clusters.

    left : sums of the remaining blocks, by each measure
    """
    for measure, amount in enumerate(left):
        bounds = [(*each.bounds[measure], each.has[measure]) for each in clusters]
        lacking = sum(max(0, low - has) for low, _, has in bounds)
        if not lacking <= amount <= sum(high - has for _, high, has in bounds):
            return False
    return True


def _most_barred(still: int, clusters: tuple[_Cluster, ...]) -> int:
    """Return the block that is barred from most clusters; of several the first in order."""
    barred = [still]  # by number: the blocks barred from at least that many clusters
    for each in clusters:
        more = [a & each.barred for a in barred]
        barred = [a | b for a, b in zip([*barred, 0], [still, *more], strict=True)]
    most = next(each for each in reversed(barred) if each)
    return (most & -most).bit_length() - 1


class ClusterByCluster:
    """Depth-first search for a packing, a cluster at each depth.

    measures : one or more, of the blocks
    adjacency : (m, m) symmetric, the cannot-links
    work : most sums of sets in all
    """

    def __init__(
        self, measures: Sequence[Measure], adjacency: NDArray[np.bool_], work: int = WORK
    ) -> None:
        self._values = np.array([each.values for each in measures], np.int64)
        self._bounds: list[Bounds] = list(
            zip(*(each.limits.bounds() for each in measures), strict=True)
        )
        self._adjacency, self._work = adjacency, work
        # Sets are searched by the measure with the most units.
        self._finest = int(self._values.sum(axis=1).argmax())

    def succeeds(self) -> bool:
        """Return whether there is a packing; `Rejected` if the search needs more work."""
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

        The sums of the remaining blocks are within the bounds of the other clusters together.
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
