"""Run of one k of a sweep, in this process or in a worker."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import BackendFailure, BackendUnavailable, CertificateError
from sdpbb.problem import Instance
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solver import resume, solve
from sdpbb.runtime.executors import worker
from sdpbb.search.events import Observer, ignore
from sdpbb.search.result import Result


@dataclass(frozen=True, eq=False)
class SweepTask:
    """One k of a sweep.

    instance : with this k
    parameters : of its run
    start : labels (n,) to begin with, or None
    checkpoint, certificate : paths of its files, or None. With a checkpoint that is there, its run
        is gone on with
    """

    instance: Instance
    parameters: SolverParameters
    start: NDArray[np.intp] | None = None
    checkpoint: str | None = None
    certificate: str | None = None


@dataclass(frozen=True, eq=False)
class SweepOutcome:
    """Outcome of the run of one k.

    result : None where it failed
    problem : what went wrong, in one line; "" for nothing
    """

    result: Result | None
    problem: str = ""


def solve_one(
    task: SweepTask, stop: threading.Event | None = None, observer: Observer = ignore
) -> SweepOutcome:
    """Solve an instance, or go on with its run from the checkpoint.

    What fails costs the sweep this k alone.

    stop : interrupts the run; None for the event of the worker process
    """
    event = worker.interrupt if stop is None else stop
    try:
        if task.checkpoint is not None and os.path.exists(task.checkpoint):
            return SweepOutcome(_gone_on(task, task.checkpoint, event, observer))
        result = solve(
            task.instance,
            task.parameters,
            observer,
            event,
            task.checkpoint,
            task.start,
            task.certificate,
        )
    except CertificateError as error:
        if error.result is None:
            raise
        return SweepOutcome(error.result, str(error))
    except (BackendFailure, BackendUnavailable) as error:
        return SweepOutcome(None, str(error))
    except MemoryError:
        return SweepOutcome(None, "memory ran out")
    return SweepOutcome(result)


def _gone_on(task: SweepTask, checkpoint: str, stop: threading.Event, observer: Observer) -> Result:
    """Go on from a checkpoint: the seconds of before are added to the limit of time."""
    asked = task.parameters
    return resume(
        checkpoint,
        observer,
        stop,
        certificate=task.certificate,
        more_time=asked.time_limit,
        node_limit=asked.node_limit,
        memory_limit=asked.memory_limit,
        workers=asked.workers,
    )


def without_limits(parameters: SolverParameters) -> SolverParameters:
    """Return parameters as far as they decide what a result means: without limits and workers."""
    plain = SolverParameters()
    return replace(
        parameters,
        time_limit=plain.time_limit,
        node_limit=plain.node_limit,
        memory_limit=plain.memory_limit,
        workers=plain.workers,
        dask=plain.dask,
        mpi=plain.mpi,
    )
