import json
import math

import numpy as np
import pytest

from sdpbb.problem import Infeasibility, InfeasibilityKind, Partition
from sdpbb.result import Result, SolutionStatus, Statistics, Termination, relative_gap

PARTITION = Partition(np.array([0, 1, 1]))
PROOF = Infeasibility(InfeasibilityKind.CLIQUE, (0, 1, 2))
OPTIMAL = {
    "status": SolutionStatus.OPTIMAL,
    "termination": Termination.GAP_CLOSED,
    "partition": PARTITION,
    "objective": 2.0,
    "lower_bound": 1.9999,
    "gap": 5e-5,
    "statistics": Statistics(wall_seconds=0.5, n_nodes=3),
    "parameters": {"gap": 1e-4},
}
UNKNOWN = OPTIMAL | {
    "status": SolutionStatus.UNKNOWN,
    "termination": Termination.TIME_LIMIT,
    "partition": None,
    "objective": None,
    "gap": None,
}
INFEASIBLE = UNKNOWN | {
    "status": SolutionStatus.INFEASIBLE,
    "termination": Termination.PROVEN_INFEASIBLE,
    "lower_bound": None,
    "infeasibility": PROOF,
}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (OPTIMAL, "optimal: sum of squares 2, lower bound 1.9999, gap 5.00e-05 (0.50 s, 3 nodes)"),
        (UNKNOWN, "unknown, lower bound 1.9999 (0.50 s, 3 nodes)"),
        (
            INFEASIBLE,
            "infeasible: more than k blocks that are mutually cannot-linked (points 0, 1, 2) "
            "(0.50 s, 3 nodes)",
        ),
    ],
)
def test_what_a_result_says_of_itself(fields, text):
    assert str(Result(**fields)) == text


@pytest.mark.parametrize(
    "fields",
    [
        OPTIMAL | {"partition": None},
        OPTIMAL | {"objective": None},
        OPTIMAL | {"termination": Termination.TIME_LIMIT},
        OPTIMAL | {"lower_bound": None},
        OPTIMAL | {"infeasibility": PROOF},
        UNKNOWN | {"partition": PARTITION},
        UNKNOWN | {"termination": Termination.GAP_CLOSED},
        UNKNOWN | {"termination": Termination.PROVEN_INFEASIBLE},
        INFEASIBLE | {"infeasibility": None},
        INFEASIBLE | {"termination": Termination.NODE_LIMIT},
        INFEASIBLE | {"partition": PARTITION, "objective": 2.0},
    ],
)
def test_a_result_cannot_claim_what_its_fields_do_not_show(fields):
    with pytest.raises(ValueError, match=r"status|result|bound"):
        Result(**fields)


def test_plain_values_for_json():
    result = Result(**UNKNOWN | {"lower_bound": -math.inf, "parameters": {"time_limit": math.inf}})
    values = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert values["lower_bound"] is None
    assert values["parameters"] == {"time_limit": None}
    assert values["labels"] is None
    assert Result(**OPTIMAL).to_dict()["labels"] == [0, 1, 1]


# No clustering: nothing is met, not even by a bound that says there is none.
WITHOUT = [(1.0, math.inf, math.inf), (math.inf, math.inf, math.inf)]


@pytest.mark.parametrize(
    ("lower", "upper", "gap"),
    [
        (1.0, 2.0, 0.5),
        (2.0, 2.0, 0.0),
        (3.0, 2.0, 0.0),
        (0.0, 0.0, 0.0),
        (-1.0, 0.0, math.inf),
        *WITHOUT,
    ],
)
def test_relative_gap(lower, upper, gap):
    assert relative_gap(lower, upper) == gap
