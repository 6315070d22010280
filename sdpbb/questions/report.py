"""Base of reports on an instance that is solved, and on jobs that begin with its clustering."""

from __future__ import annotations

from typing import ClassVar

from sdpbb.runtime.document import Document, Text, Tone, Verdict
from sdpbb.runtime.rendering import plain_text
from sdpbb.runtime.results import Reported, Tabular
from sdpbb.runtime.values import percent_up
from sdpbb.search.result import Result, SolutionStatus

SHOWN = 20
"""Rows of the table in `str`."""


class StudyReport(Reported, Tabular):
    """Base of reports on a solved instance, with a table of what its jobs have found.

    title : of the document
    nothing : what cannot be said, as two ends of a sentence: if no clustering exists, and if none
        was found
    result, interrupted, problems : of the instance; whether an interrupt ended the run; a line for
        each job that failed
    """

    title: ClassVar[str]
    nothing: ClassVar[tuple[str, str]]
    result: Result
    interrupted: bool
    problems: tuple[str, ...]

    @property
    def is_solved(self) -> bool:
        """True if the clustering is proven optimal."""
        return self.result.status is SolutionStatus.OPTIMAL

    def document(self, top: int = SHOWN) -> Document:
        """Return the document; without a clustering, why there is none.

        top : rows of the table
        """
        raise NotImplementedError

    def table(self, top: int = SHOWN) -> str:
        """Return the document as plain text, with at most `top` rows of the table."""
        return plain_text(self.document(top))

    def without_clustering(self, name: str = "") -> Document:
        """Return the document of a result without a clustering, of an instance of this name."""
        result, (of_none, of_unknown) = self.result, self.nothing
        if result.conflict is not None:
            text = f"No clustering satisfies the constraints, so {of_none}."
            verdict = Verdict("Status", Tone("Proven infeasible", "bad"), text)
            return Document(self.title, [verdict, Text(str(result.conflict), "verbatim")], name)
        text = f"No clustering was found, so {of_unknown}: {result}"
        verdict = Verdict("Status", Tone("No clustering found", "fair"), text)
        return Document(self.title, [verdict], name)

    def facts(self) -> list[tuple[str, str]]:
        """Return the cost of the clustering, and whether it is proven."""
        result = self.result
        proven = f"{'' if self.is_solved else 'not '}proven optimal, gap {percent_up(result.gap)}"
        return [(result.cost_name.capitalize(), f"{result.objective:.12g}, {proven}")]
