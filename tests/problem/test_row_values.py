"""Labels with names of rows, in the order of the points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.errors import ParameterError
from sdpbb.problem import Instance, Origin
from sdpbb.problem.frames import in_row_order
from sdpbb.questions.suggest import suggest_queries
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
