import json
import math
import sys

import numpy as np
import pytest

from sdpbb.errors import BackendUnavailable
from sdpbb.problem import Infeasibility, InfeasibilityKind, Instance, Origin, Partition
from sdpbb.problem.origin import standardization
from sdpbb.run.solver import solve
from sdpbb.search.result import Result, SolutionStatus, Statistics, Termination, relative_gap

PARTITION = Partition(np.array([0, 1, 1]))
PROOF = Infeasibility(InfeasibilityKind.CLIQUE, (0, 1, 2))
OPTIMAL = {
    "status": SolutionStatus.OPTIMAL,
    "termination": Termination.GAP_CLOSED,
    "partition": PARTITION,
    "objective": 2.0,
    "lower_bound": 1.9999,
    "gap": 4.99e-5,
    "statistics": Statistics(wall_seconds=0.5, n_nodes=3),
    "parameters": {"gap": 1e-4},
}
FEASIBLE = OPTIMAL | {
    "status": SolutionStatus.FEASIBLE,
    "termination": Termination.NODE_LIMIT,
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
        (OPTIMAL, "optimal: sum of squares 2, lower bound 1.9999, gap 0.0050% (0.50 s, 3 nodes)"),
        (
            OPTIMAL
            | {"statistics": Statistics(wall_seconds=2.0, n_nodes=1), "lower_bound": 1.9375},
            "optimal: sum of squares 2, lower bound 1.9375, gap 0.0050% (2.00 s, 1 node)",
        ),
        (
            FEASIBLE,
            "feasible: sum of squares 2, lower bound 1.9999, gap 0.0050% (0.50 s, 3 nodes, "
            "stopped: node limit)",
        ),
        (UNKNOWN, "unknown: lower bound 1.9999 (0.50 s, 3 nodes, stopped: time limit)"),
        (
            INFEASIBLE,
            "infeasible (0.50 s, 3 nodes): more than k blocks that are all cannot-linked to each "
            "other (points 0, 1, 2)",
        ),
    ],
)
def test_what_a_result_says_of_itself(fields, text):
    result = Result(**fields)
    assert str(result) == text
    assert repr(result) == f"<Result: {text}>"


def test_no_more_is_printed_than_is_proven():
    result = Result(**OPTIMAL | {"lower_bound": 1.99999999999, "gap": 5.01e-12})
    assert "lower bound 1.999999999, gap 5.1e-10% " in str(result)


def test_json_and_rows():
    for fields in (OPTIMAL, UNKNOWN | {"lower_bound": -math.inf}, INFEASIBLE):
        result = Result(**fields | {"parameters": {"gap": 1e-4, "time_limit": math.inf, "sdp": {}}})
        values = json.loads(result.to_json())
        assert values == result.to_dict()
        row = result.to_row()
        assert {"labels", "sdp", "parameters"}.isdisjoint(row)
        assert (row["gap_asked"], row["time_limit"]) == (1e-4, None)
        assert not any(isinstance(value, (list, dict)) for value in row.values())
        shared = set(row) & set(values) - {"infeasibility", "notes"}
        assert {name: row[name] for name in shared} == {name: values[name] for name in shared}
        assert (values["labels"] is None) == (result.labels is None) == (fields != OPTIMAL)
        assert values["parameters"]["time_limit"] is None
        assert values["lower_bound"] == (1.9999 if fields == OPTIMAL else None)
    assert row["infeasibility"] == str(PROOF)
    noted = Result(**OPTIMAL | {"notes": ("one", "two")})
    assert noted.to_row()["notes"] == "; ".join(noted.to_dict()["notes"]) == "one; two"
    assert row["n_clusters"] is None
    assert Result(**OPTIMAL).to_row()["n_clusters"] == 2


def test_clusters_in_pandas():
    pandas = pytest.importorskip("pandas")
    numbered = Result(**OPTIMAL).to_pandas()
    assert numbered.equals(pandas.DataFrame({"cluster": [0, 1, 1]}))
    named = Result(**OPTIMAL | {"origin": Origin(row_names=("a", "b", "c"), index_name="who")})
    assert named.to_pandas().index.tolist() == ["a", "b", "c"]
    assert named.to_pandas().index.name == "who"
    assert named.labels.tolist() == [0, 1, 1]
    left_out = Origin(kept_rows=np.array([0, 2, 5]), dropped_rows=("1", "3", "4"))
    assert Result(**OPTIMAL | {"origin": left_out}).to_pandas().index.tolist() == [0, 2, 5]
    with pytest.raises(ValueError, match="unknown: there are no clusters"):
        Result(**UNKNOWN).to_pandas()


def test_without_pandas_labels_are_an_array(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert Result(**OPTIMAL).labels.tolist() == [0, 1, 1]
    with pytest.raises(BackendUnavailable, match=r"pandas.*labels"):
        Result(**OPTIMAL).to_pandas()


@pytest.mark.parametrize("kind", ["dates", "numbers", "counted"])
def test_labels_of_a_frame_have_its_index(kind):
    pandas = pytest.importorskip("pandas")
    index = {
        "dates": pandas.date_range("2026-01-01", periods=4),
        "numbers": pandas.Index([30, 10, 20, 40], name="id"),
        "counted": pandas.RangeIndex(4),
    }[kind]
    frame = pandas.DataFrame({"x": [0.0, 5.0, 0.1, 5.1]}, index=index)
    result = solve(Instance.from_points(frame, 2))
    assert result.labels.index.equals(index)
    shuffled = frame.sample(frac=1.0, random_state=0)
    shuffled["cluster"] = result.labels
    assert shuffled["cluster"].groupby(shuffled["x"] < 1).nunique().tolist() == [1, 1]
    joined = frame.join(result.to_pandas())
    assert joined["cluster"].tolist() == [0, 1, 0, 1]


def test_json_has_clusters_and_names():
    origin = Origin(
        row_names=("a", "b", "c"), feature_names=("x",), data_path="d.csv", constraints_path="c.txt"
    )
    centers = np.array([[1.0], [2.5]])
    values = Result(**OPTIMAL | {"k": 2, "centers": centers, "origin": origin}).to_dict()
    assert (values["k"], values["sizes"], values["centers"]) == (2, [1, 2], [[1.0], [2.5]])
    assert (values["names"], values["features"]) == (["a", "b", "c"], ["x"])
    assert (values["data"], values["constraints"]) == ("d.csv", "c.txt")
    assert {"names", "data", "dropped"}.isdisjoint(Result(**OPTIMAL).to_dict())


def test_centers_are_in_the_units_of_the_user():
    points = np.array([[100.0, 1.0], [102.0, 1.2], [200.0, 9.0], [204.0, 9.2]])
    scaling = standardization(points)
    instance = Instance(scaling.applied(points), 2, origin=Origin(scaling=scaling))
    assert solve(instance).centers == pytest.approx(np.array([[101.0, 1.1], [202.0, 9.1]]))


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


def test_labels_sizes_and_centers_of_a_clustering():
    instance = Instance([[0.0, 1.0], [4.0, 1.0], [8.0, 3.0]], 2, weights=[1.0, 1.0, 3.0])
    partition = Partition(np.array([7, 3, 3]))
    result = Result(
        **OPTIMAL
        | {"partition": partition, "centers": partition.means(instance.points, instance.weights)}
    )
    assert result.labels.tolist() == [0, 1, 1]  # numbered by their first points
    assert result.sizes.tolist() == [1, 2]
    assert result.centers == pytest.approx(np.array([[0.0, 1.0], [7.0, 2.5]]))
    assert result == Result(**OPTIMAL | {"partition": partition})
