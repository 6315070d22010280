"""Names of rows and columns of data frames, and names of rows in messages."""

import numpy as np
import pytest

from sdpbb.problem.frames import is_frame


class DataFrame:
    """A class of the same name that is not a data frame."""


def test_only_frames_are_frames():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    assert is_frame(pandas.DataFrame({"x": [1]}))
    assert is_frame(polars.DataFrame({"x": [1]}))
    others = (np.zeros((2, 2)), [[1]], pandas.Series([1]), polars.Series([1]), DataFrame(), "x")
    assert not any(map(is_frame, others))
