"""run_batch: hands out jobs, and writes what comes of each as soon as it is there."""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from sdpbb.batch.crew import Completion, Crew, Ending, crew
from sdpbb.batch.evaluation import CERTIFICATE
from sdpbb.batch.events import (
    AtWork,
    BatchEnded,
    BatchObserver,
    BatchStarted,
    Compiling,
    JobEnded,
    JobPutBack,
    JobStarted,
    Stopping,
    ignore,
)
from sdpbb.batch.folder import BatchFolder, opened_folder
from sdpbb.batch.job import Job
from sdpbb.batch.manifest import read_manifest
from sdpbb.batch.outcome import BatchResult
from sdpbb.batch.row import Row, RowStatus
from sdpbb.declaration import Parameters, parameter
from sdpbb.errors import ParameterError
from sdpbb.interruption import interruptible
from sdpbb.problem.textfile import FilePath
from sdpbb.version import installed_version

WORK = "sdpbb.batch.evaluation"
"""The module whose functions workers run."""

ATTEMPTS = 2
"""So many workers may die of a job, the last one with nothing else running, until it is given
up."""

PAUSE = 0.1
"""Seconds after which the coordinator looks whether it has been interrupted."""

SILENCE = 10.0
"""Seconds without an end of a job after which the observer is told that work goes on."""


@dataclass(frozen=True)
class BatchParameters(Parameters):
    """Parameters of a batch.

    Raises
    ------
    ParameterError
        One line that begins with the parameter's name and " = ".
    """

    workers: int = parameter(1, "Processes, each of which works on one instance at a time.", ge=1)
    resume: bool = parameter(
        False,
        "Whether the folder may hold results: what has an answer is kept, and what was stopped by "
        "limits that are no higher now; everything else is done again.",
    )
    labels: bool = parameter(True, "Write labels.")
    grace: float = parameter(
        20.0,
        "Kill the process of an instance that has not come back this many seconds after its time "
        "limit, or after an interrupt.",
        ge=0,
        unit="seconds",
    )
    certificates: bool = parameter(
        False,
        "Write a proof of each result; with resume, instances that have none are done again.",
    )


def run_batch(
    jobs: FilePath | Iterable[Job],
    folder: FilePath,
    parameters: BatchParameters | None = None,
    observer: BatchObserver = ignore,
    interrupt: threading.Event | None = None,
) -> BatchResult:
    """Solve many instances, each in isolation, and write what comes of each.

    A job whose files are wrong, whose process dies, or which does not come back after its time
    limit is a row that says so. A job whose process died is tried once more, at the end and alone.

    Parameters
    ----------
    jobs : a manifest, or jobs of different names
    folder : of the results; made if it is not there. `results.jsonl` holds a row per job as soon as
        it is done, on disk even if this process is killed; a later row of a name takes the place of
        an earlier one. `results.csv` (the rows in the order of the jobs) and `summary.txt` are
        written at the end, `labels/NAME.txt` for each clustering, and `certificates/NAME.cert` for
        each run that is to leave a proof
    parameters : how it is done
    observer : is told how it goes (`sdpbb.batch.events`)
    interrupt : set it, from a signal handler or another thread, to end the batch with rows for what
        is running then, which do not settle their jobs

    Raises
    ------
    BatchError
        If the manifest is wrong, the folder cannot be used, or something cannot be written.
    ParameterError
        If two jobs have the same name.
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
    with opened_folder(os.fspath(folder), parameters.resume) as there:
        return interruptible(
            interrupt, lambda stop: _run(_Batch(listed, there, parameters, observer, stop))
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
            raise ParameterError(f"name = {job.name!r}: is that of two jobs; expected another name")
        seen.add(job.name)


@dataclass
class _Task:
    """A job that is to be done."""

    job: Job
    key: str = ""
    attempts: int = 0
    deaths: list[str] = field(default_factory=list)
    """Of what its workers died."""


@dataclass
class _Batch:
    jobs: list[Job]
    folder: BatchFolder
    parameters: BatchParameters
    observer: BatchObserver
    interrupt: threading.Event
    rows: dict[str, Row] = field(default_factory=dict)
    """The last row of each job that has one, by name."""
    settled: set[str] = field(default_factory=set)
    """The names of the jobs that need not be done any more."""
    waiting: deque[_Task] = field(default_factory=deque)
    suspects: deque[_Task] = field(default_factory=deque)
    """Those whose worker died: to be tried alone."""
    running: dict[int, _Task] = field(default_factory=dict)
    n_started: int = 0
    started: float = field(default_factory=time.monotonic)

    def run(self) -> BatchResult:
        """The rows of all jobs, or of those that were done until the interrupt."""
        self._take_over_rows()
        self.observer(BatchStarted(len(self.jobs), len(self.settled), self.parameters.workers))
        if self.waiting:
            needs_columns = any(task.job.bounding != "sdp" for task in self.waiting)
            setting = "hybrid" if needs_columns else "sdp"
            workers, grace = self.parameters.workers, self.parameters.grace
            with crew(workers, WORK, setting, grace, self._compiling) as there:
                self._work(there)
        return BatchResult(
            rows=tuple(self.rows[job.name] for job in self.jobs if job.name in self.rows),
            n_jobs=len(self.jobs),
            wall_seconds=time.monotonic() - self.started,
            interrupted=self.interrupt.is_set() and len(self.settled) < len(self.jobs),
        )

    def _take_over_rows(self) -> None:
        """Keep what earlier runs have found for these jobs, and find out what is left to do."""
        last = {row.name: row for row in self.folder.results.rows}
        for job in self.jobs:
            row = last.get(job.name)
            if row is None or row.key != job.key():
                self.waiting.append(_Task(job))
                continue
            self.rows[job.name] = row
            proven = row.certificate is not None or not self.parameters.certificates
            if row.settles(job) and proven:
                self.settled.add(job.name)
            else:
                self.waiting.append(_Task(job))

    def _compiling(self) -> None:
        self.observer(Compiling())

    def _work(self, workers: Crew) -> None:
        is_stopping, told = False, time.monotonic()
        while True:
            if self.interrupt.is_set() and not is_stopping:
                is_stopping = True
                self.observer(Stopping())
                workers.interrupt()
            while not is_stopping and workers.n_free and (task := self._next()):
                self._submit(workers, task)
            completions = workers.wait(PAUSE if self.running else 0.0)
            for completion in completions:
                self._finish(completion)
            if completions:
                told = time.monotonic()
            elif time.monotonic() - told >= SILENCE:
                told = time.monotonic()
                self._tell_of_work(told)
            is_done = is_stopping or not (self.waiting or self.suspects)
            if is_done and not self.running:
                return

    def _tell_of_work(self, now: float) -> None:
        n_running, n_done, n_jobs = len(self.running), len(self.settled), len(self.jobs)
        self.observer(AtWork(n_running, n_done, n_jobs, now - self.started))

    def _next(self) -> _Task | None:
        """What to begin with now; suspects when there is nothing else to do."""
        if self.waiting:
            return self.waiting.popleft()
        if self.suspects and not self.running:
            return self.suspects.popleft()
        return None

    def _submit(self, workers: Crew, task: _Task) -> None:
        task.attempts += 1
        task.key = task.key or task.job.key()
        limit = task.job.time_limit
        self.n_started += 1
        certificate = self._certificate_path(task.job)
        self.running[self.n_started] = task
        value = {**task.job.to_dict(), CERTIFICATE: certificate}
        workers.submit(self.n_started, value, math.inf if limit is None else limit)
        self.observer(JobStarted(task.job.name, task.attempts))

    def _finish(self, completion: Completion) -> None:
        task = self.running.pop(completion.key)
        match completion.ending:
            case Ending.DONE:
                self._record(task, completion.value or {})
            case Ending.NOT_BEGUN:
                task.attempts -= 1
                (self.suspects if task.attempts else self.waiting).appendleft(task)
            case Ending.OVERDUE if self.interrupt.is_set():
                pass  # killed for not coming back at once: nothing is known of it
            case Ending.OVERDUE:
                self._record(task, _timed_out(task.job, self.parameters.grace))
            case Ending.DIED if self.interrupt.is_set():
                pass
            case Ending.DIED:
                task.deaths.append(completion.reason)
                self._again(task)

    def _again(self, task: _Task) -> None:
        """Its worker has died."""
        if len(task.deaths) == ATTEMPTS:
            self._record(task, _crashed(task.deaths))
        else:
            self.suspects.append(task)
            self.observer(JobPutBack(task.job.name, task.deaths[-1]))

    def _record(self, task: _Task, value: dict[str, object]) -> None:
        job = task.job
        labels = value.pop("labels", None)
        is_certified = bool(value.pop(CERTIFICATE, False))
        row = Row.from_dict(
            {
                "name": job.name,
                "data": job.data,
                "constraints": job.constraints,
                "k": job.k,
                "bounding": job.bounding,
                "gap_asked": job.gap,
                "seed": job.seed,
                **job.limits(),
                "attempts": task.attempts,
                "version": installed_version(),
                "key": task.key,
                **value,
                "labels": self._write_labels(job, labels),
                "certificate": self.folder.kept_certificate(job.name, is_certified),
            }
        )
        self.folder.results.append(row)
        self.rows[job.name] = row
        if not row.was_interrupted:
            self.settled.add(job.name)
        self.observer(JobEnded(row, len(self.settled), len(self.jobs)))

    def _certificate_path(self, job: Job) -> str | None:
        """Where a worker writes the certificate of a job, if it is to."""
        if not self.parameters.certificates:
            return None
        return self.folder.certificate_path(job.name)

    def _write_labels(self, job: Job, labels: object) -> str | None:
        if not self.parameters.labels:
            return None
        return self.folder.write_labels(job.name, labels if isinstance(labels, list) else None)


def _timed_out(job: Job, grace: float) -> dict[str, object]:
    message = f"did not come back {grace:g} s after its time limit of {job.time_limit:g} s"
    return {"status": RowStatus.TIMED_OUT, "message": f"{message}, and was killed"}


def _crashed(reasons: list[str]) -> dict[str, object]:
    first, again = reasons
    times = ", both times" if first == again else f"; when it was tried again, it {again}"
    return {"status": RowStatus.CRASHED, "message": f"its process {first}{times}"}
