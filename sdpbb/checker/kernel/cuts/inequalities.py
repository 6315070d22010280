"""Valid inequalities over the clustering matrix, and the weighted sums of them.

Z_ij = 1 / |C| for two blocks of a cluster C of weight |C|, and 0 for blocks of two clusters.

*Bounds.* Limits are on a measure of clusters, q(C) = sum of q_i over the blocks i of C for whole
numbers q_i: their points, or their units of weight. For the weights e_i and any number r >= 0

    |C| = sum of e_i = r q(C) + sum of (e_i - r q_i).

So with a <= q(C) <= b, and sums over all blocks,

    r a - sum of max(0, r q_i - e_i) <= |C| <= r b + sum of max(0, e_i - r q_i).

r is the weight of all blocks over their measure. Weights in units are nearly proportional to their
measure, and both sums nearly 0.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..archive import NUMBERS
from ..arithmetic import down, sum_up, up
from ..certificate import Record, Shape, whole
from ..rejection import Rejected
from ..rules import Measure
from ..sizes import SizeLimits
from ..soft import SoftOverBlocks

Reals = NDArray[np.float64]
Numbers = NDArray[np.integer]
Marks = NDArray[np.bool_]

# Terms that are added at a time, to bound the memory that long cuts take.
TERMS_AT_ONCE = 2**22
# Part of the weight of all blocks that is more than the error of sums here, a quarter of it.
_ROUNDING = 2.0**-48


@dataclass(frozen=True, eq=False)
class WeightBounds:
    """Bounds on the weights |C| of clusters, least <= |C| <= most, and the limits that imply them.

    least : >= 0
    most : the weight of all blocks, or less
    measures : of the blocks: points, units of weight, or both
    """

    least: float
    most: float
    measures: tuple[Measure, ...] = ()

    @classmethod
    def of(cls, weights: Reals, measures: Iterable[Measure]) -> WeightBounds | None:
        """Return the bounds for clusters of blocks of weights (m,); None without a measure."""
        found = tuple(measures)
        if not found:
            return None
        bounds = [_bounds(weights, measure) for measure in found]
        return cls(max(least for least, _ in bounds), min(most for _, most in bounds), found)


def _bounds(weights: Reals, measure: Measure) -> tuple[float, float]:
    """Return the bounds on |C| that follow from one measure; see the module."""
    limits, total = measure.limits, sum_up(weights.tolist())
    rate = total / float(measure.values.sum())
    excess = weights - rate * measure.values
    above = sum_up(np.maximum(excess, 0.0).tolist())
    below = sum_up(np.maximum(-excess, 0.0).tolist())
    error = _ROUNDING * total
    least = down(down(rate * limits.least) - up(below + error))
    most = up(up(rate * limits.most) + up(above + error))
    return max(0.0, least), min(total, most)


ClusterLimits = SizeLimits | WeightBounds
"""Limits on the weights of clusters: sizes, if points weigh 1 each, or bounds on weights."""


@dataclass(frozen=True, eq=False)
class NodeFacts:
    """Facts about a node that make cuts valid.

    k : number of clusters
    weights : (m,) of the blocks
    adjacency : (m, m) symmetric, the cannot-linked pairs
    limits : on the weights of clusters; None: no limits
    soft : prices of soft pairs; None: no soft pairs
    """

    k: int
    weights: Reals
    adjacency: Marks
    limits: ClusterLimits | None = None
    soft: SoftOverBlocks | None = None

    @property
    def m(self) -> int:
        """Number of blocks."""
        return len(self.weights)

    @property
    def has_whole_weights(self) -> bool:
        """True if all weights are whole numbers."""
        return bool((self.weights == np.rint(self.weights)).all())

    @property
    def heaviest(self) -> float:
        """Upper bound on the weight of a cluster.

        The other k - 1 clusters weigh at least as much as the k - 1 lightest blocks; and at least
        1 each, if weights are whole numbers.
        """
        if self.has_whole_weights:
            most = float(int(self.weights.sum()) - self.k + 1)
        else:
            most = sum_up(np.sort(self.weights)[self.k - 1 :].tolist())
        return most if self.limits is None else min(float(self.limits.most), most)


class Terms(NamedTuple):
    """Terms coefficient Z_ij of inequalities, each unordered pair of blocks once.

    cut, i, j, coefficient : (number of terms,)
    """

    cut: Numbers
    i: Numbers
    j: Numbers
    coefficient: Reals


@dataclass(frozen=True, eq=False)
class Inequalities:
    """Valid inequalities of one group: sums of terms, and right-hand sides at most as large.

    sides : (number,) right-hand sides, rounded down
    terms : made while they are added up
    roundings : most roundings of a coefficient times a multiplier
    squares : (number, m) and (number,) vectors q and numbers f of terms - f q'Z q; None: none
    caps : (number,) upper bounds on multipliers; None: no bounds
    n_products : number of terms that are made one by one; 0 if there are few
    """

    sides: Reals
    terms: Iterable[Terms] = ()
    roundings: float = 1.0
    squares: tuple[Reals, Reals] | None = None
    caps: Reals | None = None
    n_products: int = 0


class CutSums(NamedTuple):
    """Sums over cuts, weighted by their multipliers.

    matrix : (m, m) sum of t_c B_c
    absolute : (m, m) sum of the absolute values of the same terms
    roundings : (m, m) an entry of `matrix` is off by at most gamma_(roundings + 1) times the entry
        of `absolute`
    sides : numbers that add up to at most the sum of t_c b_c
    """

    matrix: Reals
    absolute: Reals
    roundings: Reals
    sides: list[float]

    @classmethod
    def zeros(cls, m: int) -> CutSums:
        return cls(np.zeros((m, m)), np.zeros((m, m)), np.zeros((m, m)), [])

    def add(self, cuts: Inequalities, t: Reals) -> None:
        """Add inequalities times t (number,), entries of the upper triangle only."""
        if cuts.caps is not None:
            t = np.minimum(t, cuts.caps)
        self.sides.extend(np.nextafter(t * cuts.sides, -np.inf)[cuts.sides != 0.0].tolist())
        m, matrices = len(self.matrix), self[:3]
        for cut, i, j, coefficient in cuts.terms:
            values = t[cut] * coefficient
            values[i != j] *= 0.5  # entries off the diagonal count twice
            position = np.minimum(i, j).astype(np.int64) * m + np.maximum(i, j)
            counts = cuts.roundings * (values != 0.0)
            for total, parts in zip(matrices, (values, np.abs(values), counts), strict=True):
                total += np.bincount(position, parts, m * m).reshape(m, m)
        if cuts.squares is not None:
            q, factor = cuts.squares
            values = -(q.T * (factor * t)) @ q
            # A term is rounded at most four times, like a sum of three terms.
            counts = 3.0 * ((q > 0.0).T.astype(float) @ (q > 0.0))
            for total, parts in zip(matrices, (values, np.abs(values), counts), strict=True):
                total += parts

    def symmetric(self) -> CutSums:
        """Return the sums with both triangles."""
        full = [np.asarray(np.triu(A) + np.triu(A, 1).T) for A in self[:3]]
        return CutSums(full[0], full[1], full[2], self.sides)


def read_count(value: Any, name: str) -> int:
    """Return the number of cuts of a group."""
    return whole(value, name, 1, 2**24)


@dataclass(frozen=True, eq=False)
class Group(Record):
    """Cuts of one form.

    blocks : (number of cuts, width) of each cut
    """

    blocks: Numbers

    WIDTH: ClassVar[int]
    """Length of a row of blocks."""
    FURTHER: ClassVar[dict[str, Shape]] = {}
    """Shapes of the other arrays, whose rows begin with the number of a cut."""

    @classmethod
    def shapes(cls, values: dict[str, Any], m: int) -> dict[str, Shape]:
        """Return the types and the length of a row of each array; `Cuts` limits the rows."""
        return {"blocks": (NUMBERS, cls.WIDTH), **cls.FURTHER}

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def numbers(self) -> list[Numbers]:
        """Blocks of all cuts."""
        return [self.blocks]

    @abstractmethod
    def inequalities(self, node: NodeFacts) -> Inequalities:
        """Return the inequalities of the cuts, whose blocks are in 0..m - 1.

        `Rejected` if one is not valid.
        """


def starts(rows: Numbers, count: int) -> NDArray[np.int64]:
    """Return where the rows (t, width) of each cut begin, and where the last ones end.

    `Rejected` unless the first entries are numbers of the `count` cuts in ascending order.
    """
    owner = rows[:, 0].astype(np.int64)
    if len(owner) and (owner[0] < 0 or owner[-1] >= count or (np.diff(owner) < 0).any()):
        raise Rejected(f"rows of cuts are not in the order of the cuts 0..{count - 1}")
    return np.searchsorted(owner, np.arange(count + 1))
