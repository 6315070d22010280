"""Cuts from limits on a measure of clusters: their points, or units of weight.

*Rows of a measure.* With q_j of block j, the cluster C of block i measures q(C) = sum of q_j over
its blocks, and sum of q_j Z_ij = q(C) Z_ii. If every cluster measures a to b,

    b Z_ii - sum of q_j Z_ij >= 0,    sum of q_j Z_ij - a Z_ii >= 0.

*Capacity cuts.* Clusters of limited sizes have to split a set of points that they cannot fill.
Let q(C) be the measure of a cluster C, a whole number: its points, or its units of weight. Let
r > 0 be at most the weight of every block over its measure. A set T holds a part q_i of each block
i, at least 0 and at most the measure of the block. With t the sum of the q_i, and f(t) the least
split of such sets (below),

    - r sum of q_i q_j Z_ij over all i and j >= f(t) - t.

With x_C the part of T in the cluster C, r sum of q_i q_j Z_ij is the sum of r x_C^2 / |C| over the
clusters. As |C| >= r q(C), a summand is at most x_C^2 / q(C) = x_C - x_C (q(C) - x_C) / q(C). These
add up to t less a split of T.

This is the rounded capacity inequality of vehicle routing for clustering matrices. If points weigh
1, then Z 1 = 1, and the left-hand side plus t is the sum of Z_ij over i in T, j outside.

*Capacity cliques.* Let g be at least the number of clusters that T can fill, in parts (below),
and w at least the weight of every cluster. For a list J of p > g blocks, the leaves,

    w (p - g) sum of Z_jl over j < l in J - r sum of q_i Z_ij over i and j in J >= -g.

r x_C / |C| is at most x_C / q(C), the share of C that T fills. If no two leaves share a cluster,
the second sum counts each cluster at most once, and is at most g. If two leaves share one, the
second sum is at most p, and the first at least w (p - g) / w. A leaf may occur more than once: it
shares a cluster with itself.

*Splits.* A set of measure t holds a part x_C of a cluster C of measure s_C; y_C = s_C - x_C is
outside of the set. The least split is

    f(t) = least sum of x_C y_C / s_C over the clusters,

where 0 <= x_C <= s_C, the x_C add up to t, and the s_C are k measures within the limits. For given
s_C the sum is a concave function of the x_C. It is least at a vertex, where every cluster but one
is inside of the set or outside of it as a whole. The other one adds x y / (x + y), which grows with
x and with y. So with p clusters of a to b inside of the set, x and y are as small as possible:

    x >= t - p b,    y >= n - t - (k - p - 1) b,    x + y >= a.

If the last one is an equation, x y is concave on the line x + y = a, and least at an end of the
segment that the other two leave. If single sizes are listed, the sums of whole clusters are
enumerated.

The set fills the share x_C / s_C of a cluster. These shares add up to at most

    g(t) = i + (t - P_i) / (P_(i+1) - P_i)    for P_i <= t <= P_(i+1),

P_i being a lower bound on the measure of i clusters: the i least ends of their ranges, or i a, and
at least n - (k - i) b, as the others have at most b. For given s_C, the shares add up to the most
if the set fills the smallest clusters first. It fills i clusters if it measures as much as the i
smallest ones, at least P_i. Between such measures the sum rises along a line, which is not above g,
as the steps of P grow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..archive import NUMBERS, PARTS
from ..arithmetic import down
from ..certificate import Shape, one_of
from ..rejection import Rejected
from ..rules import find_measure
from ..sizes import SizeLimits
from .inequalities import (
    TERMS_AT_ONCE,
    ClusterLimits,
    Group,
    Inequalities,
    NodeFacts,
    Numbers,
    Reals,
    Terms,
    WeightBounds,
    read_count,
    starts,
)
from .templates import terms_of

Integers = NDArray[np.int64]
Part = tuple[Integers, Integers, NDArray[np.bool_]]

# Sums of listed sizes are enumerated in at most this number of steps of 64 bits: a tenth of a
# second. If there are more, the limits are only the least and the greatest of the sizes.
_STEPS = 1e8
# Factors that round down and up: a quotient of whole numbers below 2^52 is rounded twice.
_DOWN = 1.0 - 2.0**-50
_UP = 1.0 + 2.0**-50
# Most products of a set's blocks in all cuts: their sums take seconds.
_PRODUCTS = 2**33


class SetMeasure(NamedTuple):
    """Measure of blocks, and limits on the measure of clusters.

    of_blocks : (m,) whole numbers
    rate : r > 0, at most the weight of each block over its measure
    heaviest : at least the weight of every cluster
    """

    of_blocks: NDArray[np.int64]
    limits: SizeLimits
    rate: float
    heaviest: float

    def sides(self, parts: NDArray[np.int64]) -> Reals:
        """Return f(t) - t of sets of measures t, (number,), rounded down."""
        return np.nextafter(least_splits(self.limits, parts) - parts, -np.inf)


def set_measure(limits: ClusterLimits | None, weights: Reals, in_units: bool) -> SetMeasure | None:
    """Return the measure, points or units, of blocks of weights (m,); None: it has no limits."""
    if not isinstance(limits, WeightBounds):
        if limits is None or in_units:
            return None
        found = SetMeasure(weights.astype(np.int64), limits, 1.0, float(limits.most))
    else:
        own = find_measure(limits.measures, counts_points=not in_units)
        if own is None:
            return None
        rate = down(float((weights / own.values).min()))
        found = SetMeasure(own.values, own.limits, rate, limits.most)
    return None if found.limits.is_empty else found


@dataclass(frozen=True, eq=False)
class Sets(Group):
    """Capacity cuts: - r sum of q_i q_j Z_ij over all i and j >= f(t) - t.

    blocks : (parts of all sets, 3) the cut, block i in ascending order, and its part q_i
    count : number of cuts
    unit : "points" or "units" of weight, the measure
    """

    count: int
    unit: str

    WORD: ClassVar = "sets"
    PROOF: ClassVar = "capacities"
    READS: ClassVar = {"count": read_count, "unit": one_of("points", "units")}

    @classmethod
    def shapes(cls, values: dict[str, Any], m: int) -> dict[str, Shape]:
        return {"blocks": (PARTS, 3), **cls.FURTHER}

    def __len__(self) -> int:
        return self.count

    @property
    def numbers(self) -> list[Numbers]:
        return [self.blocks[:, 1]]

    def measure(self, node: NodeFacts) -> SetMeasure:
        """Return the measure of the sets; `Rejected` if they are not valid."""
        owner, block, part = self.blocks.T
        if (np.diff(block) <= 0)[np.diff(owner) == 0].any():
            raise Rejected("the blocks of a capacity cut are not in ascending order")
        measure = set_measure(node.limits, node.weights, self.unit == "units")
        if measure is None:
            raise Rejected("a capacity cut on what is not limited")
        if (part < 1).any() or (part > measure.of_blocks[block]).any():
            raise Rejected("a capacity cut on more of a block than there is")
        return measure

    @property
    def sums(self) -> Integers:
        """Measure t of each set."""
        start = starts(self.blocks, self.count)
        sums = np.concatenate([[0], np.cumsum(self.blocks[:, 2])])
        return np.asarray(sums[start[1:]] - sums[start[:-1]], np.int64)

    def inequalities(self, node: NodeFacts) -> Inequalities:
        if len(self) * node.m**2 > _PRODUCTS:
            raise Rejected(f"capacity cuts have more than {_PRODUCTS} products of blocks")
        measure, sums, q = self.measure(node), self.sums, np.zeros((len(self), node.m))
        q[self.blocks[:, 0], self.blocks[:, 1]] = self.blocks[:, 2]
        squares = q, np.full(len(self), measure.rate)
        return Inequalities(measure.sides(sums), squares=squares)


@dataclass(frozen=True, eq=False)
class SetCliques(Sets):
    """Capacity cliques.

    w (p - g) sum of Z_jl over j < l in J - r sum of q_i Z_ij over i and j in J >= -g.

    leaves : (leaves of all cuts, 2) the cut, and a block of J
    """

    leaves: Numbers

    WORD: ClassVar = "set cliques"
    FURTHER: ClassVar = {"leaves": (NUMBERS, 2)}

    @property
    def numbers(self) -> list[Numbers]:
        return [self.blocks[:, 1], self.leaves[:, 1]]

    def inequalities(self, node: NodeFacts) -> Inequalities:
        measure, leaves, (_, blocks, parts) = self.measure(node), self.leaves[:, 1], self.blocks.T
        start, leaf_start = starts(self.blocks, len(self)), starts(self.leaves, len(self))
        lengths = np.diff(leaf_start)
        filled = most_filled(measure.limits, self.sums)
        if (lengths < 2).any():
            raise Rejected("a capacity clique of less than two leaves")
        if (lengths < filled).any():
            raise Rejected("a capacity clique has no more leaves than clusters that are filled")
        shared = measure.heaviest * (lengths - filled)

        def terms() -> Iterator[Terms]:
            for cut, first, second in _products(leaf_start, leaf_start):
                pair = first < second
                cut = cut[pair]
                yield Terms(cut, leaves[first[pair]], leaves[second[pair]], shared[cut])
            for cut, leaf, entry in _products(leaf_start, start):
                values = -measure.rate * parts[entry].astype(np.float64)
                yield Terms(cut, leaves[leaf], blocks[entry], values)

        products = int((lengths * (lengths + np.diff(start))).sum())
        # A term is rounded at most three times: w (p - g) t of a pair of leaves.
        return Inequalities(-filled, terms(), roundings=3.0, n_products=products)


def _products(first: Numbers, second: Numbers) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    """Yield all pairs of an entry of a list and one of another, for the two lists of each cut.

    first, second : starts of the lists, (number of cuts + 1,)

    Yields the cut of each pair, and the positions of both entries.
    """
    widths = np.diff(second)
    ends = np.cumsum(np.diff(first) * widths)
    total = int(ends[-1]) if len(ends) else 0
    for begin in range(0, total, TERMS_AT_ONCE):
        pair = np.arange(begin, min(begin + TERMS_AT_ONCE, total))
        cut = np.searchsorted(ends, pair, side="right")
        row, column = np.divmod(pair - ends[cut], widths[cut])
        yield cut, first[cut + 1] + row, second[cut] + column


def least_splits(limits: SizeLimits, measures: Integers) -> Reals:
    """Return f(t) of sets of measures t, (number,), rounded down.

    measures : (number,) whole numbers in 0..n
    limits : that k measures are within, not empty
    """
    parts = _of_listed(limits, measures) if _has_few_sums(limits) else _of_range(limits, measures)
    least = np.full(len(measures), np.inf)
    for x, y, exists in parts:
        with np.errstate(invalid="ignore", divide="ignore"):  # where it does not exist
            value = x.astype(np.float64) * y.astype(np.float64) / (x + y)
        np.minimum(least, np.where(exists, value, np.inf), out=least)
    return np.where(np.isfinite(least), least, 0.0) * _DOWN


def _has_few_sums(limits: SizeLimits) -> bool:
    """Return whether single sizes are listed, and their sums can be enumerated."""
    listed = limits.exact
    if listed is None:
        return False
    return len(set(listed)) * len(listed) * (limits.n // 64 + 1) <= _STEPS


def _of_range(limits: SizeLimits, t: Integers) -> Iterator[Part]:
    """Yield x and y, and whether they exist, for each number p of clusters in the set."""
    n, k, a, b = limits.n, limits.k, limits.least, limits.most
    for inside in range(k):
        outside = k - 1 - inside
        x_least, x_most = np.maximum(0, t - min(n, inside * b)), t - inside * a
        y_least, y_most = np.maximum(0, n - t - min(n, outside * b)), n - t - outside * a
        exists = (x_least <= x_most) & (y_least <= y_most) & (x_most + y_most >= a)
        exists &= x_least + y_least <= b
        if not exists.any():
            continue
        is_free = x_least + y_least >= a
        for x in (np.maximum(x_least, a - y_most), np.minimum(x_most, a - y_least)):
            yield np.where(is_free, x_least, x), np.where(is_free, y_least, a - x), exists


def _of_listed(limits: SizeLimits, t: Integers) -> Iterator[Part]:
    """Yield x and y, and whether they exist, for each size of the cluster that is split."""
    n, listed = limits.n, limits.exact
    assert listed is not None
    for size in sorted(set(listed)):
        others = list(listed)
        others.remove(size)
        sums = 1  # its bit w says whether some of the other clusters have w points
        for other in others:
            sums |= sums << other
        packed = np.frombuffer(sums.to_bytes(n // 8 + 1, "little"), np.uint8)
        found = np.flatnonzero(np.unpackbits(packed, bitorder="little")).astype(np.int64)
        below = found[np.searchsorted(found, t, "right") - 1]
        above = found[np.minimum(np.searchsorted(found, t - size), len(found) - 1)]
        for whole in (below, above):
            x = t - whole
            yield x, size - x, (x >= 0) & (x <= size)


def most_filled(limits: SizeLimits, measures: Integers) -> Reals:
    """Return g(t) of sets of measures t, (number,), rounded up.

    measures : (number,) whole numbers in 0..n
    limits : that k measures are within, not empty
    """
    least = np.array(limits.least_of_some(), np.int64)
    whole = np.searchsorted(least, measures, "right") - 1
    step = np.append(np.diff(least), 1)[whole]
    rest = measures - least[whole]
    # Quotient, sum and product are each rounded once; they are exact if rest is 0.
    return np.asarray((whole + rest / step) * np.where(rest > 0, _UP, 1.0), np.float64)


@dataclass(frozen=True, eq=False)
class MeasureRows(Group):
    """Cuts on the numbers of points of clusters if points have weights: block j has n_j points.

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
        limits = node.limits.measures if isinstance(node.limits, WeightBounds) else ()
        sizes = find_measure(limits, counts_points=True)
        if sizes is None:
            raise Rejected("a cut on the points of clusters, and these are not limited or weigh 1")
        m, limit = node.m, getattr(sizes.limits, self.end)
        # A template of all blocks, and of block i in the last place.
        rows = np.column_stack([np.tile(np.arange(m, dtype=np.int32), (len(self), 1)), self.blocks])
        coefficient = np.append(-sizes.reals, limit) * (1.0 if self.end == "most" else -1.0)
        entries = np.full(m + 1, m), np.arange(m + 1), coefficient
        return Inequalities(np.zeros(len(self)), terms_of(entries, rows))
