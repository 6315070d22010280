"""Queries as values, as a table, and as a file of constraints to fill in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Instance, Partition
from sdpbb.problem.files.constraints_lines import UNANSWERED
from sdpbb.problem.textfile import name_in_file
from sdpbb.problem.violations import objection
from sdpbb.questions.queries.strategy import QueryKind
from sdpbb.runtime.markup import card
from sdpbb.runtime.values import counted, csv_text, json_text, pandas_module, shortened
from sdpbb.runtime.version import installed_version

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    *("row_i", "row_j", "cluster_i", "cluster_j"),
    *("kind", "score", "likely_together", "reason"),
)
# Letters of a name in a representation.
LONGEST = 40


@dataclass(frozen=True)
class Query:
    """Question whether two points belong together.

    Attributes
    ----------
    rows : numbers (i, j) of the points
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
        """Return a row of a table, by `COLUMNS`; rows of points are named as the user does."""
        values = (
            *(*self.names, *self.clusters, self.kind.value),
            *(self.score, self.likely_together, self.reason),
        )
        return dict(zip(COLUMNS, values, strict=True))

    def __str__(self) -> str:
        first, second = map(name_in_file, self.names)
        return f"do {first} and {second} belong together? {self.reason}"

    def __repr__(self) -> str:
        names = " ".join(shortened(name, LONGEST) for name in self.names)
        return f"<Query: {names}, {self.kind.value}, score {self.score:.2f}>"

    def _repr_html_(self) -> str:
        """Return what is asked and why, as notebooks show it."""
        facts = [
            ("Together or apart?", " \u2013 ".join(self.names)),
            ("Clusters", f"{self.clusters[0]} and {self.clusters[1]}"),
            ("Score", f"{self.score:.2f}"),
            ("Reason", self.reason),
        ]
        return card("Query", facts)


@dataclass(frozen=True, eq=False)
class QueryReport:
    """Queries about a clustering.

    Attributes
    ----------
    instance : points, k and the constraints known so far
    queries : to ask now, in the order in which they were chosen: none of them is implied by the
        constraints, as far as propagation finds, or by answers to the others
    n_asked_for : the number of queries that was asked for
    labels : (n,) the clustering that they are about
    cost : of this clustering
    memberships : by which they were chosen: "covariance", "cost" or "relaxation"
    seed : of the random choices
    """

    instance: Instance
    queries: tuple[Query, ...]
    n_asked_for: int
    labels: NDArray[np.intp]
    cost: float
    memberships: str
    seed: int

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of row numbers to ask about."""
        return [query.rows for query in self.queries]

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
        if not self.queries:
            return "no queries: the constraints imply the answer for every pair"
        return (
            f"{len(self.queries)} of {self.n_asked_for} queries: their answers may imply all "
            "others; run again with the answers for more"
        )

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a flat row for each query."""
        return [query.to_row() for query in self.queries]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "n_asked_for": self.n_asked_for,
            "queries": self.to_rows(),
            "note": self.note,
            "cost": self.cost,
            "labels": self.labels.tolist(),
            "memberships": self.memberships,
            "seed": self.seed,
            "version": installed_version(),
        }

    def to_json(self) -> str:
        """Return `to_dict()` as one JSON object, one line per key."""
        return json_text(self.to_dict())

    def to_csv(self) -> str:
        """Return the rows with a heading, separated by commas."""
        return csv_text(COLUMNS, self.to_rows())

    def to_pandas(self) -> pd.DataFrame:
        """Return `to_rows()` as a data frame: a row for each query, in their order.

        Raises
        ------
        BackendUnavailable
            Without pandas.
        """
        return pandas_module("to_rows(), dictionaries").DataFrame(self.to_rows(), columns=COLUMNS)

    def form(self) -> str:
        """Return a file of constraints to fill in: a line for each query, with its reason.

        In the place of each `??` belongs ML or CL; lines without an answer are to be deleted.
        """
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

    def __str__(self) -> str:
        instance = self.instance
        soft = instance.soft_must_link, instance.soft_cannot_link
        n_pairs = len(instance.must_link) + len(instance.cannot_link) + len(soft[0]) + len(soft[1])
        known = ", ".join([counted(n_pairs, "constraint"), *instance.stated_limits])
        about = (
            f"{instance.name or 'unnamed'}: {counted(instance.n_points, 'point')}, "
            f"k = {instance.k}, {known} known"
        )
        lines = [about, *_table(self.queries)]
        if self.note:
            lines += ["", self.note]
        return "\n".join(lines)

    def __repr__(self) -> str:
        name = shortened(self.instance.name or "unnamed", LONGEST)
        return f"<QueryReport: {counted(len(self.queries), 'pair')} to ask about, {name}>"

    def _repr_html_(self) -> str:
        """Return what `str` does, as notebooks show it."""
        return card("Pairs to ask about", [], str(self))


def _table(queries: Sequence[Query]) -> list[str]:
    if not queries:
        return []
    heading = ("together or apart?", "clusters", "score", "reason")
    cells = [
        (
            " ".join(map(name_in_file, query.names)),
            f"{query.clusters[0]} {query.clusters[1]}",
            f"{query.score:.2f}",
            query.reason,
        )
        for query in queries
    ]
    widths = [max(len(row[column]) for row in (heading, *cells)) for column in range(3)]
    return [
        "",
        *(
            f"{row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}"
            for row in (heading, *cells)
        ),
    ]
