"""Work for the workers of tests, which import it by name: what a task does is the stem of its data.

A task is that of a job, and its value that of `sdpbb.batch.evaluation`, without an engine.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

RESULT = {
    "status": "optimal",
    "termination": "gap_closed",
    "message": "",
    "labels": [0, 1, 1],
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
kept = []


def prepare(setting, compiling):
    if setting == "slow":
        compiling()
    if setting == "broken":
        raise RuntimeError("nothing\nworks")


def evaluate(task, interrupt, tell):
    action = Path(task["data"]).stem.split("-")[0]
    return ACTIONS[action](task, interrupt, tell)


def fine(task, interrupt, tell):
    return dict(RESULT)


def limited(task, interrupt, tell):
    return dict(LIMITED)


def infeasible(task, interrupt, tell):
    return dict(INFEASIBLE)


def bad(task, interrupt, tell):
    return {"status": "bad_input", "message": "it is bad", "labels": None}


def echo(task, interrupt, tell):
    print("this is no message")  # libraries print what they like
    os.write(1, b"nor is this\n")
    return {"task": task, "pid": os.getpid(), "threads": os.environ["OMP_NUM_THREADS"]}


def exits(task, interrupt, tell):
    print("the reason", file=sys.stderr)
    os._exit(3)


def segfault(task, interrupt, tell):
    os.kill(os.getpid(), signal.SIGSEGV)


def once(task, interrupt, tell):
    """Its first worker is killed."""
    marker = Path(task["data"])
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return dict(RESULT)


def worse(task, interrupt, tell):
    """Its first worker is killed, and then it exits."""
    once(task, interrupt, tell)
    return exits(task, interrupt, tell)


def hang(task, interrupt, tell):
    """Heeds nothing."""
    Path(task["data"]).touch()
    while True:
        time.sleep(60)


def steps(task, interrupt, tell):
    """Longer than its time, but with steps in between that are not."""
    for _ in range(4):
        time.sleep(0.2)
        tell()
    return dict(RESULT)


def waits(task, interrupt, tell):
    """Ends when it is interrupted."""
    Path(task["data"]).touch()
    interrupt.wait()
    return dict(INTERRUPTED)


def grows(task, interrupt, tell):
    """Keeps 300 MiB."""
    kept.append(b"x" * (300 * 2**20))
    return {"pid": os.getpid()}


ACTIONS = {
    action.__name__: action
    for action in (
        *(
            fine,
            limited,
            infeasible,
            bad,
            echo,
            exits,
            segfault,
            once,
            worse,
            hang,
            steps,
            waits,
            grows,
        ),
    )
}
