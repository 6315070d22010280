"""Constraints that cannot hold together, as a text that a person can act on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sdpbb.problem import InfeasibilityKind
from sdpbb.problem.statements import Statement

# Members that the text shows; all of them are in `members`.
SHOWN = 20


@dataclass(frozen=True)
class Conflict:
    """Constraints that no clustering into exactly k clusters keeps.

    Attributes
    ----------
    kind : why not
    heading : the same in words
    members : the constraints; a pair that a distance (GAMMA, DELTA) stands for counts by itself
    is_minimal : whether it is proven that without any one of the members the others can hold. If
        not, the time ended before all of them had been tried
    is_exact : False if the proof is the verdict of an integer programming solver in floating point
    """

    kind: InfeasibilityKind
    heading: str
    members: tuple[Statement, ...]
    is_minimal: bool
    is_exact: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, all members included."""
        return {
            "kind": self.kind.name.lower(),
            "heading": self.heading,
            "is_minimal": self.is_minimal,
            "is_exact": self.is_exact,
            "members": [member.to_dict() for member in self.members],
        }

    def __str__(self) -> str:
        lines = [f"{self.heading}:", *table(self.members[:SHOWN])]
        left_out = len(self.members) - SHOWN
        if left_out > 0:
            lines.append(f"  ... and {left_out} more")
        if not self.is_minimal:
            lines.append("(perhaps not all are needed; the time was too short to decide)")
        if not self.is_exact:
            lines.append("(by an integer programming solver in floating point)")
        return "\n".join(lines)


def table(statements: tuple[Statement, ...], indent: str = "  ") -> list[str]:
    """Return a line for each constraint: where it is stated, and what it says."""
    width = max((len(statement.place) for statement in statements), default=0)
    return [f"{indent}{s.place:<{width}}  {s.text}" for s in statements]
