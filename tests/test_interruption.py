"""Ctrl-C in Python programs and notebooks; tests/test_cli.py has the command line."""

import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import sdpbb
from sdpbb.problem.formats import write_points
from sdpbb.questions.batch.manifest import Job
from sdpbb.runtime.interruption import interruptible
from sdpbb.search.events import Finished, Started
from sdpbb.search.result import Termination

ROOT = Path(__file__).parents[1]
PROGRAM = """
import numpy as np, sdpbb
from sdpbb.search.events import Progress
points = np.random.default_rng(0).normal(size=(250, 8))
told = []
def observer(event):
    if isinstance(event, Progress) and not told:
        told.append(event)
        print("running", flush=True)
for k in (20, 21, 22):
    print(k)
    sdpbb.solve(sdpbb.Instance(points, k), observer=observer)
"""
SMALL = [[0.0], [0.1], [5.0], [5.1]]


@pytest.fixture(autouse=True)
def python_handles_it():
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, previous)


def test_the_first_ctrl_c_sets_the_event_and_the_second_raises():
    def work(event):
        assert not event.is_set()
        signal.raise_signal(signal.SIGINT)
        assert event.is_set()
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as ended:
        interruptible(None, work)
    assert type(ended.value) is KeyboardInterrupt


def test_a_handler_of_somebody_else_stays():
    heard = []

    def handler(signum, frame):
        heard.append(signum)

    def work(event):
        signal.raise_signal(signal.SIGINT)
        return event.is_set()

    signal.signal(signal.SIGINT, handler)
    assert not interruptible(None, work)
    assert heard == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is handler
    signal.signal(signal.SIGINT, signal.default_int_handler)


def press(*ignored):
    """Ctrl-C, as the observer of whatever it is."""
    signal.raise_signal(signal.SIGINT)


def test_what_was_found_is_raised():
    with pytest.raises(sdpbb.Interrupted) as ended:
        sdpbb.solve(sdpbb.Instance(SMALL, 2), observer=press_once(Started))
    assert isinstance(ended.value, KeyboardInterrupt)
    assert not isinstance(ended.value, Exception)  # nobody catches it by chance
    result = ended.value.result
    assert result.termination is Termination.INTERRUPTED
    assert result.partition.n_clusters == 2
    again = pickle.loads(pickle.dumps(ended.value))
    assert again.result.objective == result.objective


def test_ctrl_c_in_the_last_moment_is_not_lost():
    with pytest.raises(sdpbb.Interrupted) as ended:
        sdpbb.solve(sdpbb.Instance(SMALL, 2), observer=press_once(Finished))
    assert ended.value.result.status is sdpbb.SolutionStatus.OPTIMAL


def press_once(kind):
    pressed = []

    def observer(event):
        if isinstance(event, kind) and not pressed:
            pressed.append(event)
            press()

    return observer


def test_an_event_of_the_caller_returns_what_was_found():
    event = threading.Event()
    event.set()
    result = sdpbb.solve(sdpbb.Instance(SMALL, 2), interrupt=event)
    assert result.termination is Termination.INTERRUPTED
    assert sdpbb.optimality_gap(SMALL, [0, 0, 1, 1], interrupt=event).result.partition is not None


def test_a_checkpoint_is_written_and_resumed(tmp_path):
    path = tmp_path / "run.sdpbb"
    with pytest.raises(sdpbb.Interrupted):
        sdpbb.solve(sdpbb.Instance(SMALL, 2), observer=press_once(Started), checkpoint=path)
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    with pytest.raises(sdpbb.Interrupted) as ended:
        sdpbb.resume(path, press_once(Started))
    assert ended.value.result.termination is Termination.INTERRUPTED
    assert sdpbb.resume(path).status is sdpbb.SolutionStatus.OPTIMAL


def test_a_gap_that_is_interrupted():
    with pytest.raises(sdpbb.Interrupted) as ended:
        sdpbb.optimality_gap(SMALL, [0, 1, 1, 1], observer=press_once(Started))
    report = ended.value.result
    assert report.result.termination is Termination.INTERRUPTED
    assert report.gap == 1.0  # nothing is proven yet


def test_prices_that_are_interrupted():
    instance = sdpbb.Instance([*SMALL, [9.0]], 2, must_link=[(1, 2), (0, 3)])
    with pytest.raises(sdpbb.Interrupted) as ended:
        sdpbb.constraint_prices(instance, on_price=press)
    report = ended.value.result
    assert report.interrupted
    assert (len(report.prices), len(report.unpriced)) == (1, 1)


def test_a_batch_that_is_interrupted(tmp_path):
    data = tmp_path / "points.txt"
    write_points(data, np.array(SMALL))
    jobs = [Job(str(data), f"job-{k}", k=k) for k in (1, 2, 3)]

    def on_row(row, left):
        if left == 2:
            press()

    with pytest.raises(sdpbb.Interrupted) as ended:
        sdpbb.run_batch(jobs, tmp_path / "out", on_row=on_row)
    result = ended.value.result
    assert result.interrupted
    assert [row.name for row in result.rows] == ["job-1"]
    assert "job-1" in (tmp_path / "out" / "results.csv").read_text()
    done = sdpbb.run_batch(jobs, tmp_path / "out", sdpbb.BatchParameters(resume=True))
    assert done.succeeded


def test_ctrl_c_ends_the_loop_of_a_program():
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "20\n"
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert out == ""
    assert err.splitlines()[-1].startswith(
        "sdpbb.runtime.interruption.Interrupted: the attribute `result` holds"
    )
    assert process.returncode != 0
