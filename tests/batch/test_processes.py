"""Batches whose processes are ended by signals, and are resumed."""

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest

from sdpbb.app.cli import ExitCode
from sdpbb.problem.formats import write_points

ROOT = Path(__file__).resolve().parents[2]
SDPBB = (sys.executable, "-m", "sdpbb", "batch")
POINTS = np.array([[0.0, 0.0], [1.0, 0.0], [1.5, 1.0], [5.0, 0.0], [5.0, 1.0], [5.0, 2.5]])


@pytest.fixture
def run(run):
    """Run the command in this process: its exit status, standard output and standard error."""
    return partial(run, "batch")


def rows(out):
    text = (out / "results.jsonl").read_text()
    return {one["name"]: one for one in map(json.loads, text.splitlines(keepends=False))}


def test_workers_that_the_system_refuses_are_told(tmp_path, run, monkeypatch):
    def refuse(*args, **kwargs):
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr("sdpbb.runtime.executors.processes._start_process", refuse)
    (tmp_path / "jobs.csv").write_text("data\npoints.txt\n")
    code, text, error = run(tmp_path / "jobs.csv", "--out", tmp_path / "out", "--quiet")
    assert (code, text) == (ExitCode.BACKEND_FAILURE, "")
    assert error.startswith(
        "error: worker processes cannot start: Resource temporarily unavailable; "
    )
    assert error.count("\n") == 1


@contextlib.contextmanager
def started(*arguments):
    command = [*SDPBB, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as run:
        try:
            yield run
        finally:
            run.kill()


def wait_until(condition, seconds=120.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def folder(tmp_path):
    write_points(tmp_path / "plain.txt", POINTS, 2)
    return tmp_path


@pytest.fixture
def long_batch(folder):
    """A manifest of quick instances and of one that takes minutes."""
    rng = np.random.default_rng(0)
    write_points(folder / "long.txt", rng.normal(size=(220, 12)), 11)
    names = ["plain", "long", *(f"more{i}" for i in range(4))]
    for name in names[2:]:
        write_points(folder / f"{name}.txt", rng.normal(size=(8, 2)), 2)
    lines = ["data,gap", *(f"{name}.txt,{0 if name == 'long' else 0.01}" for name in names)]
    (folder / "long.csv").write_text("\n".join(lines) + "\n")
    return folder / "long.csv"


def n_lines(out):
    path = out / "results.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def worker_of_second_job(process, out):
    """The one worker, once it has spent time on the second job: the row of the first is written
    before that one is begun."""
    wait_until(lambda: n_lines(out) == 1)
    (worker,) = psutil.Process(process.pid).children(recursive=True)
    before = worker.cpu_times().user
    wait_until(lambda: worker.cpu_times().user > before + 0.3)
    return worker


posix = pytest.mark.skipif(os.name != "posix", reason="processes are ended by signals")


@posix
def test_ctrl_c_writes_what_was_found(folder, long_batch, run):
    out = folder / "out"
    with started(long_batch, "--out", out, "--workers", 1) as process:
        worker_of_second_job(process, out)
        process.send_signal(signal.SIGINT)
        text, error = process.communicate(timeout=120)
        assert process.returncode == ExitCode.INTERRUPTED
    assert error.strip() == b"interrupted: finishing; press Ctrl-C again to exit immediately"
    assert b"Not done" in text
    assert rows(out)["long"]["termination"] == "interrupted"
    assert "Not done" in (out / "summary.txt").read_text()
    code, text, _ = run(long_batch, "--out", out, "--workers", 1, "--resume", "--time-limit", 0.5)
    assert code == ExitCode.LIMIT
    assert text.count("to go") == 5  # all but the first
    assert rows(out)["long"]["termination"] == "time_limit"
