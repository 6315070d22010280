"""Outcome of a batch: rows in a folder, each on disk when its job ends, and their summary."""

from __future__ import annotations

import contextlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, BinaryIO

from sdpbb.errors import InstanceError
from sdpbb.questions.batch.manifest import Job
from sdpbb.questions.report import Entry, Report, bound_text, figure, table_of
from sdpbb.questions.study import Failure, make_folder, writing
from sdpbb.runtime.document import Document, Facts, Part, Section, Tone, Verdict
from sdpbb.runtime.files import FilePath, hold, shown_path, write_atomically
from sdpbb.runtime.results import Tabular, plain, values_of
from sdpbb.runtime.values import counted, percent_up, seconds_text, shortened
from sdpbb.search.result import SolutionStatus, Termination

# Maximum rows of a table, and letters of a name and of a message in it.
MOST_ROWS, LONGEST, LONGEST_MESSAGE = 2_000, 60, 120
ANSWERS = frozenset({SolutionStatus.OPTIMAL, SolutionStatus.INFEASIBLE})
"""Statuses of rows with an answer: proven optimal, or proven infeasible."""

STOPPED = frozenset({SolutionStatus.FEASIBLE, SolutionStatus.UNKNOWN})
"""Statuses of rows that were stopped before an answer."""

ACCIDENTS = frozenset({Termination.INTERRUPTED.value, Termination.WORKERS_LOST.value})
"""Terminations of rows whose job runs again, whatever its limits."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Row(Entry):
    """Result row of one job.

    Attributes
    ----------
    name, data, constraints : of the job
    status : status of the solution, or the failure
    termination : why the run stopped, as in `sdpbb.Termination`; None without a run
    message : error, proof of infeasibility, warnings, and notes of the result; or ""
    n_points, n_features, k, n_must_link, n_cannot_link : of the instance; None if it was not read
    objective, lower_bound, gap, n_nodes, n_blocks, root_gap, root_seconds : as in `Result`
    wall_seconds : of the run, without reading
    bounding, gap_asked, seed, time_limit, node_limit, memory_limit : of the job
    attempts : number of workers that have started the job
    labels, certificate : files of the labels and of the proof, relative to the folder, or None
    version : of sdpbb
    key : `Job.key`
    """

    name: str
    status: SolutionStatus | Failure
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

    fields = ()

    @property
    def succeeded(self) -> bool:
        """True for an answer: proven optimal, or proven infeasible."""
        return self.status in ANSWERS

    @property
    def was_interrupted(self) -> bool:
        return self.termination == Termination.INTERRUPTED.value

    def settles(self, job: Job) -> bool:
        """Return whether the job of this row need not run again.

        It has an answer, or was stopped by limits, none of which is higher now.
        """
        if self.succeeded:
            return True
        if self.status not in STOPPED or self.termination in ACCIDENTS:
            return False
        limits = ((getattr(self, name), limit) for name, limit in job.limits().items())
        return all(had is None or (now is not None and now <= had) for had, now in limits)

    @property
    def end(self) -> str:
        """Status in words, with what stopped the run."""
        stopped_by = self.termination if self.status in STOPPED else None
        return ", ".join(filter(None, (self.status.value, stopped_by))).replace("_", " ")

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
        """Return the row of values that `to_row` has returned.

        Raises
        ------
        KeyError, TypeError, ValueError
            If the values do not come from `to_row`.
        """
        status = values["status"]
        kind = Failure if status in {failure.value for failure in Failure} else SolutionStatus
        return cls(**{**values, "status": kind(status)})


# Cells of a row in a table, by heading.
_CELLS: dict[str, Callable[[Row], str]] = {
    "Instance": lambda row: shortened(row.name, LONGEST),
    "Points": lambda row: figure(row.n_points, ","),
    "k": lambda row: figure(row.k, ","),
    "Status": lambda row: row.end,
    "Cost": lambda row: figure(row.objective, ".12g"),
    "Lower bound": lambda row: bound_text(row.lower_bound, 12),
    "Gap": lambda row: "" if row.gap is None else percent_up(row.gap),
    "Time": lambda row: "" if row.wall_seconds is None else seconds_text(row.wall_seconds),
    "Message": lambda row: shortened(row.message, LONGEST_MESSAGE),
}


@dataclass(frozen=True, repr=False)
class BatchResult(Report, Tabular):
    """Result of a batch.

    Attributes
    ----------
    rows : one for each finished job, of this or earlier runs, in the order of the jobs
    n_jobs : number of jobs of the batch
    wall_seconds : duration of this run of the batch
    interrupted : whether an interrupt ended the batch before all jobs
    """

    rows: tuple[Row, ...]
    n_jobs: int
    wall_seconds: float
    interrupted: bool = False

    columns, items = tuple(field.name for field in fields(Row)), "rows"

    @property
    def counts(self) -> dict[SolutionStatus | Failure, int]:
        """Number of rows of each status that occurs."""
        found = Counter(row.status for row in self.rows)
        return {status: found[status] for status in (*SolutionStatus, *Failure) if found[status]}

    @property
    def n_missing(self) -> int:
        """Jobs without a row."""
        return self.n_jobs - len(self.rows)

    @property
    def answered(self) -> list[Row]:
        """Rows with an answer: proven optimal, or proven infeasible."""
        return [row for row in self.rows if row.succeeded]

    @property
    def succeeded(self) -> bool:
        """True if every job has an answer."""
        return len(self.answered) == self.n_jobs

    is_complete = succeeded

    @property
    def stopped(self) -> list[Row]:
        """Rows that were stopped before an answer."""
        return [row for row in self.rows if row.status in STOPPED]

    @property
    def failed(self) -> list[Row]:
        """Rows of jobs that failed."""
        return [row for row in self.rows if not row.succeeded and row.status not in STOPPED]

    problems = failed

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        counts = {status.value: count for status, count in self.counts.items()}
        jobs = ("instances:n_jobs", "missing:n_missing", "interrupted", "wall_seconds")
        return values_of(self, *jobs) | {"counts": counts, "rows": plain(self.rows)}

    def document(self) -> Document:
        """Return counts by status, then the instances that failed, were stopped, and are proven."""
        solved = self.answered
        tone = Tone(f"{len(solved):,} of {self.n_jobs:,} instances are proven", "fair")
        if self.failed:
            tone = tone._replace(kind="bad")
        elif self.succeeded:
            tone = Tone("Every instance is proven", "good")
        facts = [("Instances", f"{self.n_jobs:,}")]
        for status, count in self.counts.items():
            facts.append((status.value.replace("_", " ").capitalize(), f"{count:,}"))
        if self.n_missing:
            facts.append(("Not done", f"{self.n_missing:,}; --resume continues with them"))
        facts.append(("Time", seconds_text(self.wall_seconds)))
        parts: list[Part] = [Verdict("Status", tone, ""), Facts(facts)]
        listed = (("Failed", self.failed), ("Stopped", self.stopped), ("Proven", solved))
        for heading, rows in listed:
            if rows:
                table = table_of(rows, _CELLS, most=MOST_ROWS)
                parts.append(Section(heading, [table], folded=rows is solved))
        return Document("Batch of instances", parts, counted(self.n_jobs, "instance"))


RESULTS = "results.jsonl"
_SAFE = f"; the rows in {RESULTS} are safe: resume with --resume"


class BatchFolder:
    """Folder with the results of a batch; one process writes at a time.

    `results.jsonl` has a JSON object on each line. A line is on disk when `append` returns. An
    unfinished line, after a kill or on a full disk, is removed when the folder is opened again.

    Attributes
    ----------
    path : path of the folder
    rows : rows of earlier runs; the last one of a job counts

    Methods that write raise an InstanceError on what cannot be written.
    """

    def __init__(self, path: str, rows: Sequence[Row], file: BinaryIO) -> None:
        """Use `open_folder`."""
        self.path, self.rows, self._file = path, rows, file

    def append(self, values: Mapping[str, Any]) -> None:
        """Add a line of results."""
        rest = json.dumps(values, allow_nan=False).encode() + b"\n"
        with writing(os.path.join(self.path, RESULTS), _SAFE):
            while rest:  # a disk that becomes full takes a part of it, and only then raises
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())

    def file(self, name: str) -> str:
        """Return the path of a file; make the folder that its name may begin with."""
        path = os.path.join(self.path, name)
        with writing(os.path.dirname(path), _SAFE):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file, wholly or not at all."""
        path = self.file(name)
        with writing(path, _SAFE):
            write_atomically(path, content)

    def remove(self, name: str) -> None:
        """Remove a file of an earlier run, if it exists."""
        path = os.path.join(self.path, name)
        if os.path.lexists(path):
            with writing(path, _SAFE):
                os.remove(path)


@contextlib.contextmanager
def open_folder(path: FilePath, resume: bool) -> Iterator[BatchFolder]:
    """Open or make the folder at path, and read its results.

    resume : whether the folder may hold results

    Raises
    ------
    InstanceError
        If the folder cannot be made, holds results without resume, or holds lines that are not
        rows.
    FileInUse
        If another process uses it.
    """
    folder = make_folder(path, RESULTS, resume)
    results = os.path.join(folder, RESULTS)
    with writing(results):
        # Unbuffered: closing the file must not retry a write that failed.
        file = open(os.open(results, os.O_RDWR | os.O_CREAT, 0o666), "r+b", buffering=0)  # noqa: SIM115
    with file:
        hold(file, results, "batch")
        content = file.read()
        end = content.rfind(b"\n") + 1
        rows = []
        for number, line in enumerate(content[:end].splitlines(), start=1):
            try:
                rows.append(Row.from_dict(json.loads(line)))
            except (KeyError, TypeError, ValueError, RecursionError):
                raise InstanceError(
                    f"{shown_path(results)}:{number}: is not a result of this version of sdpbb; "
                    "expected an unchanged file"
                ) from None
        file.truncate(end)
        file.seek(end)
        yield BatchFolder(folder, rows, file)
