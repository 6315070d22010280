"""The three engines from end to end, on the bundled instances and where they branch."""

import tomllib
from pathlib import Path

import pytest

from sdpbb import read_instance
from sdpbb.search.result import SolutionStatus
from tests.contracts.runs import Way

INSTANCES = Path(__file__).resolve().parents[1] / "instances"
OPTIMA = tomllib.loads((INSTANCES / "optima.toml").read_text())["optimum"]
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
