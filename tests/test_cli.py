import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sdpbb.app.cli import ExitCode, exit_code
from sdpbb.app.cli.app import COMMANDS, application
from sdpbb.errors import BackendFailure, BackendUnavailable
from sdpbb.problem import Instance
from sdpbb.problem.formats import write_points
from sdpbb.search.events import CheckpointFailed
from sdpbb.search.result import Result, SolutionStatus, Termination
from tests.test_result import INFEASIBLE, OPTIMAL, UNKNOWN

ROOT = Path(__file__).resolve().parents[1]
POINTS = np.array([[0.0, 0.0], [5.0, 0.0], [5.0, 1.0], [5.0, 2.0]])
FEASIBLE = OPTIMAL | {"status": SolutionStatus.FEASIBLE, "termination": Termination.TIME_LIMIT}
OUTCOMES = {
    ExitCode.OPTIMAL: OPTIMAL,
    ExitCode.LIMIT: FEASIBLE,
    ExitCode.LIMIT_WITHOUT_CLUSTERING: UNKNOWN,
    ExitCode.INFEASIBLE: INFEASIBLE,
    ExitCode.INTERRUPTED: FEASIBLE | {"termination": Termination.INTERRUPTED},
}


@pytest.fixture
def data(tmp_path) -> Path:
    write_points(tmp_path / "points.txt", POINTS, 2)
    return tmp_path / "points.txt"


@pytest.mark.parametrize("code", OUTCOMES)
def test_the_exit_status_says_what_is_proven(run, engine, data, code):
    engine.result = Result(**OUTCOMES[code])
    assert exit_code(engine.result) is code
    status, out, err = run("solve", data)
    assert (status, err) == (code, "")
    assert out.startswith("\nStatus ")


def test_the_reference_lists_every_exit_status():
    table = (
        (ROOT / "docs" / "reference" / "cli.md").read_text().partition("| exit code | meaning |")[2]
    )
    rows = itertools.takewhile(lambda line: line.startswith("|"), table.splitlines()[1:])
    codes = [row.split("|")[1].strip() for row in rows]
    assert sorted(map(int, codes[1:])) == sorted(ExitCode)


@pytest.fixture
def precious(tmp_path):
    """Output files of an earlier run, and the options that name them."""
    (tmp_path / "old.json").write_text("old json")
    (tmp_path / "old.txt").write_text("old labels")
    yield ["--json", tmp_path / "old.json", "--labels", tmp_path / "old.txt"]
    assert (tmp_path / "old.json").read_text() == "old json"
    assert (tmp_path / "old.txt").read_text() == "old labels"


def test_a_cluster_that_is_not_there_is_a_backend_that_fails(run, data, monkeypatch):
    """Told before the work begins."""
    pytest.importorskip("distributed")
    monkeypatch.setattr("sdpbb.runtime.executors.given.CONNECT_SECONDS", 0.2)
    monkeypatch.setattr("sdpbb.run.solving.contract", None)
    status, out, err = run("solve", data, "--dask", "tcp://127.0.0.1:9")
    assert (status, out) == (ExitCode.BACKEND_FAILURE, "")
    assert err.startswith("error: the Dask scheduler at tcp://127.0.0.1:9 cannot be reached (")
    assert err.count("\n") == 1


@pytest.mark.parametrize("kind", [BackendFailure, BackendUnavailable])
def test_a_backend_that_fails(run, engine, data, kind):
    engine.error = kind("no worker\ncan be had")
    assert run("solve", data)[::2] == (
        ExitCode.BACKEND_FAILURE,
        "error: no worker can be had\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("solve", "x", "-k", "1\n\x1b[31m"), r"-k '1\n\x1b[31m': expected an integer"),
        (
            ("solve", "x", "-k", "1" * 5000),
            f'Invalid value for -k: unable to convert "{"1" * 5000}" into int. '
            "See 'sdpbb solve --help'.",
        ),
        (
            ("batch", "--a\nb"),
            "Unknown option: --a b. Did you mean --gap? See 'sdpbb batch --help'.",
        ),
    ],
)
def test_an_error_is_one_line_whatever_was_typed(run, arguments, message):
    assert run(*arguments) == (ExitCode.USAGE, "", f"error: {message}\n")


def test_two_outputs_must_not_be_the_same_file(run, engine, data, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "out")
    status, _, err = run("solve", data, "--json", tmp_path / "out", "--labels", tmp_path / "link")
    assert status == ExitCode.USAGE
    assert "is an output already" in err
    assert engine.calls == ()


# Options of several commands, each of which holds one value: they are made in one way.
ONCE = ("-k", "--constraints", "--parameters", "--column", "--json", "--out")


def options_given_twice():
    """Command lines of all commands, each with one of its options twice."""
    app = application()
    for name in COMMANDS:
        arguments = app[name].assemble_argument_collection().filter_by(parse=True)
        words = ["x" for argument in arguments if argument.field_info.is_positional_only]
        options = [one for one in arguments if not one.field_info.is_positional_only]
        for option in options:
            once = max(option.names, key=len)
            if once not in ONCE:
                continue
            needed = [other.name for other in options if other.required and other is not option]
            twice = [once, "1"] * 2
            others = [text for other in needed for text in (other, "1")]
            yield once, [name, *words, *others, *twice]


@pytest.mark.parametrize(("option", "arguments"), list(options_given_twice()), ids=str)
def test_an_option_that_holds_one_value_is_given_once(run, option, arguments):
    """The first of two files of constraints must not be dropped without a word."""
    told = (
        f"error: Parameter {option} specified multiple times. See 'sdpbb {arguments[0]} --help'.\n"
    )
    assert run(*arguments) == (ExitCode.USAGE, "", told)


def test_no_command_shows_the_help(run):
    status, out, err = run()
    assert (status, out) == (ExitCode.USAGE, "")
    assert err.startswith("Usage: sdpbb")
    assert all(f" {name} " in err for name in COMMANDS)


def test_a_checkpoint_that_fails_is_told_in_quiet_runs_too(run, engine, data):
    engine.events = (CheckpointFailed("there", "No space left on device", True),)
    line = "checkpoint there not written (No space left on device)\n"
    assert run("solve", data, "--quiet") == (0, "", line)
    status, out, err = run("solve", data)
    assert (status, err) == (0, "")
    assert line in out


def test_one_output_that_fails_does_not_cost_the_other(run, engine, data, tmp_path, monkeypatch):
    def full(path, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sdpbb.app.cli.files.write_atomically", full)
    out = tmp_path / "out.json"
    told = f"error: {out}: could not be written (No space left on device)\n"
    outputs = ["--json", out, "--labels", "-", "--quiet"]
    assert run("solve", data, *outputs) == (ExitCode.BAD_INPUT, "0\n1\n1\n", told)


def test_a_page_that_fails_costs_no_other_output(run, engine, data, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sdpbb.plots.pages.run_document", None)
    outputs = ["--json", "r.json", "--labels", "l.txt", "--report", "r.html"]
    status = run("solve", data, "-q", *outputs)[0]
    assert status == ExitCode.INTERNAL_ERROR
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"points.txt", "r.json", "l.txt"}


def test_an_internal_error_is_a_traceback_and_a_line(run, engine, data, precious):
    engine.error = ZeroDivisionError("division\nby zero")
    status, out, err = run("solve", data, *precious)
    assert (status, out) == (ExitCode.INTERNAL_ERROR, "")
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.endswith(
        "\nerror: internal error: ZeroDivisionError: division by zero (please report it)\n"
    )


def test_an_interrupt_outside_of_the_engine(run, data, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("sdpbb.problem.files.points.read_table", interrupted)
    assert run("solve", data) == (ExitCode.INTERRUPTED, "", "error: interrupted\n")


# What follows needs a process of its own: signals, pipes, what has been imported.

FAKE_ENGINE = """
import sys, time
import numpy
import sdpbb.run.solver
from sdpbb.app.cli import main
from sdpbb.search.result import Result, SolutionStatus, Statistics, Termination
from sdpbb.search.events import Finished, Progress
from sdpbb.problem import Partition

def solve(instance, parameters, observer, interrupt, checkpoint, certificate=None):
    for step in range({steps}):
        observer(Progress(step, step, 1, 1.0, 2.0, 0.5, 0, "sdp"))
        time.sleep(0.01)
        if interrupt.is_set() and not {stubborn}:
            break
    status, termination = (
        (SolutionStatus.FEASIBLE, Termination.INTERRUPTED) if interrupt.is_set()
        else (SolutionStatus.OPTIMAL, Termination.GAP_CLOSED)
    )
    result = Result(
        status, termination, Partition(numpy.array([0, 1])), 2.0, 1.0, 0.5, Statistics(0.0, 1),
        parameters=dict(gap=0.5),
    )
    observer(Finished(result))
    return result

sdpbb.run.solver.solve = solve
sys.argv[0] = "sdpbb"
main()
"""


@pytest.fixture
def start():
    """Start the command on the fake engine; whatever is left of it ends with the test."""
    processes = []

    def start(
        *arguments: object, steps: int = 2000, stubborn: bool = False, script: str = FAKE_ENGINE
    ) -> subprocess.Popen:
        script = script.format(steps=steps, stubborn=stubborn)
        command = [sys.executable, "-c", script, "solve", *map(str, arguments)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


AGAIN = "press Ctrl-C again to exit immediately"


@pytest.mark.parametrize(
    ("signals", "code", "by", "told"),
    [
        ([signal.SIGINT], ExitCode.INTERRUPTED, "an interrupt", f"interrupted: finishing; {AGAIN}"),
        *(  # once, or twice, as timeout(1) sends it
            (
                [signal.SIGTERM] * n,
                ExitCode.TERMINATED,
                "SIGTERM",
                "terminated: finishing; press Ctrl-C to exit immediately",
            )
            for n in (1, 2)
        ),
    ],
)
def test_a_signal_writes_what_was_found(start, data, tmp_path, signals, code, by, told):
    process = start(data, "--json", tmp_path / "out.json", "--labels", tmp_path / "labels.txt")
    process.stdout.readline()  # it is running
    for one in signals:
        process.send_signal(one)
    out, err = process.communicate(timeout=60)
    assert process.returncode == code == 128 + signals[0]
    assert f"stopped by {by}" in out
    assert err == f"\n{told}\n"
    assert json.loads((tmp_path / "out.json").read_text())["termination"] == "interrupted"
    assert (tmp_path / "labels.txt").read_text() == "0\n1\n"


@pytest.mark.parametrize("later", [[signal.SIGINT], [signal.SIGTERM, signal.SIGINT]])
def test_ctrl_c_after_a_signal_leaves_at_once(start, data, tmp_path, later):
    process = start(data, "--json", tmp_path / "out.json", stubborn=True)
    process.stdout.readline()
    process.send_signal(later[0])
    process.stderr.readline()
    assert "finishing" in process.stderr.readline()
    for one in later:
        process.send_signal(one)
    _, err = process.communicate(timeout=60)
    # Shells report an end by this signal as 130, the same as the exit status.
    assert process.returncode == -signal.SIGINT
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["points.txt"]


@pytest.mark.parametrize(
    ("signum", "delay"),
    [(signal.SIGINT, 0.0), (signal.SIGINT, 0.02), (signal.SIGINT, 0.1), (signal.SIGTERM, 0.1)],
)
def test_a_signal_before_the_run_is_one_line(start, data, signum, delay):
    # The line is written as soon as the entry point has been reached.
    script = (
        "import sys; from sdpbb import __main__ as entry; leave = entry.leave_on_signal\n"
        "entry.leave_on_signal = lambda: (leave(), print('ready', flush=True))\n"
        "entry.main()\n"
    )
    process = start(data, script=script)
    process.stdout.readline()
    time.sleep(delay)
    process.send_signal(signum)
    _, err = process.communicate(timeout=60)
    says = {signal.SIGINT: "error: interrupted\n", signal.SIGTERM: "error: terminated\n"}
    assert (process.returncode, err) == (128 + signum, says[signum])


def test_a_full_disk_does_not_cost_the_result(data, tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    script = FAKE_ENGINE.format(steps=3, stubborn=False)
    outputs = ["--json", tmp_path / "out.json", "--labels", tmp_path / "labels.txt"]
    done = in_shell(script, "solve", data, *outputs, redirect="> /dev/full")
    message = "the log stops here: stdout: No space left on device\n"
    assert (done.returncode, done.stderr) == (0, message)
    assert json.loads((tmp_path / "out.json").read_text())["status"] == "optimal"
    assert (tmp_path / "labels.txt").read_text() == "0\n1\n"
    entry = "from sdpbb.__main__ import main; main()"
    message = "error: standard output: No space left on device\n"
    for option in ("--help", "--version"):
        done = in_shell(entry, option, redirect="> /dev/full")
        assert (done.returncode, done.stderr) == (ExitCode.BAD_INPUT, message)
    done = in_shell(entry, "solve", "missing", redirect="2> /dev/full")
    assert (done.returncode, done.stdout) == (ExitCode.BAD_INPUT, "")


def test_closed_streams_do_not_cost_the_result(data, tmp_path):
    script = FAKE_ENGINE.replace("sdpbb.app.cli", "sdpbb.__main__").format(steps=3, stubborn=False)
    done = in_shell(script, "solve", data, "--json", tmp_path / "out.json", redirect=">&- 2>&- <&-")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert json.loads((tmp_path / "out.json").read_text())["status"] == "optimal"


def in_shell(script: str, *arguments: object, redirect: str) -> subprocess.CompletedProcess:
    command = ["sh", "-c", f'"$@" {redirect}', "sh", sys.executable, "-c", script]
    return subprocess.run(
        [*command, *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_a_reader_that_leaves_ends_a_run_that_nobody_waits_for(start, data):
    process = start(data)
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) == ExitCode.INTERRUPTED
    assert process.stderr.read() == ""


def test_a_reader_that_leaves_does_not_cost_the_result(start, data, tmp_path):
    process = start(data, "--json", tmp_path / "out.json", steps=30)
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) == ExitCode.OPTIMAL
    assert process.stderr.read() == ""
    assert json.loads((tmp_path / "out.json").read_text())["status"] == "optimal"


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "sdpbb", "--version"], capture_output=True, text=True, check=True
    )
    import sdpbb

    assert done.stdout == f"sdpbb {sdpbb.__version__}\n"


def test_public_names():
    import sdpbb

    assert set(sdpbb.__all__) <= set(dir(sdpbb))
    assert all(getattr(sdpbb, name) is not None for name in sdpbb.__all__)
    assert sdpbb.Instance is Instance
    with pytest.raises(AttributeError, match="no attribute 'Instanse'"):
        _ = sdpbb.Instanse
