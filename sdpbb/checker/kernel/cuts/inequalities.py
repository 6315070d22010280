"""Valid inequalities over the clustering matrix, and the weighted sums of them.

Z_ij = 1 / |C| for two blocks of a cluster C of weight |C|, and 0 for blocks of two clusters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..archive import NUMBERS
from ..arithmetic import sum_up
from ..certificate import whole, word
from ..rejection import Rejected
from ..sizes import SizeLimits, WeightBounds
from ..soft import SoftOverBlocks

Reals = NDArray[np.float64]
Numbers = NDArray[np.integer]
Marks = NDArray[np.bool_]
ClusterLimits = SizeLimits | WeightBounds
"""Limits on the weights of clusters: numbers of points, or bounds on what they weigh."""

# Terms that are added at a time, to bound the memory that long cuts take.
TERMS_AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class NodeFacts:
    """Facts about a node that cuts rest on.

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

        The other k - 1 clusters weigh at least as much as the k - 1 lightest blocks, and at least 1
        each where weights are whole numbers.
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
    """Valid inequalities of one group: sums of terms, and numbers that they are at least.

    sides : (number,) right-hand sides, rounded down
    terms : made while they are added up
    roundings : how often a coefficient times a multiplier is rounded, at most
    squares : (number, m) and (number,) vectors q and numbers f of terms - f q'Z q; None: no such
    caps : (number,) upper bounds on multipliers; None: no bounds
    n_products : pairs of blocks that the terms are products of; 0 where there are few
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
    roundings : (m, m) an entry of `matrix` is off by at most gamma_(roundings + 1) times that of
        `absolute`
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
            # Each term is rounded four times at most, as sums of 3 terms are.
            counts = 3.0 * ((q > 0.0).T.astype(float) @ (q > 0.0))
            for total, parts in zip(matrices, (values, np.abs(values), counts), strict=True):
                total += parts

    def symmetric(self) -> CutSums:
        """Return the sums with both triangles."""
        full = [np.asarray(np.triu(A) + np.triu(A, 1).T) for A in self[:3]]
        return CutSums(full[0], full[1], full[2], self.sides)


Reader = Callable[[Any, str], Any]
"""Reader of a field from its value and name."""
Shape = tuple[tuple[str, ...], int]
"""Types that an array may have, and the length of its rows."""


def read_count(value: Any, name: str) -> int:
    """Return the number of cuts of a group."""
    return whole(value, name, 1, 2**24)


def one_of(*words: str) -> Reader:
    """Return a reader of one of these words."""
    return lambda value, name: word(value, name, *words)


@dataclass(frozen=True, eq=False)
class Group(ABC):
    """Cuts of one form, as a file states them: a list of a word and fields, and arrays.

    blocks : (number of cuts, width) of each cut
    """

    blocks: Numbers

    WORD: ClassVar[str]
    PROOF: ClassVar[str]
    """The rule of docs/proof_rules.md that says why the cuts are valid."""
    READS: ClassVar[dict[str, Reader]] = {}
    """Readers of the fields of the list, by their names."""
    WIDTH: ClassVar[int]
    """Length of a row of blocks."""
    BESIDE: ClassVar[dict[str, Shape]] = {}
    """Arrays beside the blocks, whose rows begin with the number of a cut."""

    @classmethod
    def shapes(cls, values: dict[str, Any]) -> dict[str, Shape]:
        """Return the shapes of the arrays, by their names, for the values of the fields."""
        return {"blocks": (NUMBERS, cls.WIDTH), **cls.BESIDE}

    @property
    def arrays(self) -> dict[str, Numbers]:
        """Arrays by their names."""
        return {name: getattr(self, name) for name in ("blocks", *self.BESIDE)}

    def written(self) -> list[Any]:
        """Return the list of the group."""
        return [self.WORD, *(getattr(self, name) for name in self.READS)]

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
    """Return where rows (t, width) of each cut begin, and where the last ones end.

    `Rejected` if their first entries are not the numbers of `count` cuts in ascending order.
    """
    owner = rows[:, 0].astype(np.int64)
    if len(owner) and (owner[0] < 0 or owner[-1] >= count or (np.diff(owner) < 0).any()):
        raise Rejected(f"rows of cuts are not in the order of the cuts 0..{count - 1}")
    return np.searchsorted(owner, np.arange(count + 1))
