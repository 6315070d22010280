"""Result row of one job."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sdpbb.questions.batch.job import Job
from sdpbb.runtime.results import values_of
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


@dataclass(frozen=True)
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
    message: str
    data: str
    constraints: str | None
    bounding: str
    gap_asked: float
    seed: int
    time_limit: float | None
    node_limit: int | None
    memory_limit: float | None
    attempts: int
    version: str
    key: str
    termination: str | None = None
    n_points: int | None = None
    n_features: int | None = None
    k: int | None = None
    n_must_link: int | None = None
    n_cannot_link: int | None = None
    n_blocks: int | None = None
    objective: float | None = None
    lower_bound: float | None = None
    gap: float | None = None
    n_nodes: int | None = None
    wall_seconds: float | None = None
    root_gap: float | None = None
    root_seconds: float | None = None
    labels: str | None = None
    certificate: str | None = None

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
        if self.status not in STOPPED or self.was_interrupted:
            return False
        return all(
            _as_limit(limit) <= _as_limit(getattr(self, name))
            for name, limit in job.limits().items()
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return values_of(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Row:
        """Return the row of values that `to_dict` has returned.

        Raises
        ------
        KeyError, TypeError, ValueError
            If they are not what `to_dict` gives.
        """
        return cls(**{**values, "status": RowStatus(values["status"])})


COLUMNS = (
    *("name", "status", "termination", "objective", "lower_bound", "gap", "n_nodes"),
    *("wall_seconds", "n_points", "n_features", "k", "n_must_link", "n_cannot_link", "n_blocks"),
    *("root_gap", "root_seconds", "attempts", "data", "constraints", "labels", "certificate"),
    *("bounding", "gap_asked", "seed", "time_limit", "node_limit", "memory_limit"),
    *("version", "key", "message"),
)
"""The fields of a row in the order of tables."""


def _as_limit(value: float | None) -> float:
    return math.inf if value is None else value
