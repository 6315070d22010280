"""Stands in for `sdpbb.questions.batch.evaluation`: the name of a job's data says what it does."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

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


def prepare(boundings):
    """Import what jobs need, which must not count towards their time."""
    import sdpbb.questions.batch.evaluation  # noqa: F401


def prepare_slowly(bounding):
    worker.tell("compiling")


def fail(bounding):
    import no.such.module  # noqa: F401


def evaluate(job, certificate):
    path = Path(job.data)
    return ACTIONS[path.stem.split("-")[0]](path)


def fine(path):
    return dict(RESULT)


def limited(path):
    return dict(LIMITED)


def infeasible(path):
    return dict(INFEASIBLE)


def bad(path):
    return {"status": "bad_input", "message": "it is bad", "labels": None}


def exits(path):
    print("the reason", file=sys.stderr)
    os._exit(3)


def segfault(path):
    os.kill(os.getpid(), signal.SIGSEGV)


def once(path):
    """Its first worker is killed."""
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return dict(RESULT)


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
    return dict(INTERRUPTED)


ACTIONS = {
    action.__name__: action
    for action in (fine, limited, infeasible, bad, exits, segfault, once, worse, hang, waits)
}
