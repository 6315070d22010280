"""Ctrl-C in Python programs and notebooks; tests/test_cli.py has the command line."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sdpbb.interruption import interrupt_on_ctrl_c

ROOT = Path(__file__).parents[1]
PROGRAM = """
import numpy as np, sdpbb
from sdpbb.search.events import Progress
instance = sdpbb.Instance(np.random.default_rng(0).normal(size=(250, 8)), k=20)
told = []
def observer(event):
    if isinstance(event, Progress) and not told:
        told.append(event)
        print("running", flush=True)
try:
    result = sdpbb.solve(instance, observer=observer)
    print(result.termination.value, result.partition.is_feasible(instance))
except KeyboardInterrupt:
    print("raised")
"""


@pytest.fixture(autouse=True)
def python_handles_it():
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, previous)


def test_the_first_ctrl_c_sets_the_event_and_the_second_raises():
    with interrupt_on_ctrl_c(None) as event:
        assert not event.is_set()
        signal.raise_signal(signal.SIGINT)
        assert event.is_set()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_afterwards_ctrl_c_raises_as_ever():
    with pytest.raises(ZeroDivisionError), interrupt_on_ctrl_c(None):
        _ = 1 / 0
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_an_event_that_is_given_is_left_to_whoever_gave_it():
    given = threading.Event()
    with interrupt_on_ctrl_c(given) as event:
        assert event is given
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert not given.is_set()


def test_a_handler_of_somebody_else_stays():
    heard = []

    def handler(signum, frame):
        heard.append(signum)

    signal.signal(signal.SIGINT, handler)
    with interrupt_on_ctrl_c(None) as event:
        signal.raise_signal(signal.SIGINT)
        assert not event.is_set()
    assert heard == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is handler
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_other_threads_leave_signals_alone():
    events = []

    def run():
        with interrupt_on_ctrl_c(None) as event:
            events.append(event.is_set())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert events == [False]


def test_solve_returns_what_it_has_found():
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
    finally:
        process.kill()
    assert out == "interrupted True\n"
    assert process.returncode == 0
