"""The command, as a user calls it."""

import contextlib
import csv
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
from sdpbb.app.cli.batch import EXITS, batch_exit_code
from sdpbb.problem import Instance
from sdpbb.problem.formats import Constraints, write_constraints, write_points
from sdpbb.questions.batch import BatchResult
from tests.batch.rows import failed, infeasible, interrupted, limited, row
from tests.enumeration import optimum

ROOT = Path(__file__).resolve().parents[1]
SDPBB = (sys.executable, "-m", "sdpbb", "batch")
POINTS = np.array([[0.0, 0.0], [1.0, 0.0], [1.5, 1.0], [5.0, 0.0], [5.0, 1.0], [5.0, 2.5]])
CANNOT_LINK = np.array([[0, 1], [4, 5]])
ODD = np.array([[0, 1], [1, 2], [0, 2]])


@pytest.fixture
def run(run):
    """Run the command in this process: its exit status, standard output and standard error."""
    return partial(run, "batch")


@pytest.fixture
def folder(tmp_path):
    write_points(tmp_path / "plain.txt", POINTS, 2)
    write_points(tmp_path / "pairs.txt", POINTS, 2)
    write_constraints(tmp_path / "cl.txt", Constraints(cannot_link=CANNOT_LINK))
    write_constraints(tmp_path / "odd.txt", Constraints(cannot_link=ODD))
    (tmp_path / "bad.txt").write_text("2 1 2\n0\n")
    (tmp_path / "m.toml").write_text(
        """
        [[instance]]
        data = "plain.txt"
        [[instance]]
        data = "pairs.txt"
        constraints = "cl.txt"
        [[instance]]
        data = "pairs.txt"
        constraints = "odd.txt"
        """
    )
    return tmp_path


def rows(out):
    text = (out / "results.jsonl").read_text()
    return {one["name"]: one for one in map(json.loads, text.splitlines(keepends=False))}


def test_a_batch_from_a_manifest(folder, run):
    out = folder / "out"
    code, text, error = run(folder / "m.toml", "--out", out, "--workers", 1, "--gap", 0)
    assert (code, error) == (ExitCode.OPTIMAL, "")
    found = rows(out)
    assert {name: one["status"] for name, one in found.items()} == {
        "plain": "optimal",
        "pairs-cl": "optimal",
        "pairs-odd": "infeasible",
    }
    assert found["plain"]["objective"] == pytest.approx(optimum(Instance(POINTS, 2)))
    constrained = Instance(POINTS, 2, cannot_link=CANNOT_LINK)
    assert found["pairs-cl"]["objective"] == pytest.approx(optimum(constrained))
    with open(out / "labels" / "pairs-cl.csv", newline="") as file:
        labels = [one["cluster"] for one in csv.DictReader(file)]
    assert len(labels) == 6
    assert labels[0] != labels[1]
    assert text.isascii()
    assert text.endswith((out / "summary.txt").read_text())
    with open(out / "results.csv", newline="") as file:
        assert [one["name"] for one in csv.DictReader(file)] == ["plain", "pairs-cl", "pairs-odd"]


def test_parameters_from_a_file_hold_where_nothing_else_is_said(folder, run):
    file, out = folder / "p.toml", folder / "out"
    (folder / "m.toml").write_text('[[instance]]\ndata = "plain.txt"\nsearch.fixing = false\n')
    file.write_text('gap = 0.5\nbounding = "sdp"\nworkers = 2\n')
    arguments = (folder / "m.toml", "--out", out, "--workers", 1, "--quiet", "--parameters", file)
    assert run(*arguments, "--gap", 0.25) == (ExitCode.OPTIMAL, "", "")
    (found,) = rows(out).values()
    assert (found["gap_asked"], found["bounding"]) == (0.25, "sdp")
    file.write_text("sdp.max_iterations = 0\n")
    message = f"error: {file}: sdp.max_iterations = 0: expected an integer >= 1\n"
    assert run(*arguments, "--resume") == (ExitCode.BAD_INPUT, "", message)


def test_what_is_wrong_costs_its_own_row_only(folder, run):
    with open(folder / "m.toml", "a") as manifest:
        manifest.write('[[instance]]\ndata = "bad.txt"\n[[instance]]\ndata = "none.txt"\n')
    out = folder / "out"
    arguments = (folder / "m.toml", "--out", out, "--workers", 1, "--quiet")
    code, text, error = run(*arguments, "--json", "-", "--no-labels")
    assert (code, error) == (ExitCode.UNANSWERED, "")
    result = json.loads(text)
    assert result["counts"] == {"optimal": 2, "infeasible": 1, "bad_input": 2}
    assert not (out / "labels").exists()
    (folder / "bad.txt").write_text("2 1 2\n0\n1\n")
    write_points(folder / "none.txt", POINTS, 2)
    code, text, error = run(*arguments, "--resume")
    assert (code, text, error) == (ExitCode.OPTIMAL, "", "")
    assert len((out / "results.jsonl").read_text().splitlines()) == 7


def test_a_limit_is_told_by_the_exit_status(folder, run):
    write_points(folder / "plain.txt", np.random.default_rng(0).normal(size=(200, 4)), 12)
    out = folder / "out"
    arguments = (folder / "m.toml", "--out", out, "--workers", 1)
    short = ("--gap", 0, "--time-limit", 0.05)
    code, text, _ = run(*arguments, *short)
    assert code == ExitCode.LIMIT
    assert "plain: feasible, time limit after" in text
    code, text, _ = run(*arguments, *short, "--resume")
    assert "3 of them done before" in text
    code, text, _ = run(*arguments, "--gap", 0.5, "--time-limit", 600, "--resume")
    assert code == ExitCode.OPTIMAL


def test_workers_that_the_system_refuses_are_told(folder, run, monkeypatch):
    def refuse(*args, **kwargs):
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr("sdpbb.runtime.executors.processes._start_process", refuse)
    code, text, error = run(folder / "m.toml", "--out", folder / "out", "--quiet")
    assert (code, text) == (ExitCode.BACKEND_FAILURE, "")
    assert error.startswith(
        "error: worker processes cannot start: Resource temporarily unavailable; "
    )
    assert error.count("\n") == 1


WRONG = [
    (["m.toml"], ExitCode.USAGE, "--out"),
    (["m.toml", "--out", "out", "--gap", "2"], ExitCode.USAGE, "--gap 2.0: expected a number in"),
    (["m.toml", "--out", "out", "--workers", "0"], ExitCode.USAGE, "--workers 0: expected an"),
    (["m.toml", "--out", "out", "--grace", "-1"], ExitCode.USAGE, "--grace -1.0: expected seconds"),
    (["m.toml", "--out", "out", "--json", "m.toml"], ExitCode.USAGE, "is an input already"),
    (["m.toml", "--out", "o", "--json", "o/results.csv"], ExitCode.USAGE, "is an input already"),
    (["m.json", "--out", "out"], ExitCode.BAD_INPUT, "m.json: expected a manifest whose name"),
    (["none.csv", "--out", "out"], ExitCode.BAD_INPUT, "none.csv: there is no such file"),
    (["m.toml", "--out", "m.toml"], ExitCode.BAD_INPUT, "m.toml: is not a folder"),
    (
        ["m.toml", "--out", "done"],
        ExitCode.BAD_INPUT,
        "holds results already; resume with --resume",
    ),
]


@pytest.mark.parametrize(("arguments", "code", "message"), WRONG)
def test_what_is_wrong_is_one_line(folder, run, monkeypatch, arguments, code, message):
    monkeypatch.chdir(folder)
    (folder / "done").mkdir()
    (folder / "done" / "results.jsonl").write_text(json.dumps(row().to_dict()) + "\n")
    found, text, error = run(*arguments)
    assert (found, text) == (code, "")
    assert message in error
    assert error.startswith("error: ")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (BatchResult((), 0, 1.0), ExitCode.OPTIMAL),
        (BatchResult((row(), infeasible()), 2, 1.0), ExitCode.OPTIMAL),
        (BatchResult((row(), limited()), 2, 1.0), ExitCode.LIMIT),
        (BatchResult((limited(), failed()), 2, 1.0), ExitCode.UNANSWERED),
        (BatchResult((interrupted(), failed()), 3, 1.0, True), ExitCode.INTERRUPTED),
    ],
)
def test_exit_statuses(result, code):
    assert batch_exit_code(result) == code
    assert code in EXITS


def test_the_help_text_names_all_exit_statuses(run):
    code, text, _ = run("--help")
    assert code == 0
    for exit_code, meaning in EXITS.items():
        assert f"{exit_code.value:>3}  {meaning}" in text


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
