"""Evaluation of one job in a worker process. Everything that goes wrong is a value."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from sdpbb.errors import (
    BackendFailure,
    BackendUnavailable,
    CertificateError,
    InstanceError,
    InstanceWarning,
    ParameterError,
)
from sdpbb.questions.batch.job import Job
from sdpbb.questions.batch.row import RowStatus
from sdpbb.runtime.executors import worker
from sdpbb.runtime.executors.memory import within_free_memory

if TYPE_CHECKING:
    from sdpbb.problem import Instance, Origin, Partition
    from sdpbb.search.result import Result

SHOWN = 6
"""Number of constraints of a conflict that a message names."""


def prepare(boundings: Iterable[str]) -> None:
    """Import the engine and make the kernels of bounding methods ready.

    The pool is told before they are compiled.
    """
    from sdpbb.run.kernels import compile_method
    from sdpbb.runtime.jit import clock_stopped_by_compiler

    with clock_stopped_by_compiler(lambda: worker.tell("compiling")):
        for bounding in boundings:
            compile_method(bounding)


def evaluate(job: Job, certificate: str | None) -> dict[str, Any]:
    """Read and solve the instance of a job.

    Its time limit begins with a step of the worker, when the instance has been read; the worker's
    interrupt ends the run with what was found.

    Parameters
    ----------
    job : the instance and its parameters
    certificate : the file for the proof, or None

    Returns
    -------
    Fields of a `Row`, with "labels" as the content of their file or None, and "certificate" as
    whether there is one.
    """
    try:
        return _solve(job, certificate)
    except (InstanceError, ParameterError) as error:
        return _without_result(RowStatus.BAD_INPUT, str(error))
    except (BackendFailure, BackendUnavailable) as error:
        return _without_result(RowStatus.FAILED, str(error))
    except MemoryError:
        return _without_result(RowStatus.FAILED, "memory ran out")
    except Exception as error:  # the isolation of jobs from each other is what this is for
        message = f"internal error: {type(error).__name__}: {error}"
        return _without_result(RowStatus.FAILED, message)


def _solve(job: Job, certificate: str | None) -> dict[str, Any]:
    from sdpbb.problem.formats import read_instance
    from sdpbb.run.solver import solve

    with warnings.catch_warnings(record=True) as caught, within_free_memory():
        warnings.simplefilter("always")
        instance = read_instance(
            job.data,
            job.k,
            job.constraints,
            **job.reading.to_dict(),
        )
    worker.tell_step()
    problem, is_certified = [], certificate is not None
    try:
        result = solve(
            instance, job.parameters, interrupt=worker.interrupt, certificate=certificate
        )
    except CertificateError as error:  # the run itself has ended as it should
        if error.result is None:
            raise
        result, is_certified = error.result, False
        problem = [str(error)]
    messages = problem + [str(w.message) for w in caught if issubclass(w.category, InstanceWarning)]
    if result.infeasibility is not None:
        messages.insert(0, _proof(result))
    messages += result.notes
    return {
        **_result_fields(result),
        **_instance_fields(instance),
        "labels": None if result.partition is None else _labels(result.partition, instance.origin),
        "message": _line("; ".join(messages)),
        "certificate": is_certified,
    }


def _proof(result: Result) -> str:
    """Return why there is no clustering, with conflicting constraints if some are known."""
    conflict = result.conflict
    if conflict is None:
        return str(result.infeasibility)
    shown = [f"{member.place} {member.text}" for member in conflict.members[:SHOWN]]
    if len(conflict.members) > SHOWN:
        shown.append(f"and {len(conflict.members) - SHOWN} more")
    return f"{conflict.heading}: {', '.join(shown)}"


def _result_fields(result: Result) -> dict[str, Any]:
    values = result.to_dict()
    measured = (
        *("status", "termination", "objective", "lower_bound", "gap"),
        *("n_nodes", "n_blocks", "wall_seconds", "root_gap", "root_seconds"),
    )
    return {name: values[name] for name in measured}


def _instance_fields(instance: Instance) -> dict[str, Any]:
    return {
        "n_points": instance.n_points,
        "n_features": instance.n_features,
        "k": instance.k,
        "n_must_link": len(instance.must_link),
        "n_cannot_link": len(instance.cannot_link),
    }


def _labels(partition: Partition, origin: Origin) -> bytes:
    from sdpbb.problem.formats import labels_file
    from sdpbb.search.result import row_ids

    return labels_file(partition.labels, row_ids(origin, len(partition.labels)), origin)


def _without_result(status: RowStatus, message: str) -> dict[str, Any]:
    return {"status": status.value, "message": _line(message), "labels": None}


def _line(text: str) -> str:
    return " ".join(text.split())
