"""Reports on sweeps, as values and as tables."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sdpbb.problem import Origin, Partition
from sdpbb.runtime.document import Document, Facts, Part, Picture, Table, Text, Tone, Verdict
from sdpbb.runtime.results import Reported, Tabular, keys_of, values_of
from sdpbb.runtime.values import percent_up, rounded_down, seconds_text
from sdpbb.search.result import Result, SolutionStatus, relative_gap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PROVEN = ("k", "status", "objective", "lower_bound", "gap")
COMPARED = ("decrease:decrease.0", "decrease_lower:decrease.1", "decrease_upper:decrease.2")
TOOK = ("n_nodes", "wall_seconds", "message")
COLUMNS = (*PROVEN, *COMPARED, "silhouette", "agreement", "sizes:sizes_text", *TOOK)
# Files of a sweep in its folder.
TABLE, VALUES, LABELS = "sweep.csv", "sweep.json", "labels.csv"
DIGITS = 8
NOTE = (
    "Each cost is proven optimal for its k, up to its gap. This does not prove which k is right: "
    "costs usually fall with every cluster added, even if the data have no clusters."
)
CAPTION = (
    "Bars are the intervals that are proven to hold the least cost; they are hardly seen where "
    "bound and cost meet."
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
    decrease : by how much the cost is less than at the k before it, and the least and the most that
        the least costs of both are proven to differ by; None without one
    message : what went wrong, or is to be known; "" for nothing
    """

    k: int
    result: Result | None
    lower_bound: float | None
    silhouette: float | None = None
    agreement: float | None = None
    decrease: tuple[float, float, float] | None = None
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
        return values_of(self, *PROVEN, *TOOK)

    def to_row(self) -> dict[str, Any]:
        """Return a row of a table; sizes as "61 50 39"."""
        return values_of(self, *COLUMNS)

    @property
    def n_nodes(self) -> int | None:
        """Number of nodes of the run; None without a result."""
        return None if self.result is None else self.result.statistics.n_nodes

    @property
    def wall_seconds(self) -> float | None:
        """Seconds of the run; None without a result."""
        return None if self.result is None else self.result.statistics.wall_seconds

    def __repr__(self) -> str:
        figures = ""
        if self.objective is not None:
            figures = f", cost {self.objective:.6g}, gap {percent_up(self.gap)}"
        return f"<SweepEntry: k = {self.k}, {self.status}{figures}>"

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
    def sizes_text(self) -> str:
        """The sizes as text: "61 50 39"."""
        return " ".join(map(str, self.sizes))

    @property
    def status(self) -> str:
        """Solution status, or "failed"."""
        return "failed" if self.result is None else self.result.status.value


@dataclass(frozen=True)
class SweepReport(Reported, Tabular):
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

    @property
    def problems(self) -> tuple[str, ...]:
        """A line for each k whose run failed."""
        return tuple(f"k = {e.k}: {e.message}" for e in self.entries if e.result is None)

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

    columns, items = keys_of(COLUMNS), "entries"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON: the rows, with the labels of each k."""
        rows = self.to_rows()
        for row, entry in zip(rows, self.entries, strict=True):
            row |= values_of(entry, "partition.labels")
        others = values_of(self, "left", "interrupted", "seconds", "origin.row_names")
        return {"sweep": rows} | others

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

    def document(self) -> Document:
        """Return a row for each k with what is proven, and what the figures say."""
        n, n_proven = len(self.entries) + len(self.left), sum(map(is_settled, self.entries))
        tone = Tone(f"{n_proven} of {n} k are proven", "fair")
        if n_proven == n:
            tone = Tone("Every k is proven", "good")
        facts = [("Proven", f"{n_proven} of {n} k"), ("Time", seconds_text(self.seconds))]
        costs = [f"{e.objective:.6g} at k = {e.k}" for e in self.entries if e.objective is not None]
        parts: list[Part] = [Verdict("Status", tone, NOTE), Facts(facts)]
        if costs:
            description = f"Costs by number of clusters: {', '.join(costs)}."
            parts.append(Picture(description, CAPTION, self._picture))
        rows = [_row(entry) for entry in self.entries]
        parts += [Table(_HEADING, rows, "Each number of clusters"), Text(LEGEND, "note")]
        if self.left:
            why = "the sweep was interrupted" if self.interrupted else "the time was over"
            parts.append(Text(f"Not run, as {why}: k = {', '.join(map(str, self.left))}"))
        return Document("Numbers of clusters", parts)

    def _picture(self) -> Axes:
        from sdpbb.plots import plot_sweep

        return plot_sweep(self.to_rows())

    def __repr__(self) -> str:
        done = ", ".join(str(entry.k) for entry in self.entries)
        settled = sum(map(is_settled, self.entries))
        return f"<SweepReport: k = {done}; {settled} of {len(self.entries)} proven>"


def is_settled(entry: SweepEntry) -> bool:
    """Return whether a k is proven: optimal within the gap asked for, or infeasible."""
    proven = (SolutionStatus.OPTIMAL, SolutionStatus.INFEASIBLE)
    return entry.result is not None and (
        entry.result.status in proven
        or (entry.gap is not None and entry.gap <= entry.result.gap_asked)
    )


_HEADING = (
    *("k", "status", "cost", "proven at least", "gap", "decrease"),
    *("silhouette", "ARI to prev", "sizes", "remark"),
)


def _row(entry: SweepEntry) -> list[str]:
    """Return the cells of a k in the table."""
    cells = [str(entry.k), entry.status, *[""] * 4]
    if entry.objective is not None:
        assert entry.lower_bound is not None
        bound = rounded_down(entry.lower_bound, DIGITS)
        cells[2:5] = [f"{entry.objective:.{DIGITS}g}", bound, percent_up(entry.gap)]
    if entry.decrease is not None:
        cells[5] = f"{entry.decrease[0]:.6g}"
    measures = (entry.silhouette, entry.agreement)
    cells += ["" if value is None else f"{value:.3f}" for value in measures]
    return [*cells, _sizes(entry), entry.message]


def _sizes(entry: SweepEntry) -> str:
    return " ".join(map(str, entry.sizes[:8])) + (" ..." if len(entry.sizes) > 8 else "")
