"""Base classes of the reports on questions, and of their rows; their tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from sdpbb.runtime.document import Document, Table, Text, Tone, Verdict
from sdpbb.runtime.results import Reported, Tabular, values_of
from sdpbb.runtime.values import percent_up, rounded_down, seconds_text, shortened
from sdpbb.search.result import Result, SolutionStatus

SHOWN = 20
"""Rows of the table in `str`."""

if TYPE_CHECKING:
    from sdpbb.problem import Instance

# Maximum letters of `repr`.
LONGEST = 120

Item = TypeVar("Item")


def table_of(
    items: Sequence[Item],
    columns: Mapping[str, Callable[[Item], str | None]],
    caption: str = "",
    most: int = SHOWN,
) -> Table:
    """Return a table of items.

    columns : functions that return the cell of an item, by heading; None: an empty cell
    most : maximum rows; the table states how many more exist
    """
    rows = [[cell(item) or "" for cell in columns.values()] for item in items[:most]]
    return Table([*columns], rows, caption, len(items) - len(rows))


def figure(value: float | None, form: str) -> str:
    """Return a number in a format such as ".3f"; "" for None."""
    return "" if value is None else f"{value:{form}}"


def bound_text(value: float | None, digits: int) -> str:
    """Return a lower bound, rounded down to significant digits; "" for None."""
    return "" if value is None else rounded_down(value, digits)


class Entry:
    """Base of the rows of a report.

    fields : names and paths of the columns of CSV, JSON and data frames (`values_of`); (): all
        fields of the dataclass
    """

    fields: ClassVar[tuple[str, ...]]

    def to_row(self) -> dict[str, Any]:
        """Return a row of a table, as plain values; points have their names in the data."""
        return values_of(self, *self.fields)

    def __repr__(self) -> str:
        line = " ".join(str(self).split())
        return f"<{type(self).__name__}: {shortened(line, LONGEST)}>"


class Report(Reported):
    """Base of reports, whose documents hold a verdict: `repr` is its headline."""

    def __repr__(self) -> str:
        verdicts = (part for part in self.document().parts if isinstance(part, Verdict))
        return f"<{type(self).__name__}: {next(verdicts).tone.words}>"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StudyReport(Report, Tabular):
    """Base of reports on a solved instance, with a table of what its jobs have found.

    title : title of the document
    nothing : what cannot be said without a clustering, as the end of a sentence

    Attributes
    ----------
    instance, result : the instance, and the result of its own run
    interrupted, seconds : whether an interrupt ended the run, and its duration
    problems : a line for each job that failed
    """

    title: ClassVar[str]
    nothing: ClassVar[str]
    instance: Instance
    result: Result
    interrupted: bool
    seconds: float
    problems: tuple[str, ...] = ()

    @property
    def is_solved(self) -> bool:
        """True if the clustering is proven optimal."""
        return self.result.status is SolutionStatus.OPTIMAL

    def document(self, top: int = SHOWN) -> Document:
        """Return the document; without a clustering, it says why.

        top : rows of the table
        """
        raise NotImplementedError

    def without_clustering(self) -> Document:
        """Return the document of a result without a clustering."""
        result, name = self.result, self.instance.name
        if result.conflict is not None:
            text = f"No clustering satisfies the constraints, so {self.nothing}."
            verdict = Verdict("Status", Tone("Proven infeasible", "bad"), text)
            return Document(self.title, [verdict, Text(str(result.conflict), "verbatim")], name)
        text = f"No clustering was found, so {self.nothing}: {result}"
        verdict = Verdict("Status", Tone("No clustering found", "fair"), text)
        return Document(self.title, [verdict], name)

    def findings(self) -> list[tuple[str, str]]:
        """Return the facts that the jobs have found."""
        raise NotImplementedError

    def facts(self) -> list[tuple[str, str]]:
        """Return the cost of the clustering, what was found, what failed, and the time."""
        result = self.result
        proven = f"{'' if self.is_solved else 'not '}proven optimal, gap {percent_up(result.gap)}"
        return [
            (result.cost_name.capitalize(), f"{result.objective:.12g}, {proven}"),
            *self.findings(),
            *(("Failed", problem) for problem in self.problems),
            ("Time", seconds_text(self.seconds)),
        ]
