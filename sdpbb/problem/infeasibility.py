"""Why no clustering keeps the constraints."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class InfeasibilityKind(Enum):
    """The argument that proves an instance (or a node of the tree) infeasible."""

    CANNOT_LINK_IN_BLOCK = "a cannot-link between points that must be together"
    ODD_CYCLE = "an odd cycle of cannot-links with k = 2"
    CLIQUE = "more than k blocks that are mutually cannot-linked"
    TOO_FEW_BLOCKS = "fewer than k blocks"
    NOT_COLOURABLE = "the cannot-link graph has no colouring with k colours"
    """The verdict of an integer programming solver in floating point, on 0-1 data."""


@dataclass(frozen=True)
class Infeasibility:
    """A proof that no clustering exists: its kind, and the points (row numbers) it rests on."""

    kind: InfeasibilityKind
    points: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Plain values: the kind's name, all points, and the text."""
        return {"kind": self.kind.name.lower(), "points": list(self.points), "text": str(self)}

    def __str__(self) -> str:
        if not self.points:
            return self.kind.value
        shown = ", ".join(str(i) for i in self.points[:12])
        return f"{self.kind.value} (points {shown}{', ...' if len(self.points) > 12 else ''})"
