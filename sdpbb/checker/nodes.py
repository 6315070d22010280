"""Nodes of the proof tree in a certificate, as values; arrays are still in the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from .container import StoredArray
from .evidence import Source
from .rejection import Rejected

CONFLICT, CLIQUE, COLOURING, PRICES = "conflict", "clique", "colouring", "prices"
PACKING = "packing"
REASONS = {
    CONFLICT: "conflicts",
    CLIQUE: "cliques of cannot-links",
    COLOURING: "colouring",
    PRICES: "pricing",
    PACKING: "packing",
}
TOGETHER, APART = "together", "apart"


@dataclass(frozen=True)
class Merge:
    """Merges of points that share the one cluster that a clique leaves: rows (t, k + 1)."""

    rows: StoredArray


@dataclass(frozen=True)
class Equal:
    """Links of equal points: pairs (p, 2) that may as well share a cluster."""

    pairs: StoredArray


@dataclass(frozen=True)
class Bound:
    """Lower bound on the cost of all clusterings of the present state."""

    stated: float
    source: Source


@dataclass(frozen=True)
class Refuted:
    """Link of two points, as `link` says, the opposite of which node `node` refutes."""

    i: int
    j: int
    link: str
    node: int


@dataclass(frozen=True)
class Fix:
    """Links that hold in every clustering of the present state that costs less than `below`.

    excluded, far : pairs (p, 2) of points that are apart, the former with their evidence
    """

    below: float
    refuted: tuple[Refuted, ...]
    excluded: tuple[StoredArray, Source] | None
    far: StoredArray | None


@dataclass(frozen=True)
class Open:
    """End of a node of which nothing more is proven."""


@dataclass(frozen=True)
class Split:
    """End of a node that is split.

    Two points share a cluster in node `together`, and do not in node `apart`.
    """

    i: int
    j: int
    together: int
    apart: int


@dataclass(frozen=True)
class Infeasible:
    """End of a node without a clustering: by its blocks of points, or by prices of all blocks."""

    kind: str
    points: tuple[int, ...] = ()
    source: Source | None = None


@dataclass(frozen=True)
class ProofTreeNode:
    """Node of a proof tree: its steps, and its end."""

    steps: tuple[Merge | Equal | Bound | Fix, ...]
    end: Open | Split | Infeasible

    @property
    def children(self) -> list[int]:
        """Numbers of the nodes that it refers to."""
        found = [r.node for step in self.steps if isinstance(step, Fix) for r in step.refuted]
        return found + ([self.end.together, self.end.apart] if isinstance(self.end, Split) else [])


def rules_used(node: ProofTreeNode) -> Iterator[str]:
    """Yield the names of the rules of docs/proof_rules.md that a node uses."""
    for step in node.steps:
        match step:
            case Merge():
                yield "merges"
            case Equal():
                yield "equal points"
            case Bound():
                yield from step.source.rules_used
            case Fix():
                if step.refuted:
                    yield "refutations"
                if step.excluded is not None:
                    yield "excluded pairs"
                    yield from step.excluded[1].rules_used
                if step.far is not None:
                    yield "far pairs"
    match node.end:
        case Split():
            yield "splits"
        case Infeasible():
            yield REASONS[node.end.kind]


class ProofTree(Protocol):
    """Proof about n points; nodes[0] is the root."""

    @property
    def n(self) -> int: ...

    @property
    def nodes(self) -> tuple[ProofTreeNode, ...]: ...


@dataclass(frozen=True)
class Subset:
    """Proof about some of the points, rows (s,), which it numbers in their order."""

    rows: StoredArray
    nodes: tuple[ProofTreeNode, ...]

    @property
    def n(self) -> int:
        """Number of points."""
        return self.rows.shape[0]


def require_tree(nodes: Sequence[ProofTreeNode]) -> None:
    """Raise `Rejected` unless each node but the root is referred to once, by one before it."""
    seen = [False] * len(nodes)
    seen[0] = True
    for number, node in enumerate(nodes):
        for child in node.children:
            if not number < child < len(nodes):
                raise Rejected(
                    f"node {number}: refers to node {child}; expected a number in "
                    f"{number + 1}..{len(nodes) - 1}"
                )
            if seen[child]:
                raise Rejected(f"node {number}: refers to node {child}, as another place does")
            seen[child] = True
    if not all(seen):
        raise Rejected(f"node {seen.index(False)} is not referred to")
