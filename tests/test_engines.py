"""The three engines from end to end, on the bundled instances and where they branch."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from sdpbb import read_instance
from sdpbb.problem import Instance, MaximumSize
from sdpbb.search.result import SolutionStatus, Termination
from tests.contracts.runs import Way

INSTANCES = Path(__file__).resolve().parents[1] / "instances"
OPTIMA = tomllib.loads((INSTANCES / "optima.toml").read_text())["optimum"]
# Its master programme has a fractional solution, half a per cent below the optimum.
FRACTIONAL = Instance(
    np.random.default_rng(0).normal(size=(22, 5)), 4, cluster_constraints=[MaximumSize(6)]
)


def test_a_fractional_master_programme_is_branched_on(tmp_path):
    whole = Way("colgen", 1e-9).solve(FRACTIONAL, tmp_path)
    branched = Way("colgen", 1e-9, steps="branching").solve(FRACTIONAL, tmp_path)
    assert branched.status is whole.status is SolutionStatus.OPTIMAL
    assert branched.objective == pytest.approx(whole.objective, rel=1e-8)
    assert branched.statistics.n_nodes > 1
    assert branched.statistics.root_lower_bound < (1 - 1e-6) * whole.objective


@pytest.mark.parametrize("name", ["colgen", "hybrid"])
@pytest.mark.parametrize("seconds", [1e-9, 1.0])
def test_a_time_limit_leaves_a_valid_bound(name, seconds, tmp_path):
    points = np.random.default_rng(0).normal(size=(300, 6))
    result = Way(name, 1e-9).solve(Instance(points, 10), tmp_path, time_limit=seconds)
    assert result.status is SolutionStatus.FEASIBLE
    assert result.termination is Termination.TIME_LIMIT
    assert 0.0 <= result.lower_bound < result.objective
    assert result.statistics.wall_seconds < seconds + 20.0


WAYS = [Way("colgen", 1e-9), Way("hybrid", 1e-9), Way("sdp", 1e-4)]
# But one, whose two clusters are of 53 and 97 points: pricing takes a minute or more.
CASES = [
    pytest.param(case, way, id=f"{way.bounding}-{case['constraints'] or case['data']}-{case['k']}")
    for way in WAYS
    for case in OPTIMA
    if way.bounding != "colgen" or case["constraints"] or case["k"] != 2
]


@pytest.mark.parametrize(("case", "way"), CASES)
@pytest.mark.filterwarnings("ignore::sdpbb.errors.InstanceNote")  # of a column that dominates
@pytest.mark.long
def test_every_engine_proves_the_bundled_optima(case, way, tmp_path):
    constraints = INSTANCES / case["constraints"] if case["constraints"] else None
    instance = read_instance(INSTANCES / case["data"], case["k"], constraints)
    result = way.solve(instance, tmp_path)
    assert result.status is SolutionStatus.OPTIMAL
    assert result.partition.is_feasible(instance)
    assert result.objective == pytest.approx(case["value"], rel=max(way.gap, 1e-8))
    assert case["lower_bound"] <= case["value"]
    assert result.lower_bound <= case["value"] * (1 + 1e-12)
    assert result.lower_bound >= case["value"] * (1 - 2 * max(way.gap, 1e-8))
