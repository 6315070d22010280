"""`sweep`: an instance solved and proven for several numbers of clusters."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from heuristics.measures import adjusted_rand_index, silhouette
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem import Instance, Origin, Partition
from sdpbb.problem.checks import OF_ONE_K
from sdpbb.questions.report import Entry, Report, bound_text, figure, table_of
from sdpbb.questions.study import Outcome, Study, make_folder, solve_job
from sdpbb.run.arguments import SolveArguments, stated_run
from sdpbb.run.checkpoint import read_checkpoint
from sdpbb.run.parameters import LIMITS, WORKERS, SolverParameters
from sdpbb.runtime.archive import Encoder
from sdpbb.runtime.backends.milp import require_integer_solver
from sdpbb.runtime.declaration import as_integer
from sdpbb.runtime.document import Document, Facts, Part, Picture, Text, Tone, Verdict
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.results import Tabular, keys_of, values_of
from sdpbb.runtime.values import percent_up, seconds_text, shortened
from sdpbb.search.events import Observer, ignore
from sdpbb.search.result import Result, SolutionStatus, bound_below, relative_gap

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Significant digits of costs; letters of the sizes of clusters in a row of the table.
DIGITS, LONGEST_SIZES = 8, 40
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


@dataclass(frozen=True, repr=False)
class SweepEntry(Entry):
    """Outcome of one number of clusters: its clustering and proven bounds.

    Attributes
    ----------
    k : number of clusters
    result : result of its run; None: the run failed
    lower_bound : proven lower bound on the optimum, of the run or of a larger k; None for an
        infeasible k, or without a result
    silhouette : mean over the points, between -1 and 1; None if undefined
    agreement : adjusted Rand index with the clustering of the previous k in the sweep; None without
        one
    decrease : decrease of the cost from the previous k, and a proven lower and upper bound on the
        decrease of the optimum; None without a previous k
    message : error or remark, or ""
    """

    k: int
    result: Result | None
    lower_bound: float | None
    silhouette: float | None = None
    agreement: float | None = None
    decrease: tuple[float, float, float] | None = None
    message: str = ""

    fields = (
        *("k", "status", "objective", "lower_bound", "gap"),
        *("decrease:decrease.0", "decrease_lower:decrease.1", "decrease_upper:decrease.2"),
        *("silhouette", "agreement", "sizes:sizes_text"),
        *("result.statistics.n_nodes", "result.statistics.wall_seconds", "message"),
    )

    @property
    def status(self) -> str:
        """Solution status, or "failed"."""
        return "failed" if self.result is None else self.result.status.value

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

    @property
    def is_settled(self) -> bool:
        """True if k is proven: optimal within the gap, or infeasible."""
        return self.result is not None and (
            self.result.status in (SolutionStatus.OPTIMAL, SolutionStatus.INFEASIBLE)
            or (self.gap is not None and self.gap <= self.result.gap_asked)
        )

    @property
    def partition(self) -> Partition | None:
        """The best clustering found, None without one."""
        return None if self.result is None else self.result.partition

    @property
    def labels(self) -> Any:
        """Labels (n,) of the best clustering found, None without one.

        They are an array; for a pandas data frame, a Series with its index, as in `Result`.
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

    def __str__(self) -> str:
        return f"k = {self.k}: {self.message or self.result}"


# Cells of an entry in the table, by heading.
_CELLS: dict[str, Callable[[SweepEntry], str]] = {
    "k": lambda entry: str(entry.k),
    "status": lambda entry: entry.status,
    "cost": lambda entry: figure(entry.objective, f".{DIGITS}g"),
    "proven at least": lambda entry: bound_text(entry.lower_bound, DIGITS),
    "gap": lambda entry: "" if entry.gap is None else percent_up(entry.gap),
    "decrease": lambda entry: figure(entry.decrease and entry.decrease[0], ".6g"),
    "silhouette": lambda entry: figure(entry.silhouette, ".3f"),
    "ARI to prev": lambda entry: figure(entry.agreement, ".3f"),
    "sizes": lambda entry: shortened(entry.sizes_text, LONGEST_SIZES),
    "remark": lambda entry: entry.message,
}


@dataclass(frozen=True, repr=False)
class SweepReport(Report, Tabular):
    """Report on a sweep: an entry for each k that was run, in ascending order.

    Attributes
    ----------
    entries : outcome of each k
    left : the k that were not run
    interrupted : whether an interrupt ended the sweep
    seconds : of the whole sweep
    instance : points and constraints; its own k makes no difference
    """

    entries: tuple[SweepEntry, ...]
    left: tuple[int, ...]
    interrupted: bool
    seconds: float
    instance: Instance

    columns, items = keys_of(SweepEntry.fields), "entries"

    @property
    def origin(self) -> Origin:
        """Names of the rows and columns of the data."""
        return self.instance.origin

    @property
    def is_complete(self) -> bool:
        """True if every k is proven: optimal within the gap, or infeasible."""
        return not self.left and all(entry.is_settled for entry in self.entries)

    @property
    def problems(self) -> tuple[str, ...]:
        """A line for each k whose run failed."""
        return tuple(str(entry) for entry in self.entries if entry.result is None)

    def __getitem__(self, k: int) -> SweepEntry:
        """Return the entry of k.

        Raises
        ------
        KeyError
            If k was not run.
        """
        for entry in self.entries:
            if entry.k == k:
                return entry
        raise KeyError(f"k = {k}: expected one of {', '.join(str(e.k) for e in self.entries)}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON: the rows, with the labels of each k."""
        rows = [entry.to_row() | values_of(entry, "partition.labels") for entry in self.entries]
        others = values_of(self, "left", "interrupted", "seconds", "instance.origin.row_names")
        return {"sweep": rows} | others

    def document(self) -> Document:
        """Return a document with a row for each k, and notes on the figures."""
        n_proven = sum(entry.is_settled for entry in self.entries)
        number = f"{n_proven} of {len(self.entries) + len(self.left)} k"
        tone = Tone(f"{number} are proven", "fair")
        if self.is_complete:
            tone = Tone("Every k is proven", "good")
        facts = [("Proven", number), ("Time", seconds_text(self.seconds))]
        costs = [f"{e.objective:.6g} at k = {e.k}" for e in self.entries if e.objective is not None]
        parts: list[Part] = [Verdict("Status", tone, NOTE), Facts(facts)]
        if costs:
            description = f"Costs by number of clusters: {', '.join(costs)}."
            parts.append(Picture(description, CAPTION, self._picture))
        table = table_of(self.entries, _CELLS, "Each number of clusters", len(self.entries))
        parts += [table, Text(LEGEND, "note")]
        if self.left:
            why = "the sweep was interrupted" if self.interrupted else "the time was over"
            parts.append(Text(f"Not run, as {why}: k = {', '.join(map(str, self.left))}"))
        return Document("Numbers of clusters", parts, self.instance.name)

    def _picture(self) -> Axes:
        from sdpbb.plots import plot_sweep

        return plot_sweep(self.to_rows())


def sweep(
    instance: Any,
    ks: Iterable[int],
    parameters: SolverParameters | None = None,
    *,
    time_limit_each: float = math.inf,
    folder: FilePath | None = None,
    resume: bool = False,
    certificates: bool = False,
    observer: Observer = ignore,
    on_entry: Callable[[SweepEntry, int], None] = lambda entry, left: None,
    interrupt: threading.Event | None = None,
    executor: Executor | None = None,
    **arguments: Unpack[SolveArguments],
) -> SweepReport:
    """Solve an instance for each number of clusters, and prove each optimum.

    The bound of k + 1 is also valid for k, except with minimum sizes or weights, soft must-links,
    or constraints of a user's class.

    Parameters
    ----------
    instance : points and constraints as an `Instance`, whose own k is ignored; or points alone, an
        array (n, d) or a data frame, with constraints as further arguments
    ks : numbers of clusters, 1 <= k <= n
    parameters : parameters of each run. workers is the number of k that are solved at the same
        time, in separate processes; more workers than k are shared among the runs. time_limit is
        for the whole sweep
    time_limit_each : seconds for each k, > 0
    folder : folder for checkpoints (`k3.checkpoint`) and certificates (`k3.cert`), made if it does
        not exist. None: no files are written
    resume : whether to resume the sweep in the folder: proven k stay as they are, k stopped by a
        limit continue
    certificates : whether each run writes a proof into the folder
    observer : receives the events of runs in this process
    on_entry : called with each entry as it comes, and with the number of k to come
    interrupt : event that ends the sweep early, with a report on what is known
    executor : any `concurrent.futures.Executor`; each worker solves one k at a time, and writes its
        files itself. Otherwise as for `solve`
    arguments : single parameters, and constraints and options for points, as for `solve`

    Raises
    ------
    TypeError
        If an argument does not exist.
    InstanceError
        As `solve` does; if a k is above the number of points, if sizes are listed, which fit one k
        only, or if the folder cannot be used.
    ParameterError
        As `solve` does; and if ks is empty, if time_limit_each is not above 0, or if certificates
        or resume are given without a folder.
    ArchiveError
        If a checkpoint in the folder is damaged, or of another version.
    Interrupted
        As `solve` does, with the report on what is known.
    """
    wanted = _integers(ks)
    if arguments.get("sizes") is not None:
        raise InstanceError(OF_ONE_K)
    k = None if isinstance(instance, Instance) else wanted[-1]
    instance, parameters = stated_run(instance, k, parameters, arguments, sweep)
    if wanted[-1] > instance.n_points:
        raise InstanceError(
            f"k = {wanted[-1]}; expected at most {instance.n_points}, the number of points"
        )
    if instance.sizes is not None:
        raise InstanceError(OF_ONE_K)
    for name, value in (("resume", resume), ("certificates", certificates)):
        if value and folder is None:
            raise ParameterError(f"{name} = True: expected a folder for the files of the sweep")
    require_integer_solver(parameters.search.milp_solver)
    study = Study[int](parameters, executor, time_limit_each=time_limit_each)
    workers_each = parameters.workers // min(parameters.workers, len(wanted))
    each = parameters.alone(workers_each)
    path = None if folder is None else make_folder(folder, "k*.checkpoint", resume)

    def file(k: int, ending: str) -> str | None:
        return None if path is None else os.path.join(path, f"k{k}.{ending}")

    for k in wanted:
        if (checkpoint := file(k, "checkpoint")) and os.path.exists(checkpoint):
            check_checkpoint(checkpoint, replace(instance, k=k), each, certificates)

    def begin(k: int, seconds: float, stop: threading.Event | None) -> partial[Outcome]:
        return partial(
            solve_job,
            replace(instance, k=k),
            replace(each, time_limit=seconds),
            stop,
            observer if stop is not None else ignore,  # nobody observes other processes
            checkpoint=file(k, "checkpoint"),
            certificate=file(k, "cert") if certificates else None,
        )

    def report() -> SweepReport:
        found: dict[int, SweepEntry] = {}
        for k, outcome in study.outcomes(wanted, begin):
            entry = found[k] = _entry(k, outcome, instance.origin)
            on_entry(entry, len(wanted) - len(found))
        left = tuple(k for k in wanted if k not in found)
        entries = tuple(_compared(instance, found))
        return SweepReport(entries, left, **study.ended(), instance=instance)

    return study.conduct(interrupt, report)


def _integers(ks: Iterable[int]) -> list[int]:
    """Return distinct numbers of clusters in ascending order, or raise a ParameterError."""
    if isinstance(ks, str) or not isinstance(ks, Iterable):
        raise ParameterError(f"ks = {ks!r}: expected numbers of clusters, such as range(2, 8)")
    given = list(ks)
    if not given:
        raise ParameterError("ks = []: expected at least one number of clusters")
    for k in given:
        if (as_integer(k) or 0) < 1:
            raise ParameterError(f"ks = {k!r}: expected integers >= 1")
    return sorted({int(k) for k in given})


def _entry(k: int, outcome: Outcome, origin: Origin) -> SweepEntry:
    """Return the entry of k."""
    result: Result | None = outcome.value
    if result is None:
        return SweepEntry(k, None, None, message=outcome.message)
    message = outcome.message
    if result.infeasibility is not None:
        message = f"infeasible: {result.infeasibility}"
    result = replace(result, origin=origin)  # checkpoints have no index
    return SweepEntry(k, result, result.lower_bound, message=message)


def _compared(instance: Instance, found: dict[int, SweepEntry]) -> Iterator[SweepEntry]:
    """Yield the entries in ascending order, with the best bounds, compared with the previous k."""
    bounds = {k: found[k].lower_bound for k in sorted(found)}
    least = -math.inf
    # A k above the number of must-linked groups is infeasible, and has no bound.
    for k, bound in reversed(bounds.items()) if instance.is_monotone else ():
        if bound is not None:
            bounds[k] = least = max(least, bound)
    before: SweepEntry | None = None
    for k, bound in bounds.items():
        entry = found[k]
        if entry.objective is not None and bound is not None:
            bound = bound_below(bound, entry.objective)
        entry = replace(entry, lower_bound=bound)
        if entry.partition is not None:
            mean = silhouette(instance.points, entry.partition.labels)
            entry = replace(entry, silhouette=mean)
            if before is not None and before.partition is not None:
                entry = _compared_with(before, entry)
        yield entry
        before = entry


def _compared_with(before: SweepEntry, entry: SweepEntry) -> SweepEntry:
    """Return an entry compared with the previous one; both have clusterings."""
    assert before.partition is not None
    assert entry.partition is not None
    agreement = adjusted_rand_index(before.partition.labels, entry.partition.labels)
    ends = (entry.objective, entry.lower_bound, before.objective, before.lower_bound)
    cost, bound, cost_before, bound_before = (end for end in ends if end is not None)
    decrease = cost_before - cost, bound_before - cost, cost_before - bound
    return replace(entry, agreement=agreement, decrease=decrease)


def check_checkpoint(
    path: str, instance: Instance, parameters: SolverParameters, certified: bool
) -> None:
    """Check that a checkpoint is of a run of this instance with these parameters.

    Limits, workers, and names of rows and files may differ.

    Raises
    ------
    ArchiveError
        If it is not a checkpoint, is damaged, or of another version.
    ParameterError
        If it is of another run.
    """
    saved = read_checkpoint(path)
    asked = replace(parameters, certify=True) if certified else parameters
    limits = {name: getattr(asked, name) for name in (*LIMITS, *WORKERS)}
    first, second = (
        Encoder(replace(one, origin=Origin(), name="")) for one in (saved.instance, instance)
    )
    if (
        replace(saved.parameters, **limits) != asked
        or first.document != second.document
        or not all(map(np.array_equal, first.arrays, second.arrays))
    ):
        raise ParameterError(
            f"resume = True: {shown_path(path)} is of a run with other data, k, constraints or "
            "parameters (limits and workers may change); expected the same, or a new folder"
        )
