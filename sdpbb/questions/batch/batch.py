"""`run_batch`: instances solved in worker processes, with a row for each as soon as it ends."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sdpbb.errors import InstanceWarning, ParameterError
from sdpbb.questions.batch.manifest import Job, read_manifest
from sdpbb.questions.batch.outcome import RESULTS, BatchFolder, BatchResult, Row, open_folder
from sdpbb.questions.study import Outcome, Study, solve_job
from sdpbb.run.parameters import SolverParameters
from sdpbb.runtime.declaration import Parameters, parameter
from sdpbb.runtime.files import FilePath
from sdpbb.runtime.memory import within_free_memory
from sdpbb.runtime.results import values_of
from sdpbb.runtime.version import installed_version
from sdpbb.search.events import Compiling

if TYPE_CHECKING:
    from sdpbb.search.result import Result

# Fields that results and rows share.
MEASURED = (
    *("status", "termination", "objective", "lower_bound", "gap"),
    *("n_nodes", "n_blocks", "wall_seconds", "root_gap", "root_seconds"),
)
# Minimum seconds for solving an instance after it was read.
SHORTEST = 1e-9
TABLE = "results.csv"
FILES = (RESULTS, TABLE)
LABELS, CERTIFICATES = "labels", "certificates"


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
        "Resume the run in the folder. Finished results stay as they are.",
        reason="Instances that a limit has stopped run again if the limit is higher now.",
    )
    certificates: bool = parameter(
        False,
        "Write a proof of each result into the folder, for 'sdpbb verify'.",
        reason="With resume, instances without a proof run again.",
    )


def run_batch(
    jobs: FilePath | Iterable[Job],
    folder: FilePath,
    parameters: BatchParameters | None = None,
    observer: Callable[[Compiling], None] = lambda event: None,
    interrupt: threading.Event | None = None,
    executor: Executor | None = None,
    *,
    on_row: Callable[[Row, int], None] = lambda row, left: None,
) -> BatchResult:
    """Solve many instances, each in isolation, and write a row for each.

    Wrong files, a process that dies, or a missed time limit become a row. A job whose process died
    is retried once, alone.

    Parameters
    ----------
    jobs : a manifest, or jobs with different names
    folder : folder for the results, made if it does not exist. `results.jsonl` has a row for each
        job as soon as it ends, even if this process is killed; the last row of a name counts.
        `labels/NAME.csv` has each clustering, and `certificates/NAME.cert` each requested proof.
        `results.csv`, with rows in the order of the jobs, is written at the end
    parameters : parameters of the batch
    observer : receives the event that kernels are compiled, once per machine and version
    interrupt : event that ends the batch early. Running jobs get a row, but run again after a
        resume
    executor : any `concurrent.futures.Executor`; each worker reads and solves one instance at a
        time. Otherwise as for `sdpbb.solve`. A job that misses its time limit is not killed
    on_row : called with each row once it is written, and with the number of jobs to come

    Raises
    ------
    InstanceError
        If the manifest is wrong, the folder cannot be used, or a file cannot be written.
    FileInUse
        If another batch writes to the folder.
    ParameterError
        If two jobs have the same name, or workers and an executor are given.
    BackendFailure
        If worker processes cannot start.
    Interrupted
        (A KeyboardInterrupt.) After Ctrl-C in the main thread, unless the caller gives an
        interrupt. The batch ends in the same way, and the result is the attribute `result`. A
        second Ctrl-C raises KeyboardInterrupt at once.
    """
    parameters = parameters or BatchParameters()
    listed = read_manifest(jobs) if isinstance(jobs, (str, os.PathLike)) else list(jobs)
    twice = [name for name, n in Counter(job.name for job in listed).items() if n > 1]
    if twice:
        raise ParameterError(
            f"name = {twice[0]!r}: two jobs have this name; expected different names"
        )
    study = Study[Job](
        SolverParameters(workers=parameters.workers),
        executor,
        time_limit_each=lambda job: job.parameters.time_limit,
        reads_files=True,
        observer=observer,
    )
    keys = {job.name: job.key() for job in listed}
    with open_folder(folder, parameters.resume) as opened:
        is_certified = parameters.certificates

        def begin(job: Job, seconds: float, stop: threading.Event | None) -> partial[Outcome]:
            return partial(evaluate, job, opened.file(_certificate(job)) if is_certified else None)

        def report() -> BatchResult:
            last = {row.name: row for row in opened.rows}
            rows = {name: row for name, row in last.items() if row.key == keys.get(name)}
            settled: set[str] = set()
            for job in listed:
                known = rows.get(job.name)
                if known and known.settles(job) and (known.certificate or not is_certified):
                    settled.add(job.name)
            waiting = [job for job in listed if job.name not in settled]
            for job, outcome in study.outcomes(waiting, begin, needs_processes=True):
                row = rows[job.name] = _written(opened, job, keys[job.name], outcome)
                if not row.was_interrupted:
                    settled.add(job.name)
                on_row(row, len(listed) - len(settled))
            result = BatchResult(
                rows=tuple(rows[job.name] for job in listed if job.name in rows),
                n_jobs=len(listed),
                wall_seconds=study.seconds,
                interrupted=study.stop.is_set() and len(settled) < len(listed),
            )
            opened.write(TABLE, result.to_csv())
            return result

        return study.conduct(interrupt, report)


def _written(folder: BatchFolder, job: Job, key: str, outcome: Outcome) -> Row:
    """Write the row of a job and its labels, remove files of earlier runs, and return the row."""
    value: dict[str, Any] = dict(outcome.value or {})
    if outcome.failure is not None:
        value |= {"status": outcome.failure, "message": outcome.message}
    content, is_certified = value.pop("labels", None), value.pop("certificate", False)
    files = {"labels": os.path.join(LABELS, f"{job.name}.csv"), "certificate": _certificate(job)}
    if content is not None:
        folder.write(files["labels"], content)
    for kind, is_new in (("labels", content is not None), ("certificate", is_certified)):
        if not is_new:
            folder.remove(files.pop(kind))
    own = "name", "data", "constraints", "k", "parameters.bounding", "parameters.seed"
    row = Row.from_dict(
        values_of(job, *own, "gap_asked:parameters.gap")
        | job.limits()
        | {"attempts": outcome.attempts, "version": installed_version(), "key": key}
        | value
        | files
    )
    folder.append(row.to_row())
    return row


def _certificate(job: Job) -> str:
    return os.path.join(CERTIFICATES, f"{job.name}.cert")


def evaluate(job: Job, certificate: str | None) -> Outcome:
    """Read and solve the instance of a job.

    Reading counts towards the time limit; the worker's interrupt ends the run early.

    Parameters
    ----------
    job : the instance and its parameters
    certificate : the file for the proof, or None

    Returns
    -------
    Fields of a `Row`. "labels" is the content of their file or None, "certificate" whether a
    certificate was written.
    """
    from sdpbb.problem.formats import labels_file, read_instance

    started = time.monotonic()
    with warnings.catch_warnings(record=True) as caught, within_free_memory():
        warnings.simplefilter("always")
        reading = job.reading.to_dict()
        instance = read_instance(job.data, job.k, job.constraints, **reading)
    seconds = max(SHORTEST, job.parameters.time_limit - (time.monotonic() - started))
    parameters = replace(job.parameters, time_limit=seconds)
    outcome = solve_job(instance, parameters, certificate=certificate)
    result: Result = outcome.value
    messages = [outcome.message] if outcome.message else []
    messages += [str(w.message) for w in caught if issubclass(w.category, InstanceWarning)]
    if result.infeasibility is not None:
        messages.insert(0, result.conflict.line if result.conflict else str(result.infeasibility))
    messages += result.notes
    labels, values = None, result.to_dict()
    if result.partition is not None:
        numbers = result.partition.labels
        labels = labels_file(numbers, result.origin)
    fields: dict[str, Any] = {name: values[name] for name in MEASURED}
    fields |= {
        "n_points": instance.n_points,
        "n_features": instance.n_features,
        "k": instance.k,
        "n_must_link": len(instance.must_link),
        "n_cannot_link": len(instance.cannot_link),
        "labels": labels,
        "message": " ".join("; ".join(messages).split()),
        "certificate": certificate is not None and not outcome.message,
    }
    return Outcome(fields)
