"""`suggest_queries`: the pairs of points, or the points, to ask about next."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from sdpbb.errors import ParameterError
from sdpbb.problem import Instance, Partition
from sdpbb.problem.instance import instance_of
from sdpbb.problem.partition import objection
from sdpbb.problem.sources import InstanceArguments
from sdpbb.problem.textfile import name_in_file
from sdpbb.questions.query_strategy import (
    ChosenPair,
    QueryKind,
    Standing,
    chosen_blocks,
    chosen_pairs,
    standing_of,
)
from sdpbb.questions.report import Entry, Report, table_of
from sdpbb.run.arguments import checked_clustering
from sdpbb.runtime.declaration import as_integer
from sdpbb.runtime.document import Document, Facts, Part, Tone, Verdict
from sdpbb.runtime.results import Tabular, keys_of
from sdpbb.runtime.values import counted, csv_text
from sdpbb.runtime.version import installed_version

Ask = Literal["pairs", "classes"]
"""What is asked: whether two points belong together, or of which class a point is."""

# Mark for an answer in the file.
UNANSWERED = "??"
# Minimum probability of a cluster that a reason names.
WORTH_NAMING = 0.05


@dataclass(frozen=True, repr=False)
class Query(Entry):
    """Question: whether two points belong together, or which class a point has.

    Attributes
    ----------
    rows : numbers (i, j) of the points; for a class, the question is about i, and j represents its
        likeliest cluster
    names : their names in the data
    clusters : their present clusters, numbered as in the labels of the report
    kind : what is asked
    score : score by which it was chosen; for a point, bits per question times density, otherwise
        bits
    likely_together : estimated probability of the answer "together"
    reason : why it is asked
    """

    rows: tuple[int, int]
    names: tuple[str, str]
    clusters: tuple[int, int]
    kind: QueryKind
    score: float
    likely_together: float
    reason: str

    fields = (
        *("row_i:names.0", "row_j:names.1", "cluster_i:clusters.0", "cluster_j:clusters.1"),
        *("kind", "score", "likely_together", "reason"),
    )

    @property
    def asked(self) -> str:
        """The names of the points in question, as in files."""
        names = self.names[:1] if self.kind is QueryKind.CLASS else self.names
        return " ".join(map(name_in_file, names))

    def __str__(self) -> str:
        first, second = map(name_in_file, self.names)
        if self.kind is QueryKind.CLASS:
            return f"what is the class of {first}? {self.reason}"
        return f"do {first} and {second} belong together? {self.reason}"


@dataclass(frozen=True, eq=False, repr=False)
class QueryReport(Report, Tabular):
    """Queries about a clustering.

    Attributes
    ----------
    instance : points, k and the constraints known so far
    queries : queries in the order of choice. None is implied by the constraints, as far as
        propagation finds, or by answers to the others
    n_asked_for : requested number of queries
    labels : labels (n,) of the clustering that they are about
    cost : cost of this clustering
    seed : seed of the random choices
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
        """The pairs of row numbers to ask about; empty if classes are asked."""
        return [query.rows for query in self.queries if query.kind is not QueryKind.CLASS]

    @property
    def rows(self) -> list[int]:
        """The numbers of the rows whose classes are asked."""
        return [query.rows[0] for query in self.queries if query.kind is QueryKind.CLASS]

    @property
    def note(self) -> str:
        """The constraint that the clustering violates, and the reason for fewer queries than asked.

        "" if neither applies.
        """
        notes, n_found = [], len(self.queries)
        if wrong := objection(self.instance, Partition(self.labels)):
            notes.append(
                f"the clustering to ask about {wrong}; it is the best found. 'sdpbb check' "
                "searches for one that satisfies the constraints"
            )
        if n_found < self.n_asked_for:
            number = f"{n_found} of {self.n_asked_for}" if n_found else "no"
            others = "the answers may imply all others" if n_found else "every answer is known"
            notes.append(f"{number} queries: {others}")
        return "; ".join(notes)

    columns, items = keys_of(Query.fields), "queries"
    values = "ask n_asked_for queries note cost labels seed version"

    @property
    def version(self) -> str:
        """Version of sdpbb."""
        return installed_version()

    def form(self) -> str:
        """Return a file of constraints to fill in: a line for each query, with its reason.

        Replace each `??` by ML or CL, and delete lines without an answer.

        For classes it is a CSV file with the known rows, then a row for each query. Answers belong
        in the field `class`; empty means unknown.
        """
        if self.ask == "classes":
            origin, rows = self.instance.origin, []
            if (known := origin.known_classes) is not None:
                for i in np.flatnonzero(known.numbers >= 0).tolist():
                    rows.append({"row": origin.row(i), "class": known.names[known.numbers[i]]})
            rows += [{"row": query.names[0], "class": ""} for query in self.queries]
            return csv_text(("row", "class"), rows)
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
        things = "pair" if self.ask == "pairs" else "point"
        number = counted(len(self.queries), things)
        tone = Tone(f"{number} to ask about", "good" if self.queries else "fair")
        parts: list[Part] = [Verdict("Status", tone, self.note), Facts([("Instance", about)])]
        cells: dict[str, Callable[[Query], str]] = {
            "together or apart?" if self.ask == "pairs" else "class?": lambda query: query.asked,
            "clusters": lambda query: f"{query.clusters[0]} {query.clusters[1]}",
            "score": lambda query: f"{query.score:.2f}",
            "reason": lambda query: query.reason,
        }
        if self.queries:
            parts.append(table_of(self.queries, cells, most=len(self.queries)))
        return Document(f"{things.capitalize()}s to ask about", parts, instance.name)


def suggest_queries(
    instance: Any,
    q: int = 10,
    *,
    k: int | None = None,
    ask: Ask = "pairs",
    clustering: ArrayLike | None = None,
    seed: int = 0,
    time_limit: float = math.inf,
    **arguments: Unpack[InstanceArguments],
) -> QueryReport:
    """Suggest the pairs of points, or points, whose answers help a clustering most.

    Each of the k clusters has a representative: its largest group of must-linked points. A query
    pairs a point with the representative of its likeliest cluster. Points are chosen by the
    expected information of the answer, weighted by the density of points around. A few queries ask
    whether two representatives are apart. Answers become must-links and cannot-links of the next
    instance. docs/benchmarks/queries.md measures the benefit.

    Queries for classes start with one point of each cluster without a known class. Further points
    are chosen by the same information. Answers are known classes of the next instance.

    No query is implied by the constraints, as far as propagation finds, or by any answers to the
    others: the order of answers is free.

    Parameters
    ----------
    instance : points, k and the constraints known so far as an `Instance`, which may have weights,
        limits on sizes, and soft pairs; or points alone, an array (n, d) or a data frame, with
        constraints as further arguments
    q : number of queries, >= 1
    k : number of clusters, of points
    ask : "pairs": whether two points belong together; "classes": of which class a point is
    clustering : labels (n,) of the clustering that queries are about, such as a proven one. None:
        the best that the engine's first search finds
    seed : seed of the random choices, >= 0. The same arguments give the same queries, unless the
        time limit ends the search
    time_limit : seconds for the search, > 0
    arguments : constraints and options for points, as for `sdpbb.solve`

    Returns
    -------
    QueryReport. If fewer than q queries exist, it has a note.

    Raises
    ------
    TypeError
        If an argument does not exist.
    InstanceError
        If the instance is invalid, no clustering satisfies its constraints
        (`NoClusteringToAskAbout`), or it has constraints on clusters apart from sizes.
    ParameterError
        If an argument is out of its domain, the clustering violates the constraints, or the time is
        too short.
    """
    instance = instance_of(instance, k, arguments, suggest_queries)
    for name, value, least in (("q", q, 1), ("seed", seed, 0)):
        number = as_integer(value)
        if number is None or number < least:
            raise ParameterError(f"{name} = {value!r}: expected an integer >= {least}")
    if ask not in get_args(Ask):
        raise ParameterError(f"ask = {ask!r}: expected 'pairs' or 'classes'")
    if not time_limit > 0:
        raise ParameterError(f"time_limit = {time_limit!r}: expected seconds > 0")
    with threadpool_limits(1):  # see `sdpbb.run.solving`
        given = None
        if clustering is not None:
            given = checked_clustering(clustering, instance, "clustering").labels
        standing = standing_of(instance, given, seed, time_limit)
        # Ties are broken differently after each answer.
        n_known = len(instance.must_link) + len(instance.cannot_link)
        rng = np.random.default_rng([seed, n_known])
        choose = chosen_pairs if ask == "pairs" else chosen_blocks
        chosen = choose(standing, q, rng)
    return QueryReport(
        instance=instance,
        queries=tuple(_query(standing, pair) for pair in chosen),
        n_asked_for=q,
        ask=ask,
        labels=standing.contraction.lift(standing.labels),
        cost=standing.contraction.cost(standing.labels),
        seed=seed,
    )


def _query(standing: Standing, pair: ChosenPair) -> Query:
    contraction = standing.contraction
    i, j = contraction.representatives[list(pair.blocks)].tolist()
    first, second = standing.labels[list(pair.blocks)].tolist()
    names = standing.instance.origin.row(i), standing.instance.origin.row(j)
    if pair.kind is QueryKind.CLUSTERS:
        reason = (
            f"{names[0]} and {names[1]} stand for clusters {first} and {second}, which are not "
            "known to be apart"
        )
    elif pair.kind is QueryKind.REST:
        reason = "nothing says yet whether they belong together"
    elif i == j:
        reason = f"{names[0]} stands for cluster {first}, of which no class is known"
    else:
        own = standing.memberships[pair.blocks[0]]
        likely = [c for c in np.argsort(-own, kind="stable").tolist() if own[c] >= WORTH_NAMING]
        listed = " or ".join(f"{cluster} ({100 * own[cluster]:.0f} %)" for cluster in likely[:3])
        reason = f"{names[0]} is of cluster {listed}; {names[1]} stands for {second}"
    return Query((i, j), names, (first, second), pair.kind, pair.score, pair.likely, reason)
