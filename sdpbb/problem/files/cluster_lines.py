"""Lines of a file that state constraints on clusters: `KEYWORD limit i j ...`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sdpbb.problem.cluster_constraints import (
    BuiltInConstraint,
    ClusterConstraint,
    MaximumOverlap,
    MaximumSize,
    MinimumDifference,
    SoftCannotLinks,
)


@dataclass(frozen=True)
class ClusterLine:
    """Kind of line: a keyword, the limit of a constraint, and the rows that it names.

    Attributes
    ----------
    keyword : its first field
    form : its other fields, by letters
    meaning : of these letters, for a message; "{rows}" stands for what rows are called
    stands_for : class of the constraint, made of a limit, of rows and a limit, or of pairs of rows
        and a limit
    rows_in_group : 0 if it names no rows, 1 for rows, 2 for pairs of rows
    least : least limit
    """

    keyword: str
    form: str
    meaning: str
    stands_for: type[BuiltInConstraint]
    rows_in_group: int = 1
    least: int = 0

    def has_form(self, limit: int, rows: Sequence[object]) -> bool:
        """Return whether a line may have this limit, and so many rows."""
        is_whole = len(rows) % self.rows_in_group == 0 if self.rows_in_group else not rows
        return limit >= self.least and is_whole and bool(rows) == bool(self.rows_in_group)

    def constraint(self, limit: int, rows: Sequence[int]) -> BuiltInConstraint:
        """Return the constraint of a line that has the form."""
        arguments: list[object] = [limit]
        if self.rows_in_group == 1:
            arguments.insert(0, tuple(rows))
        elif self.rows_in_group == 2:
            arguments.insert(0, tuple(zip(rows[::2], rows[1::2], strict=True)))
        return self.stands_for(*arguments)

    def rows(self, constraint: Any) -> list[int]:
        """Return the rows that the line of a constraint names."""
        return list(constraint.rows())

    def text(self, constraint: Any, names: Iterable[object]) -> str:
        """Return the line of a constraint, where its rows have these names."""
        return " ".join(map(str, (self.keyword, constraint.limit, *names)))


CLUSTER_LINES = [
    ClusterLine("MAXSIZE", "n", "an integer n >= 1", MaximumSize, rows_in_group=0, least=1),
    ClusterLine("OVERLAP", "l i j ...", "an integer l >= 0 and {rows}", MaximumOverlap),
    ClusterLine("DIFFERENCE", "l i j ...", "an integer l >= 0 and {rows}", MinimumDifference),
    ClusterLine(
        "SOFTCL",
        "l i j i j ...",
        "an integer l >= 0 and pairs of {rows}",
        SoftCannotLinks,
        rows_in_group=2,
    ),
]


def line_of(constraint: ClusterConstraint) -> ClusterLine | None:
    """Return the kind of line that states a constraint; None if it has none."""
    return next((line for line in CLUSTER_LINES if type(constraint) is line.stands_for), None)
