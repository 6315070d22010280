"""Sets of valid inequalities over the clustering matrix, as sparse symmetric matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpbb.runtime.archive import stored
from sdpbb.runtime.cores import in_pieces, row_pieces

KINDS = (
    *("vectors", "largest_cliques", "smallest_cliques", "size_pairs"),
    *("most_points", "least_points", "most_point_rows", "least_point_rows"),
    *("point_sets", "weight_sets", "point_cliques", "weight_cliques"),
    *("pentagons", "soft_cannot_links", "soft_must_links"),
)
"""Kinds of cuts. `sdpbb.bounds.sdp.evidence` has the form of each in a certificate."""

Entries = Sequence[tuple[int, int, float]]
"""Terms (p, q, coefficient) of an inequality on the places of a row of blocks."""


def kind_number(kind: str) -> int:
    """Return the place of a kind of cuts among `KINDS`."""
    return KINDS.index(kind)


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
    members : the defining blocks of each cut
    """

    start: NDArray[np.int64]
    row: NDArray[np.int32]
    column: NDArray[np.int32]
    coefficient: NDArray[np.float64]
    rhs: NDArray[np.float64]
    members: DefiningBlocks

    @staticmethod
    @cache
    def empty() -> CutSet:
        return CutSet.of_rows("vectors", np.empty((0, 1), np.int32), ((0, 0, 1.0),))

    @classmethod
    def of_rows(
        cls,
        kind: str,
        rows: NDArray[np.integer],
        entries: Entries,
        rhs: ArrayLike = 0.0,
        place: ArrayLike = 0,
        number: ArrayLike = 1,
    ) -> CutSet:
        """Return the cuts of one inequality on rows of different blocks, (number of cuts, places).

        rhs : one number, or one for each cut
        place, number : as in `DefiningBlocks.of_rows`
        """
        count, (p, q, coefficient) = len(rows), zip(*entries, strict=True)
        first, second = rows[:, p], rows[:, q]
        return cls(
            start=np.arange(count + 1, dtype=np.int64) * len(entries),
            row=np.minimum(first, second).ravel().astype(np.int32),
            column=np.maximum(first, second).ravel().astype(np.int32),
            coefficient=np.tile(np.array(coefficient, np.float64), count),
            rhs=np.broadcast_to(np.asarray(rhs, np.float64), count).copy(),
            members=DefiningBlocks.of_rows(kind, rows, place, number),
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
        """Return cuts from terms in any order; terms of the same entry are added up.

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
        return cls(
            start=_starts(cut, len(rhs)),
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
        """Return the left-hand sides at Z, (number of cuts,); a cut holds if its side is >= rhs."""
        terms = self.coefficient * Z[self.row, self.column]
        return np.bincount(self.owner, terms, len(self)).astype(np.float64)

    def select(self, chosen: NDArray[np.integer] | NDArray[np.bool_]) -> CutSet:
        """Return the cuts at the given positions or where the given mask holds."""
        positions = np.arange(len(self))[chosen]
        start, terms = _selected_rows(self.start, positions)
        return CutSet(
            start,
            self.row[terms],
            self.column[terms],
            self.coefficient[terms],
            self.rhs[positions],
            self.members.select(positions),
        )

    def unique(self) -> CutSet:
        """Return each cut once, in the order of their keys."""
        return self.select(np.unique(self.keys, return_index=True)[1])

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
        Z_old[i, j] = Z_new[block_of[i], block_of[j]], so every cut stays valid. Terms of the same
        entry are added up.
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
    write only the upper triangle, in svec coordinates. These multiply entries off the diagonal by
    sqrt(2), so that inner products are the same.

    start : of the terms of each cut, as in its `CutSet`
    touched : positions, row * m + column, of terms of cuts, ascending
    root : factor of each in svec coordinates
    place : place of the position of each term in touched
    entry : the entry of B there
    term : the same in svec coordinates, 0 where Y is 0
    norm : (number of cuts,) the factor that the unscaled cut was divided by
    """

    start: NDArray[np.int64]
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
        m = len(inverse_roots)
        position = cuts.row.astype(np.int64) * m + cuts.column
        # Loops are a third faster with unsigned places.
        place_of = np.zeros(m * m, np.uint32)
        place_of[position] = 1
        touched = np.flatnonzero(place_of)
        place_of[touched] = np.arange(len(touched))
        place = place_of[position]
        value = cuts.coefficient * inverse_roots[cuts.row] * inverse_roots[cuts.column]
        entry = np.where(cuts.row == cuts.column, value, 0.5 * value)
        norm = np.sqrt(np.bincount(cuts.owner, value * entry, len(cuts)))
        norm[norm == 0.0] = 1.0  # a merged cut can lose all of its terms
        entry /= norm[cuts.owner]
        root = np.where(touched % (m + 1) == 0, 1.0, math.sqrt(2.0))
        allowed = np.where(forbidden.reshape(-1)[touched], 0.0, root)
        term, rhs = allowed[place] * entry, cuts.rhs / norm
        return cls(cuts.start, touched, root, place, term, entry, rhs, norm)

    @property
    def position(self) -> NDArray[np.int64]:
        """Position of each term."""
        return self.touched[self.place]


@stored
@dataclass(frozen=True, eq=False)
class DefiningBlocks:
    """Defining blocks of each cut, from which the checker rebuilds its terms.

    A row is a block at a place of the cut, and a number. In cuts of integer vectors (stars and
    cliques) the numbers are the entries, and all places are 0. Size pairs and soft pairs have their
    blocks at places 0, 1, ... Sets have parts of blocks at place 0; capacity cliques also have
    their leaves at place 1. Pentagons have estimates at the places of the checker, and then their
    cycles.

    After a merge a place may have the same block several times. Then the numbers add up, and the
    inequalities hold (see `sdpbb.checker.kernel.cuts`).

    Attributes
    ----------
    kind : (number of cuts,) uint8, the place of the kind in `KINDS`
    start : (number of cuts + 1,) int64
    place, block, number : the rows of cut c are start[c] : start[c + 1]; uint8, int32 and int64
    """

    kind: NDArray[np.uint8]
    start: NDArray[np.int64]
    place: NDArray[np.uint8]
    block: NDArray[np.int32]
    number: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        kind: str,
        count: int,
        owner: NDArray[np.integer],
        place: NDArray[np.integer],
        block: NDArray[np.integer],
        number: NDArray[np.integer],
    ) -> DefiningBlocks:
        """Return the blocks of `count` cuts of one kind, from rows in the order of the cuts.

        owner, place, block, number : (rows,) the cut of each row, and its values
        """
        return cls(
            np.full(count, kind_number(kind), np.uint8),
            _starts(owner, count),
            place.astype(np.uint8),
            block.astype(np.int32),
            number.astype(np.int64),
        )

    @classmethod
    def of_rows(
        cls,
        kind: str,
        blocks: NDArray[np.integer],
        place: ArrayLike = 0,
        number: ArrayLike = 1,
    ) -> DefiningBlocks:
        """Return the blocks of cuts of one kind: the rows of blocks, (number of cuts, width).

        place, number : one number for all, or (width,)
        """
        count, width = blocks.shape
        return cls(
            np.full(count, kind_number(kind), np.uint8),
            np.arange(count + 1, dtype=np.int64) * width,
            np.broadcast_to(np.asarray(place, np.uint8), blocks.shape).ravel(),
            blocks.ravel().astype(np.int32),
            np.broadcast_to(np.asarray(number, np.int64), blocks.shape).ravel(),
        )

    @property
    def owner(self) -> NDArray[np.int64]:
        """Cut of each row."""
        return np.repeat(np.arange(len(self.kind)), np.diff(self.start))

    def select(self, positions: NDArray[np.intp]) -> DefiningBlocks:
        """Return the blocks of the cuts at the given positions."""
        start, rows = _selected_rows(self.start, positions)
        of_rows = (self.place[rows], self.block[rows], self.number[rows])
        return DefiningBlocks(self.kind[positions], start, *of_rows)

    def __add__(self, other: DefiningBlocks) -> DefiningBlocks:
        return DefiningBlocks(
            np.concatenate([self.kind, other.kind]),
            np.concatenate([self.start, other.start[1:] + self.start[-1]]),
            np.concatenate([self.place, other.place]),
            np.concatenate([self.block, other.block]),
            np.concatenate([self.number, other.number]),
        )

    def merged(self, block_of: NDArray[np.intp]) -> DefiningBlocks:
        """Return the blocks after block i has become block_of[i]."""
        return replace(self, block=block_of[self.block].astype(np.int32))


def _starts(owner: NDArray[np.integer], count: int) -> NDArray[np.int64]:
    """Return the start of the rows of each of `count` cuts, and their end.

    owner : the cut of each row, in ascending order
    """
    return np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=count))]).astype(np.int64)


def _selected_rows(
    start: NDArray[np.int64], positions: NDArray[np.intp]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Select rows of a compressed-row structure.

    Return the starts of the selected rows, and the old positions of their entries.
    """
    lengths = np.diff(start)[positions]
    new = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return new, np.arange(new[-1]) + np.repeat(start[positions] - new[:-1], lengths)


Found = tuple[NDArray[Any], ...]
"""Arrays with one entry, or row, for each candidate found."""


def found_by_centres(step: Callable[[int, int], Found], m: int) -> Found:
    """Return the candidates that threads find with each of m blocks as the centre of a cut.

    For each centre this takes at least some hundred operations per other block.

    step : finds the candidates of centres first to last - 1
    """
    found = in_pieces(step, row_pieces(m, 1000.0 * m**2))
    return tuple(map(np.concatenate, zip(*found, strict=True)))
