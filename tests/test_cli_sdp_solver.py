"""The option --sdp-solver, wherever --bounding is one."""

import json

import numpy as np
import pytest

from sdpbb.app.cli import ExitCode
from sdpbb.bounds.sdp.bounding import ConicRun
from sdpbb.problem import Instance
from sdpbb.problem.formats import write_points
from tests.enumeration import optimum

POINTS = np.random.default_rng(3).normal(size=(9, 2))
OPTIMUM = optimum(Instance(POINTS, 3, cannot_link=[(0, 1), (2, 5)]))


@pytest.fixture
def files(tmp_path):
    write_points(tmp_path / "points.txt", POINTS, 3)
    (tmp_path / "pairs.txt").write_text("CL 0 1\nCL 2 5\n")
    return tmp_path


@pytest.fixture
def rounds(monkeypatch):
    """The solvers that relaxations were solved by."""
    used = []
    advance = ConicRun.advance

    def counted(run, cutoff, *more):
        used.append(run.parameters.solver)
        return advance(run, cutoff, *more)

    monkeypatch.setattr(ConicRun, "advance", counted)
    return used


@pytest.mark.parametrize("solver", ["admm", "clarabel", "scs"])
@pytest.mark.parametrize("command", ["solve", "price"])
def test_it_is_the_solver_that_is_used(command, solver, files, rounds, run):
    out = files / "out.json"
    code, *_ = run(
        *(command, files / "points.txt", "--constraints", files / "pairs.txt"),
        *("--bounding", "sdp", "--sdp-solver", solver, "--workers", 1, "--json", out, "-q"),
    )
    assert code == ExitCode.OPTIMAL
    assert set(rounds) == ({solver} - {"admm"})
    told = json.loads(out.read_text())
    assert told["objective"] == pytest.approx(OPTIMUM)
    assert told["lower_bound"] <= OPTIMUM * (1 + 1e-12)
