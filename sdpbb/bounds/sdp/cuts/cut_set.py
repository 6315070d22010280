"""Sets of valid inequalities over the clustering matrix, as sparse symmetric matrices."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit

KINDS = (
    *("stars", "cliques", "complements", "pentagons", "soft_cannot_links", "soft_must_links"),
    *("most_points", "least_points", "traces", "most_point_rows", "least_point_rows"),
    *("size_pairs", "largest_cliques", "smallest_cliques", "point_sets", "weight_sets"),
    *("point_cliques", "weight_cliques", "vectors"),
)
"""Kinds of cuts. `sdpbb.bounds.sdp.evidence` says in which form of a certificate each is stated."""


def kind_number(kind: str) -> int:
    """Return the place of a kind of cuts among `KINDS`."""
    return KINDS.index(kind)


@njit(cache=True)
def scaled_terms(
    start: Integers,
    row: NDArray[np.int32],
    column: NDArray[np.int32],
    coefficient: Reals,
    inverse_roots: Reals,
) -> tuple[NDArray[np.int64], NDArray[np.uint32], Reals, Reals]:
    """Scale cuts over Z to symmetric matrices B over Y = D^1/2 Z D^1/2, of norm 1.

    inverse_roots : (m,) the diagonal of D^-1/2

    Returns the positions row * m + column of all terms, each once, in ascending order; the place of
    each term among them; its entry of B; and the norm that each cut is divided by.
    """
    m = len(inverse_roots)
    # Loops are a third faster at places that have no sign.
    place_of = np.zeros(m * m, np.uint32)
    for p in range(len(row)):
        place_of[row[p] * m + column[p]] = 1
    touched = np.flatnonzero(place_of)
    for q in range(len(touched)):
        place_of[touched[q]] = q
    place, entry = np.empty(len(row), np.uint32), np.empty(len(row))
    norm = np.empty(len(start) - 1)
    for c in range(len(norm)):
        square = 0.0
        for p in range(start[c], start[c + 1]):
            i, j = row[p], column[p]
            value = coefficient[p] * inverse_roots[i] * inverse_roots[j]
            entry[p] = value if i == j else 0.5 * value
            square += value * entry[p]
            place[p] = place_of[i * m + j]
        # A merged cut can lose all of its terms.
        norm[c] = math.sqrt(square) if square > 0.0 else 1.0
        for p in range(start[c], start[c + 1]):
            entry[p] /= norm[c]
    return touched, place, entry, norm


@stored
@dataclass(frozen=True, eq=False)
class CutSet:
    """Inequalities sum_p coefficient_p Z[row_p, column_p] >= rhs over the clustering matrix Z.

    Stored as compressed rows: the terms of cut c are start[c]:start[c + 1], with row <= column and
    each unordered pair at most once per cut. The families are in the modules of this package.

    Attributes
    ----------
    start : (number of cuts + 1,) int64
    row, column : (number of terms,) int32
    coefficient : (number of terms,) float64
    rhs : (number of cuts,) float64
    members : the blocks that each cut is made of
    """

    start: NDArray[np.int64]
    row: NDArray[np.int32]
    column: NDArray[np.int32]
    coefficient: NDArray[np.float64]
    rhs: NDArray[np.float64]
    members: DefiningBlocks

    @classmethod
    def empty(cls) -> CutSet:
        none = np.empty(0)
        members = DefiningBlocks.uniform("stars", np.empty((0, 2), np.int32))
        start, blocks = np.zeros(1, np.int64), none.astype(np.int32)
        return cls(start, blocks, blocks, none, none, members)

    @classmethod
    def uniform(
        cls,
        first: NDArray[np.integer],
        second: NDArray[np.integer],
        coefficient: NDArray[np.float64],
        rhs: NDArray[np.float64],
        members: DefiningBlocks,
    ) -> CutSet:
        """Return cuts with the same coefficients.

        first, second : (number, terms) the blocks i and j of the entries Z_ij of each cut
        coefficient : (terms,)
        rhs : (number,)
        """
        count, terms = first.shape
        return cls(
            start=np.arange(count + 1, dtype=np.int64) * terms,
            row=np.minimum(first, second).ravel().astype(np.int32),
            column=np.maximum(first, second).ravel().astype(np.int32),
            coefficient=np.tile(coefficient, count),
            rhs=rhs,
            members=members,
        )

    @classmethod
    def summed(
        cls,
        owner: NDArray[np.integer],
        first: NDArray[np.integer],
        second: NDArray[np.integer],
        coefficient: NDArray[np.float64],
        rhs: NDArray[np.float64],
        members: DefiningBlocks,
    ) -> CutSet:
        """Return cuts from terms in any order; those that meet in one entry are added up.

        owner, first, second, coefficient : (terms,) the cut of each term, and i, j of its Z_ij
        rhs : (number,)
        """
        row, column = np.minimum(first, second), np.maximum(first, second)
        width = int(column.max(initial=0)) + 1
        code = (np.asarray(owner, np.int64) * width + row) * width + column
        code, inverse = np.unique(code, return_inverse=True)
        sums = np.bincount(inverse.reshape(-1), coefficient, len(code))
        kept = sums != 0
        cut, entry = np.divmod(code[kept], width**2)
        lengths = np.bincount(cut, minlength=len(rhs))
        return cls(
            start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            row=(entry // width).astype(np.int32),
            column=(entry % width).astype(np.int32),
            coefficient=sums[kept],
            rhs=rhs,
            members=members,
        )

    def __len__(self) -> int:
        return len(self.rhs)

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        """Cut of each term, (number of terms,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        """Hashes of the left-hand sides (number of cuts,), independent of the order of terms."""
        with np.errstate(over="ignore"):
            code = self.row.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            code ^= (self.column.astype(np.uint64) + np.uint64(1)) * np.uint64(0xC2B2AE3D27D4EB4F)
            code ^= self.coefficient.view(np.uint64) * np.uint64(0x165667B19E3779F9)
            code = (code ^ (code >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
            code ^= code >> np.uint64(32)
            sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(code)])
            keys: NDArray[np.uint64] = sums[self.start[1:]] - sums[self.start[:-1]]
        return keys

    def values(self, Z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the left-hand sides at Z, (number of cuts,); satisfied where >= rhs."""
        terms = self.coefficient * Z[self.row, self.column]
        return np.bincount(self.owner, terms, len(self)).astype(np.float64)

    def select(self, chosen: NDArray[np.integer] | NDArray[np.bool_]) -> CutSet:
        """Return the cuts at the given positions or where the given mask holds."""
        positions = np.arange(len(self))[chosen]
        start, terms = selected_rows(self.start, positions)
        return CutSet(
            start,
            self.row[terms],
            self.column[terms],
            self.coefficient[terms],
            self.rhs[positions],
            self.members.select(positions),
        )

    def __add__(self, other: CutSet) -> CutSet:
        return CutSet(
            np.concatenate([self.start, other.start[1:] + self.start[-1]]),
            np.concatenate([self.row, other.row]),
            np.concatenate([self.column, other.column]),
            np.concatenate([self.coefficient, other.coefficient]),
            np.concatenate([self.rhs, other.rhs]),
            self.members + other.members,
        )

    def merged(self, block_of: NDArray[np.intp]) -> CutSet:
        """Return the same inequalities after blocks are merged: block i becomes block_of[i].

        A clustering of the merged blocks is a clustering of the old ones with
        Z_old[i, j] = Z_new[block_of[i], block_of[j]], so every cut stays valid; terms that meet in
        one entry are added up.
        """
        return CutSet.summed(
            self.owner,
            block_of[self.row],
            block_of[self.column],
            self.coefficient,
            self.rhs,
            self.members.merged(block_of),
        )


@dataclass(frozen=True, eq=False)
class ScaledCuts:
    """CutSet in the coordinates of Y, ready for the compiled sweeps.

    Each cut is <B, Y> >= b with a symmetric matrix B of Frobenius norm 1. The sweeps read and
    write the upper triangle only, in svec coordinates: entries off the diagonal times sqrt(2), so
    that products of vectors are those of matrices.

    touched : positions, row * m + column, that cuts have terms at, in ascending order
    root : what the entry at each is multiplied by in svec coordinates
    place : of the position of each term, among them
    entry : the entry of B there
    term : the same in svec coordinates, 0 where Y is 0
    norm : (number of cuts,) the factor that the unscaled cut was divided by
    """

    cuts: CutSet
    touched: NDArray[np.int64]
    root: NDArray[np.float64]
    place: NDArray[np.uint32]
    term: NDArray[np.float64]
    entry: NDArray[np.float64]
    rhs: NDArray[np.float64]
    norm: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        cuts: CutSet,
        inverse_roots: NDArray[np.float64],
        forbidden: NDArray[np.bool_],
    ) -> ScaledCuts:
        """Return cuts over Z as cuts over Y = D^1/2 Z D^1/2.

        inverse_roots : the diagonal of D^-1/2
        forbidden : (m, m) entries that are 0
        """
        touched, place, entry, norm = scaled_terms(
            cuts.start, cuts.row, cuts.column, cuts.coefficient, inverse_roots
        )
        root = np.where(touched % (len(inverse_roots) + 1) == 0, 1.0, math.sqrt(2.0))
        allowed = np.where(forbidden.reshape(-1)[touched], 0.0, root)
        return cls(
            cuts=cuts,
            touched=touched,
            root=root,
            place=place,
            term=allowed[place] * entry,
            entry=entry,
            rhs=cuts.rhs / norm,
            norm=norm,
        )

    @property
    def start(self) -> NDArray[np.int64]:
        return self.cuts.start

    @property
    def position(self) -> NDArray[np.int64]:
        """Position of each term."""
        return self.touched[self.place]


@stored
@dataclass(frozen=True, eq=False)
class DefiningBlocks:
    """Defining blocks of each cut, from which the checker rebuilds its terms.

    Of a star they are the centre and the leaves, of a clique its blocks, of a complement cut i, j
    and h; of a pentagon its cycle, and parts of blocks that its estimates are of; of a capacity cut
    the parts that its set is made of, and of a capacity clique its leaves besides. The parts of a
    cut of an integer vector ("vectors") are its numbers; it has no blocks besides. Other cuts have
    no parts.

    After blocks are merged these are lists in which blocks may occur several times, and the
    inequalities hold for those as well (see `sdpbb.checker.kernel.cuts`). So may parts, which add
    up.

    Attributes
    ----------
    kind : (number of cuts,) uint8, the place of the kind in `KINDS`
    start : (number of cuts + 1,) int64
    blocks : those of cut c are blocks[start[c] : start[c + 1]], int32
    part_start, parts : the same of rows (place, block, measure of the part), int64; places are
        those of the checker's pentagons, and else 0
    """

    kind: NDArray[np.uint8]
    start: NDArray[np.int64]
    blocks: NDArray[np.int32]
    part_start: NDArray[np.int64]
    parts: NDArray[np.int64]

    @classmethod
    def uniform(cls, kind: str, blocks: NDArray[np.integer]) -> DefiningBlocks:
        """Return the blocks of cuts of one kind: the rows of blocks, (number, width)."""
        count, width = blocks.shape
        start = np.arange(count + 1, dtype=np.int64) * width
        kinds = np.full(count, kind_number(kind), np.uint8)
        no_parts = np.empty((0, 3), np.int64)
        return cls(kinds, start, blocks.astype(np.int32).ravel(), np.zeros_like(start), no_parts)

    def with_parts(
        self, blocks: NDArray[np.integer], measures: NDArray[np.int64]
    ) -> DefiningBlocks:
        """Return these, each with the same set of parts (number,) of blocks."""
        rows = np.column_stack([np.zeros(len(blocks), np.int64), blocks, measures])
        count = len(self.kind)
        start = np.arange(count + 1, dtype=np.int64) * len(blocks)
        return replace(self, part_start=start, parts=np.tile(rows, (count, 1)))

    def select(self, positions: NDArray[np.intp]) -> DefiningBlocks:
        """Return the blocks of the cuts at the given positions."""
        start, entries = selected_rows(self.start, positions)
        part_start, rows = selected_rows(self.part_start, positions)
        return DefiningBlocks(
            self.kind[positions],
            start,
            self.blocks[entries],
            part_start,
            self.parts[rows],
        )

    def __add__(self, other: DefiningBlocks) -> DefiningBlocks:
        return DefiningBlocks(
            np.concatenate([self.kind, other.kind]),
            np.concatenate([self.start, other.start[1:] + self.start[-1]]),
            np.concatenate([self.blocks, other.blocks]),
            np.concatenate([self.part_start, other.part_start[1:] + self.part_start[-1]]),
            np.concatenate([self.parts, other.parts]),
        )

    def merged(self, block_of: NDArray[np.intp]) -> DefiningBlocks:
        """Return the blocks after block i has become block_of[i]."""
        place, block, measure = self.parts.T
        return replace(
            self,
            blocks=block_of[self.blocks].astype(np.int32),
            parts=np.column_stack([place, block_of[block], measure]),
        )


def selected_rows(
    start: NDArray[np.int64], positions: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Select rows of a compressed-row structure.

    Return the starts of the rows at the given positions, as rows of their own, and the positions of
    their entries among the old ones.
    """
    lengths = np.diff(start)[positions]
    new = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return new, np.arange(new[-1]) + np.repeat(start[positions] - new[:-1], lengths)
