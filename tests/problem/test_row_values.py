"""Labels with names of rows, in the order of the points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem import Instance, Origin
from sdpbb.problem.row_values import in_row_order
from sdpbb.questions.queries.suggest import suggest_queries
from sdpbb.run.solver import solve

pandas = pytest.importorskip("pandas")

FRAME = pandas.DataFrame({"x": [0.0, 5.0, 0.1, 5.1]}, index=list("abcd"))
ORIGIN = Instance(FRAME, 2).origin
READ = Origin(row_names=tuple("abcd"))  # from a file: there is no index


@given(names=st.lists(st.integers() | st.text(), unique_by=str, min_size=1), seed=st.integers(0))
def test_any_order_of_the_names_comes_to_that_of_the_points(names, seed):
    frame = pandas.DataFrame({"x": np.zeros(len(names))}, index=pandas.Index(names, dtype=object))
    labels = pandas.Series(range(len(names)), index=frame.index)
    shuffled = labels.sample(frac=1, random_state=seed % 2**32)
    for origin in (Instance(frame, 1).origin, Origin(row_names=tuple(map(str, names)))):
        assert list(in_row_order(shuffled, len(names), origin)) == list(range(len(names)))


def test_an_index_that_counts_has_no_names():
    labels = pandas.Series([0, 1, 0, 1])
    assert list(in_row_order(labels, 4, READ)) == [0, 1, 0, 1]
    for index in (list("abcd"), [3, 2, 1, 0]):
        origin = Instance(FRAME.set_axis(index), 2).origin
        with pytest.raises(InstanceError, match=r"^labels: their index only counts"):
            in_row_order(labels, 4, origin)
    # The other way round they are numbers of rows.
    origin = Instance(FRAME.reset_index(drop=True), 2).origin
    assert list(in_row_order(labels.set_axis([3, 2, 1, 0]), 4, origin)) == [1, 0, 1, 0]


def test_names_of_a_column_are_those_of_a_series_too():
    frame = FRAME.rename_axis("who").reset_index()
    origin = Instance.from_frame(frame, 2, index_column="who").origin
    labels = pandas.Series({"d": 1, "c": 0, "b": 1, "a": 0})
    assert list(in_row_order(labels, 4, origin)) == [0, 1, 0, 1]
    with pytest.raises(InstanceError, match=r"^labels: none for 1 \('c'\) of 4 rows"):
        in_row_order(labels.drop("c"), 4, origin)
    # Numbers of rows are known as well.
    assert list(in_row_order(labels.set_axis([3, 2, 1, 0]), 4, origin)) == [0, 1, 0, 1]
    assert list(in_row_order(labels.reset_index(drop=True), 4, origin)) == [1, 0, 1, 0]


def test_equal_indices_go_by_position():
    twice = FRAME.set_axis(list("aabb"))
    labels = pandas.Series([0, 1, 0, 1], index=twice.index)
    origin = Instance(twice, 2).origin
    assert list(in_row_order(labels, 4, origin)) == [0, 1, 0, 1]
    with pytest.raises(InstanceError, match=r"^points: the index has 'a' 2 times"):
        in_row_order(labels.set_axis(list("abcd")), 4, origin)


def test_what_has_no_index_goes_by_position():
    for labels in ([0, 1, 0, 1], np.array([0, 1, 0, 1]), FRAME["x"].to_numpy()):
        assert in_row_order(labels, 4, ORIGIN) is labels
    assert in_row_order(None, 4, ORIGIN) is None


def test_a_start_and_a_clustering_go_by_their_index():
    given_labels = pandas.Series({"d": 1, "c": 0, "b": 1, "a": 0})
    apart = {"cannot_link": [("a", "b"), ("c", "d")]}
    result = solve(FRAME, 2, start=given_labels, **apart)
    assert result.labels.to_dict() == given_labels.to_dict()
    report = suggest_queries(FRAME, 1, k=2, clustering=given_labels, **apart)
    assert report.labels.tolist() == [0, 1, 0, 1]
    for function, name in ((solve, "start"), (suggest_queries, "clustering")):
        with pytest.raises(ParameterError, match=f"^{name}: none for 1 \\('a'\\)"):
            function(FRAME, k=2, **{name: given_labels.drop("a")})


def test_weights_go_by_their_index():
    wanted = [1.0, 2.0, 3.0, 4.0]
    weights = pandas.Series(wanted, index=list("abcd")).sample(frac=1, random_state=1)
    for instance in (
        Instance(FRAME, 2, weights=weights),
        Instance.from_frame(FRAME, 2, weights=weights),
        Instance.from_points(FRAME, 2, weights=weights),
    ):
        assert instance.weights.tolist() == wanted
    named = FRAME.reset_index(names="name")
    instance = Instance.from_frame(named, 2, index_column="name", weights=weights)
    assert instance.weights.tolist() == wanted
    assert Instance(FRAME, 2, weights=weights.to_numpy()).weights.tolist() == weights.tolist()
    with pytest.raises(InstanceError, match=r"^weights: none for 1 \('d'\) of 4 rows"):
        Instance(FRAME, 2, weights=weights.drop("d"))
    with pytest.raises(InstanceError, match=r"^weights: their index only counts"):
        Instance(FRAME, 2, weights=weights.reset_index(drop=True))
    with pytest.raises(
        InstanceError, match=r"^weights: given together with weight_column = 'x'; expect"
    ):
        Instance.from_frame(FRAME.assign(y=1.0), 2, weight_column="x", weights=weights)
