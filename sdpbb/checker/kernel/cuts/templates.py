"""Integer vectors and templates: inequalities on places, proven for many rows of blocks at once.

Each row of blocks in these places is a cut. There are two proofs that it is valid.

*Integer vector.* Let places have whole numbers y_p, and let y(C) be their sum over the places in a
cluster C. With numbers alpha >= 0 and beta, let f(v) = alpha v (v - 1) / 2 + beta v. Then

    alpha sum of y_p y_q Z_pq over p < q + sum of f(y_p) Z_pp = sum over the clusters C of
        f(y(C)) / |C| >= L.

f is convex. The k whole numbers y(C) add up to Y, the sum of y. If single sizes s_i are listed, L
is the least sum of f(v_i) / s_i over k whole numbers v_i with the sum Y. Otherwise every s_i is an
upper bound on the weight of a cluster, which is right if f >= 0. A greedy method finds L: from
v = 0 on, units are dealt out one by one, each where it costs least. By convexity no unit would be
cheaper elsewhere. v = 0 has the least sum of all if beta = 0, as f(0) = 0 <= f. If no y_p is
negative, no v_i is. Other beta are rejected. A block may fill several places.

With alpha = 1 and beta = 0, L = 0 for 0 <= Y <= k: *stars* have -1 at the first place, i, and 1 at
the others, T,

    Z_ii + sum of Z_jl over j < l in T - sum of Z_ij over j in T >= 0,

and pairs and triangles are stars with one and two blocks in T. *Cliques* have 1 at k + 1 places.
Two of the places share a cluster, of weight b or less: sum of Z_ij over i < j >= 1 / b.

*Cliques of listed sizes* have 1 at q + 1 places, if e is the largest of the sizes, which q clusters
have, and s is the next one; alpha = e - s, and beta = s. If e is the smallest size, and s the next
one, alpha = s - e and beta = -s.

*Enumeration.* Let B be the symmetric matrix of the template. Clusters divide its places T into
parts A_1, A_2, ...: at most k, none with a cannot-linked pair. With n_A = 1_A' B 1_A

    <B, Z> = sum of n_A / |C_A|,

If every cluster weighs a to b, n_A / |C_A| is at least n_A / b for n_A >= 0, and n_A / a otherwise.
So the template is valid if these numbers add up to its right-hand side or more for each such
partition of T. All partitions are tried, in rational arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heapreplace
from typing import Any, ClassVar

import numpy as np

from ..archive import NUMBERS
from ..arithmetic import down
from ..certificate import Shape, fields, items, number, whole
from ..rejection import Rejected
from ..sizes import SizeLimits
from .inequalities import (
    TERMS_AT_ONCE,
    Group,
    Inequalities,
    Marks,
    NodeFacts,
    Numbers,
    Reals,
    Terms,
)

# Most places of a template with a proof by enumeration: they have 4,140 partitions.
MOST_PLACES = 8
# Most patterns of cannot-links in its rows. Each takes up to a second.
MOST_PATTERNS = 256
# Most places of an integer vector, its greatest numbers and factors: products stay exact.
_LONGEST, _LARGEST, _LARGEST_FACTOR = 2**12, 2**10, 2**31


Entries = tuple[Numbers, Numbers, Reals]
"""Places p, q and coefficients of a template: sum of coefficient Z_pq >= right-hand side."""


def entries_of(*entries: tuple[int, int, float]) -> Entries:
    """Return entries (p, q, coefficient) as arrays."""
    p, q, coefficient = zip(*entries, strict=True)
    return np.array(p), np.array(q), np.array(coefficient, np.float64)


def terms_of(entries: Entries, rows: Numbers, cuts: Numbers | None = None) -> Iterator[Terms]:
    """Yield the terms of a template on rows (number, places) of blocks, some at a time.

    cuts : (number,) the cut of each row; None: 0, 1, ...
    """
    (p, q, coefficient), width = entries, len(entries[0])
    cuts = np.arange(len(rows)) if cuts is None else cuts
    if not width:
        return
    at_once = max(1, TERMS_AT_ONCE // width)
    for begin in range(0, len(rows), at_once):
        some = rows[begin : begin + at_once]
        yield Terms(
            np.repeat(cuts[begin : begin + at_once], width),
            some[:, p].reshape(-1),
            some[:, q].reshape(-1),
            np.tile(coefficient, len(some)),
        )


def _on_rows(entries: Entries, side: float, rows: Numbers) -> Inequalities:
    """Return the inequalities of a valid template, one for each row of blocks."""
    n_products = len(rows) * rows.shape[1] ** 2
    return Inequalities(np.full(len(rows), side), terms_of(entries, rows), n_products=n_products)


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


def least_of_vector(
    y: Sequence[int], alpha: int, beta: int, sizes: Sequence[Fraction], are_exact: bool
) -> Fraction:
    """Return L of an integer vector; see the module. `Rejected` if the method is not for it.

    sizes : of the k clusters; or k times an upper bound on them, unless they `are_exact`
    """
    total, step = sum(y), 1 if sum(y) >= 0 else -1
    is_proven = not beta or (min(y) >= 0 and (beta > 0 or are_exact))
    if alpha < 0 or not is_proven or abs(total) > _LONGEST:
        raise Rejected("an integer vector whose factors or sum do not give a valid cut")

    def more(v: int) -> int:
        """Return f(v + step) - f(v)."""
        return alpha * v + beta if step > 0 else alpha * (1 - v) - beta

    units = [(more(0) / size, 0, number) for number, size in enumerate(sizes)]
    heapify(units)
    least = Fraction(0)
    for _ in range(abs(total)):
        cost, v, number = units[0]
        least += cost
        heapreplace(units, (more(v + step) / sizes[number], v + step, number))
    return least


def _read_vector(value: Any, name: str) -> tuple[int, ...]:
    entries = items(value, name)
    if not 1 <= len(entries) <= _LONGEST:
        raise Rejected(f"an integer vector of {len(entries)} places; expected 1..{_LONGEST}")
    return tuple(whole(entry, name, -_LARGEST, _LARGEST + 1) for entry in entries)


def _read_factor(value: Any, name: str) -> int:
    return whole(value, name, -_LARGEST_FACTOR, _LARGEST_FACTOR + 1)


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


@dataclass(frozen=True, eq=False)
class Vectors(Group):
    """Cuts of an integer vector y.

    alpha sum of y_p y_q Z_pq over p < q + sum of (alpha y_p (y_p - 1) / 2 + beta y_p) Z_pp >= L

    vector : y, a whole number for each place
    alpha, beta : whole numbers, alpha >= 0
    """

    vector: tuple[int, ...]
    alpha: int = 1
    beta: int = 0

    WORD: ClassVar = "vectors"
    PROOF: ClassVar = "integer vectors"
    READS: ClassVar = {"vector": _read_vector, "alpha": _read_factor, "beta": _read_factor}

    @classmethod
    def shapes(cls, values: dict[str, Any], m: int) -> dict[str, Shape]:
        return {"blocks": (NUMBERS, len(values["vector"]))}

    def inequalities(self, node: NodeFacts) -> Inequalities:
        y = np.array(self.vector, np.int64)
        exact = node.limits.exact if isinstance(node.limits, SizeLimits) else None
        sizes = [Fraction(size) for size in exact or (node.heaviest,) * node.k]
        if min(sizes) <= 0:
            raise Rejected("a cut where clusters weigh nothing")
        side = least_of_vector(self.vector, self.alpha, self.beta, sizes, exact is not None)
        p, q = np.triu_indices(len(y), 1)
        on_places = self.alpha * y * (y - 1) // 2 + self.beta * y
        own = np.flatnonzero(on_places)
        coefficient = np.concatenate([self.alpha * y[p] * y[q], on_places[own]])
        entries = np.append(p, own), np.append(q, own), coefficient.astype(np.float64)
        return _on_rows(entries, down(float(side)) if side else 0.0, self.blocks)


@dataclass(frozen=True, eq=False)
class Templates(Group):
    """Cuts of a template with a proof by enumeration.

    places : of the template
    entries : (p, q, coefficient), each unordered pair of places once
    side : right-hand side
    """

    places: int
    entries: tuple[tuple[int, int, float], ...]
    side: float

    WORD: ClassVar = "templates"
    PROOF: ClassVar = "enumeration"
    READS: ClassVar = {"places": _read_places, "entries": _read_entries, "side": number}

    @classmethod
    def shapes(cls, values: dict[str, Any], m: int) -> dict[str, Shape]:
        return {"blocks": (NUMBERS, values["places"])}

    def inequalities(self, node: NodeFacts) -> Inequalities:
        if max(q for _, q, _ in self.entries) >= self.places:
            raise Rejected(f"a template with an entry beyond its {self.places} places")
        if self.places > MOST_PLACES:
            raise Rejected(f"a template of {self.places} places; expected at most {MOST_PLACES}")
        first, second = np.triu_indices(self.places, 1)
        linked = node.adjacency[self.blocks[:, first], self.blocks[:, second]]
        patterns = np.unique(linked @ (1 << np.arange(len(first))))
        if len(patterns) > MOST_PATTERNS:
            raise Rejected(
                f"rows of a template with {len(patterns)} patterns of cannot-links; expected at "
                f"most {MOST_PATTERNS}"
            )
        for pattern in patterns.tolist():
            apart = np.zeros((self.places, self.places), np.bool_)
            apart[first, second] = pattern >> np.arange(len(first)) & 1
            self._require_valid(apart | apart.T, node)
        return _on_rows(entries_of(*self.entries), self.side, self.blocks)

    def _require_valid(self, apart: Marks, node: NodeFacts) -> None:
        """Raise `Rejected` unless the template is valid if places are `apart`, (t, t)."""
        most = Fraction(node.heaviest if node.limits is None else node.limits.most)
        least = Fraction(0 if node.limits is None else node.limits.least)
        if most <= 0:
            raise Rejected("a template where clusters weigh nothing")
        entries = [(p, q, Fraction(coefficient)) for p, q, coefficient in self.entries]
        for parts in partitions(self.places, node.k, apart):
            total = Fraction(0)
            for part in parts:
                n = sum((value for p, q, value in entries if p in part and q in part), Fraction(0))
                if n < 0 and least == 0:
                    raise Rejected("a cut is not valid where clusters weigh as little as they may")
                total += n / most if n >= 0 else n / least
            if total < Fraction(self.side):
                raise Rejected(f"a cut is not valid where clusters hold its blocks as {parts}")
