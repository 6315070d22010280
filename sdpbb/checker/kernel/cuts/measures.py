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
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..arithmetic import down
from ..rejection import Rejected
from ..sizes import Measure, SizeLimits
from ..weights import WeightBounds
from .inequalities import (
    TERMS_AT_ONCE,
    Group,
    Inequalities,
    NodeFacts,
    Numbers,
    Terms,
    one_of,
    read_count,
    starts,
)


@dataclass(frozen=True, eq=False)
class MeasureRows(Group):
    """Cuts on the points of clusters, where points have weights: n_j counts those of block j.

    b Z_ii - sum of n_j Z_ij >= 0, or sum of n_j Z_ij - a Z_ii >= 0.

    end : "most" or "least"
    """

    end: str

    WORD: ClassVar = "measure rows"
    PROOF: ClassVar = "rows of a measure"
    READS: ClassVar = {"end": one_of("most", "least")}
    WIDTH: ClassVar = 1

    def inequalities(self, node: NodeFacts) -> Inequalities:
        if len(self) > 2 * node.m:
            raise Rejected(f"{len(self)} cuts on rows of {node.m} blocks")
        sizes = node.limits.measure(True) if isinstance(node.limits, WeightBounds) else None
        if sizes is None:
            raise Rejected("a cut on the points of clusters, and these are not limited or weigh 1")
        terms = _row_terms(node, self.blocks[:, 0], sizes, self.end == "most")
        return Inequalities(np.zeros(len(self)), terms)


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


@dataclass(frozen=True, eq=False)
class Traces(Group):
    """Traces of sizes: sum of Z_ii over t points >= L(t).

    blocks : (points of all cuts, 2) the cut and the block of each point
    count : number of cuts
    """

    count: int

    WORD: ClassVar = "traces"
    PROOF: ClassVar = "traces of sizes"
    READS: ClassVar = {"count": read_count}
    WIDTH: ClassVar = 2

    def __len__(self) -> int:
        return self.count

    @property
    def numbers(self) -> list[Numbers]:
        return [self.blocks[:, 1]]

    def inequalities(self, node: NodeFacts) -> Inequalities:
        limits, lengths = node.limits, np.diff(starts(self.blocks, self.count))
        stated = np.unique(self.blocks, axis=0, return_counts=True)
        if (stated[1] > node.weights[stated[0][:, 1]]).any():
            raise Rejected("a cut on sizes has more points of a block than there are")
        if not isinstance(limits, SizeLimits) or limits.is_empty:
            raise Rejected("a cut on sizes, and these are not limited")
        most, (owner, block) = most_of_some(limits), self.blocks.T
        sides = [least_entries(most, length) for length in lengths.tolist()]
        return Inequalities(np.array(sides), [Terms(owner, block, block, np.ones(len(block)))])


def most_of_some(limits: SizeLimits) -> list[int]:
    """Return M_i, the most points that i clusters have together, for i = 0, ..., k."""
    return [limits.n - least for least in reversed(limits.least_of_some())]


def least_entries(most: Sequence[int], count: int) -> float:
    """Return L(count) for M_0, ..., M_k, rounded down; count is 0 to M_k."""
    i = min(bisect_right(most, count), len(most) - 1) - 1
    return down(i + down((count - most[i]) / (most[i + 1] - most[i])))
