"""Packing of blocks cluster by cluster, in whole numbers: by all sets of blocks within limits.

Each cluster in turn takes the largest block that is left, with a set of others; these are found by
their sums of one measure. With the blocks dealt out to two halves, all subsets of one are met by
those of the other, sorted by their sums, that make up what is missing. So the sets within narrow
limits are found without looking at all others: of 40 blocks, a million subsets of either half.

Source: Horowitz and Sahni, Computing partitions with applications to the knapsack problem, Journal
of the ACM 21 (1974), for sums of subsets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sdpbb.checker.kernel.sizes import SizeLimits

# Blocks of a half; sums that are looked at, in all; what a search for sets takes besides, in sums;
# sets that are handled at once.
HALF, WORK = 20, 2**23
_SEARCH, _AT_ONCE = 256, 2**14

# Of each block by some measure, and the limits on clusters by it.
Measure = tuple[NDArray[np.integer], SizeLimits]


class UndecidedPacking(Exception):
    """A search for a packing that its work does not suffice for."""


# Of a cluster, the least and the most by each measure.
Bounds = tuple[tuple[int, int], ...]


class ClusterPacking:
    """Depth-first search for a packing, a cluster at each depth.

    measures : one or more, whole numbers (m,) >= 1 of the blocks and the limits on their sums
    adjacency : (m, m) symmetric, the cannot-links
    at_step : called between steps; what it raises ends the search
    """

    def __init__(
        self,
        measures: Sequence[Measure],
        adjacency: NDArray[np.bool_],
        work: int = WORK,
        at_step: Callable[[], None] = lambda: None,
    ) -> None:
        self._values = np.array([of_block for of_block, _ in measures], np.int64)
        self._bounds = tuple(zip(*(limits.bounds() for _, limits in measures), strict=True))
        self._adjacency = adjacency
        self._work, self._at_step = work, at_step
        # Sets are looked for by the measure that tells most of them apart.
        self._finest = int(self._values.sum(axis=1).argmax())

    def labels(self) -> NDArray[np.intp] | None:
        """Return a packing: the cluster (m,) of each block; None if there is none.

        Raises
        ------
        UndecidedPacking
            If that is not decided within the work of a search.
        """
        order = np.argsort(-self._values[self._finest], kind="stable")
        return next(self._packings(order, self._bounds, np.full(len(order), -1, np.intp)), None)

    def _packings(
        self, blocks: NDArray[np.intp], bounds: tuple[Bounds, ...], labels: NDArray[np.intp]
    ) -> Iterator[NDArray[np.intp]]:
        """Yield the packings of blocks (q,), the largest first, into clusters of these bounds.

        labels : (m,) of what is packed already
        """
        if not bounds:
            yield labels
        for own in dict.fromkeys(bounds):
            at = bounds.index(own)
            others = bounds[:at] + bounds[at + 1 :]
            for members in self._clusters(blocks, own, others):
                packed = labels.copy()
                packed[blocks[members]] = len(others)
                yield from self._packings(blocks[~members], others, packed)

    def _clusters(
        self,
        blocks: NDArray[np.intp],
        bounds: Bounds,
        others: tuple[Bounds, ...],
    ) -> Iterator[NDArray[np.bool_]]:
        """Yield the sets with the first block that may be a cluster, as marks (q,).

        They leave as much to the others as these may have.
        """
        if not len(blocks):
            return
        values = self._values[:, blocks]
        total = values.sum(axis=1)
        of_others = np.array(others, np.int64).reshape(len(others), len(bounds), 2).sum(axis=0)
        low = np.maximum([least for least, _ in bounds], total - of_others[:, 1])
        high = np.minimum([most for _, most in bounds], total - of_others[:, 0])
        near, adjacent = values[self._finest], self._adjacency[np.ix_(blocks, blocks)]
        for sets in self._sets_between(
            near[1:], int(low[self._finest] - near[0]), int(high[self._finest] - near[0])
        ):
            members = np.concatenate([np.ones((len(sets), 1), np.bool_), sets], axis=1)
            sums = members.astype(np.int64) @ values.T
            fits = ((low <= sums) & (sums <= high)).all(axis=1)
            members = members[fits]
            linked = members.astype(np.float32) @ adjacent.astype(np.float32) > 0.0
            yield from members[~(linked & members).any(axis=1)]

    def _sets_between(
        self, values: NDArray[np.int64], low: int, high: int
    ) -> Iterator[NDArray[np.bool_]]:
        """Yield the sets (s, q) of positions of values (q,) whose sums are from low to high."""
        self._at_step()
        if len(values) > 2 * HALF:
            raise UndecidedPacking("too many blocks to look at all sets of them")
        half = len(values) // 2
        one, other = _sums_of_subsets(values[:half]), _sums_of_subsets(values[half:])
        order = np.argsort(other, kind="stable")
        other = other[order]
        begin = np.searchsorted(other, low - one, "left")
        count = np.searchsorted(other, high - one, "right") - begin
        np.maximum(count, 0, out=count)
        self._work -= _SEARCH + len(one) + len(other) + int(count.sum())
        if self._work < 0:
            raise UndecidedPacking("not decided within the work of a search")
        first = np.repeat(np.arange(len(one)), count)
        position = np.arange(len(first)) - np.repeat(np.cumsum(count) - count, count)
        second = order[position + np.repeat(begin, count)]
        bits = np.arange(HALF)
        for start in range(0, len(first), _AT_ONCE):
            self._at_step()
            chosen = slice(start, start + _AT_ONCE)
            marks = [
                (codes[chosen, None] >> bits[:width] & 1).astype(np.bool_)
                for codes, width in ((first, half), (second, len(values) - half))
            ]
            yield np.concatenate(marks, axis=1)


def _sums_of_subsets(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sums (2^q,) of all subsets of values (q,): bit i of a position is value i."""
    sums = np.zeros(1, np.int64)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums
