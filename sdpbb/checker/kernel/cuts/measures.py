"""Cuts where the measure of clusters is limited: their points, or units of weight.

*Rows of a measure.* With q_j of block j, the cluster C of block i measures q(C) = sum of q_j over
its blocks, and sum of q_j Z_ij = q(C) Z_ii. Where every cluster measures a to b,

    b Z_ii - sum of q_j Z_ij >= 0,    sum of q_j Z_ij - a Z_ii >= 0.

*Traces of sizes.* Let M_i be the most points that i clusters have together within the limits, and T
any list of t different points. Then

    sum of Z_ii over the points of T, i being their block, >= L(t),
    L(t) = i + (t - M_i) / (M_(i+1) - M_i)    for M_i <= t <= M_(i+1).

Let s_1 >= s_2 >= ... be the sizes, S_i the sum of the first i of them, which is M_i at most. Of the
n points, s_1 have 1 / s_1 for the entry of their block, s_2 others 1 / s_2, and so on; those of T
have at the least the t least of these numbers, with the sum j + (t - S_j) / s_(j+1) for S_j <= t <=
S_(j+1). If j > i, that is i + 1 or more, and if j < i, then t = M_i. If j = i, it is i + 1 less
(S_(i+1) - t) / (S_(i+1) - S_i), a share that grows if S_(i+1) grows to M_(i+1), and then S_i to
M_i. A block i that is listed several times, no more often than it has points, stands for as many
of its points.

*Cliques of listed sizes.* Where single sizes are listed, let e be the largest of them, q the number
of clusters that have it, and s the next smaller one. For a list Q of q + 1 blocks, in which blocks
may occur more than once,

    (e - s) sum of Z_ij over i < j in Q + s sum of Z_ii over Q >= 1 + q s / e.

Each block has s Z_ii >= s / e, and s Z_ii >= 1 if its cluster is none of the largest: where there
is such a block, the right-hand side is reached without the others' pairs. Where there is none, two
of the q + 1 share one of the q largest clusters, and the left-hand side is at least
(e - s) / e + (q + 1) s / e, which is the same. Let e be the smallest size, q the number of clusters
that have it, and s the next larger one. Then

    (s - e) sum of Z_ij over i < j in Q - s sum of Z_ii over Q >= - 1 - q s / e.

Each block has - s Z_ii >= - s / e, and - s Z_ii >= - 1 if its cluster is none of the smallest;
where all are, two share one, and the left-hand side is at least (s - e) / e - (q + 1) s / e.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..arithmetic import down, up
from ..rejection import Rejected
from ..sizes import Measure, SizeLimits
from ..weights import WeightBounds
from .inequalities import (
    TERMS_AT_ONCE,
    Inequalities,
    ListGroup,
    NodeFacts,
    Numbers,
    RowGroup,
    Terms,
    one_of,
    owners,
    read_count,
    read_lengths,
    starts,
)
from .templates import Template


@dataclass(frozen=True)
class MeasureRows(RowGroup):
    """Cuts on the points of clusters, where points have weights: n_j counts those of block j.

    b Z_ii - sum of n_j Z_ij >= 0, or sum of n_j Z_ij - a Z_ii >= 0.

    end : "most" or "least"
    """

    WORD: ClassVar = "measure rows"
    PROOF: ClassVar = "rows of a measure"
    READS: ClassVar = (read_count, one_of("most", "least"))

    end: str

    def width(self, k: int) -> int:
        return 1

    def inequalities(
        self, node: NodeFacts, blocks: Numbers, parts: Numbers, estimates: Numbers
    ) -> Inequalities:
        if self.count > 2 * node.m:
            raise Rejected(f"{self.count} cuts on rows of {node.m} blocks")
        sizes = node.limits.measure(True) if isinstance(node.limits, WeightBounds) else None
        if sizes is None:
            raise Rejected("a cut on the points of clusters, and these are not limited or weigh 1")
        terms = _row_terms(node, blocks, sizes, self.end == "most")
        return Inequalities(np.zeros(self.count), terms)


def _row_terms(node: NodeFacts, blocks: Numbers, sizes: Measure, is_most: bool) -> Iterator[Terms]:
    limit = sizes.limits.most if is_most else sizes.limits.least
    counts = sizes.values.astype(np.float64)
    at_once = max(1, TERMS_AT_ONCE // node.m)
    for begin in range(0, len(blocks), at_once):
        some = blocks[begin : begin + at_once]
        row = np.arange(len(some))
        coefficient = np.tile(-counts, (len(some), 1))
        coefficient[row, some] += limit
        yield Terms(
            np.repeat(begin + row, node.m),
            np.repeat(some, node.m),
            np.tile(np.arange(node.m), len(some)),
            coefficient.reshape(-1) * (1.0 if is_most else -1.0),
        )


@dataclass(frozen=True)
class Traces(ListGroup):
    """Traces of sizes: sum of Z_ii over t points >= L(t).

    The lengths are t; a block is listed once for each of its points among them.
    """

    WORD: ClassVar = "traces"
    PROOF: ClassVar = "traces of sizes"
    READS: ClassVar = (read_lengths,)

    def inequalities(
        self, node: NodeFacts, blocks: Numbers, parts: Numbers, estimates: Numbers
    ) -> Inequalities:
        owner, limits = owners(starts(self.lengths)), node.limits
        stated = np.unique(owner * node.m + blocks, return_counts=True)
        if (stated[1] > node.weights[stated[0] % node.m]).any():
            raise Rejected("a cut on sizes has more points of a block than there are")
        if not isinstance(limits, SizeLimits) or limits.is_empty:
            raise Rejected("a cut on sizes, and these are not limited")
        most = most_of_some(limits)
        sides = [least_entries(most, count) for count in self.lengths]
        return Inequalities(np.array(sides), [Terms(owner, blocks, blocks, np.ones(len(blocks)))])


def most_of_some(limits: SizeLimits) -> list[int]:
    """Return M_i, the most points that i clusters have together, for i = 0, ..., k."""
    return [limits.n - least for least in reversed(limits.least_of_some())]


def least_entries(most: Sequence[int], count: int) -> float:
    """Return L(count) for M_0, ..., M_k, rounded down; count is 0 to M_k."""
    i = min(bisect_right(most, count), len(most) - 1) - 1
    return down(i + down((count - most[i]) / (most[i + 1] - most[i])))


@dataclass(frozen=True)
class ListedCliques(RowGroup):
    """Cliques of listed sizes, on one block more than clusters have the largest size, or smallest.

    blocks : of each cut
    end : "largest" or "smallest"
    """

    WORD: ClassVar = "listed cliques"
    PROOF: ClassVar = "cliques of listed sizes"
    READS: ClassVar = (read_count, read_count, one_of("largest", "smallest"))

    blocks: int
    end: str

    def width(self, k: int) -> int:
        return self.blocks

    def inequalities(
        self, node: NodeFacts, blocks: Numbers, parts: Numbers, estimates: Numbers
    ) -> Inequalities:
        listed = node.limits.exact if isinstance(node.limits, SizeLimits) else None
        if listed is None:
            raise Rejected("a clique of listed sizes, and there are none that differ")
        sizes = extreme_sizes(listed, self.end == "largest")
        if self.blocks != sizes.count + 1:
            raise Rejected(f"a clique of listed sizes that has not {sizes.count + 1} blocks")
        ones = np.ones(self.blocks, np.int64)
        template = Template.symmetric(
            sizes.on_pairs * np.outer(ones, ones), sizes.on_entries * ones.astype(float), sizes.side
        )
        return template.on(blocks.reshape(-1, self.blocks))


@dataclass(frozen=True)
class ExtremeSizes:
    """The largest of listed sizes or the smallest, and what the cliques on them are made of.

    size, count : e, and q, how many clusters have it
    next_size : s
    """

    size: int
    count: int
    next_size: int

    @property
    def on_pairs(self) -> int:
        """Coefficient of the entries of pairs."""
        return abs(self.size - self.next_size)

    @property
    def on_entries(self) -> int:
        """Coefficient of the entries of the diagonal."""
        return self.next_size if self.size > self.next_size else -self.next_size

    @property
    def side(self) -> float:
        """Right-hand side, rounded down."""
        if self.size > self.next_size:
            return down(1.0 + down(self.count * self.next_size / self.size))
        return -up(1.0 + up(self.count * self.next_size / self.size))


def extreme_sizes(listed: Sequence[int], is_largest: bool) -> ExtremeSizes:
    """Return the largest of listed sizes, not all of them equal, or the smallest."""
    outermost = max if is_largest else min
    size = outermost(listed)
    others = [other for other in listed if other != size]
    return ExtremeSizes(size, len(listed) - len(others), outermost(others))
