"""Valid inequalities as sparse symmetric matrices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.sdp.members import Family, Members, taken
from sdpbb.checker.evidence import Pentagons
from sdpbb.checker.pentagons import pentagon_terms


@dataclass(frozen=True, eq=False)
class CutSet:
    """Inequalities sum_p coefficient_p Z[row_p, column_p] >= rhs over the clustering matrix Z.

    Stored as compressed rows: the terms of cut c are start[c]:start[c + 1], with row <= column and
    each unordered pair at most once per cut. The families (i, j, h, l, p, q blocks, T a set of
    blocks without i, Q a set of k + 1 blocks):

    pair      Z_ii - Z_ij >= 0                                     PC-SOS-SDP, equation 8
    triangle  Z_ii + Z_jh - Z_ij - Z_ih >= 0                       equation 9
    clique    sum of Z_ij over i < j in Q >= 1 / (n - k + 1)       equation 10
    star      Z_ii + sum of Z_jl over j < l in T - sum of Z_ij over j in T >= 0
    complement  Z_ij + Z_ih - Z_ii >= 0 where k = 2 and j, h are cannot-linked
    pentagon  2 - sum of x_pq over the edges + sum of x_pq over the chords of a five-cycle >= 0

    (pair and triangle are stars with one and two leaves: i shares its cluster with a of the leaves,
    and 1 - a + a (a - 1) / 2 >= 0 for every integer a).

    In a pentagon cut x_pq is 1 if p and q share a cluster, and 0 otherwise. The cut for x is the
    2-chorded odd cycle inequality of Grötschel and Wakabayashi (1990), which is not a sum over
    clusters of terms that are each nonnegative: clusters of different sizes are compared, and no
    other family here does that. x is not linear in Z, but it has linear estimates. Summed over all
    blocks s with their sizes e_s,

        x_pq = sum of e_s z_s,  z_s = 1 / |C| if p, q and s are in one cluster C, else 0,

    z_s is at most Z_pq, Z_ps and Z_qs, and at least 0, Z_pq + Z_ps - Z_pp, Z_pq + Z_qs - Z_qq and
    Z_ps + Z_qs - Z_ss. Any choice for every s is valid: lower ones on the edges, upper ones on the
    chords.

    Attributes
    ----------
    start : (number of cuts + 1,) int64
    row, column : (number of terms,) int32
    coefficient : (number of terms,) float64
    rhs : (number of cuts,) float64
    members : what they are made of
    """

    start: NDArray[np.int64]
    row: NDArray[np.int32]
    column: NDArray[np.int32]
    coefficient: NDArray[np.float64]
    rhs: NDArray[np.float64]
    members: Members

    @classmethod
    def empty(cls) -> CutSet:
        none = np.empty(0)
        members = Members.uniform(Family.STAR, np.empty((0, 2), np.int32))
        start, blocks = np.zeros(1, np.int64), none.astype(np.int32)
        return cls(start, blocks, blocks, none, none, members)

    @classmethod
    def stars(
        cls,
        centre: NDArray[np.int32],
        leaves: NDArray[np.int32],
        n_leaves: NDArray[np.int32],
    ) -> CutSet:
        """The star cuts with the given centres, (number,), and the first n_leaves entries of the
        rows of leaves, (number, widest)."""
        cuts = cls.empty()
        for size in np.unique(n_leaves):
            T = leaves[n_leaves == size, :size]
            i = np.repeat(centre[n_leaves == size, None], size, axis=1)
            a, b = np.triu_indices(size, 1)
            first = np.concatenate([i[:, :1], T[:, a], i], axis=1)
            second = np.concatenate([i[:, :1], T[:, b], T], axis=1)
            sign = np.concatenate([np.ones(1 + len(a)), -np.ones(size)])
            members = Members.uniform(Family.STAR, np.concatenate([i[:, :1], T], axis=1))
            cuts = cuts + cls._uniform(first, second, sign, np.zeros(len(T)), members)
        return cuts

    @classmethod
    def pentagons(
        cls,
        pentagons: Pentagons,
        sizes: NDArray[np.float64],
        forbidden: NDArray[np.bool_],
    ) -> CutSet:
        """The pentagon cuts with the given estimates, for blocks of these sizes (m,) with these
        cannot-links (m, m)."""
        owner, first, second, coefficient = pentagon_terms(pentagons, sizes, forbidden)
        order = np.argsort(owner, kind="stable")
        lengths = np.bincount(owner, minlength=len(pentagons))
        terms = cls(
            start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            row=np.minimum(first, second)[order].astype(np.int32),
            column=np.maximum(first, second)[order].astype(np.int32),
            coefficient=coefficient[order],
            rhs=np.full(len(pentagons), -2.0),
            members=Members.of_pentagons(pentagons),
        )
        # Terms that meet in one entry are added up, as when blocks are merged.
        return terms.merged(np.arange(len(sizes)))

    @classmethod
    def cliques(cls, members: NDArray[np.int32], n: int, k: int) -> CutSet:
        """The clique cuts of the rows of members, (number, k + 1)."""
        a, b = np.triu_indices(members.shape[1], 1)
        first, second = members[:, a], members[:, b]
        rhs = np.full(len(members), 1.0 / (n - k + 1))
        made_of = Members.uniform(Family.CLIQUE, members)
        return cls._uniform(first, second, np.ones(len(a)), rhs, made_of)

    @classmethod
    def complements(cls, ijh: NDArray[np.int32]) -> CutSet:
        """The complement cuts of the rows (i, j, h) of ijh, (number, 3)."""
        first = np.repeat(ijh[:, :1], 3, axis=1)
        sign, rhs = np.array([-1.0, 1.0, 1.0]), np.zeros(len(ijh))
        return cls._uniform(first, ijh, sign, rhs, Members.uniform(Family.COMPLEMENT, ijh))

    @classmethod
    def triangles(cls, ijh: NDArray[np.int32]) -> CutSet:
        """The triangle cuts of the rows (i, j, h) of ijh; a pair cut where h = j."""
        i, j, h = ijh.T
        pair = j == h
        first = np.stack([i, j, i, i], axis=1)
        second = np.stack([i, h, j, h], axis=1)
        kept = np.ones(first.shape, dtype=bool)
        kept[pair, 1] = kept[pair, 3] = False
        coefficient = np.broadcast_to([1.0, 1.0, -1.0, -1.0], first.shape)
        n_blocks = np.where(pair, 2, 3)
        members = Members.without_estimates(
            np.full(len(ijh), Family.STAR, np.uint8),
            np.concatenate([[0], np.cumsum(n_blocks)]).astype(np.int64),
            ijh[np.arange(3) < n_blocks[:, None]].astype(np.int32),
        )
        return cls(
            start=np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64),
            row=np.minimum(first, second)[kept].astype(np.int32),
            column=np.maximum(first, second)[kept].astype(np.int32),
            coefficient=coefficient[kept].copy(),
            rhs=np.zeros(len(ijh)),
            members=members,
        )

    @classmethod
    def _uniform(
        cls,
        first: NDArray[np.integer],
        second: NDArray[np.integer],
        coefficient: NDArray[np.float64],
        rhs: NDArray[np.float64],
        members: Members,
    ) -> CutSet:
        """Cuts with the same coefficients; the entries of cut c are first[c], second[c]."""
        count, terms = first.shape
        return cls(
            start=np.arange(count + 1, dtype=np.int64) * terms,
            row=np.minimum(first, second).ravel().astype(np.int32),
            column=np.maximum(first, second).ravel().astype(np.int32),
            coefficient=np.tile(coefficient, count),
            rhs=rhs,
            members=members,
        )

    def __len__(self) -> int:
        return len(self.rhs)

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        """(number of terms,) the cut of each term."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        """(number of cuts,) a hash that does not depend on the order of terms."""
        with np.errstate(over="ignore"):
            code = self.row.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            code ^= (self.column.astype(np.uint64) + np.uint64(1)) * np.uint64(0xC2B2AE3D27D4EB4F)
            code ^= self.coefficient.view(np.uint64) * np.uint64(0x165667B19E3779F9)
            code = (code ^ (code >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
            code ^= code >> np.uint64(32)
            keys = np.zeros(len(self), np.uint64)
            np.add.at(keys, self.owner, code)
        return keys

    def values(self, Z: NDArray[np.float64]) -> NDArray[np.float64]:
        """(number of cuts,) the left-hand sides at Z; satisfied where >= rhs."""
        terms = self.coefficient * Z[self.row, self.column]
        return np.bincount(self.owner, terms, len(self)).astype(np.float64)

    def select(self, chosen: NDArray) -> CutSet:
        """The cuts at the given positions or where the given mask holds."""
        positions = np.arange(len(self))[chosen]
        start, terms = taken(self.start, positions)
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
        """The same inequalities after blocks are merged: block i becomes block_of[i].

        A clustering of the merged blocks is a clustering of the old ones with
        Z_old[i, j] = Z_new[block_of[i], block_of[j]], so every cut stays valid; terms that meet in
        one entry are added up.
        """
        first, second = block_of[self.row], block_of[self.column]
        width = int(block_of.max()) + 1
        entry = np.minimum(first, second) * width + np.maximum(first, second)
        code, inverse = np.unique(self.owner * width**2 + entry, return_inverse=True)
        coefficient = np.bincount(inverse.reshape(-1), self.coefficient, len(code))
        kept = coefficient != 0
        code, coefficient = code[kept], coefficient[kept]
        owner, entry = np.divmod(code, width**2)
        lengths = np.bincount(owner, minlength=len(self))
        return replace(
            self,
            start=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            row=(entry // width).astype(np.int32),
            column=(entry % width).astype(np.int32),
            coefficient=coefficient,
            members=self.members.merged(block_of),
        )


@dataclass(frozen=True, eq=False)
class ScaledCuts:
    """A CutSet in the coordinates of Y, ready for the compiled sweeps.

    Each cut is <B, Y> >= b with a symmetric matrix B of Frobenius norm 1. The sweeps read and
    write the upper triangle only: `position` is row * m + column, `coefficient` the factor of the
    entry in <B, Y> (twice the matrix entry off the diagonal), `entry` the matrix entry of B.

    norm : (number of cuts,) the factor that the unscaled cut was divided by
    """

    cuts: CutSet
    position: NDArray[np.int64]
    coefficient: NDArray[np.float64]
    entry: NDArray[np.float64]
    rhs: NDArray[np.float64]
    norm: NDArray[np.float64]

    @classmethod
    def of(cls, cuts: CutSet, inverse_roots: NDArray[np.float64]) -> ScaledCuts:
        """Cuts over Z as cuts over Y = D^1/2 Z D^1/2; inverse_roots is the diagonal of D^-1/2."""
        m = len(inverse_roots)
        coefficient = cuts.coefficient * inverse_roots[cuts.row] * inverse_roots[cuts.column]
        entry = np.where(cuts.row == cuts.column, coefficient, 0.5 * coefficient)
        norm = np.sqrt(np.bincount(cuts.owner, weights=coefficient * entry, minlength=len(cuts)))
        norm[norm == 0] = 1.0  # a merged cut can lose all of its terms
        return cls(
            cuts=cuts,
            position=cuts.row.astype(np.int64) * m + cuts.column,
            coefficient=coefficient / norm[cuts.owner],
            entry=entry / norm[cuts.owner],
            rhs=cuts.rhs / norm,
            norm=norm,
        )

    def __len__(self) -> int:
        return len(self.rhs)

    @property
    def start(self) -> NDArray[np.int64]:
        return self.cuts.start
