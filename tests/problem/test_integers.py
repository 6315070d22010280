"""Integers that no float is are refused wherever points come from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb import ExactConstrainedKMeans
from sdpbb.problem import Instance
from sdpbb.problem.integers import EXACT, inexact_entries, inexact_integer, is_inexact

WRONG = EXACT + 1


@given(st.one_of(st.integers(), st.floats(1e14, 1e30).map(int)))
def test_an_integer_is_inexact_if_a_float_changes_it(value):
    assert is_inexact(value) == (int(float(value)) != value)
    assert inexact_integer(f" {value} ") == (value if is_inexact(value) else None)
    assert inexact_integer(f"{value}.0") is None
    found = list(inexact_entries(np.array([[0, value]], dtype=object)))
    assert found == ([((0, 1), value)] if is_inexact(value) else [])


@given(st.integers(-(2**63), 2**64 - 1))
def test_arrays_of_integers(value):
    array = np.array([value, 1], dtype=np.int64 if value < 0 else np.uint64)
    assert list(inexact_entries(array)) == ([((0,), value)] if is_inexact(value) else [])


@pytest.mark.parametrize("field", ["9" * 400, "0" * 5000 + "1", "1" * 5000, "nan", "x", "", "1e20"])
def test_fields_that_are_no_such_integers(field):
    assert inexact_integer(field) is None


def test_points_that_are_floats_are_as_they_are():
    points = [[0.0, 2.0**60], [2, EXACT], [2**70, -(2**62)]]
    assert Instance(points, 1).points.tolist() == points
    assert Instance(np.array(points), 1).points.tolist() == points
    assert Instance([[np.float64(WRONG)], [1]], 1).points.tolist() == [[float(EXACT)], [1.0]]


def test_a_column_that_is_no_feature_may_hold_any_integer():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [0.5, 1.5], "id": pandas.array([1, WRONG], dtype="Int64")})
    assert Instance.from_frame(frame, 1, index_column="id").origin.rows([1]) == [str(WRONG)]
    with pytest.raises(ValueError, match="column 'id', row 1: is 9007199254740993"):
        ExactConstrainedKMeans(1).fit(frame)
