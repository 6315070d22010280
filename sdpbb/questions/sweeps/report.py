"""Reports on sweeps, as values and as tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sdpbb.problem import Origin, Partition
from sdpbb.runtime.markup import card
from sdpbb.runtime.values import (
    csv_text,
    finite_or_none,
    json_text,
    pandas_module,
    percent_up,
    rounded_down,
)
from sdpbb.search.result import Result, SolutionStatus, relative_gap

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    *("k", "status", "objective", "lower_bound", "gap", "decrease", "decrease_lower"),
    *("decrease_upper", "silhouette", "agreement", "sizes", "n_nodes", "wall_seconds", "message"),
)
# Files of a sweep in its folder.
TABLE, VALUES, LABELS = "sweep.csv", "sweep.json", "labels.csv"
DIGITS = 8
NOTE = (
    "Each cost is proven optimal for its k, up to its gap. This does not prove which k is right: "
    "costs usually fall with every cluster added, even if the data have no clusters."
)
LEGEND = (
    "decrease, ARI to prev: compared with the previous k of the table. ARI is the adjusted Rand "
    "index: 1 for the same clusters, about 0 for unrelated ones."
)


@dataclass(frozen=True)
class SweepEntry:
    """Outcome of one number of clusters: its clustering and what is proven of it.

    Attributes
    ----------
    k : number of clusters
    result : of its run; None where it failed
    lower_bound : proven to be at most the optimum: that of the run, or of a larger k where that is
        nearer; None for an infeasible k, or without a result
    silhouette : mean over the points, between -1 and 1; None where it is not defined
    agreement : adjusted Rand index with the clustering of the k before it in the sweep; None
        without one
    message : what went wrong, or is to be known; "" for nothing
    """

    k: int
    result: Result | None
    lower_bound: float | None
    silhouette: float | None = None
    agreement: float | None = None
    message: str = ""

    @property
    def objective(self) -> float | None:
        """Cost of the best clustering found, None without one."""
        return None if self.result is None else self.result.objective

    @property
    def gap(self) -> float | None:
        """Relative gap of the best clustering found, at least 0; None without one."""
        if self.objective is None or self.lower_bound is None:
            return None
        return relative_gap(self.lower_bound, self.objective)

    def to_line(self) -> dict[str, Any]:
        """Return plain values on the run of this k alone: the line of `results.jsonl`."""
        result = self.result
        return {
            "k": self.k,
            "status": self.status,
            "objective": self.objective,
            "lower_bound": self.lower_bound,
            "gap": finite_or_none(self.gap),
            "n_nodes": None if result is None else result.statistics.n_nodes,
            "wall_seconds": None if result is None else result.statistics.wall_seconds,
            "message": self.message,
        }

    def __repr__(self) -> str:
        figures = ""
        if self.objective is not None:
            figures = f", cost {self.objective:.6g}, gap {percent_up(self.gap)}"
        return f"<SweepEntry: k = {self.k}, {self.status}{figures}>"

    def _repr_html_(self) -> str:
        """Return a table, as notebooks show it."""
        facts = [("Status", self.status)]
        if self.objective is not None:
            assert self.result is not None
            assert self.lower_bound is not None
            facts += [
                (self.result.cost_name.capitalize(), f"{self.objective:.10g}"),
                ("Proven at least", rounded_down(self.lower_bound, 10)),
                ("Gap", percent_up(self.gap)),
                ("Sizes", _sizes(self)),
            ]
        if self.silhouette is not None:
            facts.append(("Silhouette", f"{self.silhouette:.3f}"))
        if self.agreement is not None:
            facts.append(("Adjusted Rand index to the previous k", f"{self.agreement:.3f}"))
        if self.message:
            facts.append(("Message", self.message))
        return card(f"k = {self.k}", facts)

    @property
    def partition(self) -> Partition | None:
        """The best clustering found, None without one."""
        return None if self.result is None else self.result.partition

    @property
    def labels(self) -> Any:
        """Labels (n,) of the best clustering found, None without one.

        They are an array, or of a pandas data frame a Series with its index, as those of a
        `Result`.
        """
        return None if self.result is None else self.result.labels

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of points of the clusters, the largest first."""
        if self.partition is None:
            return ()
        return tuple(sorted(self.partition.sizes.tolist(), reverse=True))

    @property
    def status(self) -> str:
        """Solution status, or "failed"."""
        return "failed" if self.result is None else self.result.status.value


@dataclass(frozen=True)
class SweepReport:
    """Report on a sweep: an entry for each k that was run, in ascending order.

    Attributes
    ----------
    entries : what is known of each k
    left : the k that nothing was done for
    interrupted : whether an interrupt ended the sweep
    seconds : of the whole sweep
    origin : what the rows are called
    """

    entries: tuple[SweepEntry, ...]
    left: tuple[int, ...]
    interrupted: bool
    seconds: float
    origin: Origin

    @property
    def is_complete(self) -> bool:
        """True if every k is proven: optimal within the gap asked for, or infeasible."""
        return not self.left and all(is_settled(entry) for entry in self.entries)

    def __getitem__(self, k: int) -> SweepEntry:
        """Return the entry of k.

        Raises
        ------
        KeyError
            If there is none.
        """
        for entry in self.entries:
            if entry.k == k:
                return entry
        raise KeyError(f"k = {k}: expected one of {', '.join(str(e.k) for e in self.entries)}")

    def decrease(self, k: int) -> tuple[float, float, float] | None:
        """Return by how much the cost at k is less than at the k before it, and its interval.

        The least costs differ by what lies in the interval, which is proven. None for the first k,
        and where one of both has no clustering.
        """
        at = [entry.k for entry in self.entries].index(k)
        if at == 0:
            return None
        before, entry = self.entries[at - 1 : at + 1]
        if before.objective is None or entry.objective is None:
            return None
        assert before.lower_bound is not None
        assert entry.lower_bound is not None
        least = before.lower_bound - entry.objective
        most = before.objective - entry.lower_bound
        return before.objective - entry.objective, least, most

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a flat row for each k, by `COLUMNS`; sizes as "61 50 39"."""
        rows = []
        for entry in self.entries:
            decrease = self.decrease(entry.k) or (None, None, None)
            result = entry.result
            values = (
                *(entry.k, entry.status, entry.objective, entry.lower_bound, entry.gap),
                *(*decrease, entry.silhouette, entry.agreement),
                " ".join(map(str, entry.sizes)),
                None if result is None else result.statistics.n_nodes,
                None if result is None else result.statistics.wall_seconds,
                entry.message,
            )
            rows.append(dict(zip(COLUMNS, map(finite_or_none, values), strict=True)))
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON: the rows, with the labels of each k."""
        rows = self.to_rows()
        for row, entry in zip(rows, self.entries, strict=True):
            partition = entry.partition
            row["labels"] = None if partition is None else partition.labels.tolist()
        names = self.origin.row_names
        return {
            "sweep": rows,
            "left": list(self.left),
            "interrupted": self.interrupted,
            "seconds": self.seconds,
            "row_names": None if names is None else list(names),
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return `to_rows()` as a data frame: a row for each k.

        Raises
        ------
        BackendUnavailable
            Without pandas.
        """
        return pandas_module("to_rows(), dictionaries").DataFrame(self.to_rows(), columns=COLUMNS)

    def to_json(self) -> str:
        """Return `to_dict()` as one JSON object, one line per key."""
        return json_text(self.to_dict())

    def to_csv(self) -> str:
        """Return the rows with a heading, separated by commas."""
        return csv_text(COLUMNS, self.to_rows())

    def labels_csv(self) -> str:
        """Return the labels of all k: a row for each point, with its name, a column for each k.

        The separator is that of the file of points.
        """
        found = {e.k: e.partition.labels for e in self.entries if e.partition is not None}
        text = io.StringIO()
        writer = csv.writer(text, delimiter=self.origin.separator or ",", lineterminator="\n")
        writer.writerow([self.origin.index_name or "id", *(f"k={k}" for k in found)])
        for row, labels in enumerate(zip(*found.values(), strict=True)):
            writer.writerow([self.origin.row(row), *map(int, labels)])
        return text.getvalue()

    def table(self) -> str:
        """Return a line for each k, and what the figures say."""
        lines = [_HEADING, *(_line(entry, self.decrease(entry.k)) for entry in self.entries)]
        if self.left:
            why = "the sweep was interrupted" if self.interrupted else "the time was over"
            lines.append(f"Not run, as {why}: k = {', '.join(map(str, self.left))}")
        return "\n".join([*lines, "", LEGEND, NOTE])

    def __str__(self) -> str:
        return self.table()

    def __repr__(self) -> str:
        done = ", ".join(str(entry.k) for entry in self.entries)
        settled = sum(map(is_settled, self.entries))
        return f"<SweepReport: k = {done}; {settled} of {len(self.entries)} proven>"

    def _repr_html_(self) -> str:
        """Return what `str` does, as notebooks show it."""
        return card("Numbers of clusters", [], str(self))


def is_settled(entry: SweepEntry) -> bool:
    """Return whether a k is proven: optimal within the gap asked for, or infeasible."""
    proven = (SolutionStatus.OPTIMAL, SolutionStatus.INFEASIBLE)
    return entry.result is not None and (
        entry.result.status in proven
        or (entry.gap is not None and entry.gap <= entry.result.gap_asked)
    )


_HEADING = (
    f"{'k':>4} {'cost':>14} {'proven at least':>16} {'gap':>9} {'decrease':>12} "
    f"{'silhouette':>10} {'ARI to prev':>11}  sizes"
)


def _line(entry: SweepEntry, decrease: Sequence[float] | None) -> str:
    if entry.objective is None:
        return f"{entry.k:>4} {entry.message or entry.status}"
    assert entry.lower_bound is not None
    lower = rounded_down(entry.lower_bound, DIGITS)
    fallen = "" if decrease is None else f"{decrease[0]:.6g}"
    silhouette = "" if entry.silhouette is None else f"{entry.silhouette:.3f}"
    agreement = "" if entry.agreement is None else f"{entry.agreement:.3f}"
    sizes = _sizes(entry)
    remark = f"  ({entry.message})" if entry.message else ""
    return (
        f"{entry.k:>4} {entry.objective:>14.{DIGITS}g} {lower:>16} {percent_up(entry.gap):>9} "
        f"{fallen:>12} {silhouette:>10} {agreement:>11}  {sizes}{remark}"
    )


def _sizes(entry: SweepEntry) -> str:
    return " ".join(map(str, entry.sizes[:8])) + (" ..." if len(entry.sizes) > 8 else "")
