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
def test_a_killed_coordinator_loses_what_was_running(folder, long_batch, run):
    out = folder / "out"
    with started(long_batch, "--out", out, "--workers", 2) as process:
        wait_until(lambda: n_lines(out) == 5)
        workers = psutil.Process(process.pid).children(recursive=True)
        process.kill()
    wait_until(lambda: not any(map(is_alive, workers)), 20.0)
    assert workers
    with open(out / "results.jsonl", "ab") as file:
        file.write(b'{"name": "long", "stat')  # as a process leaves it that is killed meanwhile
    code, text, error = run(
        long_batch, "--out", out, "--workers", 1, "--resume", "--time-limit", 0.5
    )
    assert (code, error) == (ExitCode.LIMIT, "")
    assert "5 of them done before" in text
    assert len(rows(out)) == n_lines(out) == 6
    assert rows(out)["long"]["status"] == "feasible"


@posix
def test_a_killed_worker_costs_an_attempt(folder, long_batch):
    out = folder / "out"
    arguments = (long_batch, "--out", out, "--workers", 1, "--time-limit", 2)
    with started(*arguments) as process:
        worker_of_second_job(process, out).kill()
        text, error = process.communicate(timeout=120)
        assert process.returncode == ExitCode.LIMIT
    assert error == b""
    assert b"SIGKILL" in text
    found = rows(out)
    assert found["long"]["attempts"] == 2
    assert [one["attempts"] for one in found.values()].count(1) == 5


@posix
def test_ctrl_c_writes_what_was_found(folder, long_batch, run):
    out = folder / "out"
    with started(long_batch, "--out", out, "--workers", 1) as process:
        worker_of_second_job(process, out)
        process.send_signal(signal.SIGINT)
        text, error = process.communicate(timeout=120)
        assert process.returncode == ExitCode.INTERRUPTED
    assert error.strip() == b"interrupted: finishing; press Ctrl-C again to exit immediately"
    assert b"not done" in text
    assert rows(out)["long"]["termination"] == "interrupted"
    assert "not done" in (out / "summary.txt").read_text()
    code, text, _ = run(long_batch, "--out", out, "--workers", 1, "--resume", "--time-limit", 0.5)
    assert code == ExitCode.LIMIT
    assert "1 of them done before" in text
    assert rows(out)["long"]["termination"] == "time_limit"


@posix
def test_a_second_ctrl_c_leaves_at_once(folder, long_batch):
    out = folder / "out"
    with started(long_batch, "--out", out, "--workers", 1) as process:
        worker = worker_of_second_job(process, out)
        worker.suspend()  # so that it does not come back
        process.send_signal(signal.SIGINT)
        while b"press Ctrl-C again" not in process.stderr.readline():
            assert process.poll() is None
        time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == -signal.SIGINT
        worker.resume()
    wait_until(lambda: not is_alive(worker), 60.0)


def is_alive(process):
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
