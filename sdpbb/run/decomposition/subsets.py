"""Binary tree of subsets of the blocks, each of which is the union of its two halves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.archive.stored import stored


@stored
@dataclass(frozen=True, eq=False)
class SubsetTree:
    """Binary tree of subsets: the blocks in an order in which each subset is a range.

    Subset 1 has all blocks, and the halves of subset s are the subsets 2 s and 2 s + 1: those of
    one level, 2**level <= s < 2**(level + 1), are a partition of the blocks.

    order : (m,) the blocks
    bounds : (2**depth + 1,) where the smallest subsets begin and end in it
    """

    order: NDArray[np.intp]
    bounds: NDArray[np.intp]

    @property
    def depth(self) -> int:
        return (len(self.bounds) - 1).bit_length() - 1

    def blocks(self, subset: int) -> NDArray[np.intp]:
        """Return the blocks of a subset, in increasing order."""
        level = level_of(subset)
        width = 1 << (self.depth - level)
        first = (subset - (1 << level)) * width
        begin, end = self.bounds[[first, first + width]]
        return np.sort(self.order[begin:end])

    def subset_of(self, level: int) -> NDArray[np.intp]:
        """Return the subset (m,) of each block, of a level."""
        found = np.empty(len(self.order), dtype=np.intp)
        found[self.order] = np.repeat(np.arange(1 << level, 2 << level), self.n_blocks(level))
        return found

    def n_blocks(self, level: int) -> NDArray[np.intp]:
        """Return the number of blocks of each subset of a level."""
        return np.diff(self.bounds[:: 1 << (self.depth - level)])


def level_of(subset: int) -> int:
    """Return the level of a subset: 0 of that with all blocks."""
    return subset.bit_length() - 1


def subsets_at(level: int) -> range:
    """Return the subsets of a level."""
    return range(1 << level, 2 << level)
