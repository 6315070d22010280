"""Pages and traces of commands where drawing fails, or nothing is drawn."""

import numpy as np
import pytest

from sdpbb.app.cli import ExitCode
from sdpbb.problem import Partition
from sdpbb.problem.formats import write_points
from sdpbb.search.events import NodeEnd, NodeLeft
from sdpbb.search.result import Result
from sdpbb.search.trace import Trace
from tests.test_result import OPTIMAL

pytest.importorskip("matplotlib")

POINTS = np.array([[0.0, 0.0, 0.0], [5.0, 0.0, 0.1], [5.0, 1.0, 0.2], [5.0, 2.0, 0.3]])


@pytest.fixture(autouse=True)
def in_its_folder(monkeypatch, tmp_path):
    """Commands run in the folder of the test."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def files(tmp_path):
    """Points, in the folder that commands run in."""
    write_points(tmp_path / "points.txt", POINTS, 2)
    return tmp_path


@pytest.fixture
def engine(engine):
    """A run of one node."""
    partition = Partition(np.arange(len(POINTS)) % 2)
    engine.result = Result(**OPTIMAL | {"partition": partition})
    engine.events = (NodeLeft(0, 1.9999, NodeEnd.CLOSED),)
    return engine


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
    monkeypatch.setattr("sdpbb.search.trace.Trace", lambda: made.append(1) or Trace())
    assert run("solve", "points.txt", "-q")[0] == 0
    assert not made
    assert run("solve", "points.txt", "-q", "--trace", "t.json")[0] == 0
    assert made == [1]
