"""The three engines from end to end: each against all clusterings, and against each other."""

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sdpbb import SolverParameters, read_instance, solve
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.problem import (
    Instance,
    MaximumSize,
)
from sdpbb.search.result import Result, SolutionStatus, Termination
from tests.constants import (
    ALL_COLUMNS,
    FEW_COLUMNS,
    HARD,
    NO_ENUMERATION,
    NODES_PER_SLICE,
    constants,
)

ROOT = Path(__file__).resolve().parents[1]
INSTANCES = ROOT / "instances"
OPTIMA = tomllib.loads((INSTANCES / "optima.toml").read_text())["optimum"]

COLGEN, HYBRID = SolverParameters(bounding="colgen"), SolverParameters(bounding="hybrid")
HASTY = SdpParameters(max_iterations=20)
# What each instance is solved with, and constants that are changed; some branch where others
# enumerate or go on bounding.
ENGINES = {
    "colgen": (COLGEN, {}),
    "colgen, branching": (COLGEN, NO_ENUMERATION),
    "colgen, in short slices": (COLGEN, {NODES_PER_SLICE: 5}),
    "colgen, from the semidefinite bound": (replace(COLGEN, sdp=HASTY), HARD),
    "hybrid": (HYBRID, {}),
    "hybrid, branching": (
        replace(HYBRID, sdp=HASTY),
        {**NO_ENUMERATION, **HARD, **ALL_COLUMNS},
    ),
    "hybrid, enumeration": (replace(HYBRID, sdp=HASTY), {**HARD, **FEW_COLUMNS}),
}


def solved(instance: Instance, name: str, **more) -> Result:
    """Of `solve` with changed parameters."""
    parameters, changed = ENGINES[name]
    with constants(changed):
        return solve(instance, replace(parameters, gap=1e-9, **more))


# Its master programme has a fractional solution, half a per cent below the optimum.
FRACTIONAL = Instance(
    np.random.default_rng(0).normal(size=(22, 5)), 4, cluster_constraints=[MaximumSize(6)]
)


def test_a_fractional_master_programme_is_branched_on():
    whole = solved(FRACTIONAL, "colgen")
    branched = solved(FRACTIONAL, "colgen, branching")
    assert branched.status is whole.status is SolutionStatus.OPTIMAL
    assert branched.objective == pytest.approx(whole.objective, rel=1e-8)
    assert branched.statistics.n_nodes > 1
    assert branched.statistics.root_lower_bound < (1 - 1e-6) * whole.objective


@pytest.mark.parametrize("name", ["colgen", "hybrid"])
@pytest.mark.parametrize("seconds", [1e-9, 1.0])
def test_a_time_limit_leaves_a_valid_bound(name, seconds):
    points = np.random.default_rng(0).normal(size=(300, 6))
    result = solved(Instance(points, 10), name, time_limit=seconds)
    assert result.status is SolutionStatus.FEASIBLE
    assert result.termination is Termination.TIME_LIMIT
    assert 0.0 <= result.lower_bound < result.objective
    assert result.statistics.wall_seconds < seconds + 20.0


@pytest.mark.parametrize("name", ["colgen", "hybrid"])
def test_runs_repeat_themselves(name):
    results = [solved(FRACTIONAL, name) for _ in range(2)]
    assert results[0].lower_bound == results[1].lower_bound
    assert np.array_equal(results[0].partition.labels, results[1].partition.labels)
    assert results[0].statistics.n_nodes == results[1].statistics.n_nodes


# All but one: its two clusters are of 53 and 97 points, and pricing takes a minute or more.
PRICED = [case for case in OPTIMA if (case["constraints"], case["k"]) != ("", 2)]


def case_id(case: dict) -> str:
    return f"{case['constraints'] or case['data']}-{case['k']}"


def assert_the_bundled_optimum(case: dict, name: str) -> None:
    constraints = INSTANCES / case["constraints"] if case["constraints"] else None
    instance = read_instance(INSTANCES / case["data"], case["k"], constraints)
    result = solved(instance, name)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.partition.is_feasible(instance)
    assert result.objective == pytest.approx(case["value"], rel=1e-8)
    assert case["lower_bound"] <= case["value"]
    assert case["value"] * (1 - 1e-8) <= result.lower_bound <= case["value"] * (1 + 1e-12)


@pytest.mark.parametrize("case", PRICED, ids=case_id)
@pytest.mark.long
def test_columns_prove_the_bundled_optima(case):
    assert_the_bundled_optimum(case, "colgen")


@pytest.mark.parametrize("case", OPTIMA, ids=case_id)
@pytest.mark.long
def test_both_bounds_prove_the_bundled_optima(case):
    assert_the_bundled_optimum(case, "hybrid")
