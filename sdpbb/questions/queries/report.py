"""Queries as values, as a table, and as a file to fill in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Instance, Partition
from sdpbb.problem.files.constraints_lines import UNANSWERED
from sdpbb.problem.partition import objection
from sdpbb.problem.textfile import name_in_file
from sdpbb.questions.queries.strategy import QueryKind
from sdpbb.runtime.document import Document, Part, Table, Text
from sdpbb.runtime.results import Reported, Tabular, keys_of, values_of
from sdpbb.runtime.values import counted, csv_text, shortened
from sdpbb.runtime.version import installed_version

COLUMNS = (
    *("row_i:names.0", "row_j:names.1", "cluster_i:clusters.0", "cluster_j:clusters.1"),
    *("kind", "score", "likely_together", "reason"),
)
# Letters of a name in a representation.
LONGEST = 40


@dataclass(frozen=True)
class Query:
    """Question whether two points belong together, or of which class a point is.

    Attributes
    ----------
    rows : numbers (i, j) of the points; for a class i is in question, and j stands for the cluster
        that it is most likely of
    names : what the user calls them
    clusters : in which they are now, numbered as in the labels of the report
    kind : what is asked
    score : by which it was chosen among those of its kind, larger for what tells more; of a point,
        bits per question times density, else bits
    likely_together : probability of the answer "together", as it is believed now
    reason : why it is asked, in words
    """

    rows: tuple[int, int]
    names: tuple[str, str]
    clusters: tuple[int, int]
    kind: QueryKind
    score: float
    likely_together: float
    reason: str

    def to_row(self) -> dict[str, Any]:
        """Return a row of a table; rows of points are named as the user does."""
        return values_of(self, *COLUMNS)

    def __str__(self) -> str:
        first, second = map(name_in_file, self.names)
        if self.kind is QueryKind.CLASS:
            return f"what is the class of {first}? {self.reason}"
        return f"do {first} and {second} belong together? {self.reason}"

    def __repr__(self) -> str:
        names = " ".join(shortened(name, LONGEST) for name in self.names)
        return f"<Query: {names}, {self.kind.value}, score {self.score:.2f}>"


@dataclass(frozen=True, eq=False)
class QueryReport(Reported, Tabular):
    """Queries about a clustering.

    Attributes
    ----------
    instance : points, k and the constraints known so far
    queries : to ask now, in the order in which they were chosen: none of them is implied by the
        constraints, as far as propagation finds, or by answers to the others
    n_asked_for : the number of queries that was asked for
    labels : (n,) the clustering that they are about
    cost : of this clustering
    seed : of the random choices
    ask : "pairs" or "classes"
    """

    instance: Instance
    queries: tuple[Query, ...]
    n_asked_for: int
    labels: NDArray[np.intp]
    cost: float
    seed: int
    ask: str = "pairs"

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of row numbers to ask about; none where classes are asked for."""
        return [query.rows for query in self.queries if query.kind is not QueryKind.CLASS]

    @property
    def rows(self) -> list[int]:
        """The numbers of the rows whose classes are asked for."""
        return [query.rows[0] for query in self.queries if query.kind is QueryKind.CLASS]

    @property
    def note(self) -> str:
        """The constraint that the clustering violates, and the reason for fewer queries than asked.

        "" if it keeps the constraints, and there are as many queries.
        """
        return "; ".join(filter(None, (self._violated(), self._fewer())))

    def _violated(self) -> str:
        wrong = objection(self.instance, Partition(self.labels))
        if not wrong:
            return ""
        return (
            f"the clustering to ask about {wrong}; it is the best found. 'sdpbb check' searches "
            "for one that satisfies the constraints"
        )

    def _fewer(self) -> str:
        if len(self.queries) == self.n_asked_for:
            return ""
        if not self.queries and self.ask == "classes":
            return "no queries: every point that may be of several clusters has a known class"
        if not self.queries:
            return "no queries: the constraints imply the answer for every pair"
        if self.ask == "classes":
            return (
                f"{len(self.queries)} of {self.n_asked_for} queries: the clusters of all others "
                "are known"
            )
        return (
            f"{len(self.queries)} of {self.n_asked_for} queries: their answers may imply all "
            "others; run again with the answers for more"
        )

    columns, items = keys_of(COLUMNS), "queries"
    values = "ask n_asked_for queries note cost labels seed version"

    @property
    def version(self) -> str:
        """Version of sdpbb."""
        return installed_version()

    def form(self) -> str:
        """Return a file of constraints to fill in: a line for each query, with its reason.

        In the place of each `??` belongs ML or CL; lines without an answer are to be deleted.

        Of classes it is a CSV file with a row for each query, behind the known ones; the answer
        belongs in the field `class`, and rows without an answer are of an unknown class.
        """
        if self.ask == "classes":
            return self._form_of_classes()
        if not self.queries:
            return f"# {self.note}\n"
        lines = [
            f"# {counted(len(self.queries), 'pair')} to answer. Replace ?? by",
            "#   ML  if the two belong together",
            "#   CL  if they do not",
            "# and delete the lines that you cannot answer.",
        ]
        for query in self.queries:
            first, second = map(name_in_file, query.names)
            reason = query.reason.replace("\n", " ")
            lines.append(f"{UNANSWERED} {first} {second}  # {reason}")
        return "\n".join(lines) + "\n"

    def _form_of_classes(self) -> str:
        origin = self.instance.origin
        rows, known = [], origin.known_classes
        if known is not None:
            for i in np.flatnonzero(known.numbers >= 0).tolist():
                rows.append({"row": origin.row(i), "class": known.names[known.numbers[i]]})
        rows += [{"row": query.names[0], "class": ""} for query in self.queries]
        return csv_text(("row", "class"), rows)

    def document(self) -> Document:
        """Return what to ask about, with the reasons."""
        instance = self.instance
        soft = instance.soft_must_link, instance.soft_cannot_link
        n_pairs = len(instance.must_link) + len(instance.cannot_link) + len(soft[0]) + len(soft[1])
        known = ", ".join([counted(n_pairs, "constraint"), *instance.stated_limits])
        about = (
            f"{instance.name or 'unnamed'}: {counted(instance.n_points, 'point')}, "
            f"k = {instance.k}, {known} known"
        )
        parts: list[Part] = [Text(about)]
        if self.queries:
            asked = "together or apart?" if self.ask == "pairs" else "class?"
            columns = [asked, "clusters", "score", "reason"]
            parts.append(Table(columns, [_row(query) for query in self.queries]))
        if self.note:
            parts.append(Text(self.note))
        return Document(f"{self._things.capitalize()} to ask about", parts, instance.name)

    def __repr__(self) -> str:
        name = shortened(self.instance.name or "unnamed", LONGEST)
        number = counted(len(self.queries), self._things.removesuffix("s"))
        return f"<QueryReport: {number} to ask about, {name}>"

    @property
    def _things(self) -> str:
        return "pairs" if self.ask == "pairs" else "points"


def _row(query: Query) -> list[str]:
    """Return the cells of a query in the table."""
    asked = query.names[:1] if query.kind is QueryKind.CLASS else query.names
    names = " ".join(map(name_in_file, asked))
    return [names, f"{query.clusters[0]} {query.clusters[1]}", f"{query.score:.2f}", query.reason]
