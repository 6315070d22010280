"""`run_batch`: run jobs in worker processes, and write a row for each as soon as it has ended."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sdpbb.errors import ParameterError
from sdpbb.questions.batch.evaluation import evaluate, prepare
from sdpbb.questions.batch.events import (
    AtWork,
    BatchEnded,
    BatchObserver,
    BatchStarted,
    JobEnded,
    JobPutBack,
    JobStarted,
    Stopping,
    ignore,
)
from sdpbb.questions.batch.folder import BatchFolder, open_folder
from sdpbb.questions.batch.job import Job
from sdpbb.questions.batch.manifest import read_manifest
from sdpbb.questions.batch.outcome import BatchResult
from sdpbb.questions.batch.row import Row, RowStatus
from sdpbb.run.checks import check_executor
from sdpbb.run.parameters import SolverParameters
from sdpbb.runtime.declaration import Parameters, parameter
from sdpbb.runtime.executors.executor import TaskExecutor
from sdpbb.runtime.executors.given import GivenExecutor
from sdpbb.runtime.executors.processes import LocalProcesses
from sdpbb.runtime.executors.scheduler import Scheduler, Task
from sdpbb.runtime.files import FilePath
from sdpbb.runtime.interruption import interruptible
from sdpbb.runtime.version import installed_version
from sdpbb.search.events import Compiling

GROWTH = 256 * 2**20
"""Bytes by which a worker may grow until it is replaced: what earlier jobs have left behind must
not count towards the memory limits of later ones."""

PAUSE = 0.1
"""Seconds between two looks at the interrupt."""

SILENCE = 10.0
"""Seconds without a job that ends, after which the observer is told that work goes on."""


@dataclass(frozen=True)
class BatchParameters(Parameters):
    """Parameters of a batch.

    Raises
    ------
    ParameterError
        One line that begins with the parameter's name and " = ".
    """

    workers: int = parameter(
        1, "Number of worker processes; each solves one instance at a time.", ge=1
    )
    resume: bool = parameter(
        False,
        "Resume the batch in the folder. Finished instances stay as they are, stopped ones too "
        "unless a limit is higher now. All others run again.",
    )
    labels: bool = parameter(True, "Write labels.")
    grace: float = parameter(
        20.0,
        "Kill an instance that still runs this many seconds after its time limit or an interrupt.",
        ge=0,
        unit="seconds",
    )
    certificates: bool = parameter(
        False,
        "Write a proof of each result. With --resume, instances without a proof run again.",
    )


def run_batch(
    jobs: FilePath | Iterable[Job],
    folder: FilePath,
    parameters: BatchParameters | None = None,
    observer: BatchObserver = ignore,
    interrupt: threading.Event | None = None,
    executor: Executor | None = None,
) -> BatchResult:
    """Solve many instances, each in isolation, and write a row for each.

    A job whose files are wrong, whose process dies, or which does not end after its time limit is a
    row that says so. A job whose process died is retried once, at the end and alone.

    Parameters
    ----------
    jobs : a manifest, or jobs of different names
    folder : of the results; made if it is not there. `results.jsonl` holds a row per job as soon as
        it is done, on disk even if this process is killed; a later row of a name takes the place of
        an earlier one. `results.csv` (the rows in the order of the jobs) and `summary.txt` are
        written at the end, `labels/NAME.csv` for each clustering, and `certificates/NAME.cert` for
        each run that is to leave a proof
    parameters : how it is done
    observer : is told how it goes (`sdpbb.questions.batch.events`)
    interrupt : set it, from a signal handler or another thread, to end the batch with rows for what
        is running then, which do not settle their jobs
    executor : any `concurrent.futures.Executor`, each worker of which solves one instance at a
        time; otherwise as for `sdpbb.solve`. Workers read the files of the jobs, and jobs keep
        their time limits themselves: one that does not is not killed

    Raises
    ------
    BatchError
        If the manifest is wrong, the folder cannot be used, or something cannot be written.
    ParameterError
        If two jobs have the same name, or there are workers beside an executor.
    BackendFailure
        If worker processes cannot start.
    Interrupted
        (A KeyboardInterrupt.) After Ctrl-C in the main thread, unless there is an interrupt of the
        caller's: the batch ends as for that, and the result is the attribute `result`. A second
        Ctrl-C raises KeyboardInterrupt at once.
    """
    parameters = parameters or BatchParameters()
    listed = read_manifest(jobs) if isinstance(jobs, (str, os.PathLike)) else list(jobs)
    _check_names(listed)
    check_executor(executor, SolverParameters(workers=parameters.workers))
    with open_folder(os.fspath(folder), parameters.resume) as batch_folder:
        return interruptible(
            interrupt,
            lambda stop: _run(_Batch(listed, batch_folder, parameters, observer, stop, executor)),
        )


def _run(batch: _Batch) -> BatchResult:
    result = batch.run()
    batch.folder.write_tables(result)
    batch.observer(BatchEnded(result))
    return result


def _check_names(jobs: list[Job]) -> None:
    seen: set[str] = set()
    for job in jobs:
        if job.name in seen:
            raise ParameterError(
                f"name = {job.name!r}: two jobs have this name; expected different names"
            )
        seen.add(job.name)


@dataclass
class _Batch:
    jobs: list[Job]
    folder: BatchFolder
    parameters: BatchParameters
    observer: BatchObserver
    interrupt: threading.Event
    executor: Executor | None
    rows: dict[str, Row] = field(default_factory=dict)
    """Last row of each job that has one, by name."""
    settled: set[str] = field(default_factory=set)
    """Names of the jobs that need not be done any more."""
    waiting: deque[Job] = field(default_factory=deque)
    submitted: dict[int, tuple[Job, str]] = field(default_factory=dict)
    """Jobs that workers were given, each with its digest."""
    compiling: threading.Event = field(default_factory=threading.Event)
    started: float = field(default_factory=time.monotonic)

    def run(self) -> BatchResult:
        """Run all jobs, or those that end before the interrupt; return their rows."""
        self._take_over_rows()
        self.observer(BatchStarted(len(self.jobs), len(self.settled), self.parameters.workers))
        if self.waiting:
            with self._scheduler() as scheduler:
                self._work(scheduler)
        return BatchResult(
            rows=tuple(self.rows[job.name] for job in self.jobs if job.name in self.rows),
            n_jobs=len(self.jobs),
            wall_seconds=time.monotonic() - self.started,
            interrupted=self.interrupt.is_set() and len(self.settled) < len(self.jobs),
        )

    def _take_over_rows(self) -> None:
        """Keep the rows of earlier runs of these jobs, and queue the jobs left to do."""
        last = {row.name: row for row in self.folder.results.rows}
        for job in self.jobs:
            row = last.get(job.name)
            if row is None or row.key != job.key():
                self.waiting.append(job)
                continue
            self.rows[job.name] = row
            proven = row.certificate is not None or not self.parameters.certificates
            if row.settles(job) and proven:
                self.settled.add(job.name)
            else:
                self.waiting.append(job)

    def _scheduler(self) -> Scheduler:
        boundings = sorted({job.parameters.bounding for job in self.waiting})
        warm_up = partial(prepare, boundings)
        workers: TaskExecutor
        if self.executor is not None:
            workers = GivenExecutor(self.executor, warm_up)
        else:
            workers = LocalProcesses(
                self.parameters.workers,
                warm_up,
                first_alone=True,
                growth=GROWTH,
                grace=self.parameters.grace,
                on_note=lambda note: self.compiling.set(),
            )
        return Scheduler(
            workers, suspects_last=True, on_start=self._notify_start, on_death=self._notify_death
        )

    def _work(self, scheduler: Scheduler) -> None:
        is_stopping, told = False, time.monotonic()
        while (tasks := scheduler.round(self._next_task, PAUSE)) is not None:
            if self.compiling.is_set():
                self.compiling.clear()
                self.observer(Compiling())
            for task in tasks:
                self._finish(task)
            if self.interrupt.is_set() and not is_stopping:
                is_stopping = True
                self.observer(Stopping())
                scheduler.interrupt()
            if tasks:
                told = time.monotonic()
            elif time.monotonic() - told >= SILENCE:
                told = time.monotonic()
                n_running, n_done = scheduler.n_running, len(self.settled)
                self.observer(AtWork(n_running, n_done, len(self.jobs), told - self.started))

    def _next_task(self) -> Task | None:
        """Return the evaluation of the next job; None if there is none, or the batch stops."""
        if not self.waiting or self.interrupt.is_set():
            return None
        job, number = self.waiting.popleft(), len(self.submitted)
        self.submitted[number] = job, job.key()
        seconds = job.parameters.time_limit
        return Task(number, evaluate, (job, self._certificate_path(job)), seconds)

    def _notify_start(self, number: int, attempt: int) -> None:
        self.observer(JobStarted(self.submitted[number][0].name, attempt))

    def _notify_death(self, number: int, reason: str) -> None:
        self.observer(JobPutBack(self.submitted[number][0].name, reason))

    def _finish(self, task: Task) -> None:
        job, digest = self.submitted[task.key]
        if task.value is None and self.interrupt.is_set():
            return  # ended by whatever has interrupted the batch: nothing is known of it
        if task.is_overdue:
            task.value = _timed_out(job, self.parameters.grace)
        elif task.is_lost:
            task.value = _crash_of_worker(task.deaths)
        self._record(job, digest, task.n_attempts, task.value)

    def _record(self, job: Job, digest: str, attempts: int, value: dict[str, Any]) -> None:
        labels = value.pop("labels", None)
        is_certified = bool(value.pop("certificate", False))
        row = Row.from_dict(
            {
                "name": job.name,
                "data": job.data,
                "constraints": job.constraints,
                "k": job.k,
                "bounding": job.parameters.bounding,
                "gap_asked": job.parameters.gap,
                "seed": job.parameters.seed,
                **job.limits(),
                "attempts": attempts,
                "version": installed_version(),
                "key": digest,
                **value,
                "labels": self._write_labels(job, labels),
                "certificate": self.folder.keep_certificate(job.name, is_certified),
            }
        )
        self.folder.results.append(row)
        self.rows[job.name] = row
        if not row.was_interrupted:
            self.settled.add(job.name)
        self.observer(JobEnded(row, len(self.settled), len(self.jobs)))

    def _certificate_path(self, job: Job) -> str | None:
        """Return the path for the certificate of a job; None if there is to be none."""
        if not self.parameters.certificates:
            return None
        return self.folder.certificate_path(job.name)

    def _write_labels(self, job: Job, labels: object) -> str | None:
        if not self.parameters.labels:
            return None
        return self.folder.write_labels(job.name, labels if isinstance(labels, bytes) else None)


def _timed_out(job: Job, grace: float) -> dict[str, Any]:
    limit = job.parameters.time_limit
    message = f"did not end within {grace:g} s after its time limit of {limit:g} s"
    return {"status": RowStatus.TIMED_OUT, "message": f"{message}, and was killed"}


def _crash_of_worker(reasons: list[str]) -> dict[str, Any]:
    first, again = reasons
    times = ", both times" if first == again else f"; on retry: {again}"
    return {"status": RowStatus.CRASHED, "message": f"worker process {first}{times}"}
