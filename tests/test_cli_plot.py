"""The commands `sdpbb plot`, and the pictures of `sdpbb solve` and `sdpbb resume`."""

import sys

import numpy as np
import pytest

from sdpbb.app.cli import ExitCode
from sdpbb.problem import Partition
from sdpbb.problem.formats import write_points
from sdpbb.search.events import NodeEnd, NodeLeft
from sdpbb.search.result import Result
from sdpbb.search.traces.file import read_trace
from sdpbb.search.traces.trace import Trace
from tests.plots.test_bounds import TRACE
from tests.plots.test_profile import CSV
from tests.plots.test_tree import FIVE
from tests.test_result import OPTIMAL

pytest.importorskip("matplotlib")

POINTS = np.array([[0.0, 0.0, 0.0], [5.0, 0.0, 0.1], [5.0, 1.0, 0.2], [5.0, 2.0, 0.3]])


@pytest.fixture(autouse=True)
def in_its_folder(monkeypatch, tmp_path):
    """Commands run in the folder of the test."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def files(tmp_path):
    """One of each kind, in the folder that commands run in."""
    write_points(tmp_path / "points.txt", POINTS, 2)
    (tmp_path / "labels.txt").write_text("0\n1\n1\n1\n")
    (tmp_path / "constraints.txt").write_text("ML 0 1\nCL 0 3\n")
    TRACE.write(tmp_path / "bounds.json")
    FIVE.write(tmp_path / "tree.json")
    (tmp_path / "results.csv").write_text(CSV)
    return tmp_path


COMMANDS = {
    "bounds": ["bounds", "bounds.json"],
    "tree": ["tree", "tree.json"],
    "clusters": ["clusters", "points.txt"],
    "labelled": [
        *("clusters", "points.txt", "--labels", "labels.txt"),
        *("--constraints", "constraints.txt"),
    ],
    "matrix": ["matrix", "points.txt", "-k", "2", "--constraints", "constraints.txt"],
    "profile": ["profile", "results.csv", "--by", "bounding"],
}


@pytest.mark.parametrize("ending", ["png", "svg"])
@pytest.mark.parametrize("case", COMMANDS)
def test_a_picture_is_written(run, files, case, ending):
    before = {path.name for path in files.iterdir()}
    assert run("plot", *COMMANDS[case], "--out", f"out.{ending}") == (0, "", "")
    assert {path.name for path in files.iterdir()} == before | {f"out.{ending}"}
    assert (files / f"out.{ending}").read_bytes()[1:4] in (b"PNG", b"?xm")


def test_the_folder_of_a_batch_stands_for_its_table(run, files):
    (files / "out").mkdir()
    (files / "out" / "results.csv").write_text(CSV)
    assert run("plot", "profile", "out", "--by", "bounding", "--out", "x.svg") == (0, "", "")
    assert run("plot", *COMMANDS["profile"], "--out", "y.svg") == (0, "", "")
    assert (files / "x.svg").read_text() == (files / "y.svg").read_text()


def test_a_disk_that_is_full_is_told_in_one_line(run, files, monkeypatch):
    def full(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    status, out, err = run("plot", *COMMANDS["bounds"], "--out", "x.png")
    assert (status, out) == (ExitCode.BAD_INPUT, "")
    assert err == "error: x.png: could not be written (No space left on device)\n"


@pytest.fixture
def without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)


MISSING = (
    "error: pictures need matplotlib, which is not installed; install it with pip install "
    "'matplotlib>=3.8'\n"
)


def test_a_missing_matplotlib_is_told_in_one_line(run, files, without_matplotlib):
    assert run("plot", *COMMANDS["bounds"], "--out", "x.png") == (2, "", MISSING)


def test_a_page_that_cannot_be_drawn_is_refused_before_the_run(
    run, files, engine, without_matplotlib
):
    assert run("solve", "points.txt", "--report", "r.html") == (2, "", MISSING)
    assert not engine.calls


# -- solve and resume ------------------------------------------------------------------------


@pytest.fixture
def engine(engine):
    """A run of one node."""
    partition = Partition(np.arange(len(POINTS)) % 2)
    engine.result = Result(**OPTIMAL | {"partition": partition})
    engine.events = (NodeLeft(0, 1.9999, NodeEnd.CLOSED),)
    return engine


def test_a_run_writes_its_trace_and_its_page(run, files, engine):
    status, out, err = run("solve", "points.txt", "--trace", "t.json", "--report", "r <&>.html")
    assert (status, err) == (0, "")
    assert "Status" in out
    trace = read_trace(files / "t.json")
    assert [node.end for node in trace.nodes] == [NodeEnd.CLOSED]
    page = (files / "r <&>.html").read_text()
    assert "sdpbb solve points.txt --trace t.json --report &#x27;r &lt;&amp;&gt;.html&#x27;" in page
    assert "Proven optimal" in page


def test_a_run_of_before_is_reported_again(run, files):
    arguments = ["solve", "points.txt", "--checkpoint", "run.sdpbb", "--quiet"]
    assert run(*arguments, "--report", "one.html") == (0, "", "")
    assert run("resume", "run.sdpbb", "--report", "two.html", "--trace", "t.json", "-q")[0] == 0
    assert "points" in (files / "two.html").read_text()
    assert read_trace(files / "t.json").status == "optimal"


def test_an_infeasible_run_has_a_page(run, files):
    (files / "constraints.txt").write_text("ML 0 1\nCL 0 1\n")
    arguments = ["solve", "points.txt", "--constraints", "constraints.txt", "-q"]
    status, out, err = run(*arguments, "--report", "r.html", "--trace", "t.json")
    assert (status, out, err) == (ExitCode.INFEASIBLE, "", "")
    page = (files / "r.html").read_text()
    assert "Proven infeasible" in page
    assert "constraints.txt:2" in page
    status, _, err = run("plot", "bounds", "t.json", "--out", "x.png")
    assert status == ExitCode.BAD_INPUT
    assert "ended before it had bounds" in err


def test_the_trace_may_go_to_standard_output(run, files, engine):
    status, out, err = run("solve", "points.txt", "--trace", "-")
    assert status == 0
    assert '"kind": "sdpbb trace"' in out
    assert "Status" in err


@pytest.mark.parametrize("option", ["--trace", "--report"])
def test_outputs_are_checked_before_the_run(run, files, engine, option):
    status, _, err = run("solve", "points.txt", option, "none/x")
    assert status == ExitCode.BAD_INPUT
    assert err.startswith("error: none/x: there is no folder")
    status, _, err = run("solve", "points.txt", option, "points.txt")
    assert (status, err) == (
        ExitCode.USAGE,
        "error: points.txt: is an input already; expected another file\n",
    )
    status, _, err = run("solve", "points.txt", option, "x", "--json", "x")
    assert (status, err) == (
        ExitCode.USAGE,
        "error: x: is an output already; expected another file\n",
    )
    assert not engine.calls


def test_a_page_that_fails_costs_no_other_output(run, files, engine, monkeypatch):
    def fail(*arguments):
        raise RuntimeError("no\nink")

    monkeypatch.setattr("sdpbb.plots.pages.run.run_document", fail)
    arguments = ["--json", "r.json", "--labels", "l.txt", "--trace", "t.json", "--report", "r.html"]
    status, _, err = run("solve", "points.txt", "-q", *arguments)
    assert status == ExitCode.INTERNAL_ERROR
    assert "RuntimeError: no ink" in err
    assert err.count("\n") == 1
    names = {path.name for path in files.iterdir()}
    assert {"r.json", "l.txt", "t.json"} <= names
    assert "r.html" not in names


def test_a_run_without_pictures_is_not_watched(run, files, engine, monkeypatch):
    made = []
    monkeypatch.setattr("sdpbb.search.traces.trace.Trace", lambda: made.append(1) or Trace())
    assert run("solve", "points.txt", "-q")[0] == 0
    assert not made
    assert run("solve", "points.txt", "-q", "--trace", "t.json")[0] == 0
    assert made == [1]
