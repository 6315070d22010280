"""Result of a batch as a whole."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sdpbb.questions.batch.row import STOPPED, Row, RowStatus
from sdpbb.runtime.document import Document, Facts, Part, Picture, Section, Table, Tone, Verdict
from sdpbb.runtime.results import Reported, plain, values_of
from sdpbb.runtime.values import (
    counted,
    pandas_module,
    percent_up,
    rounded_down,
    seconds_text,
    shortened,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

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
class BatchResult(Reported):
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
        return {
            "instances": self.n_jobs,
            "missing": self.n_missing,
            **values_of(self, "interrupted", "wall_seconds"),
            "counts": {status.value: count for status, count in self.counts.items()},
            "means_of_answers": self.means_of_answers().to_dict(),
            "means_of_runs": self.means_of_runs().to_dict(),
            "seconds_shift": SECONDS_SHIFT,
            "nodes_shift": NODES_SHIFT,
            "rows": plain(self.rows),
        }

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
        if any(row.wall_seconds is not None for row in solved):
            description = f"Share of the {self.n_jobs} instances that were solved over time."
            caption = "Solved is what is proven: the optimum, or that there is no clustering."
            parts.append(Picture("profile", description, caption, self._profile))
        if self.failed:
            lines = [
                [
                    shortened(row.name, LONGEST),
                    row.status.replace("_", " "),
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

    def _profile(self) -> Axes:
        from sdpbb.plots import SolvedRuns, plot_profile

        solved = (row.wall_seconds for row in self.rows if row.succeeded)
        times = tuple(seconds for seconds in solved if seconds is not None)
        return plot_profile([SolvedRuns("this batch", times, self.n_jobs)])

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame with a row for each job that has been done, without labels.

        Raises
        ------
        BackendUnavailable
            Without pandas.
        """
        rows = [row.to_dict() for row in self.rows]
        return pandas_module("rows").DataFrame(rows).drop(columns="labels", errors="ignore")

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
            row.status.value if row.succeeded else f"{row.status.value}, {_stopped_by(row)}",
            "" if row.objective is None else f"{row.objective:.12g}",
            "" if row.lower_bound is None else rounded_down(row.lower_bound, 12),
            "" if row.gap is None else percent_up(row.gap),
            "" if row.wall_seconds is None else seconds_text(row.wall_seconds),
            shortened(row.message, LONGEST_MESSAGE),
        ]
        for row in rows[:MOST_ROWS]
    ]
    return Table(columns, lines, more=len(rows) - len(lines))


def _stopped_by(row: Row) -> str:
    return (row.termination or "").replace("_", " ")


def shifted_geometric_mean(values: list[float] | list[int], shift: float) -> float:
    """Return (prod (x + s))^(1/n) - s of n values x >= 0 and s > 0; nan of none.

    Source: Achterberg, Constraint Integer Programming, 2007, appendix A.
    """
    if not values:
        return math.nan
    return math.exp(math.fsum(math.log(x + shift) for x in values) / len(values)) - shift
