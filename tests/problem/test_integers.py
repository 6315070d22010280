"""Integers that no float is are refused wherever points come from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb import ExactConstrainedKMeans
from sdpbb.errors import InstanceError
from sdpbb.problem import Instance
from sdpbb.problem.formats import read_points
from sdpbb.problem.integers import EXACT, inexact_entries, inexact_integer, is_inexact

WRONG = EXACT + 1
MESSAGE = (
    "is 9007199254740993, an integer that no double holds exactly; expected integers up to 2^53 in "
    "size, or a decimal number, which is rounded (here to 9007199254740992.0)"
)


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


def refusal(make):
    with pytest.raises(InstanceError) as refused:
        make()
    return str(refused.value)


@pytest.mark.parametrize(
    "points",
    [
        [[0, 1], [2, WRONG]],
        [[0, 0.5], [2, WRONG]],  # of which NumPy makes floats
        ((0, 1), (2, -1), (3, 2**64 - 1)),
        [[0, 2**70], [2, WRONG]],
        np.array([[0, 1], [2, WRONG]]),
        np.array([[0, 1], [2, WRONG]], dtype=np.uint64),
        np.array([[0, 0.5], [2, WRONG]], dtype=object),
        [np.array([0, 1]), np.array([2, WRONG])],
    ],
)
def test_points_in_memory(points):
    row, value = (2, 2**64 - 1) if isinstance(points, tuple) else (1, WRONG)
    message = MESSAGE.replace(str(WRONG), str(value)).replace(
        repr(float(WRONG)), repr(float(value))
    )
    assert refusal(lambda: Instance(points, 1)) == f"points[{row}, 1] {message}"
    with pytest.raises(ValueError, match="no double holds exactly"):
        ExactConstrainedKMeans(1).fit(points)


def test_points_that_are_floats_are_as_they_are():
    points = [[0.0, 2.0**60], [2, EXACT], [2**70, -(2**62)]]
    assert Instance(points, 1).points.tolist() == points
    assert Instance(np.array(points), 1).points.tolist() == points
    assert Instance([[np.float64(WRONG)], [1]], 1).points.tolist() == [[float(EXACT)], [1.0]]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"a": [0.5, 1.5], "b": [1, WRONG]})
    message = f"points: column 'b', row 1: {MESSAGE}"
    assert refusal(lambda: Instance.from_frame(frame, 1)) == message
    assert refusal(lambda: Instance(frame, 1)) == message
    with pytest.raises(ValueError, match="column 'b', row 1: is 9007199254740993"):
        ExactConstrainedKMeans(1).fit(frame)
    frame = frames.DataFrame({"a": [0.5, 1.5], "b": [1, EXACT]})
    assert Instance.from_frame(frame, 1).points[1, 1] == EXACT


def test_nullable_integers_of_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"b": pandas.array([1, WRONG], dtype="Int64")})
    message = f"points: column 'b', row 1: {MESSAGE}"
    assert refusal(lambda: Instance.from_frame(frame, 1)) == message


def test_text(tmp_path):
    path = tmp_path / "points.txt"
    path.write_text(f"3 2 1\n0 1\n# here\n2 {WRONG}\n3 4\n")
    assert refusal(lambda: read_points(path)) == f"{path}:4: column 2 {MESSAGE}"
    path.write_text(f"2 2 1\n{EXACT} {WRONG}.0\n-{EXACT} 1e30\n")
    assert read_points(path).points.tolist() == [[EXACT, EXACT], [-EXACT, 1e30]]


@pytest.mark.parametrize("heading", ["", "a,b,c\n"])
def test_csv(tmp_path, heading):
    path = tmp_path / "points.csv"
    path.write_text(f'{heading}1,2,0\n\n-{WRONG},"3",0\n')
    line = 4 if heading else 3
    message = MESSAGE.replace("90071", "-90071")
    assert refusal(lambda: read_points(path)) == f"{path}:{line}: column 1 {message}"
    drop = ["c" if heading else "3"]
    assert refusal(lambda: read_points(path, drop=drop)) == f"{path}:{line}: column 1 {message}"
    # A column that is no feature may hold anything.
    drop = ["a" if heading else "1"]
    assert read_points(path, drop=drop).points.tolist() == [[2.0, 0.0], [3.0, 0.0]]


def test_numpy_files(tmp_path):
    path = tmp_path / "points.npy"
    np.save(path, np.array([[1, WRONG]]))
    assert refusal(lambda: read_points(path)) == f"{path}: points[0, 1] {MESSAGE}"


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "points.parquet"
    parquet.write_table(pyarrow.table({"a": [0.5, 1.5], "id": [1, WRONG]}), path)
    message = f"{path}: points: column 'id', row 1: {MESSAGE}"
    assert refusal(lambda: read_points(path)) == message
    named = read_points(path, index_column="id")
    assert named.row_names == ("1", str(WRONG))
