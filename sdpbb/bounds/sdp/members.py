"""What cuts are made of: the blocks that say why they are valid."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from sdpbb.checker.evidence import Pentagons


class Family(IntEnum):
    """What a cut is, and so why it is valid: pairs and triangles are stars."""

    STAR = 0
    CLIQUE = 1
    COMPLEMENT = 2
    PENTAGON = 3


@dataclass(frozen=True, eq=False)
class Members:
    """The blocks that cuts are made of, from which their terms can be written again: of a star the
    centre and the leaves, of a clique its blocks, of a complement cut i, j and h; of a pentagon
    its circle, and besides its estimates, which others have none of.

    After blocks are merged these are lists in which blocks may occur several times, and the
    inequalities hold for those as well (see `sdpbb.checker.evidence.Cuts`). An estimate may then be
    there several times, each for its own points of a block.

    Attributes
    ----------
    family : (number of cuts,) uint8
    start : (number of cuts + 1,) int64
    blocks : those of cut c are blocks[start[c] : start[c + 1]], int32
    estimate_start, estimates : the same of rows (place, block, points), int32, as
        `sdpbb.checker.evidence.Pentagons` has them
    """

    family: NDArray[np.uint8]
    start: NDArray[np.int64]
    blocks: NDArray[np.int32]
    estimate_start: NDArray[np.int64]
    estimates: NDArray[np.int32]

    @classmethod
    def uniform(cls, family: Family, blocks: NDArray[np.integer]) -> Members:
        """Of cuts of one family with as many blocks each: the rows of blocks."""
        count, width = blocks.shape
        start = np.arange(count + 1, dtype=np.int64) * width
        kinds = np.full(count, family, np.uint8)
        return cls.without_estimates(kinds, start, blocks.astype(np.int32).ravel())

    @classmethod
    def without_estimates(
        cls, family: NDArray[np.uint8], start: NDArray[np.int64], blocks: NDArray[np.int32]
    ) -> Members:
        """Of cuts none of which is a pentagon."""
        none = np.zeros(len(start), np.int64)
        return cls(family, start, blocks, none, np.empty((0, 3), np.int32))

    @classmethod
    def of_pentagons(cls, pentagons: Pentagons) -> Members:
        circles = cls.uniform(Family.PENTAGON, pentagons.cycles)
        return replace(circles, estimate_start=pentagons.start, estimates=pentagons.estimates)

    def select(self, positions: NDArray[np.intp]) -> Members:
        """Of the cuts at the given positions."""
        start, entries = taken(self.start, positions)
        estimate_start, rows = taken(self.estimate_start, positions)
        return Members(
            self.family[positions],
            start,
            self.blocks[entries],
            estimate_start,
            self.estimates[rows],
        )

    def __add__(self, other: Members) -> Members:
        return Members(
            np.concatenate([self.family, other.family]),
            np.concatenate([self.start, other.start[1:] + self.start[-1]]),
            np.concatenate([self.blocks, other.blocks]),
            np.concatenate(
                [self.estimate_start, other.estimate_start[1:] + self.estimate_start[-1]]
            ),
            np.concatenate([self.estimates, other.estimates]),
        )

    def merged(self, block_of: NDArray[np.intp]) -> Members:
        """After block i has become block_of[i]."""
        place, block, points = self.estimates.T
        return replace(
            self,
            blocks=block_of[self.blocks].astype(np.int32),
            estimates=np.column_stack([place, block_of[block], points]).astype(np.int32),
        )


def taken(
    start: NDArray[np.int64], positions: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The starts of compressed rows after those at the given positions are taken, and where their
    entries were."""
    lengths = np.diff(start)[positions]
    new = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return new, np.arange(new[-1]) + np.repeat(start[positions] - new[:-1], lengths)
