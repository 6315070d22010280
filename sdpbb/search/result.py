"""Result of a run: solution status, reason of termination, statistics."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem import Infeasibility, Origin, Partition, SoftViolations
from sdpbb.runtime.archive import stored
from sdpbb.runtime.document import Document, Facts, Part, Text, Tone, Verdict
from sdpbb.runtime.interruption import TERMINATED, exit_status
from sdpbb.runtime.results import Reported, plain, values_of
from sdpbb.runtime.values import (
    counted,
    pandas_module,
    percent_up,
    rounded_down,
    seconds_text,
)

if TYPE_CHECKING:
    import pandas as pd

    from sdpbb.problem.statements import Conflict

# Least relative gap that double precision distinguishes from 0; smaller requested gaps count as it.
PRECISION = 1e-12
# Relative difference of sums in another order. Proven bounds may exceed a cost by it.
ROUNDING = 1e-9
# Maximum rows that the summary lists as contradicting their known classes.
SHOWN_ROWS = 12


class SolutionStatus(Enum):
    """Solution status: what a run has proven."""

    OPTIMAL = "optimal"
    """The clustering satisfies every constraint, and a valid lower bound lies within the requested
    gap (at least PRECISION)."""
    FEASIBLE = "feasible"
    """The clustering satisfies every constraint; the valid lower bound leaves a gap."""
    INFEASIBLE = "infeasible"
    """It is proven that no clustering satisfies the constraints."""
    UNKNOWN = "unknown"
    """There is neither a clustering nor a proof of infeasibility."""


class Termination(Enum):
    """Reason of termination."""

    GAP_CLOSED = "gap_closed"
    PROVEN_INFEASIBLE = "proven_infeasible"
    TIME_LIMIT = "time_limit"
    NODE_LIMIT = "node_limit"
    MEMORY_LIMIT = "memory_limit"
    WORKERS_LOST = "workers_lost"
    """No node is left to evaluate, and at least one has crashed two workers."""
    PRECISION = "precision"
    """Double precision leaves a gap: costs are too small relative to squared distances, or a
    certificate cannot show what was proven."""
    INTERRUPTED = "interrupted"


_STOPPED_BY = {
    Termination.TIME_LIMIT: "the time limit",
    Termination.NODE_LIMIT: "the node limit",
    Termination.MEMORY_LIMIT: "the memory limit",
    Termination.PRECISION: "limited numerical precision",
    Termination.WORKERS_LOST: "crashed workers (nodes that crashed two were abandoned)",
    Termination.INTERRUPTED: "an interrupt",
}


def stopped_by(termination: Termination) -> str:
    """Return the reason of termination in words; "SIGTERM" if that has ended the command."""
    if termination is Termination.INTERRUPTED and exit_status() == TERMINATED:
        return "SIGTERM"
    return _STOPPED_BY[termination]


@stored
@dataclass(frozen=True)
class Statistics:
    """Statistics of a run: time, nodes, iterations, figures of the root.

    n_nodes counts the nodes whose evaluation has ended, n_fixed the fixed pairs, n_lost the nodes
    that were abandoned after two workers crashed. n_subsets counts the subsets that were bounded
    for a decomposition of the root, n_lost_subsets the subsets that were abandoned after two
    workers crashed.

    root_lower_bound, root_gap and root_seconds are the figures at the end of the root's evaluation;
    None before. The bound is None if the root has no clustering, the gap if none was known.
    """

    wall_seconds: float = 0.0
    n_nodes: int = 0
    n_blocks: int = 0
    n_iterations: int = 0
    n_fixed: int = 0
    n_lost: int = 0
    root_lower_bound: float | None = None
    root_gap: float | None = None
    root_seconds: float | None = None
    n_subsets: int = 0
    n_lost_subsets: int = 0


@dataclass(frozen=True, repr=False)
class Result(Reported):
    """Result of a run.

    Attributes
    ----------
    status, termination : what is proven; why the run stopped
    partition : the best clustering found, or None
    objective : its cost, the sum of squares plus the weights of violated soft constraints; or None
    lower_bound : proven to be at most the optimum, up to the last digits if both are equal; None
        for an infeasible instance
    gap : (objective - lower_bound) / objective, at least 0; None without a clustering
    infeasibility : the proof, for an infeasible instance
    statistics : of the run
    parameters, version : of the run, and of sdpbb
    conflict : for an infeasible instance, contradictory constraints in the user's words; None if
        only the whole search is a proof
    soft : violated soft constraints of the clustering, and the parts of its cost; None without a
        clustering or soft constraints
    notes : lines on deviations from the request, and on constraints that bounds ignore
    centers : (k, d) means of the clusters 0, ..., k - 1 in the user's units, with the weights of
        the points; None without a clustering
    k : requested number of clusters
    origin : names of rows and columns, and the files that they are from
    labels : (n,) clusters of the points; None without a clustering. Clusters are numbered 0, 1, ...
        by their first points, so that a clustering always has the same labels
    sizes : (k,) numbers of points of the clusters; None without a clustering

    Raises
    ------
    ValueError
        For a combination that cannot be: a result cannot claim what its fields do not show.
    """

    status: SolutionStatus
    termination: Termination
    partition: Partition | None
    objective: float | None
    lower_bound: float | None
    gap: float | None
    statistics: Statistics
    infeasibility: Infeasibility | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    version: str = ""
    conflict: Conflict | None = None
    soft: SoftViolations | None = None
    centers: NDArray[np.float64] | None = field(default=None, compare=False)
    notes: tuple[str, ...] = ()
    k: int | None = None
    origin: Origin = field(default_factory=Origin, compare=False)

    def __post_init__(self) -> None:
        has_clustering = self.partition is not None
        claims_clustering = self.status in (SolutionStatus.OPTIMAL, SolutionStatus.FEASIBLE)
        closed = self.termination is Termination.GAP_CLOSED
        infeasible = self.status is SolutionStatus.INFEASIBLE
        if has_clustering != claims_clustering or has_clustering != (self.objective is not None):
            raise ValueError(f"status {self.status.value} with partition {self.partition!r}")
        if closed != (self.status is SolutionStatus.OPTIMAL):
            raise ValueError(f"status {self.status.value} stopped by {self.termination.value}")
        if infeasible != (self.termination is Termination.PROVEN_INFEASIBLE):
            raise ValueError(f"status {self.status.value} stopped by {self.termination.value}")
        if infeasible != (self.infeasibility is not None):
            raise ValueError("an infeasible result, and no other, carries its proof")
        if self.lower_bound is None and not infeasible:
            raise ValueError("only an infeasible instance has no lower bound")
        if has_clustering and not self.lower_bound <= self.objective:  # type: ignore[operator]
            raise ValueError(f"lower bound {self.lower_bound} above the cost {self.objective}")
        if closed and not (self.gap is not None and self.gap <= max(self.gap_asked, PRECISION)):
            raise ValueError(f"optimal with gap {self.gap}, asked for {self.gap_asked}")

    @property
    def cluster_classes(self) -> tuple[str, ...]:
        """The known class (k,) of most rows of each cluster; "" where none is known.

        Of classes that may share a cluster, it is all of them.
        """
        known = self.origin.known_classes
        if self.partition is None or known is None:
            return ()
        return known.names_of_clusters(self.partition.labels, self.partition.n_clusters)

    @property
    def contradicted_classes(self) -> NDArray[np.intp]:
        """The rows of another known class than their cluster, as soft classes allow."""
        known = self.origin.known_classes
        if self.partition is None or known is None:
            return np.empty(0, np.intp)
        return known.contradicted(self.partition.labels, self.partition.n_clusters)

    @property
    def labels(self) -> Any:
        """The clusters (n,) of the points, numbered by their first points; None without any.

        They are an array, or of a pandas data frame a Series with its index.
        """
        if self.partition is None or self.origin.index is None:
            return None if self.partition is None else self.partition.labels
        return self.to_pandas()["cluster"]

    @property
    def sizes(self) -> NDArray[np.intp] | None:
        """The numbers of points (k,) of the clusters 0, 1, ...; None without a clustering."""
        return None if self.partition is None else self.partition.sizes

    @property
    def cost_name(self) -> str:
        """Name of the objective: "sum of squares", or "cost" with soft constraints."""
        return "sum of squares" if self.soft is None else "cost"

    @property
    def gap_asked(self) -> float:
        """The tolerance of the run."""
        return float(self.parameters.get("gap", 0.0))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; numbers that are not finite become None.

        Some keys exist only if they have values: `names` (of the points), `features`, `data` and
        `constraints` (paths of files), `dropped` (omitted rows), and `soft` (for soft constraints).
        For known classes, `cluster_classes` has the class of each cluster, and
        `contradicted_classes` the names of the rows of another class.
        """
        of_classes = {
            "cluster_classes": list(self.cluster_classes),
            "contradicted_classes": self.origin.rows(self.contradicted_classes.tolist()),
        }
        return (
            values_of(self, "status", "termination", "objective", "lower_bound", "gap", "k")
            | values_of(self, "partition.labels", "sizes", "centers")
            | names_of(self.origin)
            | values_of(self.statistics)
            | values_of(self, "infeasibility", "conflict", "notes", "parameters", "version")
            | ({} if self.soft is None else values_of(self, "soft"))
            | (of_classes if self.cluster_classes else {})
        )

    def to_row(self) -> dict[str, Any]:
        """Return a row of a table: what is proven, what it took and what was asked.

        Values are plain, and without labels. The numbers of the components (`SolverParameters.sdp`,
        ...) are left out.
        """
        asked = {
            "gap_asked" if name == "gap" else name: value
            for name, value in self.parameters.items()
            if not isinstance(value, dict)
        }
        return (
            values_of(self, "status", "termination", "objective", "lower_bound", "gap")
            | values_of(self, "partition.n_clusters")
            | values_of(self.statistics)
            | {
                "infeasibility": None if self.infeasibility is None else str(self.infeasibility),
                "notes": "; ".join(self.notes),
            }
            | {name: plain(value) for name, value in asked.items()}
            | {"version": self.version}
        )

    def to_pandas(self) -> pd.DataFrame:
        """Return the clusters of the points: a row for each, named as the user does.

        The only column is `cluster`; `frame.join(result.to_pandas())` adds it to the data frame
        that was clustered. (`to_row` is what a table of several runs has of this one.)

        Raises
        ------
        ValueError
            Without a clustering.
        BackendUnavailable
            Without pandas.
        """
        if self.partition is None:
            raise ValueError(f"the result is {self.status.value}: there are no clusters of rows")
        pandas, origin = pandas_module("labels, an array"), self.origin
        index: Any = origin.index
        if index is None:
            ids = row_ids(origin, len(self.partition.labels))
            index = pandas.Index(ids, name=origin.index_name or None)
        return pandas.DataFrame({"cluster": self.partition.labels}, index=index)

    def __str__(self) -> str:
        statistics = self.statistics
        nodes = f"{statistics.n_nodes} node{'' if statistics.n_nodes == 1 else 's'}"
        taken = f"{statistics.wall_seconds:.2f} s, {nodes}"
        if self.infeasibility is not None:
            return f"infeasible ({taken}): {self.conflict or self.infeasibility}"
        assert self.lower_bound is not None
        bound = f"lower bound {rounded_down(self.lower_bound, 10)}"
        if self.termination is not Termination.GAP_CLOSED:
            taken = f"{taken}, stopped: {self.termination.value.replace('_', ' ')}"
        if self.objective is None:
            return f"unknown: {bound} ({taken})"
        return (
            f"{self.status.value}: {self.cost_name} {self.objective:.10g}, "
            f"{bound}, gap {percent_up(self.gap)} ({taken})"
        )

    def document(self) -> Document:
        """Return what is proven, and what it took.

        `sdpbb.plots.pages` has more sections of the instance and the course of the run.
        """
        parts: list[Part] = [self._verdict(), Facts(self._facts())]
        if self.conflict is not None:
            parts.append(Text(str(self.conflict), "verbatim"))
        return Document("Result of a run", parts)

    def _verdict(self) -> Verdict:
        bound = "" if self.lower_bound is None else rounded_down(self.lower_bound, 12)
        proven = f"no feasible clustering has a {self.cost_name} below {bound}"
        match self.status:
            case SolutionStatus.OPTIMAL:
                tone = Tone("Proven optimal", "good")
                tolerance = self.parameters.get("gap")
                within = "" if tolerance is None else f" within a relative gap of {tolerance:g}"
                text = f"proven optimal{within}: {proven}"
            case SolutionStatus.FEASIBLE:
                tone = Tone("Not proven optimal", "fair")
                stopped = stopped_by(self.termination)
                text = (
                    f"stopped by {stopped}; the clustering is not proven optimal. Proven: {proven}"
                )
            case SolutionStatus.UNKNOWN:
                tone = Tone("Nothing found, nothing ruled out", "fair")
                stopped = stopped_by(self.termination)
                text = (
                    f"stopped by {stopped}; found neither a clustering nor a proof that none exists"
                )
            case SolutionStatus.INFEASIBLE:
                tone = Tone("Proven infeasible", "bad")
                proof = self.infeasibility
                # Except for a search, a conflict says it better, below.
                is_below = self.conflict is not None and not (proof and proof.n_nodes)
                text = "proven infeasible" if is_below else f"proven infeasible: {proof}"
        return Verdict("Status", tone, text)

    def _facts(self) -> list[tuple[str, str]]:
        statistics, facts = self.statistics, []
        if self.objective is not None:
            facts.append((self.cost_name.capitalize(), f"{self.objective:.12g}"))
        if self.soft is not None:
            facts.append(("Sum of squares", f"{self.soft.sum_of_squares:.12g}"))
            facts.append(("Violated", str(self.soft)))
        if self.lower_bound is not None:
            facts.append(("Lower bound", rounded_down(self.lower_bound, 12)))
        if self.gap is not None:
            facts.append(("Gap", percent_up(self.gap)))
        if self.partition is not None:
            facts.append(("Clusters", str(self.partition)))
        classes = self.cluster_classes
        if any(classes):
            named = (f"{c} {name}" for c, name in enumerate(classes) if name)
            facts.append(("Classes", ", ".join(named)))
        if contradicted := self.contradicted_classes.tolist():
            facts.append(("Contradicted", self._contradicted(contradicted)))
        if statistics.n_subsets:
            lost = statistics.n_lost_subsets
            given_up = f", {lost} abandoned after two workers crashed" if lost else ""
            facts.append(("Subsets", f"{statistics.n_subsets}{given_up}"))
        facts.append(("Nodes", str(statistics.n_nodes)))
        facts.append(("Time", seconds_text(statistics.wall_seconds)))
        if statistics.root_seconds is not None:
            gap = "" if statistics.root_gap is None else f", gap {percent_up(statistics.root_gap)}"
            facts.append(("Root", f"{seconds_text(statistics.root_seconds)}{gap}"))
        return [*facts, *(("Note", note) for note in self.notes)]

    def _contradicted(self, rows: list[int]) -> str:
        """Return the names of rows whose classes the clustering contradicts, with these."""
        known = self.origin.known_classes
        assert known is not None
        first = rows[:SHOWN_ROWS]
        named = (f"{self.origin.row(i)} ({known.names[known.numbers[i]]})" for i in first)
        more = ", ..." if len(rows) > SHOWN_ROWS else ""
        return f"{counted(len(rows), 'row')}: {', '.join(named)}{more}"

    def __repr__(self) -> str:
        return f"<Result: {str(self).splitlines()[0]}>"


def names_of(origin: Origin) -> dict[str, Any]:
    """Return what the user calls the rows, columns and files, as far as they have names."""
    named = {
        "names": list(origin.row_names or ()),
        "features": list(origin.feature_names),
        "data": origin.data_path,
        "constraints": origin.constraints_path,
        "dropped": list(origin.dropped_rows),
    }
    return {key: value for key, value in named.items() if value}


def row_ids(origin: Origin, n_points: int) -> list[Any]:
    """Return the names of the points, or else their positions in the data, from 0."""
    if origin.row_names is not None:
        return list(origin.row_names)
    positions = np.arange(n_points) if origin.kept_rows is None else origin.kept_rows
    return list(positions.tolist())


def bound_below(lower: float, upper: float) -> float:
    """Return a proven lower bound on a least cost, lowered to the cost of a clustering if needed.

    Raises
    ------
    AssertionError
        If the bound is above this cost by more than rounding: then the bound is wrong, or the
        clustering violates a constraint.
    """
    if lower > upper * (1.0 + ROUNDING):
        raise AssertionError(
            f"the lower bound {lower!r} is above the cost {upper!r} of a clustering: the bound is "
            "wrong, or a constraint on clusters allows a set and forbids a part of it"
        )
    return min(lower, upper)


def relative_gap(lower: float, upper: float) -> float:
    """Return (upper - lower) / upper, the published measure; 0 where they meet, also at upper = 0.

    The gap is inf without an upper bound (inf).
    """
    if upper == math.inf:
        return math.inf
    if lower >= upper:
        return 0.0
    return (upper - lower) / upper if upper > 0 else math.inf
