"""Valid inequalities over the clustering matrix, and the weighted sums of them.

Z_ij = 1 / |C| for two blocks of a cluster C of weight |C|, and 0 for blocks of two clusters.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arithmetic import sum_up
from ..log import fields, items, whole, word
from ..sizes import SizeLimits
from ..soft import SoftPrices
from ..weights import WeightBounds

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
    soft: SoftPrices | None = None

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


MOST_ENTRIES = 2**24
"""Blocks of all cuts of a node, parts and estimates, at most."""


def read_count(value: Any, name: str) -> int:
    """Return a number of things in a file."""
    return whole(value, name, 1, MOST_ENTRIES)


def read_lengths(value: Any, name: str) -> tuple[int, ...]:
    """Return the lengths of lists that a file states."""
    return tuple(whole(length, name, 0, MOST_ENTRIES) for length in items(value, name))


Readers = tuple[Callable[[Any, str], Any], ...]


def one_of(*words: str) -> Callable[[Any, str], str]:
    """Return a reader of one of these words."""
    return lambda value, name: word(value, name, *words)


@dataclass(frozen=True)
class Group(ABC):
    """Cuts of one form, as a file states them: what they have in common, and how many there are.

    A list of a word and the fields of the group. The blocks of its cuts stand in an array that all
    groups share, one cut after the other, and so do parts of blocks and estimates.
    """

    WORD: ClassVar[str]
    PROOF: ClassVar[str]
    """The rule of docs/proof_rules.md that says why the cuts are valid."""
    READS: ClassVar[Readers]
    """Readers of the fields, from their values and names."""

    @classmethod
    def read(cls, values: list[Any]) -> Group:
        """Return the group of a file from its fields; `Rejected` if it is none."""
        names = [entry.name for entry in dataclasses.fields(cls)]
        found = zip(cls.READS, fields(values, *names), names, strict=True)
        return cls(*(read(value, name) for read, value, name in found))

    def written(self) -> list[Any]:
        """Return the group as a file has it."""
        return [self.WORD, *(getattr(self, entry.name) for entry in dataclasses.fields(self))]

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of cuts."""

    @abstractmethod
    def n_blocks(self, k: int) -> int:
        """Return the number of blocks of all cuts, for k clusters."""

    @property
    def n_parts(self) -> int:
        """Number of parts of blocks."""
        return 0

    @property
    def n_estimates(self) -> int:
        """Number of estimates."""
        return 0

    @abstractmethod
    def inequalities(
        self, node: NodeFacts, blocks: Numbers, parts: Numbers, estimates: Numbers
    ) -> Inequalities:
        """Return the inequalities of the cuts; `Rejected` if one is not valid.

        blocks, parts, estimates : (n_blocks,) in 0..m - 1, (n_parts,), (n_estimates, 3)
        """


@dataclass(frozen=True)
class RowGroup(Group):
    """Cuts of as many blocks each.

    count : number of cuts
    """

    count: int

    def __len__(self) -> int:
        return self.count

    @abstractmethod
    def width(self, k: int) -> int:
        """Return the number of blocks of a cut."""

    def n_blocks(self, k: int) -> int:
        return self.count * self.width(k)


@dataclass(frozen=True)
class ListGroup(Group):
    """Cuts of lists of blocks, or of estimates, of these lengths."""

    lengths: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.lengths)

    def n_blocks(self, k: int) -> int:
        return sum(self.lengths)


def starts(lengths: Sequence[int]) -> NDArray[np.int64]:
    """Return where lists of these lengths begin, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(np.array(lengths, np.int64))]).astype(np.int64)


def owners(start: Numbers) -> NDArray[np.intp]:
    """Return the list of each entry."""
    return np.repeat(np.arange(len(start) - 1), np.diff(start))
