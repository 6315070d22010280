"""What a certificate says of a set of clusterings, as values; arrays are still in the file."""

from __future__ import annotations

from dataclasses import dataclass

from .container import StoredArray
from .cuts import Cuts, count_cuts
from .evidence import Enumerated, Lagrangian, Semidefinite
from .rejection import Rejected

# What evidence may have of sets of three blocks.
MAX_TRIPLES = 2_000
CONFLICT, CLIQUE, COLOURING, PRICES = "conflict", "clique", "colouring", "prices"
TOGETHER, APART = "together", "apart"


@dataclass(frozen=True)
class ScatterSource:
    """The scatter inside the blocks: it needs no evidence."""


@dataclass(frozen=True)
class LagrangianSource:
    """A `Lagrangian` whose arrays are still in the file."""

    prices: StoredArray
    least: float

    def load(self, m: int) -> Lagrangian:
        """For m blocks; `Rejected`, before anything is taken from the file, if it is not."""
        if self.prices.shape != (m,):
            raise Rejected(f"{self.prices.shape[0]} prices; expected one for each of {m} blocks")
        return Lagrangian(self.prices.load(), self.least)


@dataclass(frozen=True)
class EnumeratedSource:
    """An `Enumerated` whose arrays are still in the file."""

    below: float
    prices: StoredArray
    least: float
    share_prices: StoredArray
    triples: StoredArray
    penalties: StoredArray

    def load(self, m: int) -> Enumerated:
        """For m blocks; `Rejected`, before anything is taken from the file, if it is not."""
        if not self.prices.shape == self.share_prices.shape == (m,):
            numbers = f"{self.prices.shape[0]} and {self.share_prices.shape[0]}"
            raise Rejected(f"prices of {numbers}; expected one for each of {m} blocks")
        if self.triples.shape[0] > MAX_TRIPLES or self.triples.shape[:1] != self.penalties.shape:
            numbers = f"{self.triples.shape[0]} triples, {self.penalties.shape[0]} penalties"
            raise Rejected(f"{numbers}; expected as many, at most {MAX_TRIPLES}")
        arrays = (self.share_prices, self.triples, self.penalties)
        loaded = (array.load() for array in arrays)
        return Enumerated(self.below, self.prices.load(), self.least, *loaded)


@dataclass(frozen=True)
class SemidefiniteSource:
    """A `Semidefinite` whose arrays are still in the file."""

    unit: float
    N: StoredArray
    cuts: dict[str, StoredArray]
    multipliers: StoredArray
    k: int

    def load(self, m: int) -> Semidefinite:
        """For m blocks; `Rejected`, before anything is taken from the file, if it is not, or if the
        cuts are more than fit into little memory."""
        self._check_sizes(m)
        cuts = Cuts.of_arrays(self.k, {name: array.load() for name, array in self.cuts.items()})
        return Semidefinite(self.unit, self.N.load(), cuts, self.multipliers.load())

    def _check_sizes(self, m: int) -> None:
        entries = m * (m + 1) // 2
        if self.N.shape != (entries,):
            raise Rejected(f"N should be {entries} numbers, not of shape {self.N.shape}")
        number = count_cuts({name: array.shape for name, array in self.cuts.items()}, m)
        if self.multipliers.shape != (number,):
            raise Rejected(f"{number} cuts, but multipliers of shape {self.multipliers.shape}")


Source = ScatterSource | LagrangianSource | EnumeratedSource | SemidefiniteSource


@dataclass(frozen=True)
class Merge:
    """Points that share the one cluster that a clique leaves: rows (t, k + 1)."""

    rows: StoredArray


@dataclass(frozen=True)
class Bound:
    """A lower bound on the cost of all clusterings of the present state."""

    stated: float
    source: Source


@dataclass(frozen=True)
class Refuted:
    """Two points linked as `link` says, since node, in which they are not, is refuted."""

    i: int
    j: int
    link: str
    node: int


@dataclass(frozen=True)
class Fix:
    """What holds in every clustering of the present state that costs less than below.

    excluded, far : pairs (p, 2) of points that are apart, the former with what proves it
    """

    below: float
    refuted: tuple[Refuted, ...]
    excluded: tuple[StoredArray, SemidefiniteSource] | None
    far: StoredArray | None


@dataclass(frozen=True)
class Open:
    """Nothing more is proven."""


@dataclass(frozen=True)
class Split:
    """Two points share a cluster, in node together, or not, in node apart."""

    i: int
    j: int
    together: int
    apart: int


@dataclass(frozen=True)
class Infeasible:
    """There is no clustering, because of the blocks of points, or of prices of all blocks."""

    kind: str
    points: tuple[int, ...] = ()
    source: LagrangianSource | None = None


@dataclass(frozen=True)
class Node:
    """A set of clusterings, what is proven of it step by step, and what is left in the end."""

    steps: tuple[Merge | Bound | Fix, ...]
    end: Open | Split | Infeasible

    @property
    def children(self) -> list[int]:
        """The nodes that it refers to."""
        found = [r.node for step in self.steps if isinstance(step, Fix) for r in step.refuted]
        return found + ([self.end.together, self.end.apart] if isinstance(self.end, Split) else [])
