"""`sdpbb.solve` with points and keywords, and what it says of wrong ones."""

import numpy as np
import pytest

import sdpbb
from sdpbb.errors import InstanceError, InstanceNote, ParameterError
from sdpbb.problem.sources import InstanceArguments
from sdpbb.run.arguments import SolveArguments, stated_run
from sdpbb.runtime.declaration import own_declarations

POINTS = np.array([[0.0], [0.1], [5.0], [5.1]])
INSTANCE = sdpbb.Instance(POINTS, 2)


def stated(given, k=None, parameters=None, **arguments):
    return stated_run(given, k, parameters, arguments, sdpbb.solve)


def test_keywords_are_those_of_instances_and_parameters():
    declared = own_declarations(sdpbb.SolverParameters)
    expected = {*InstanceArguments.__annotations__, *declared}
    assert set(SolveArguments.__annotations__) == expected


def test_points_and_keywords_make_an_instance_and_parameters():
    instance, parameters = stated(
        POINTS, 2, cannot_link=[(0, 1)], weights=[1, 2, 3, 4], min_size=1, name="a", time_limit=5
    )
    assert (instance.k, instance.name, instance.min_size) == (2, "a", 1)
    assert instance.cannot_link.tolist() == [[0, 1]]
    assert instance.weights.tolist() == [1, 2, 3, 4]
    assert parameters == sdpbb.SolverParameters(time_limit=5)


def test_an_instance_takes_parameters_in_any_way():
    parameters = sdpbb.SolverParameters(gap=1e-6)
    assert stated(INSTANCE) == (INSTANCE, sdpbb.SolverParameters())
    assert stated(INSTANCE, parameters) == (INSTANCE, parameters)
    assert stated(INSTANCE, parameters=parameters) == (INSTANCE, parameters)
    assert stated(INSTANCE, parameters, gap=0.1) == (INSTANCE, sdpbb.SolverParameters(gap=0.1))


def test_arrays_are_completed_and_standardized_as_frames_are():
    pandas = pytest.importorskip("pandas")
    points = np.array([[0.0, 1.0], [np.nan, 3.0], [5.0, 2.0], [6.0, 8.0]])
    asked = {"cannot_link": [(0, 3)], "soft_must_link": [(2, 3, 1.5)], "missing": "drop-rows"}
    with pytest.warns(InstanceNote, match="1 row of 4 dropped"):
        array, _ = stated(points, 2, standardize=True, **asked)
    with pytest.warns(InstanceNote):
        frame, _ = stated(pandas.DataFrame(points), 2, standardize=True, **asked)
    assert array.points.tolist() == frame.points.tolist()
    assert array.cannot_link.tolist() == frame.cannot_link.tolist() == [[0, 2]]
    assert array.soft_must_link.pairs.tolist() == [[1, 2]]
    assert sdpbb.solve(array).centers.tolist() == sdpbb.solve(frame).centers.tolist()
    with pytest.raises(InstanceError, match="which is dropped"), pytest.warns(InstanceNote):
        stated(points, 2, missing="drop-rows", must_link=[(0, 1)])


def test_a_run_of_points():
    result = sdpbb.solve(POINTS, 2, cannot_link=[(0, 1)], time_limit=60)
    assert result.labels.tolist() == [0, 1, 1, 1]
    instance = sdpbb.Instance(POINTS, 2, cannot_link=[(0, 1)])
    assert sdpbb.solve(instance).partition == result.partition


@pytest.mark.parametrize("frames", ["pandas", "polars"])
def test_rows_of_a_frame_have_names(frames):
    library = pytest.importorskip(frames)
    frame = library.DataFrame({"who": ["a", "b", "c", "d"], "x": POINTS[:, 0]})
    instance, _ = stated(frame, 2, must_link=[("a", "d")], index_column="who")
    assert instance.must_link.tolist() == [[0, 3]]
    assert instance.origin.row_names == ("a", "b", "c", "d")


def test_parameters_twice():
    parameters = sdpbb.SolverParameters()
    with pytest.raises(TypeError, match="parameters twice"):
        sdpbb.solve(INSTANCE, parameters, parameters=parameters)


def test_a_frame_with_missing_values_in_other_units():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": [0.0, 1.0, 50.0, None], "y": [0.0, 0.0, 9e9, 9e9]}, list("abcd"))
    prepared = {"missing": "mean", "standardize": True}
    with pytest.warns(UserWarning, match="1 missing value filled in"):
        result = sdpbb.solve(frame, 2, cannot_link=[("b", "c")], **prepared)
    assert result.labels.to_dict() == {"a": 0, "b": 0, "c": 1, "d": 1}
    assert result.centers[:, 1].tolist() == pytest.approx([0, 9e9])


FUNCTIONS = {
    "solve": sdpbb.solve,
    "sweep": lambda given, k=None, **named: sdpbb.sweep(given, [2], **named),
    "optimality_gap": lambda given, **named: sdpbb.optimality_gap(given, [0, 0, 1, 1], **named),
    "constraint_prices": sdpbb.constraint_prices,
    "certainty": sdpbb.certainty,
    "suggest_queries": sdpbb.suggest_queries,
    "check_constraints": sdpbb.check_constraints,
    "explain_infeasibility": sdpbb.explain_infeasibility,
    "verify_certificate": lambda given, **named: sdpbb.verify_certificate("none", given, **named),
    "run": lambda given, **named: sdpbb.heuristic("kmeans").run(given, **named),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    ("named", "error", "message"),
    [
        ({"mising": "mean"}, TypeError, r"\(\) has no argument 'mising'; did you mean missing\?$"),
        ({"index_column": "id"}, InstanceError, "index_column = 'id': an array has no columns"),
        ({"standardize": "half"}, ParameterError, "standardize = 'half': expected True or False"),
        ({"must_link": [(0, 9)]}, InstanceError, r"must_link\[0\] = \(0, 9\): rows are 0 to 3"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_all_that_take_points_take_the_same_keywords(name, named, error, message):
    with pytest.raises(error, match=message) as raised:
        FUNCTIONS[name](POINTS, k=2, **named)
    assert error is not TypeError or str(raised.value).startswith(f"{name}()")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_no_instance_is_told_in_one_line(name):
    function = FUNCTIONS[name]
    for argument in ("must_link", "cluster_constraints"):
        with pytest.raises(ParameterError, match=f"^{argument}: expected None, as the Instance"):
            function(INSTANCE, **{argument: []})
    with pytest.raises(InstanceError, match=r"points.txt.*expected points.*read_instance"):
        function("points.txt", k=2)
    with pytest.raises(InstanceError, match="points is of type NoneType"):
        function(None, k=2)
    if name not in ("sweep", "optimality_gap"):  # which find it elsewhere
        with pytest.raises(ParameterError, match=r"^k: expected None, as the Instance states it$"):
            function(INSTANCE, k=2)
        with pytest.raises(InstanceError, match="k: expected the number of clusters"):
            function(POINTS)


UNLISTED = {"verify_certificate", "explain_infeasibility"}  # whose results have no values
STATED = [
    {"cannot_link": [(0, 1)], "must_link": [(2, 3)]},
    {"known_classes": ["a", None, "a", "b"]},
    {"soft_cannot_link": [(0, 1, 9.0)], "weights": [1.0, 2.0, 1.0, 1.0]},
    {"max_size": 3},
]


@pytest.mark.parametrize("stated", STATED, ids=lambda stated: next(iter(stated)))
@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - UNLISTED))
def test_points_and_keywords_are_an_instance(name, stated):
    instance = sdpbb.Instance(POINTS, 2, **stated)
    one, other = FUNCTIONS[name](POINTS, k=2, **stated), FUNCTIONS[name](instance)
    values, same = one.to_dict(), other.to_dict()
    for key in ("objective", "labels", "sum_of_squares", "violations", "queries", "forced"):
        assert values.get(key) == same.get(key)
    assert values.keys() == same.keys()
