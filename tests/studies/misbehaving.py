"""Jobs of studies that fail in all ways: the name of a job says what it does."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import numba

from sdpbb.errors import BackendFailure, InstanceError
from sdpbb.questions.study import Outcome, solve_job
from sdpbb.runtime.executors import worker

RESULT = {
    "status": "optimal",
    "termination": "gap_closed",
    "message": "",
    "labels": b"id,cluster\n0,0\n1,1\n2,1\n",
    "n_points": 3,
    "n_features": 1,
    "k": 2,
    "n_must_link": 0,
    "n_cannot_link": 0,
    "n_blocks": 3,
    "objective": 0.5,
    "lower_bound": 0.5,
    "gap": 0.0,
    "n_nodes": 1,
    "wall_seconds": 0.25,
    "root_gap": 0.0,
    "root_seconds": 0.25,
}
INTERRUPTED = RESULT | {"status": "feasible", "termination": "interrupted", "lower_bound": 0.25}
LIMITED = RESULT | {"status": "feasible", "termination": "time_limit", "lower_bound": 0.25}
INFEASIBLE = RESULT | {
    "status": "infeasible",
    "termination": "proven_infeasible",
    "message": "no way",
    "labels": None,
    **dict.fromkeys(("objective", "lower_bound", "gap", "root_gap", "root_seconds")),
}


def prepare():
    """Stand in for `study.prepare`: what jobs need is imported with this module."""


def prepare_slowly():
    numba.njit(lambda: 0)()


def act(path):
    """Do what the name of the path says; paths are of files that tell how far it has come."""
    return ACTIONS[Path(path).stem.split("-")[0]](Path(path))


def evaluate(job, certificate):
    """Stand in for `batch.evaluate`."""
    return act(job.data)


def evaluate_or_act(path, job, certificate):
    """Do what the name of the path says instead of the job with k = 3."""
    from sdpbb.questions.batch.batch import evaluate

    return act(path) if job.k == 3 else evaluate(job, certificate)


def solve_or_act(path, instance, *arguments, **named):
    """The same instead of the run with k = 3, or with the must-links (0, 4) and (2, 6) only."""
    is_second = instance.k == 3 or instance.must_link.tolist() == [[0, 4], [2, 6]]
    return act(path) if is_second else solve_job(instance, *arguments, **named)


def fine(path):
    return Outcome(dict(RESULT))


def limited(path):
    return Outcome(dict(LIMITED))


def infeasible(path):
    return Outcome(dict(INFEASIBLE))


def bad(path):
    raise InstanceError("it is bad")


def backend(path):
    raise BackendFailure("the solver\nstopped")


def memory(path):
    raise MemoryError


def internal(path):
    raise ZeroDivisionError("a\nb")


def exits(path):
    print("the reason", file=sys.stderr)
    os._exit(3)


def once(path):
    """Its first worker is killed."""
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return Outcome(dict(RESULT))


def worse(path):
    """Its first worker is killed, and then it exits."""
    once(path)
    return exits(path)


def hang(path):
    """Heeds nothing."""
    path.touch()
    while True:
        time.sleep(60)


def waits(path):
    """Ends when it is interrupted."""
    path.touch()
    worker.interrupt.wait()
    return Outcome(dict(INTERRUPTED))


ACTIONS = {
    action.__name__: action
    for action in (
        *(fine, limited, infeasible, bad, backend, memory, internal),
        *(exits, once, worse, hang, waits),
    )
}
