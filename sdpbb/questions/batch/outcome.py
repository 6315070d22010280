"""Results of a batch: a row for each job, all of them together, and their texts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from sdpbb.questions.batch.job import Job
from sdpbb.runtime.document import Document, Facts, Part, Section, Table, Tone, Verdict
from sdpbb.runtime.files import shown_path
from sdpbb.runtime.rendering import plain_text
from sdpbb.runtime.results import Reported, Tabular, plain, values_of
from sdpbb.runtime.values import counted, percent_up, rounded_down, seconds_text, shortened
from sdpbb.runtime.version import installed_version
from sdpbb.search.result import Termination


class RowStatus(StrEnum):
    """Status of a row: that of the solution, as in `sdpbb.SolutionStatus`, or why there is none."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    FEASIBLE = "feasible"
    UNKNOWN = "unknown"
    BAD_INPUT = "bad_input"
    """The instance could not be read, or is none that can be solved as asked."""
    FAILED = "failed"
    """A solver failed, memory ran out, or there is an error in this package."""
    CRASHED = "crashed"
    """Its worker process died, also when no other job was running."""
    TIMED_OUT = "timed_out"
    """It did not end after its time limit, and was killed."""


ANSWERS = frozenset({RowStatus.OPTIMAL, RowStatus.INFEASIBLE})
"""Statuses of rows that have succeeded: the optimum is proven, or that there is no clustering."""

STOPPED = frozenset({RowStatus.FEASIBLE, RowStatus.UNKNOWN})
"""Statuses of rows that were stopped before that."""

ACCIDENTS = frozenset({Termination.INTERRUPTED.value, Termination.WORKERS_LOST.value})
"""Terminations of rows whose job is done again, whatever its limits."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """Result row of one job.

    Attributes
    ----------
    name, data, constraints : of the job
    status : of the solution, or why there is none
    termination : why the run stopped, as in `sdpbb.Termination`; None without a run
    message : what is wrong, the proof of infeasibility, warnings, notes of the result; "" for none
    n_points, n_features, k, n_must_link, n_cannot_link : of the instance; None if it was not read
    objective, lower_bound, gap, n_nodes, n_blocks, root_gap, root_seconds : as in `Result`
    wall_seconds : of the run, without reading
    bounding, gap_asked, seed, time_limit, node_limit, memory_limit : of the job
    attempts : number of worker processes that have run it
    labels, certificate : the files of labels and of the proof, relative to the folder of the
        results; None without
    version : of sdpbb
    key : `Job.key`
    """

    name: str
    status: RowStatus
    termination: str | None = None
    objective: float | None = None
    lower_bound: float | None = None
    gap: float | None = None
    n_nodes: int | None = None
    wall_seconds: float | None = None
    n_points: int | None = None
    n_features: int | None = None
    k: int | None = None
    n_must_link: int | None = None
    n_cannot_link: int | None = None
    n_blocks: int | None = None
    root_gap: float | None = None
    root_seconds: float | None = None
    attempts: int
    data: str
    constraints: str | None
    labels: str | None = None
    certificate: str | None = None
    bounding: str
    gap_asked: float
    seed: int
    time_limit: float | None
    node_limit: int | None
    memory_limit: float | None
    version: str
    key: str
    message: str

    @property
    def succeeded(self) -> bool:
        """True for an answer: proven optimal, or proven infeasible."""
        return self.status in ANSWERS

    @property
    def was_interrupted(self) -> bool:
        return self.termination == Termination.INTERRUPTED.value

    def settles(self, job: Job) -> bool:
        """Return whether this row settles its job, which need not be done again.

        It has an answer, or it was stopped by limits none of which is higher now.
        """
        if self.succeeded:
            return True
        if self.status not in STOPPED or self.termination in ACCIDENTS:
            return False
        return all(
            _as_limit(limit) <= _as_limit(getattr(self, name))
            for name, limit in job.limits().items()
        )

    @property
    def end(self) -> str:
        """Status in words, with what stopped the run."""
        stopped_by = self.termination if self.status in STOPPED else None
        return ", ".join(filter(None, (self.status, stopped_by))).replace("_", " ")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return values_of(self)

    to_row = to_dict

    def __str__(self) -> str:
        told = [self.end]
        if self.objective is not None:
            told.append(f"cost {self.objective:.12g}, gap {percent_up(self.gap)}")
        if self.wall_seconds is not None:
            told.append(seconds_text(self.wall_seconds))
        if self.message:
            told.append(shown_path(self.message))
        return f"{shown_path(self.name)}: {', '.join(told)}"

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Row:
        """Return the row of values that `to_dict` has returned.

        Raises
        ------
        KeyError, TypeError, ValueError
            If they are not what `to_dict` gives.
        """
        return cls(**{**values, "status": RowStatus(values["status"])})


COLUMNS = tuple(field.name for field in fields(Row))
"""Columns of tables of rows."""


def _as_limit(value: float | None) -> float:
    return math.inf if value is None else value


# Rows of a table; letters of a name and of a message in it.
MOST_ROWS, LONGEST, LONGEST_MESSAGE = 2_000, 60, 120

MEANINGS = {
    RowStatus.OPTIMAL: "proven optimal within the gap",
    RowStatus.INFEASIBLE: "proven that no clustering satisfies the constraints",
    RowStatus.FEASIBLE: "stopped with a clustering, not proven optimal",
    RowStatus.UNKNOWN: "stopped without a clustering",
    RowStatus.BAD_INPUT: "files or parameters are wrong",
    RowStatus.FAILED: "a solver or this package failed, or memory ran out",
    RowStatus.CRASHED: "its worker process crashed, twice",
    RowStatus.TIMED_OUT: "killed, as it did not stop after its time limit",
}

SECONDS_SHIFT = 1.0
"""Shift of the geometric mean of seconds: keeps instances of milliseconds from dominating it."""

NODES_SHIFT = 10.0
"""Shift of the geometric mean of nodes."""


@dataclass(frozen=True)
class Means:
    """Shifted geometric means of seconds and nodes over n_rows rows; nan without any."""

    n_rows: int
    seconds: float
    nodes: float

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Means:
        """Return the means over those of the rows that have seconds and nodes."""
        measured = [row for row in rows if row.wall_seconds is not None and row.n_nodes is not None]
        return cls(
            len(measured),
            shifted_geometric_mean([row.wall_seconds or 0.0 for row in measured], SECONDS_SHIFT),
            shifted_geometric_mean([row.n_nodes or 0 for row in measured], NODES_SHIFT),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; None for nan."""
        return {"instances": self.n_rows} | values_of(self, "seconds", "nodes")


@dataclass(frozen=True, repr=False)
class BatchResult(Reported, Tabular):
    """Result of a batch.

    Attributes
    ----------
    rows : one per job that has been done, now or before, in the order of the jobs
    n_jobs : of the batch
    wall_seconds : of this run of the batch
    interrupted : whether it was ended before all jobs were done
    """

    rows: tuple[Row, ...]
    n_jobs: int
    wall_seconds: float
    interrupted: bool = False

    columns, items = COLUMNS, "rows"

    @property
    def counts(self) -> dict[RowStatus, int]:
        """Number of rows of each status that occurs."""
        found = Counter(row.status for row in self.rows)
        return {status: found[status] for status in RowStatus if found[status]}

    @property
    def n_missing(self) -> int:
        """Jobs without a row."""
        return self.n_jobs - len(self.rows)

    @property
    def succeeded(self) -> bool:
        """True if every job has an answer: proven optimal, or proven infeasible."""
        return not self.n_missing and all(row.succeeded for row in self.rows)

    @property
    def stopped(self) -> list[Row]:
        """Rows that were stopped before there was an answer."""
        return [row for row in self.rows if row.status in STOPPED]

    @property
    def failed(self) -> list[Row]:
        """Rows of jobs whose run did not end as it should."""
        return [row for row in self.rows if not row.succeeded and row.status not in STOPPED]

    def means_of_answers(self) -> Means:
        """Return the means over the rows that are answers."""
        return Means.of(row for row in self.rows if row.succeeded)

    def means_of_runs(self) -> Means:
        """Return the means over the rows that are answers or were stopped."""
        return Means.of(row for row in self.rows if row.succeeded or row.status in STOPPED)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        counts = {status.value: count for status, count in self.counts.items()}
        means = (self.means_of_answers().to_dict(), self.means_of_runs().to_dict())
        return (
            values_of(self, "instances:n_jobs", "missing:n_missing", "interrupted", "wall_seconds")
            | {"counts": counts, "means_of_answers": means[0], "means_of_runs": means[1]}
            | {"seconds_shift": SECONDS_SHIFT, "nodes_shift": NODES_SHIFT, "rows": plain(self.rows)}
        )

    def document(self) -> Document:
        """Return counts by status, means, and the instances without an answer, then all others."""
        solved = [row for row in self.rows if row.succeeded]
        tone = Tone(f"{len(solved):,} of {self.n_jobs:,} instances are proven", "fair")
        if self.failed:
            tone = tone._replace(kind="bad")
        elif self.succeeded:
            tone = Tone("Every instance is proven", "good")
        facts = [
            ("Instances", f"{self.n_jobs:,}"),
            ("Proven", f"{len(solved):,}"),
            *([("Stopped", f"{len(self.stopped):,}")] if self.stopped else []),
            *([("Failed", f"{len(self.failed):,}")] if self.failed else []),
            *([("Not done", f"{self.n_missing:,}")] if self.n_missing else []),
            ("Time", seconds_text(self.wall_seconds)),
        ]
        parts: list[Part] = [Verdict("Status", tone, ""), Facts(facts), *self._counts()]
        if self.failed:
            lines = [
                [
                    shortened(row.name, LONGEST),
                    row.end,
                    shortened(row.message, LONGEST_MESSAGE),
                    f"tried {row.attempts} times" if row.attempts > 1 else "",
                ]
                for row in self.failed[:MOST_ROWS]
            ]
            columns = ("Instance", "Status", "Message", "Attempts")
            more = len(self.failed) - len(lines)
            parts.append(Section("Failed", [Table(columns, lines, more=more)]))
        if self.stopped:
            parts.append(Section("Stopped", [_table(self.stopped)]))
        if solved:
            parts.append(Section("Proven", [_table(solved)], folded=True))
        return Document("Batch of instances", parts, counted(self.n_jobs, "instance"))

    def _counts(self) -> list[Table]:
        """Return the tables of statuses and of means."""
        rows = [[s.value, f"{count:,}", MEANINGS[s]] for s, count in self.counts.items()]
        if self.n_missing:
            rows.append(["not done", f"{self.n_missing:,}", "--resume continues with them"])
        tables = [Table(("status", "instances", "meaning"), rows, "Statuses")]
        answers, runs = self.means_of_answers(), self.means_of_runs()
        means = [("optimal or infeasible", answers)] if answers.n_rows else []
        if runs.n_rows > answers.n_rows:
            means.append(("these and the stopped ones", runs))
        shifts = f"shifts {SECONDS_SHIFT:g} s, {NODES_SHIFT:g} nodes"
        columns = (f"shifted geometric means ({shifts})", "instances", "seconds", "nodes")
        lines = [
            [name, f"{mean.n_rows:,}", f"{mean.seconds:.3f}", f"{mean.nodes:.2f}"]
            for name, mean in means
        ]
        return [*tables, *([Table(columns, lines, "Means")] if lines else [])]

    def __repr__(self) -> str:
        counts = [f"{count} {status.value}" for status, count in self.counts.items()]
        done = f"{len(self.rows)} of {counted(self.n_jobs, 'instance')}"
        return f"<BatchResult: {', '.join([done, *counts])}, {self.wall_seconds:.1f} s>"


def _table(rows: list[Row]) -> Table:
    """Return the table of instances with their figures."""
    columns = ("Instance", "Points", "k", "Status", "Cost", "Lower bound", "Gap", "Time", "Message")
    lines = [
        [
            shortened(row.name, LONGEST),
            *("" if number is None else f"{number:,}" for number in (row.n_points, row.k)),
            row.end,
            "" if row.objective is None else f"{row.objective:.12g}",
            "" if row.lower_bound is None else rounded_down(row.lower_bound, 12),
            "" if row.gap is None else percent_up(row.gap),
            "" if row.wall_seconds is None else seconds_text(row.wall_seconds),
            shortened(row.message, LONGEST_MESSAGE),
        ]
        for row in rows[:MOST_ROWS]
    ]
    return Table(columns, lines, more=len(rows) - len(lines))


def shifted_geometric_mean(values: list[float] | list[int], shift: float) -> float:
    """Return (prod (x + s))^(1/n) - s of n values x >= 0 and s > 0; nan of none.

    Source: Achterberg, Constraint Integer Programming, 2007, appendix A.
    """
    if not values:
        return math.nan
    return math.exp(math.fsum(math.log(x + shift) for x in values) / len(values)) - shift


def summary(result: BatchResult) -> str:
    """Return the document of a batch as plain text, under a line with the version."""
    return f"sdpbb {installed_version()}\n\n{plain_text(result.document())}\n"
