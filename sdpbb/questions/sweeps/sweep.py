"""`sweep`: the instance solved and proven for each number of clusters."""

from __future__ import annotations

import math
import numbers
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import fields, replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from heuristics.measures import adjusted_rand_index, silhouette
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem import Instance, Origin
from sdpbb.problem.checks import OF_ONE_K
from sdpbb.problem.files.labels import encoded
from sdpbb.questions.study import Outcome, Study, solved
from sdpbb.questions.study_folder import StudyFolder, open_folder
from sdpbb.questions.sweeps.report import LABELS, TABLE, VALUES, SweepEntry, SweepReport
from sdpbb.run.arguments import SolveArguments, stated_run
from sdpbb.run.checkpoint import read_checkpoint
from sdpbb.run.parameters import SolverParameters
from sdpbb.runtime.archive.stored import Encoder
from sdpbb.runtime.backends.milp import require_integer_solver
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.search.events import Observer, ignore
from sdpbb.search.result import bound_below

# Parameters that do not decide what a result means.
MAY_CHANGE = ("time_limit", "node_limit", "memory_limit", "workers", "dask", "mpi")


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
    on_entry: Callable[[SweepEntry, int], None] | None = None,
    interrupt: threading.Event | None = None,
    executor: Executor | None = None,
    **arguments: Unpack[SolveArguments],
) -> SweepReport:
    """Solve an instance for each number of clusters, and prove each optimum.

    The bound of k + 1 is valid for k, too, unless there are least sizes or weights, soft
    must-links, or constraints of a class of the user's own.

    Parameters
    ----------
    instance : points and constraints as an `Instance`, whose own k makes no difference; or points
        alone, an array (n, d) or a data frame, with the others as further arguments
    ks : numbers of clusters, 1 <= k <= n
    parameters : of each run. workers is the number of k that are solved at the same time, in
        processes of their own; what is left of them is for each run. time_limit is for the whole
        sweep
    time_limit_each : seconds for each k, > 0
    folder : for checkpoints (`k3.checkpoint`), certificates (`k3.cert`), `results.jsonl`, which has
        a row for each k as soon as it has ended, and in the end `sweep.csv`, `sweep.json` and
        `labels.csv`; made if it is not there. None: no files are written
    resume : whether the folder may hold a sweep, which is resumed: what is proven is kept,
        what limits have stopped continues from its state
    certificates : whether each run leaves a proof in the folder
    observer : receives the events of runs, where they are one after the other
    on_entry : is called with each entry as it comes, and with the number of k still to come
    interrupt : set it to end the sweep; what is known until then is reported
    executor : any `concurrent.futures.Executor`, each worker of which solves one k at a time;
        otherwise as for `solve`. Files of the folder are written where the workers are
    arguments : single parameters, and of points what makes an `Instance` of them, as for `solve`

    Raises
    ------
    TypeError
        If there is no argument of a name.
    InstanceError
        As `solve` does; if a k is above the number of points, if sizes are listed, which are for
        one k alone, or if the folder cannot be used.
    ParameterError
        As `solve` does; and if there are no ks, if time_limit_each is not above 0, or if
        certificates or resume are asked for without a folder.
    ArchiveError
        If a checkpoint in the folder is damaged, or of another version.
    Interrupted
        As `solve` does, with the report on what is known until then.
    """
    wanted = _integers(ks)
    if arguments.get("sizes") is not None:
        raise InstanceError(OF_ONE_K)
    k = None if isinstance(instance, Instance) else wanted[-1]
    instance, parameters = stated_run(instance, k, parameters, arguments, sweep)
    _check(instance, wanted[-1], folder, resume, certificates)
    require_integer_solver(parameters.search.milp_solver)
    study = Study[int](
        parameters,
        executor,
        time_limit_each=time_limit_each,
        name_of=lambda k: f"k = {k}",
    )
    with ExitStack() as block:
        opened = None
        if folder is not None:
            files = open_folder(folder, resume, dict, others=checkpoint_of("*"))
            opened = block.enter_context(files)
        run = _Sweep(instance, wanted, parameters, opened, certificates, observer, on_entry)
        run.check_checkpoints()
        return study.conduct(interrupt, lambda: run.report(study))


def _integers(ks: Iterable[int]) -> list[int]:
    """Return numbers of clusters in ascending order, each once, or raise the ParameterError."""
    if isinstance(ks, str) or not isinstance(ks, Iterable):
        raise ParameterError(f"ks = {ks!r}: expected numbers of clusters, such as range(2, 8)")
    given = list(ks)
    if not given:
        raise ParameterError("ks = []: expected at least one number of clusters")
    for k in given:
        if isinstance(k, bool) or not isinstance(k, numbers.Integral) or k < 1:
            raise ParameterError(f"ks = {k!r}: expected integers >= 1")
    return sorted({int(k) for k in given})


def _check(
    instance: Instance, most: int, folder: FilePath | None, resume: bool, certificates: bool
) -> None:
    if most > instance.n_points:
        raise InstanceError(
            f"k = {most}; expected at most {instance.n_points}, the number of points"
        )
    if instance.sizes is not None:
        raise InstanceError(OF_ONE_K)
    for name, value in (("resume", resume), ("certificates", certificates)):
        if value and folder is None:
            raise ParameterError(f"{name} = True: expected a folder for the files of the sweep")


def checkpoint_of(k: int | str) -> str:
    """Return the name of the checkpoint of k in the folder of a sweep."""
    return f"k{k}.checkpoint"


class _Sweep:
    """Clusterings and bounds for the numbers of clusters of a sweep, as far as they are known."""

    def __init__(
        self,
        instance: Instance,
        ks: list[int],
        parameters: SolverParameters,
        folder: StudyFolder[dict[str, Any]] | None,
        certificates: bool,
        observer: Observer,
        on_entry: Callable[[SweepEntry, int], None] | None,
    ) -> None:
        self._instance, self._ks, self._folder = instance, ks, folder
        workers_each = parameters.workers // min(parameters.workers, len(ks))
        self._parameters = replace(parameters, workers=workers_each, dask=None, mpi=False)
        self._certificates, self._observer, self._on_entry = certificates, observer, on_entry
        self._found: dict[int, SweepEntry] = {}

    def check_checkpoints(self) -> None:
        """Check that the checkpoints in the folder are of these runs."""
        for k in self._ks:
            path = self._file(checkpoint_of(k))
            if path is not None and os.path.exists(path):
                instance = replace(self._instance, k=k)
                check_checkpoint(path, instance, self._parameters, self._certificates)

    def report(self, study: Study[int]) -> SweepReport:
        """Run every k that there is time for; return what is known, and write it to the folder."""
        study.run(self._ks, self._begin, self._take)
        entries = tuple(self._entries())
        left = tuple(k for k in self._ks if k not in self._found)
        origin = self._instance.origin
        report = SweepReport(entries, left, study.stop.is_set(), study.seconds, origin)
        if self._folder is not None:
            self._folder.write(TABLE, report.to_csv())
            self._folder.write(VALUES, report.to_json())
            self._folder.write(LABELS, encoded(report.labels_csv(), origin))
        return report

    def _file(self, name: str) -> str | None:
        return None if self._folder is None else self._folder.file(name)

    def _begin(self, k: int, seconds: float, stop: threading.Event | None) -> partial[Outcome]:
        return partial(
            solved,
            replace(self._instance, k=k),
            replace(self._parameters, time_limit=seconds),
            stop,
            # Nobody observes other processes.
            self._observer if stop is not None else ignore,
            checkpoint=self._file(checkpoint_of(k)),
            certificate=self._file(f"k{k}.cert") if self._certificates else None,
        )

    def _take(self, k: int, outcome: Outcome) -> None:
        result, bound, message = outcome.value, None, outcome.message
        if result is not None:
            bound = result.lower_bound
            result = replace(result, origin=self._instance.origin)  # checkpoints have no index
            if result.infeasibility is not None:
                message = f"infeasible: {result.infeasibility}"
        entry = self._found[k] = SweepEntry(k, result, bound, message=message)
        if self._folder is not None:
            self._folder.append(entry.to_line())
        if self._on_entry is not None:
            self._on_entry(entry, len(self._ks) - len(self._found))

    def _entries(self) -> Iterator[SweepEntry]:
        """Yield what is known of each k, in ascending order, compared with the k before it."""
        bounds = {k: entry.lower_bound for k, entry in sorted(self._found.items())}
        if self._instance.is_monotone:
            _hand_down(bounds)
        before: SweepEntry | None = None
        for k, bound in bounds.items():
            entry = self._found[k]
            if entry.objective is not None and bound is not None:
                bound = bound_below(bound, entry.objective)
            entry = replace(entry, lower_bound=bound)
            if entry.partition is not None:
                mean = silhouette(self._instance.points, entry.partition.labels)
                entry = _compared(replace(entry, silhouette=mean), before)
            yield entry
            before = entry


def _compared(entry: SweepEntry, before: SweepEntry | None) -> SweepEntry:
    """Return an entry with a clustering, compared with the k before it, if that has one, too."""
    if before is None or before.partition is None or entry.partition is None:
        return entry
    agreement = adjusted_rand_index(before.partition.labels, entry.partition.labels)
    cost, cost_before = entry.objective, before.objective
    assert cost is not None
    assert cost_before is not None
    assert entry.lower_bound is not None
    assert before.lower_bound is not None
    decrease = cost_before - cost, before.lower_bound - cost, cost_before - entry.lower_bound
    return replace(entry, agreement=agreement, decrease=decrease)


def _hand_down(bounds: dict[int, float | None]) -> None:
    """Raise the bound of each k to that of the next larger one, of a monotone instance.

    Where must-links leave too few components, that one is infeasible and has no bound.
    """
    least = -math.inf
    for k in sorted(bounds, reverse=True):
        bound = bounds[k]
        if bound is not None:
            least = max(least, bound)
            bounds[k] = least


def check_checkpoint(
    path: str, instance: Instance, parameters: SolverParameters, certified: bool
) -> None:
    """Check that a checkpoint is of a run of this instance with these parameters, but for limits.

    Raises
    ------
    ArchiveError
        If it is none, damaged, or of another version.
    ParameterError
        If it is of another run.
    """
    saved = read_checkpoint(path)
    asked = replace(parameters, certify=True) if certified else parameters
    names = [
        field.name
        for field in fields(asked)
        if field.name not in MAY_CHANGE
        and getattr(saved.parameters, field.name) != getattr(asked, field.name)
    ]
    differing = f"parameters ({', '.join(names)}; limits and workers may change)" if names else ""
    if not is_same_instance(saved.instance, instance):
        differing = "data, k or constraints"
    if differing:
        raise ParameterError(
            f"resume = True: {shown_path(path)} is of a run with other {differing}; expected the "
            "same, or a new folder"
        )


def is_same_instance(one: Instance, other: Instance) -> bool:
    """Return whether two instances state the same, whatever their rows and files are called."""
    first, second = (
        Encoder(replace(instance, origin=Origin(), name="")) for instance in (one, other)
    )
    return first.document == second.document and all(
        map(np.array_equal, first.arrays, second.arrays)
    )
