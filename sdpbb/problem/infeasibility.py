"""Proofs that no clustering satisfies the constraints."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from sdpbb.problem.textfile import first_of, name_in_file
from sdpbb.runtime.archive.stored import stored
from sdpbb.runtime.values import counted


@stored
class InfeasibilityKind(Enum):
    """Argument that proves an instance (or a node of the tree) infeasible."""

    CANNOT_LINK_IN_BLOCK = "a cannot-link between points that must be together"
    ODD_CYCLE = "an odd cycle of cannot-links with k = 2"
    CLIQUE = "more than k blocks that are all cannot-linked to each other"
    TOO_FEW_BLOCKS = "fewer than k blocks"
    NOT_COLOURABLE = "the cannot-link graph has no colouring with k colours"
    """The verdict of an integer programming solver in floating point, on 0-1 data."""
    BLOCK_NOT_ALLOWED = "points that must be together, but no cluster may hold them"
    TOO_MUCH_FOR_K = "more points, or pairs that must be together, than k clusters may hold"
    SIZES = "clusters of the requested sizes cannot hold the points"
    EXHAUSTED = "no clustering satisfies the constraints on clusters"
    """The search has looked everywhere."""


@stored
@dataclass(frozen=True)
class Infeasibility:
    """Proof that no clustering exists.

    Pairs that constraints on clusters keep apart count as cannot-links.

    kind : of the proof
    points : the row numbers it rests on
    n_nodes : the nodes of the tree that it took, for EXHAUSTED
    rows : what the user calls these points; () for their row numbers
    """

    kind: InfeasibilityKind
    points: tuple[int, ...] = ()
    n_nodes: int = 0
    rows: tuple[str, ...] = field(default=(), compare=False)

    def to_dict(self) -> dict[str, object]:
        """Return plain values: the kind's name, all points, and the text."""
        return {"kind": self.kind.name.lower(), "points": list(self.points), "text": str(self)}

    def __str__(self) -> str:
        if self.n_nodes:
            nodes = counted(self.n_nodes, "node")
            return f"{self.kind.value}, proven by branching over {nodes}"
        if not self.points:
            return self.kind.value
        names = tuple(map(name_in_file, self.rows)) or tuple(map(str, self.points))
        return f"{self.kind.value} (points {first_of(names, 12)})"
