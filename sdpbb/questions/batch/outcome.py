"""Result of a batch as a whole."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sdpbb.questions.batch.row import STOPPED, Row, RowStatus
from sdpbb.runtime.markup import card
from sdpbb.runtime.values import counted, pandas_module

if TYPE_CHECKING:
    import pandas as pd

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
        seconds, nodes = (None if math.isnan(x) else x for x in (self.seconds, self.nodes))
        return {"instances": self.n_rows, "seconds": seconds, "nodes": nodes}


@dataclass(frozen=True, repr=False)
class BatchResult:
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
            "interrupted": self.interrupted,
            "wall_seconds": self.wall_seconds,
            "counts": {status.value: count for status, count in self.counts.items()},
            "means_of_answers": self.means_of_answers().to_dict(),
            "means_of_runs": self.means_of_runs().to_dict(),
            "seconds_shift": SECONDS_SHIFT,
            "nodes_shift": NODES_SHIFT,
            "rows": [row.to_dict() for row in self.rows],
        }

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

    def _repr_html_(self) -> str:
        """Return a table, as notebooks show it."""
        facts = [("Instances", f"{len(self.rows)} of {self.n_jobs} done")]
        facts += [(status.value, str(count)) for status, count in self.counts.items()]
        return card("Result of a batch", [*facts, ("Time", f"{self.wall_seconds:.1f} s")])


def shifted_geometric_mean(values: list[float] | list[int], shift: float) -> float:
    """Return (prod (x + s))^(1/n) - s of n values x >= 0 and s > 0; nan of none.

    Source: Achterberg, Constraint Integer Programming, 2007, appendix A.
    """
    if not values:
        return math.nan
    return math.exp(math.fsum(math.log(x + shift) for x in values) / len(values)) - shift
