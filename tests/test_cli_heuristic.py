import json
import os
import signal
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from heuristics.method import Heuristic, Soft
from heuristics.registry import METHODS
from heuristics.result import SearchResult, Stop
from sdpbb.app.cli import ExitCode
from sdpbb.errors import ParameterError
from sdpbb.problem import Infeasibility, InfeasibilityKind, Partition
from sdpbb.problem.formats import read_instance, write_points
from sdpbb.runtime.declaration import parameter

ROOT = Path(__file__).parents[1]
IRIS = ROOT / "instances" / "iris.txt"
IRIS_CONSTRAINTS = ROOT / "instances" / "iris_ml_19_cl_19.txt"
POINTS = np.array([[0.0, 0.0], [5.0, 0.0], [5.0, 1.0], [5.0, 2.0]])
LABELS = np.array([0, 1, 1, 1])
PROOF = Infeasibility(InfeasibilityKind.ODD_CYCLE, (0, 1, 2))


@dataclass(frozen=True, eq=False, kw_only=True)
class Fake(Heuristic):
    """Comes to what it is told."""

    name = "fake"
    soft = Soft.WEIGHED
    found: ClassVar[SearchResult | Infeasibility | Exception]

    size: int = parameter(1)

    def search(self, instance, rng, clock):
        if not instance.name:  # the kernels are prepared
            return SearchResult(np.zeros(instance.n_points, np.intp), Stop.CONVERGED, 1)
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setitem(METHODS, "fake", Fake)
    monkeypatch.setattr(Fake, "found", SearchResult(LABELS, Stop.CONVERGED, 7), raising=False)
    return Fake


@pytest.fixture
def data(tmp_path) -> Path:
    write_points(tmp_path / "points.txt", POINTS, 2)
    return tmp_path / "points.txt"


@pytest.fixture
def run(run):
    """Run the command in this process: its exit status, standard output and standard error."""
    return partial(run, "heuristic")


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (SearchResult(LABELS, Stop.CONVERGED, 1), ExitCode.FOUND),
        (SearchResult(LABELS, Stop.TIME_LIMIT, 1), ExitCode.FOUND),
        (SearchResult(LABELS, Stop.INTERRUPTED, 1), ExitCode.INTERRUPTED),
        (SearchResult(None, Stop.INTERRUPTED, 1), ExitCode.INTERRUPTED),
        (SearchResult(None, Stop.TIME_LIMIT, 1), ExitCode.LIMIT_WITHOUT_CLUSTERING),
        (SearchResult(None, Stop.DEAD_END, 1), ExitCode.LIMIT_WITHOUT_CLUSTERING),
        (PROOF, ExitCode.INFEASIBLE),
    ],
)
def test_the_exit_status_says_what_came_of_it(run, fake, data, found, code):
    fake.found = found
    status, out, err = run("fake", data)
    assert (status, err) == (code, "")
    assert "\nStatus  " in out


def test_a_method_at_work_is_told_now_and_then(run, fake, data, monkeypatch):
    def search(self, instance, rng, clock):
        time.sleep(0.2)
        assert not clock.is_over
        return self.found

    monkeypatch.setattr("sdpbb.app.cli.files.INTERVAL", 0.02)
    monkeypatch.setattr(fake, "search", search)
    _, out, _ = run("fake", data)
    assert "\nWorking         0 s\n" in out
    _, out, _ = run("fake", data, "--quiet")
    assert "Working" not in out


def test_empty_clusters_are_told(run, fake, data):
    _, out, _ = run("fake", data, "-k", 3)
    assert "Violated        1 empty cluster\n" in out


def test_a_parameter_that_does_not_fit_the_data_is_told_as_the_option(run, fake, data):
    fake.found = ParameterError("size = 9: expected at most n = 4")
    status, _, err = run("fake", data, "-o", "size=9")
    message = "error: --option size=9: expected at most n = 4\n"
    assert (status, err) == (ExitCode.USAGE, message)


@pytest.mark.long
@pytest.mark.parametrize("name", METHODS)
def test_every_method_from_files_to_files(run, tmp_path, name):
    outputs = ["--json", tmp_path / "out.json", "--labels", tmp_path / "labels.txt"]
    status, out, err = run(name, IRIS, "--constraints", IRIS_CONSTRAINTS, *outputs)
    written = json.loads((tmp_path / "out.json").read_text())
    assert (status, err, written["method"]) == (ExitCode.FOUND, "", name)
    instance = read_instance(IRIS, constraints_path=IRIS_CONSTRAINTS)
    labels = np.loadtxt(tmp_path / "labels.txt", dtype=int)
    assert labels.tolist() == written["labels"]
    assert written["sum_of_squares"] == Partition(labels).sum_of_squares(instance.points)
    violated = [len(pairs) for pairs in Partition(labels).violations(instance)]
    assert violated == [written["violations"][kind] for kind in ("must_link", "cannot_link")]
    kept = "it does not satisfy the hard constraints" not in out
    assert kept == (sum(violated) == 0)
    assert kept or name in ("kmeans", "bh-kmeans")


def test_ctrl_c_writes_what_was_found(run, fake, data, tmp_path, monkeypatch):
    def search(self, instance, rng, clock):
        if instance.name:  # the kernels are prepared
            os.kill(os.getpid(), signal.SIGINT)
        stop = clock.reason if clock.is_over else Stop.CONVERGED
        return SearchResult(np.arange(instance.n_points) % instance.k, stop, 1)

    monkeypatch.setattr(fake, "search", search)
    outputs = ["--json", tmp_path / "out.json", "--labels", tmp_path / "labels.txt"]
    assert run("fake", data, *outputs, "--quiet")[0] == ExitCode.INTERRUPTED
    assert json.loads((tmp_path / "out.json").read_text())["stop"] == "interrupted"
    assert (tmp_path / "labels.txt").read_text() == "0\n1\n0\n1\n"
