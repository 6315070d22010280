import itertools
import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sdpbb import __version__
from sdpbb.app import cli
from sdpbb.app.cli import ExitCode, exit_code, main
from sdpbb.app.cli.app import EXITS, application
from sdpbb.app.cli.options import usable_cores
from sdpbb.app.cli.running import LABELS_HINT
from sdpbb.errors import BackendFailure
from sdpbb.problem import Instance, MaximumOverlap, MaximumSize, Origin
from sdpbb.problem.formats import write_points
from sdpbb.search.events import CheckpointFailed, Finished
from sdpbb.search.parameters import SearchParameters
from sdpbb.search.result import Result, SolutionStatus, Termination
from tests.problem.bad_files import BAD_CONSTRAINTS, BAD_POINTS
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


@pytest.fixture
def engine(monkeypatch):
    """Replace the engine by one that remembers what it was asked and returns `engine.result`."""

    class Engine:
        result = Result(**OPTIMAL)
        error: Exception | None = None
        calls = ()
        checkpoint: str | None = None
        events = ()

        def __call__(self, instance, parameters, observer, interrupt, checkpoint, certificate=None):
            self.calls += ((instance, parameters),)
            self.checkpoint = checkpoint
            for event in self.events:
                observer(event)
            if self.error is not None:
                raise self.error
            observer(Finished(self.result))
            return self.result

    engine = Engine()
    monkeypatch.setattr("sdpbb.run.solver.solve", engine)
    return engine


@pytest.mark.parametrize("code", OUTCOMES)
def test_the_exit_status_says_what_is_proven(run, engine, data, code):
    engine.result = Result(**OUTCOMES[code])
    assert exit_code(engine.result) is code
    status, out, err = run("solve", data)
    assert (status, err) == (code, "")
    assert out.startswith("\nStatus ")


def test_every_exit_status_is_documented(run):
    # Parts of a batch or a sweep may fail; a certificate may be rejected.
    assert set(EXITS) == set(ExitCode)
    for arguments, meanings in (
        (["--help"], EXITS),
        (["solve", "--help"], cli.EXIT_CODES),
        (["resume", "--help"], cli.EXIT_CODES),
    ):
        status, out, _ = run(*arguments)
        assert status == 0
        for code, meaning in meanings.items():
            assert f"{code.value:>5}  {meaning}\n" in out


def test_the_reference_lists_every_exit_status():
    table = (
        (ROOT / "docs" / "reference" / "cli.md").read_text().partition("| exit code | meaning |")[2]
    )
    rows = itertools.takewhile(lambda line: line.startswith("|"), table.splitlines()[1:])
    codes = [row.split("|")[1].strip() for row in rows]
    assert sorted(map(int, codes[1:])) == sorted(ExitCode)


def test_options_reach_the_engine(run, engine, data, tmp_path):
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("ML 1 2\nCL 0 3\n")
    options = ["-k", 3, "--constraints", constraints, "--gap", 0.01, "--time-limit", 5]
    assert run("solve", data, *options, "--node-limit", 7, "--seed", 11)[0] == 0
    ((instance, parameters),) = engine.calls
    assert isinstance(instance, Instance)
    assert (instance.k, instance.name) == (3, "points")
    assert instance.must_link.tolist() == [[1, 2]]
    assert instance.cannot_link.tolist() == [[0, 3]]
    assert (parameters.gap, parameters.time_limit) == (0.01, 5.0)
    assert (parameters.node_limit, parameters.seed) == (7, 11)
    assert engine.checkpoint is None


def test_constraints_on_clusters_reach_the_engine(run, engine, data, tmp_path):
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("MAXSIZE 2\nOVERLAP 1 0 3\nCL 0 1\n")
    assert run("solve", data, "--constraints", constraints, "--bounding", "colgen")[0] == 0
    ((instance, parameters),) = engine.calls
    assert instance.cluster_constraints == (MaximumSize(2), MaximumOverlap([0, 3], 1))
    assert parameters.bounding == "colgen"


def test_constraints_on_clusters_need_column_generation(run, data, tmp_path):
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("OVERLAP 1 0 1 2\n")
    assert run("solve", data, "--constraints", constraints, "--bounding", "sdp") == (
        ExitCode.USAGE,
        "",
        "error: --bounding 'sdp': expected 'colgen', 'hybrid' or 'decomposition', as there are "
        "constraints on clusters that are more than cannot-links and limits on sizes\n",
    )


def test_more_options_reach_the_engine(run, engine, data, tmp_path):
    options = ["--memory-limit", 900, "--workers", 3]
    assert run("solve", data, *options, "--no-fixing", "--checkpoint", tmp_path / "new")[0] == 0
    ((_, parameters),) = engine.calls
    assert (parameters.memory_limit, parameters.workers, parameters.dask) == (900.0, 3, None)
    assert not parameters.search.fixing
    assert engine.checkpoint == str(tmp_path / "new")
    assert run("solve", data, "--dask", "tcp://here:1")[0] == 0
    parameters = engine.calls[1][1]
    assert (parameters.workers, parameters.dask) == (1, "tcp://here:1")


def test_defaults(run, engine, data):
    assert run("solve", data)[0] == 0
    ((instance, parameters),) = engine.calls
    assert (instance.k, parameters.gap, parameters.seed) == (2, 1e-4, 0)
    assert (parameters.time_limit, parameters.node_limit) == (math.inf, None)
    assert (parameters.memory_limit, parameters.dask) == (math.inf, None)
    assert parameters.workers == usable_cores() >= 1
    assert parameters.search == SearchParameters()


def test_results_are_written(run, engine, data, tmp_path):
    outputs = ["--json", tmp_path / "out.json", "--labels", tmp_path / "labels.txt"]
    assert run("solve", data, *outputs, "--quiet") == (0, "", "")
    assert json.loads((tmp_path / "out.json").read_text())["status"] == "optimal"
    assert (tmp_path / "labels.txt").read_text() == "0\n1\n1\n"


@pytest.mark.parametrize(
    ("origin", "content"),
    [
        (Origin(), "id,cluster\n0,0\n1,1\n2,1\n"),
        (
            Origin(row_names=("Anna", "B, C", 'D"'), index_name="who"),
            'who,cluster\nAnna,0\n"B, C",1\n"D""",1\n',
        ),
        (
            Origin(kept_rows=np.array([1, 4, 5]), dropped_rows=("0", "2", "3"), first_row=1),
            "id,cluster\n1,0\n4,1\n5,1\n",
        ),
    ],
)
def test_labels_in_a_csv_have_the_names_of_the_points(run, engine, data, tmp_path, origin, content):
    engine.result = replace(Result(**OPTIMAL), origin=origin)
    assert run("solve", data, "--labels", tmp_path / "labels.CSV", "--quiet") == (0, "", "")
    assert (tmp_path / "labels.CSV").read_text() == content


def test_the_end_says_how_to_get_labels(run, engine, data, tmp_path):
    out = run("solve", data)[1]
    assert "\nClusters        2 clusters of 1, 2 points\n" in out
    assert out.endswith("\n" + LABELS_HINT + "\n")
    for option in ("--json", "--labels"):
        assert LABELS_HINT not in run("solve", data, option, tmp_path / "out")[1]
    assert run("solve", data, "--quiet")[1] == ""
    engine.result = Result(**UNKNOWN)
    assert LABELS_HINT not in run("solve", data)[1]


def test_without_a_clustering_no_labels_are_written(run, engine, data, tmp_path):
    engine.result = Result(**INFEASIBLE)
    outputs = ["--json", tmp_path / "out.json", "--labels", tmp_path / "labels.txt"]
    assert run("solve", data, *outputs)[0] == ExitCode.INFEASIBLE
    assert json.loads((tmp_path / "out.json").read_text())["labels"] is None
    assert not (tmp_path / "labels.txt").exists()


def test_labels_that_are_not_written_are_told(run, engine, data, tmp_path):
    engine.result = Result(**INFEASIBLE)
    (tmp_path / "labels.txt").write_text("old")
    arguments = ["solve", data, "--labels", tmp_path / "labels.txt"]
    assert run(*arguments)[2] == f"no clustering found: {tmp_path / 'labels.txt'} was not written\n"
    assert run(*arguments, "--quiet")[1:] == ("", "")
    assert (tmp_path / "labels.txt").read_text() == "old"


def test_a_hyphen_is_standard_output_and_sends_the_log_to_standard_error(run, engine, data):
    status, out, err = run("solve", data, "--json", "-")
    assert (status, json.loads(out)["status"]) == (0, "optimal")
    assert err.startswith("\nStatus ")
    assert run("solve", data, "--labels", "-", "--quiet") == (0, "0\n1\n1\n", "")
    status, _, err = run("solve", data, "--labels", "-", "--json", "-")
    assert (status, err) == (2, "error: -: is an output already; expected another file\n")


def test_an_empty_name_is_told(run, engine):
    expected = (ExitCode.BAD_INPUT, "", "error: '': is not the name of a file\n")
    assert run("solve", "") == expected


@pytest.fixture
def precious(tmp_path):
    """Output files of an earlier run, and the options that name them."""
    (tmp_path / "old.json").write_text("old json")
    (tmp_path / "old.txt").write_text("old labels")
    yield ["--json", tmp_path / "old.json", "--labels", tmp_path / "old.txt"]
    assert (tmp_path / "old.json").read_text() == "old json"
    assert (tmp_path / "old.txt").read_text() == "old labels"


@pytest.mark.parametrize("bad", BAD_POINTS, ids=lambda bad: bad.name)
def test_bad_points_end_with_one_line(run, engine, tmp_path, precious, bad):
    path = bad.make(tmp_path)
    expected = (ExitCode.BAD_INPUT, "", f"error: {bad.message(path)}\n")
    assert run("solve", path, "-k", 1, *precious) == expected
    assert engine.calls == ()


@pytest.mark.parametrize("bad", BAD_CONSTRAINTS, ids=lambda bad: bad.name)
def test_bad_constraints_end_with_one_line(run, engine, data, tmp_path, precious, bad):
    path = bad.make(tmp_path)
    expected = (ExitCode.BAD_INPUT, "", f"error: {bad.message(path)}\n")
    assert run("solve", data, "--constraints", path, *precious) == expected
    assert engine.calls == ()


@pytest.mark.parametrize("k", [0, 5])
def test_an_impossible_k(run, engine, data, precious, k):
    message = f"error: -k {k}: expected 1 <= k <= n = 4, as no cluster may be empty\n"
    code = ExitCode.USAGE if k < 1 else ExitCode.BAD_INPUT
    assert run("solve", data, "-k", k, *precious) == (code, "", message)
    assert engine.calls == ()


@pytest.mark.parametrize(
    "option",
    [
        ("--gap", "-1.0"),
        ("--gap", "nan"),
        ("--time-limit", "-1.0"),
        ("--node-limit", "-1"),
        ("--seed", "-1"),
        ("--memory-limit", "0.0"),
        ("--workers", "0"),
    ],
)
def test_a_bad_parameter_is_a_usage_error_of_one_line(run, engine, data, precious, option):
    status, out, err = run("solve", data, *precious, *option)
    assert (status, out) == (ExitCode.USAGE, "")
    assert err.startswith(f"error: {' '.join(option)}: expected ")
    assert err.count("\n") == 1
    assert engine.calls == ()


def test_processes_here_and_a_cluster_are_a_usage_error(run, engine, data):
    status, out, err = run("solve", data, "--workers", 2, "--dask", "tcp://here:1")
    assert (status, out) == (ExitCode.USAGE, "")
    assert err == "error: --dask 'tcp://here:1': expected workers = 1 with it, not workers = 2\n"


def test_a_cluster_that_is_not_there_is_a_backend_that_fails(run, data, monkeypatch):
    """Told before the work begins."""
    pytest.importorskip("distributed")
    monkeypatch.setattr("sdpbb.runtime.executors.clusters.CONNECT_SECONDS", 0.2)
    monkeypatch.setattr("sdpbb.run.run.contract", None)
    status, out, err = run("solve", data, "--dask", "tcp://127.0.0.1:9")
    assert (status, out) == (ExitCode.BACKEND_FAILURE, "")
    assert err.startswith("error: the Dask scheduler at tcp://127.0.0.1:9 cannot be reached (")
    assert err.count("\n") == 1


def test_what_is_no_address_of_a_cluster_is_a_usage_error(run, data):
    pytest.importorskip("distributed")
    assert run("solve", data, "--dask", "x") == (
        ExitCode.USAGE,
        "",
        "error: --dask 'x': expected the address of a Dask scheduler, such as tcp://host:8786 "
        "(missing port number in address 'x')\n",
    )


def test_a_cluster_without_the_package_for_it(run, data, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    status, out, err = run("solve", data, "--dask", "tcp://127.0.0.1:9")
    assert (status, out) == (ExitCode.USAGE, "")
    assert err.startswith("error: Dask is not installed; ")
    assert err.count("\n") == 1


@pytest.mark.parametrize("error", [BackendFailure("no worker\ncan be had")])
def test_a_backend_that_fails(run, engine, data, error):
    engine.error = error
    assert run("solve", data)[::2] == (
        ExitCode.BACKEND_FAILURE,
        "error: no worker can be had\n",
    )


SEE = "; see 'sdpbb solve --help'"
WRONG_COMMAND_LINES = {
    ("solve", "x", "-k", "x"): "-k 'x': expected an integer",
    ("solve", "x", "-k", "1.5"): "-k '1.5': expected an integer",
    ("solve", "x", "-k", "1\n\x1b[31m"): r"-k '1\n\x1b[31m': expected an integer",
    ("solve", "x", "-k", "1" * 5000): f"-k '{'1' * 5000}': expected an integer",
    ("solve", "x", "--gap", "wide"): "--gap 'wide': expected a number",
    ("solve", "x", "--bounding", "b"): (
        "--bounding 'b': expected one of 'sdp', 'colgen', 'hybrid', 'decomposition'"
    ),
    ("solve",): f"DATA: is missing{SEE}",
    ("plot", "profile"): "RESULTS: is missing; see 'sdpbb plot profile --help'",
    ("batch", "x"): "--out: is missing; see 'sdpbb batch --help'",
    ("solve", "x", "-k"): "option '-k' requires an argument",
    ("solve", "x", "--quiet=2"): "--quiet '2': expected true or false",
    ("solve", "x", "--loud"): "unknown option: --loud; did you mean --bounding?",
    ("solve", "x", "--xyz"): f"unknown option: --xyz{SEE}",
    ("solve", "x", "--gapp", "1"): "unknown option: --gapp; did you mean --gap?",
    ("solve", "x", "--no-quiet"): "unknown option: --no-quiet; did you mean --quiet?",
    ("solve", "x", "y", "z"): f"got unexpected extra argument(s) (y z){SEE}",
    ("--loud",): "unknown option: --loud; see 'sdpbb --help'",
    ("resolve",): "unknown command 'resolve'; did you mean solve?",
    ("plot", "x\ny"): r"unknown command 'x\ny'; see 'sdpbb plot --help'",
    ("solve", "x", "-k", "2", "-k", "2"): "-k: given more than once; expected once",
    ("solve", "x", "-k2", "-k", "2", "-k", "3"): "-k: given more than once; expected once",
    ("plot", "tree", "x", "--out", "a", "--out=b"): "--out: given more than once; expected once",
}


@pytest.mark.parametrize("arguments", WRONG_COMMAND_LINES)
def test_a_wrong_command_line_is_a_usage_error_of_one_line(run, engine, arguments):
    message = WRONG_COMMAND_LINES[arguments]
    assert run(*arguments) == (ExitCode.USAGE, "", f"error: {message}\n")
    assert engine.calls == ()


CHOICES = {
    "--bounding": "sdp",
    "--sdp-solver": "scs",
    "--constraints-format": "cccg",
    "--format": "cccg",
}


def commands(app, path=()):
    """All commands with their names: (("plot", "tree"), ...)."""
    for name in app:
        if name.startswith("-"):
            continue
        if app[name].default_command is None:
            yield from commands(app[name], (*path, name))
        else:
            yield (*path, name), app[name]


def options_given_twice():
    """Command lines of all commands, each with one more of its options that hold one value."""
    for path, command in commands(application()):
        arguments = command.assemble_argument_collection().filter_by(parse=True)
        words = ["x" for argument in arguments if argument.field_info.is_positional_only]
        options = [one for one in arguments if not one.field_info.is_positional_only]
        for option in options:
            name = max(option.names, key=len)
            is_group = not name.startswith("-")  # of options that a class has
            if is_group or option.parameter.allow_repeating or option.token_count() != (1, False):
                continue
            needed = [other.name for other in options if other.required and other is not option]
            twice = [name, CHOICES.get(name, "1")] * 2
            others = [text for other in needed for text in (other, "1")]
            yield name, [*path, *words, *others, *twice]


@pytest.mark.parametrize(("option", "arguments"), list(options_given_twice()), ids=str)
def test_an_option_that_holds_one_value_is_given_once(run, option, arguments):
    """The first of two files of constraints must not be dropped without a word."""
    expected = (ExitCode.USAGE, "", f"error: {option}: given more than once; expected once\n")
    assert run(*arguments) == expected


def test_flags_and_options_that_hold_several_values_may_be_repeated(run, engine, tmp_path):
    (tmp_path / "points.csv").write_text("a,b,c\n0,1,2\n3,4,5\n")
    arguments = ["-q", "--quiet", "--drop", "a", "--drop", "b"]
    assert run("solve", tmp_path / "points.csv", "-k", 1, *arguments) == (0, "", "")
    ((instance, _),) = engine.calls
    assert instance.points.tolist() == [[2.0], [5.0]]


@pytest.mark.parametrize("arguments", [[], ["plot"]])
def test_no_command_shows_the_help(run, arguments):
    status, out, err = run(*arguments)
    assert (status, out) == (ExitCode.USAGE, "")
    assert err.startswith("Usage: sdpbb")
    assert "Commands:" in err


def test_help_and_version(run):
    assert run("--version") == (0, f"sdpbb {__version__}\n", "")
    status, out, err = run("solve", "x", "-k", "x", "--help")
    assert (status, err) == (0, "")
    assert out.startswith("Usage: sdpbb solve ")


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("{folder}/no/out.json", "{folder}/no/out.json: there is no folder {folder}/no"),
        ("{folder}", "{folder}: is a folder; give the name of a file"),
        ("", "'': is not the name of a file"),
        (os.devnull, f"{os.devnull}: is a device or an open stream; give the name of a file"),
        ("/dev/stdout", "/dev/stdout: is a device or an open stream; give the name of a file"),
    ],
)
def test_an_output_that_cannot_be_written_is_told_before_the_run(
    run, engine, data, tmp_path, output, message
):
    output, message = (text.format(folder=tmp_path) for text in (output, message))
    arguments = ["solve", data, "--labels", tmp_path / "labels.txt", "--json", output]
    assert run(*arguments) == (ExitCode.BAD_INPUT, "", f"error: {message}\n")
    assert engine.calls == ()
    assert not (tmp_path / "labels.txt").exists()


def test_an_output_must_not_replace_an_input_or_the_other_output(run, engine, data, tmp_path):
    before = data.read_bytes()
    status, _, err = run("solve", data, "--labels", data)
    assert (status, err) == (
        ExitCode.USAGE,
        f"error: {data}: is an input already; expected another file\n",
    )
    (tmp_path / "link").symlink_to(tmp_path / "out")
    status, _, err = run("solve", data, "--json", tmp_path / "out", "--labels", tmp_path / "link")
    assert status == ExitCode.USAGE
    assert "is an output already" in err
    assert data.read_bytes() == before
    assert engine.calls == ()


def test_a_checkpoint_that_could_not_be_written_is_told_before_the_run(run, engine, data, tmp_path):
    for name, code, message in [
        (tmp_path, ExitCode.BAD_INPUT, f"{tmp_path}: is a folder; give the name of a file"),
        (data, ExitCode.USAGE, f"{data}: is an input already; expected another file"),
        ("-", ExitCode.USAGE, "--checkpoint -: expected the name of a file"),
    ]:
        expected = (code, "", f"error: {message}\n")
        assert run("solve", data, "--checkpoint", name) == expected
    (tmp_path / "old").write_text("hours")
    status, _, err = run("solve", data, "--checkpoint", tmp_path / "old")
    assert status == ExitCode.BAD_INPUT
    assert err == f"error: {tmp_path / 'old'}: exists already; give the name of a new file\n"
    assert (tmp_path / "old").read_text() == "hours"
    options = ["--checkpoint", tmp_path / "new", "--json", tmp_path / "new"]
    assert run("solve", data, *options)[0] == ExitCode.USAGE
    assert engine.calls == ()


def test_a_checkpoint_that_fails_is_told_in_quiet_runs_too(run, engine, data):
    engine.events = (CheckpointFailed("there", "No space left on device", True, 2.5),)
    line = (
        "checkpoint there not written (No space left on device): it holds the state after 2.5 s\n"
    )
    assert run("solve", data, "--quiet") == (0, "", line)
    status, out, err = run("solve", data)
    assert (status, err) == (0, "")
    assert line in out


def test_a_failure_to_write_is_told(run, engine, data, tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sdpbb.app.cli.outputs.write_atomically", full)
    status, out, err = run("solve", data, "--json", tmp_path / "out.json")
    assert status == ExitCode.BAD_INPUT
    assert "Sum of squares" in out
    assert err == (
        f"error: {tmp_path / 'out.json'}: could not be written (No space left on device)\n"
    )


def test_one_output_that_fails_does_not_cost_the_other(run, engine, data, tmp_path, monkeypatch):
    def full(path, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sdpbb.app.cli.outputs.write_atomically", full)
    status, out, _ = run("solve", data, "--json", tmp_path / "out.json", "--labels", "-", "--quiet")
    assert (status, out) == (ExitCode.BAD_INPUT, "0\n1\n1\n")


def test_an_internal_error_is_one_line(run, engine, data, precious, monkeypatch):
    monkeypatch.delenv("SDPBB_DEBUG", raising=False)
    engine.error = ZeroDivisionError("division\nby zero")
    status, out, err = run("solve", data, *precious)
    assert (status, out) == (ExitCode.INTERNAL_ERROR, "")
    assert err == (
        "error: internal error: ZeroDivisionError: division by zero "
        "(--debug shows where; please report it)\n"
    )


def test_debug_shows_the_traceback(engine, data, monkeypatch):
    monkeypatch.setenv("SDPBB_DEBUG", "1")
    monkeypatch.setattr(sys, "argv", ["sdpbb", "solve", str(data)])
    engine.error = ZeroDivisionError("here")
    with pytest.raises(ZeroDivisionError, match="here"):
        main()


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


def test_ctrl_c_once_writes_what_was_found(start, data, tmp_path):
    process = start(data, "--json", tmp_path / "out.json", "--labels", tmp_path / "labels.txt")
    process.stdout.readline()  # it is running
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == ExitCode.INTERRUPTED
    assert "stopped by an interrupt" in out
    assert err == "\ninterrupted: finishing; press Ctrl-C again to exit immediately\n"
    assert json.loads((tmp_path / "out.json").read_text())["termination"] == "interrupted"
    assert (tmp_path / "labels.txt").read_text() == "0\n1\n"


@pytest.mark.parametrize("n_signals", [1, 2])
def test_sigterm_writes_what_was_found(start, data, tmp_path, n_signals):
    """Once, or twice, as timeout(1) sends it."""
    process = start(data, "--json", tmp_path / "out.json", "--labels", tmp_path / "labels.txt")
    process.stdout.readline()
    for _ in range(n_signals):
        process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert process.returncode == ExitCode.TERMINATED == 128 + signal.SIGTERM
    assert "stopped by SIGTERM" in out
    assert err == "\nterminated: finishing; press Ctrl-C to exit immediately\n"
    assert json.loads((tmp_path / "out.json").read_text())["termination"] == "interrupted"
    assert (tmp_path / "labels.txt").read_text() == "0\n1\n"


def test_ctrl_c_after_sigterm_leaves_at_once(start, data, tmp_path):
    process = start(data, "--json", tmp_path / "out.json", stubborn=True)
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    process.stderr.readline()
    assert "finishing" in process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert [path.name for path in tmp_path.iterdir()] == ["points.txt"]


def test_ctrl_c_twice_leaves_at_once(start, data, tmp_path):
    process = start(data, "--json", tmp_path / "out.json", stubborn=True)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.stderr.readline()
    assert "finishing" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    # Shells report an end by this signal as 130, the same as the exit status.
    assert process.returncode == -signal.SIGINT
    assert "Traceback" not in err
    assert [path.name for path in tmp_path.iterdir()] == ["points.txt"]


COMPILED_CODE = """
import collections, itertools, threading
from sdpbb.runtime.interruption import finish_on_signal

with finish_on_signal(threading.Event()):
    print("running", flush=True)
    collections.deque(itertools.repeat(0), maxlen=0)  # never ends, and runs no handler
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs System V signals")
def test_ctrl_c_twice_leaves_compiled_code(start):
    process = start(script=COMPILED_CODE)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == -signal.SIGINT


@pytest.mark.parametrize(
    ("signum", "delay"),
    [(signal.SIGINT, 0.0), (signal.SIGINT, 0.02), (signal.SIGINT, 0.3), (signal.SIGTERM, 0.1)],
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


HEAVY = ("numba", "scipy", "sklearn", "cvxpy", "clarabel", "scs", "highspy", "joblib")


@pytest.mark.parametrize(
    ("statement", "status"),
    [
        ("import sdpbb", 0),
        ("from sdpbb.__main__ import main; main()", 0),
        ("sys.argv[1:] = ['solve', 'missing']; from sdpbb.__main__ import main; main()", 3),
        ("sys.argv[1:] = ['resume', 'missing']; from sdpbb.__main__ import main; main()", 3),
    ],
)
def test_help_and_errors_do_not_wait_for_the_engine(statement, status):
    script = (
        "import atexit, sys\n"
        f"atexit.register(lambda: print('LOADED', *({HEAVY!r} & sys.modules.keys())))\n"
        "sys.argv[1:] = ['--help']\n"
        f"{statement}\n"
    ).replace(repr(HEAVY), repr(set(HEAVY)))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    assert done.stdout.splitlines()[-1] == "LOADED"
    assert "Traceback" not in done.stderr


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
