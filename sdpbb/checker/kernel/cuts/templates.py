"""Templates: inequalities on a few places, which rows of blocks fill.

A template is judged once, and not for each row. There are three ways to see that it is valid.

*Integer vector.* For whole numbers y_p at the places, and y(C) the sum of those in a cluster C,

    y'Z y - sum of y_p Z_pp = sum over the clusters C of y(C) (y(C) - 1) / |C| >= 0,

as y(C) is a whole number. Nothing has to be enumerated, and blocks may fill several places. Half of
it is the cut. *Stars* have -1 at the first place, i, and 1 at the others, T,

    Z_ii + sum of Z_jl over j < l in T - sum of Z_ij over j in T >= 0,

and pairs and triangles are those with one and two blocks in T.

*Cliques.* With y_p = 1 at k + 1 places, the y(C) of k clusters add up to k + 1. So one is at least
2, and the sum is at least 2 / b, where no cluster weighs more than b:

    sum of Z_ij over i < j >= 1 / b.

*Enumeration.* Let B be the symmetric matrix of the template, and A_1, A_2, ... the parts of its
places T that the clusters hold: at most k, none with a cannot-linked pair. With n_A = 1_A' B 1_A

    <B, Z> = sum of n_A / |C_A|,

where n_A / |C_A| is at least n_A / b for n_A >= 0, and else n_A / a, if every cluster weighs a to
b. So the template is valid if these add up to its right-hand side or more for each partition of T
into at most k parts without cannot-linked pairs: all are looked at, in rational arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import down
from ..log import fields, items, number, whole
from ..rejection import Rejected
from .inequalities import (
    TERMS_AT_ONCE,
    Inequalities,
    Marks,
    NodeFacts,
    Numbers,
    Reals,
    RowGroup,
    Terms,
    read_count,
)

# Places of a template that is judged by enumeration, at most: 4,140 partitions.
MOST_PLACES = 8
# Patterns of cannot-links in the rows of one, each of which takes up to a second.
MOST_PATTERNS = 256
# Places of an integer vector, and the size of its numbers, at most: products stay exact.
_LONGEST, _LARGEST = 2**12, 2**10


@dataclass(frozen=True, eq=False)
class Template:
    """Inequality on places: the sum of coefficient Z_pq is at least a right-hand side.

    p, q : (number of terms,) places, each unordered pair once
    coefficient : (number of terms,)
    side : right-hand side
    """

    p: Numbers
    q: Numbers
    coefficient: Reals
    side: float = 0.0

    @classmethod
    def of(cls, entries: Sequence[tuple[int, int, float]], side: float = 0.0) -> Template:
        """Return the template of terms (p, q, coefficient)."""
        p, q, coefficient = zip(*entries, strict=True)
        return cls(np.array(p), np.array(q), np.array(coefficient, np.float64), side)

    @classmethod
    def of_vector(cls, y: NDArray[np.int64]) -> Template:
        """Return half of the inequality of an integer vector (number of places,)."""
        return cls.symmetric(np.outer(y, y), (y * y - y) / 2)

    @classmethod
    def symmetric(
        cls, on_pairs: NDArray[np.integer], on_entries: Reals, side: float = 0.0
    ) -> Template:
        """Return the template with coefficients of pairs p < q, (t, t), and of Z_pp, (t,)."""
        p, q = np.triu_indices(len(on_pairs), 1)
        own = np.flatnonzero(on_entries)
        coefficient = np.concatenate([on_pairs[p, q], on_entries[own]]).astype(np.float64)
        return cls(np.concatenate([p, own]), np.concatenate([q, own]), coefficient, side)

    def terms(self, rows: Numbers, cuts: Numbers | None = None) -> Iterator[Terms]:
        """Yield the terms of the rows (number, places) of blocks, some at a time.

        cuts : (number,) the cut of each row; None where they are 0, 1, ...
        """
        cuts = np.arange(len(rows)) if cuts is None else cuts
        width = len(self.p)
        if not width:
            return
        at_once = max(1, TERMS_AT_ONCE // width)
        for begin in range(0, len(rows), at_once):
            some = rows[begin : begin + at_once]
            yield Terms(
                np.repeat(cuts[begin : begin + at_once], width),
                some[:, self.p].reshape(-1),
                some[:, self.q].reshape(-1),
                np.tile(self.coefficient, len(some)),
            )

    def on(self, rows: Numbers) -> Inequalities:
        """Return the inequalities of rows (number, places) of blocks; the template is valid."""
        squares = len(rows) * rows.shape[1] ** 2
        return Inequalities(np.full(len(rows), self.side), self.terms(rows), n_products=squares)

    def enumerated_on(self, rows: Numbers, node: NodeFacts) -> Inequalities:
        """Return the inequalities of rows of blocks of a node, in each of which it is valid.

        Raises
        ------
        Rejected
            If enumeration finds a partition that violates it.
        """
        first, second = np.triu_indices(rows.shape[1], 1)
        apart = node.adjacency[rows[:, first], rows[:, second]]
        patterns = np.unique(apart @ (1 << np.arange(len(first))))
        if len(patterns) > MOST_PATTERNS:
            raise Rejected(
                f"rows of a template with {len(patterns)} patterns of cannot-links; expected at "
                f"most {MOST_PATTERNS}"
            )
        for pattern in patterns.tolist():
            linked = np.zeros((rows.shape[1],) * 2, np.bool_)
            linked[first, second] = pattern >> np.arange(len(first)) & 1
            linked |= linked.T
            self.require_valid(linked, node)
        return self.on(rows)

    def require_valid(self, apart: Marks, node: NodeFacts) -> None:
        """Raise `Rejected` unless the template is valid where places are `apart`, (t, t)."""
        t = len(apart)
        if t > MOST_PLACES:
            raise Rejected(f"a template of {t} places; expected at most {MOST_PLACES}")
        most = Fraction(node.heaviest if node.limits is None else node.limits.most)
        least = Fraction(0 if node.limits is None else node.limits.least)
        if most <= 0:
            raise Rejected("a template where clusters weigh nothing")
        values = [Fraction(value) for value in self.coefficient.tolist()]
        entries = list(zip(self.p.tolist(), self.q.tolist(), values, strict=True))
        for parts in partitions(t, node.k, apart):
            total = Fraction(0)
            for part in parts:
                n = sum((value for p, q, value in entries if p in part and q in part), Fraction(0))
                if n < 0 and least == 0:
                    raise Rejected("a cut is not valid where clusters weigh as little as they may")
                total += n / most if n >= 0 else n / least
            if total < Fraction(self.side):
                raise Rejected(f"a cut is not valid where clusters hold its blocks as {parts}")


def partitions(t: int, k: int, apart: Marks) -> Iterator[list[set[int]]]:
    """Yield the partitions of 0..t-1 into at most k parts without pairs that are `apart`."""
    if t == 0:
        yield []
        return
    own = t - 1
    for parts in partitions(own, k, apart):
        for at, part in enumerate(parts):
            if not apart[own, list(part)].any():
                yield [*parts[:at], part | {own}, *parts[at + 1 :]]
        if len(parts) < k:
            yield [*parts, {own}]


def _read_vector(value: Any, name: str) -> tuple[int, ...]:
    entries = items(value, name)
    if not 1 <= len(entries) <= _LONGEST:
        raise Rejected(f"an integer vector of {len(entries)} places; expected 1..{_LONGEST}")
    return tuple(whole(entry, name, -_LARGEST, _LARGEST + 1) for entry in entries)


def _read_places(value: Any, name: str) -> int:
    return whole(value, name, 1, MOST_PLACES + 1)


def _read_entries(value: Any, name: str) -> tuple[tuple[int, int, float], ...]:
    found = {}
    for entry in items(value, name):
        p, q, coefficient = fields(items(entry, name), "p", "q", "coefficient")
        pair = tuple(whole(place, "a place", 0, MOST_PLACES) for place in (p, q))
        found[min(pair), max(pair)] = number(coefficient, "coefficient")
    if not found or len(found) < len(value):
        raise Rejected("a template without entries, or with one twice")
    return tuple((p, q, coefficient) for (p, q), coefficient in found.items())


@dataclass(frozen=True)
class Vectors(RowGroup):
    """Cuts of an integer vector y.

    sum of y_p y_q Z_pq over p < q + sum of y_p (y_p - 1) / 2 Z_pp >= 0

    vector : y, a whole number for each place
    """

    WORD: ClassVar = "vectors"
    PROOF: ClassVar = "integer vectors"
    READS: ClassVar = (read_count, _read_vector)

    vector: tuple[int, ...]

    def width(self, k: int) -> int:
        return len(self.vector)

    def inequalities(
        self, node: NodeFacts, blocks: Numbers, parts: Numbers, estimates: Numbers
    ) -> Inequalities:
        template = Template.of_vector(np.array(self.vector, np.int64))
        return template.on(blocks.reshape(self.count, -1))


@dataclass(frozen=True)
class Cliques(RowGroup):
    """Cuts on k + 1 blocks: sum of Z_ij over i < j >= 1 / b, b the most that a cluster weighs."""

    WORD: ClassVar = "cliques"
    PROOF: ClassVar = "integer vectors"
    READS: ClassVar = (read_count,)

    def width(self, k: int) -> int:
        return k + 1

    def inequalities(
        self, node: NodeFacts, blocks: Numbers, parts: Numbers, estimates: Numbers
    ) -> Inequalities:
        width, side = node.k + 1, down(1.0 / node.heaviest)
        ones = np.ones((width, width), np.int64)
        return Template.symmetric(ones, np.zeros(width), side).on(blocks.reshape(-1, width))


@dataclass(frozen=True)
class Templates(RowGroup):
    """Cuts of a template that is judged by enumeration.

    places : of the template
    entries : (p, q, coefficient), each unordered pair of places once
    side : right-hand side
    """

    WORD: ClassVar = "templates"
    PROOF: ClassVar = "enumeration"
    READS: ClassVar = (read_count, _read_places, _read_entries, number)

    places: int
    entries: tuple[tuple[int, int, float], ...]
    side: float

    def width(self, k: int) -> int:
        return self.places

    def inequalities(
        self, node: NodeFacts, blocks: Numbers, parts: Numbers, estimates: Numbers
    ) -> Inequalities:
        if max(q for _, q, _ in self.entries) >= self.places:
            raise Rejected(f"a template with an entry beyond its {self.places} places")
        template = Template.of(self.entries, self.side)
        return template.enumerated_on(blocks.reshape(-1, self.places), node)
