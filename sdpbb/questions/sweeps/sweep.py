"""`sweep`: the instance solved for each number of clusters, each begun from a neighbour."""

from __future__ import annotations

import inspect
import math
import numbers
import os
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, Unpack

from heuristics.measures import adjusted_rand_index, silhouette
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem import Instance, Partition
from sdpbb.problem.checks import OF_ONE_K
from sdpbb.questions.sweeps.folder import SweepFolder, check_checkpoint, open_folder
from sdpbb.questions.sweeps.neighbours import clustering_from
from sdpbb.questions.sweeps.report import SweepEntry, SweepReport
from sdpbb.questions.sweeps.tasks import SweepOutcome, SweepTask, solve_one
from sdpbb.run.checks import check_executor
from sdpbb.run.kernels import WarmUp
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solve_arguments import SolveArguments, stated_run
from sdpbb.runtime.backends.milp import require_integer_solver
from sdpbb.runtime.executors.clusters import workers_beyond
from sdpbb.runtime.executors.executor import TaskExecutor
from sdpbb.runtime.executors.processes import LocalProcesses
from sdpbb.runtime.executors.scheduler import Scheduler, Task
from sdpbb.runtime.executors.serial import SerialExecutor
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.interruption import interruptible
from sdpbb.search.events import Observer, ignore
from sdpbb.search.result import Result, bound_below

# Seconds between two looks at interrupts while workers are waited for.
PAUSE = 0.2
# Seconds that a process has beyond its time limit, or after an interrupt, until it is ended.
GRACE = 20.0


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

    Each run begins with the clustering of the nearest k that has one, with clusters split or merged
    until there are k. The bound of k + 1 is valid for k, too, unless there are least sizes or
    weights, soft must-links, or constraints of a class of the user's own.

    Parameters
    ----------
    instance : points and constraints as an `Instance`, whose own k makes no difference; or points
        alone, an array (n, d) or a data frame, with the others as further arguments
    ks : numbers of clusters, 1 <= k <= n
    parameters : of each run. workers is the number of k that are solved at the same time, in
        processes of their own; what is left of them is for each run. time_limit is for the whole
        sweep
    time_limit_each : seconds for each k, > 0
    folder : for checkpoints (`k3.checkpoint`), certificates (`k3.cert`), and in the end
        `sweep.csv`, `sweep.json` and `labels.csv`; made if it is not there. None for none
    resume : whether the folder may hold a sweep, which is gone on with: what is proven is kept,
        what limits have stopped goes on from its state
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
    own = [*inspect.signature(sweep).parameters][1:-1]
    instance, parameters = stated_run(instance, k, parameters, arguments, own, "sweep")
    if wanted[-1] > instance.n_points:
        raise InstanceError(
            f"k = {wanted[-1]}; expected at most {instance.n_points}, the number of points"
        )
    _check(instance, time_limit_each, folder, resume, certificates)
    require_integer_solver(parameters.search.milp_solver)
    check_executor(executor, parameters)
    files = None if folder is None else open_folder(folder, resume)
    alone = replace(parameters, dask=None, mpi=False)
    tasks = [_task(instance, k, alone, files, certificates) for k in wanted]
    for task in tasks:
        if resume and task.checkpoint is not None and os.path.exists(task.checkpoint):
            check_checkpoint(task.checkpoint, task.instance, parameters, certificates)

    def report(stop: threading.Event) -> SweepReport:
        warm_up = WarmUp(parameters.bounding)
        with workers_beyond(executor, parameters.dask, parameters.mpi, warm_up) as workers:
            run = _SweepRun(tasks, parameters, time_limit_each, workers, stop, observer, on_entry)
            run.work()
        found = run.report(instance)
        if files is not None:
            _write(files, found)
        return found

    return interruptible(interrupt, report)


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
    instance: Instance,
    time_limit_each: float,
    folder: FilePath | None,
    resume: bool,
    certificates: bool,
) -> None:
    if instance.sizes is not None:
        raise InstanceError(OF_ONE_K)
    if not time_limit_each > 0:
        raise ParameterError(f"time_limit_each = {time_limit_each}: expected seconds > 0")
    for name, value in (("resume", resume), ("certificates", certificates)):
        if value and folder is None:
            raise ParameterError(f"{name} = True: expected a folder for the files of the sweep")


def _task(
    instance: Instance,
    k: int,
    parameters: SolverParameters,
    files: SweepFolder | None,
    certificates: bool,
) -> SweepTask:
    return SweepTask(
        replace(instance, k=k),
        parameters,
        checkpoint=None if files is None else files.checkpoint(k),
        certificate=files.certificate(k) if files is not None and certificates else None,
    )


def _write(files: SweepFolder, report: SweepReport) -> None:
    try:
        files.write_tables(report)
    except OSError as error:
        raise InstanceError(
            f"{shown_path(files.path)}: its tables could not be written "
            f"({error.strerror or error}); the runs are safe in their checkpoints"
        ) from None


class _SweepRun:
    """Runs of a sweep, one after the other or several at a time."""

    def __init__(
        self,
        tasks: list[SweepTask],
        parameters: SolverParameters,
        time_limit_each: float,
        workers: TaskExecutor | None,
        stop: threading.Event,
        observer: Observer,
        on_entry: Callable[[SweepEntry, int], None] | None,
    ) -> None:
        self._tasks = {task.instance.k: task for task in tasks}
        self._limit, self._each = parameters.time_limit, time_limit_each
        self._bounding, self._workers = parameters.bounding, workers
        self._n_at_once = min(parameters.workers, len(tasks))
        self._workers_each = parameters.workers // self._n_at_once
        self._is_here = self._n_at_once == 1 and workers is None
        self._waiting = sorted(self._tasks, reverse=True)
        self._stop, self._observer, self._on_entry = stop, observer, on_entry
        self._started = time.perf_counter()
        self._found: dict[int, SweepOutcome] = {}

    @property
    def _seconds(self) -> float:
        return time.perf_counter() - self._started

    @property
    def _for_next(self) -> float:
        """Seconds for the next run, <= 0 if there is to be none."""
        return 0.0 if self._stop.is_set() else min(self._each, self._limit - self._seconds)

    def work(self) -> None:
        """Run every k that there is time for."""
        with Scheduler(self._executor()) as scheduler:
            while (tasks := scheduler.round(self._next_task, PAUSE)) is not None:
                for task in tasks:
                    self._take(task.key, _outcome(task))
                if self._stop.is_set():
                    scheduler.interrupt()

    def _executor(self) -> TaskExecutor:
        if self._workers is not None:
            return self._workers
        if self._is_here:
            return SerialExecutor()
        warm_up = WarmUp(self._bounding)
        return LocalProcesses(self._n_at_once, warm_up, first_alone=True, grace=GRACE)

    def _next_task(self) -> Task | None:
        """Return the run of the next k; None if there is none, or no time for it."""
        if not self._waiting or (seconds := self._for_next) <= 0:
            return None
        k = self._waiting.pop()
        # In other processes interrupts are those of the worker, and nobody observes.
        here = (self._stop, self._observer) if self._is_here else ()
        return Task(k, solve_one, (self._begun(k, seconds), *here), seconds)

    def _begun(self, k: int, seconds: float) -> SweepTask:
        """Return the task of k with its limit, and a clustering of the nearest k to begin with."""
        task = self._tasks[k]
        parameters = replace(task.parameters, time_limit=seconds, workers=self._workers_each)
        start = None
        known = [other for other, outcome in self._found.items() if _partition(outcome.result)]
        if known:
            nearest = min(known, key=lambda other: (abs(other - k), other))
            partition = _partition(self._found[nearest].result)
            assert partition is not None
            start = clustering_from(task.instance, partition)
        return replace(task, parameters=parameters, start=start)

    def _take(self, k: int, outcome: SweepOutcome) -> None:
        self._found[k] = outcome
        if self._on_entry is not None:
            left = len(self._tasks) - len(self._found)
            bound = _lower_bound(outcome.result)
            self._on_entry(_entry(self._tasks[k], outcome, bound), left)

    def report(self, instance: Instance) -> SweepReport:
        """Return what is known of every k."""
        ks = sorted(self._found)
        bounds = {k: _lower_bound(self._found[k].result) for k in ks}
        if instance.is_monotone:
            _hand_down(bounds)
        entries = []
        before: Partition | None = None
        for k in ks:
            outcome = self._found[k]
            partition = _partition(outcome.result)
            entry = _entry(self._tasks[k], outcome, bounds[k])
            if partition is not None:
                agreement = None
                if before is not None:
                    agreement = adjusted_rand_index(before.labels, partition.labels)
                mean = silhouette(instance.points, partition.labels)
                entry = replace(entry, silhouette=mean, agreement=agreement)
            entries.append(entry)
            before = partition
        left = tuple(sorted(self._tasks.keys() - self._found.keys()))
        return SweepReport(
            tuple(entries), left, self._stop.is_set(), self._seconds, instance.origin
        )


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


def _outcome(task: Task) -> SweepOutcome:
    if task.is_overdue:
        return SweepOutcome(None, "did not stop after its time limit, and was killed")
    if task.is_lost:
        return SweepOutcome(None, f"its worker process {task.deaths[-1]}")
    value: SweepOutcome = task.value
    return value


def _entry(task: SweepTask, outcome: SweepOutcome, lower_bound: float | None) -> SweepEntry:
    result, message = outcome.result, outcome.problem
    if result is not None and result.objective is not None and lower_bound is not None:
        lower_bound = bound_below(lower_bound, result.objective)
    if result is not None:  # checkpoints do not keep the index of a frame
        result = replace(result, origin=task.instance.origin)
        if result.infeasibility is not None:
            message = f"infeasible: {result.infeasibility}"
    return SweepEntry(task.instance.k, result, lower_bound, message=message)


def _partition(result: Result | None) -> Partition | None:
    return None if result is None else result.partition


def _lower_bound(result: Result | None) -> float | None:
    return None if result is None else result.lower_bound
