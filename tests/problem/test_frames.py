"""Names of rows and columns of data frames, and names of rows in messages."""

import numpy as np
import pytest

from sdpbb.problem import Instance, Origin
from sdpbb.problem.frames import is_frame


class DataFrame:
    """A class of the same name that is not a data frame."""


def test_only_frames_are_frames():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    assert is_frame(pandas.DataFrame({"x": [1]}))
    assert is_frame(polars.DataFrame({"x": [1]}))
    others = (np.zeros((2, 2)), [[1]], pandas.Series([1]), polars.Series([1]), DataFrame(), "x")
    assert not any(map(is_frame, others))


def test_an_instance_keeps_the_names_of_a_frame():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [0.0, 5.0], "y": [1, 2]}, index=["a", "b"])
    instance = Instance(frame, 2, cannot_link=[(0, 1)])
    other = Instance.from_points(frame, 2)
    assert instance.origin.row_names == other.origin.row_names == ("a", "b")
    assert instance.origin.feature_names == other.origin.feature_names == ("x", "y")
    assert instance.origin.index is frame.index
    assert instance.points.tolist() == other.points.tolist()
    own = Origin(row_names=("left", "right"))
    assert Instance(frame, 2, origin=own).origin is own
    twice = Instance(frame.set_axis(["a", "a"]), 2)
    assert twice.origin.row_names is None
    polars = pytest.importorskip("polars")
    assert Instance(polars.DataFrame({"x": [1, 2]}), 2).origin.feature_names == ("x",)
