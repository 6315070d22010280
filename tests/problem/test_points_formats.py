"""Points as NumPy arrays, in Parquet, and from some of the columns of CSV."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sdpbb.errors import BackendUnavailable, InstanceNote
from sdpbb.problem.formats import read_labels, read_points, write_points

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e100, max_value=1e100)
CSV = "name,x,class,y\n anna ,1,a,2\n\ncarl,3,b,4\n"


def file(folder: Path, content: str | bytes, name: str) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def npy(array: np.ndarray, **options) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("points")


def csv(points: np.ndarray, heading: list[str]) -> str:
    return "\n".join([*heading, *(",".join(map(repr, row)) for row in points.tolist())])


WRITERS = {
    "points.txt": write_points,
    "points.csv": lambda path, points: path.write_text(csv(points, [])),
    "heading.csv": lambda path, points: path.write_text(
        csv(points, [",".join(f"x{j}" for j in range(points.shape[1]))])
    ),
    "points.npy": np.save,
    "by columns.npy": lambda path, points: np.save(path, np.asfortranarray(points)),
    "points.parquet": lambda path, points: parquet(
        path.parent, {f"x{j}": column for j, column in enumerate(points.T)}, path.name
    ),
}
# Arrays are read as an `Instance` takes them; the size of numbers in text is looked at later.
any_size = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.filterwarnings("ignore::sdpbb.errors.InstanceNote")  # of a column that dominates
@pytest.mark.parametrize("name", WRITERS)
@given(data=st.data())
def test_points_round_trip(folder, name, data):
    elements = any_size if name.endswith(("txt", "csv")) else finite
    shapes = st.tuples(st.integers(1, 6), st.integers(1, 4))
    points = data.draw(arrays(float, shapes, elements=elements))
    if elements is finite:
        assume(not 0 < np.ptp(points, axis=0).max() < 1e-100)
    WRITERS[name](folder / name, points)
    read = read_points(folder / name)
    assert np.array_equal(read.points, points)
    assert (read.k, read.row_names) == (None, None)


@given(k=st.integers(1, 3) | st.none())
def test_the_number_of_clusters_round_trips(folder, k):
    write_points(folder / "points.txt", np.eye(3), k)
    assert read_points(folder / "points.txt").k == k


@pytest.mark.parametrize("kind", ["int16", "bool", ">f4", "uint8"])
def test_arrays_of_other_numbers_will_do(tmp_path, kind):
    path = file(tmp_path, npy(np.array([[0, 1], [1, 1]], kind)), "POINTS.NPY")
    assert read_points(path).points.tolist() == [[0, 1], [1, 1]]


def test_columns_of_csv_are_chosen_by_name(tmp_path):
    path = file(tmp_path, CSV, "points.csv")
    read = read_points(path, index_column="name", drop=["class"])
    assert read.points.tolist() == [[1, 2], [3, 4]]
    assert read.row_names == ("anna", "carl")
    assert read_points(path, drop=["class", "name"]).row_names is None


@pytest.mark.parametrize("name", ["points.csv", "points.txt"])
def test_columns_without_a_heading_are_numbered_from_one(tmp_path, name):
    path = file(tmp_path, b'5.1,3.5,setosa\r\n4.9,3.0,"virginica, maybe"\r\n', name)
    assert read_points(path, drop=["3"]).points.tolist() == [[5.1, 3.5], [4.9, 3.0]]
    assert read_points(path, index_column="3").row_names == ("setosa", "virginica, maybe")


@pytest.mark.filterwarnings("ignore::sdpbb.errors.InstanceNote")  # of a column that dominates
@given(
    points=arrays(float, st.tuples(st.integers(1, 5), st.just(3)), elements=finite),
    drop=st.sets(st.sampled_from(["a", "b", "c"]), max_size=2),
)
def test_the_columns_that_are_left_are_the_features(folder, points, drop):
    lines = [
        "id,a,b,c",
        *(f"r{i},{a!r},{b!r},{c!r}" for i, (a, b, c) in enumerate(points.tolist())),
    ]
    path = file(folder, "\n".join(lines), "points.csv")
    read = read_points(path, index_column="id", drop=sorted(drop))
    kept = [j for j, name in enumerate("abc") if name not in drop]
    assert np.array_equal(read.points, points[:, kept])
    assert read.row_names == tuple(f"r{i}" for i in range(len(points)))


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"{SHARED} is not there")
def test_the_points_of_the_example_of_pccc_are_read_without_their_class():
    path = SHARED / "pccc" / "data.csv"
    read = read_points(path, drop=["class"])
    assert read.points.shape == (50, 2)
    assert read.points[0].tolist() == [9.74, -4.34]
    assert read_labels(path, 50, column="class")[:4].tolist() == [0, 1, 1, 2]


def parquet(folder: Path, columns: dict, name: str = "points.parquet", **options) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = folder / name
    parquet.write_table(pyarrow.table(columns), path, **options)
    return path


COLUMNS = {"id": [7, 5, 9], "x": [1.5, 2.0, 3.0], "n": [1, 2, 3], "kind": ["a", "b", "a"]}


def test_columns_of_parquet_are_chosen_by_name(tmp_path):
    path = parquet(tmp_path, COLUMNS)
    read = read_points(path, index_column="id", drop=["kind"])
    assert read.points.tolist() == [[1.5, 1], [2, 2], [3, 3]]
    assert read.row_names == ("7", "5", "9")
    assert read_points(path, drop=["kind", "id", "n"]).points.tolist() == [[1.5], [2], [3]]
    assert read_labels(path, 3, column="kind").tolist() == [0, 1, 0]


def test_the_index_of_a_frame_is_not_taken_for_a_feature(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "points.parquet"
    pandas.DataFrame({"x": [1.0, 2.0]}, index=[7, 9]).to_parquet(path)
    message = re.escape(f"{path}: the index of a data frame ('__index_level_0__') names the rows")
    with pytest.warns(InstanceNote, match=f"^{message}$"):
        assert read_points(path).row_names == ("7", "9")
    assert read_points(path, index_column="__index_level_0__").row_names == ("7", "9")
    assert read_points(path, drop=["__index_level_0__"]).row_names is None


def test_parquet_without_pyarrow_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = file(tmp_path, b"PAR1", "points.parquet")
    with pytest.raises(BackendUnavailable, match=r"pip install 'pyarrow>="):
        read_points(path)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (np.array([3, 1, 3]), [0, 1, 0]),
        (np.array(["b", "a", "b"]), [0, 1, 0]),
        (np.array([True, False, True]), [0, 1, 0]),
        (np.array([-0.0, 1.0, 0.0]), [0, 1, 0]),
        (np.array([2.0**80, 1.0, 2.0**80], np.float32), [0, 1, 0]),
        (np.array(["0", "1.0", "0.0"]), [0, 1, 0]),
        (np.array([2**64 - 1, 2**64 - 2, 2**64 - 1], np.uint64), [0, 1, 0]),
    ],
)
def test_labels_may_be_an_array(tmp_path, labels, expected):
    path = file(tmp_path, npy(labels), "labels.npy")
    assert read_labels(path, 3).tolist() == read_labels(path).tolist() == expected


def test_labels_may_be_a_column(tmp_path):
    assert read_labels(file(tmp_path, CSV, "a.csv"), column="class").tolist() == [0, 1]
    numbers = file(tmp_path, "x,class\n5,1\n6,2\n7,1.0\n", "c.csv")
    assert read_labels(numbers, column="class").tolist() == [0, 1, 0]
    unnamed = file(tmp_path, "5.1,setosa\n4.9,virginica\n", "b.csv")
    assert read_labels(unnamed, 2, column="2").tolist() == [0, 1]
