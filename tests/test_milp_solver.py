"""The solver of integer programmes that a run is told to use."""

import sys

import numpy as np
import pytest

import sdpbb
from sdpbb.app.cli import ExitCode
from sdpbb.run.parameters import DecompositionParameters, SearchParameters
from sdpbb.runtime.backends.milp import NAMED, solve_binary_programme, using_integer_solver
from sdpbb.runtime.backends.programme import MilpSolution, MilpStatus
from sdpbb.search import evaluate
from tests.backends.test_milp import programme


def test_a_block_names_the_solver_of_programmes_that_name_none(monkeypatch):
    asked = []

    def gurobi(one, *limits):
        asked.append(one)
        return MilpSolution(MilpStatus.TIME_LIMIT)

    monkeypatch.setattr("sdpbb.runtime.backends.milp._solved_by_gurobi", gurobi)
    one = programme([1], [], [], [])
    with using_integer_solver("gurobi"):
        with using_integer_solver("auto"):  # as outside
            solve_binary_programme(one)
        with using_integer_solver("highs"):
            solve_binary_programme(one)
    assert asked == [one]
    assert NAMED.get() == "auto"


@pytest.mark.parametrize("bounding", ["hybrid", "decomposition"])
def test_nodes_and_subsets_are_evaluated_with_it(monkeypatch, bounding):
    seen, contracted = [], evaluate.contractions_of

    def recorded(node, instance):
        seen.append((NAMED.get(), instance.n_points))
        return contracted(node, instance)

    monkeypatch.setattr(evaluate, "contractions_of", recorded)
    points = np.random.default_rng(0).normal(size=(60, 2))
    search = SearchParameters(milp_solver="highs")
    subsets = DecompositionParameters(least_blocks=2, smallest=2, per_cluster=1)
    sdpbb.solve(points, 4, bounding=bounding, search=search, decomposition=subsets, time_limit=5)
    assert {solver for solver, _ in seen} == {"highs"}
    if bounding == "decomposition":
        assert min(n for _, n in seen) < 60
    assert NAMED.get() == "auto"


def test_one_that_is_not_installed_is_told_before_anything_is_computed(run, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "gurobipy", None)
    points = tmp_path / "points.csv"
    points.write_text("x,y\n0,0\n1,1\n5,5\n")
    pairs = tmp_path / "pairs.txt"
    pairs.write_text("CL 0 1\n")
    for command in ("solve", "sweep", "price"):
        monkeypatch.setattr(
            "sdpbb.run.solving.Run._solve", lambda *run: pytest.fail("a run has begun")
        )
        clusters = ["-k", "2"] if command != "sweep" else ["-k", "2-3"]
        given = [command, str(points), *clusters, "--milp-solver", "gurobi"]
        status, _, err = run(*given, "--constraints", pairs)
        assert status == ExitCode.USAGE
        assert "gurobipy is not installed" in err
