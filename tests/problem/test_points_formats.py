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

from sdpbb.errors import BackendUnavailable, InstanceError, InstanceNote
from sdpbb.problem.formats import read_labels, read_points, write_points
from sdpbb.problem.missing import REMEDY
from sdpbb.problem.table import TABLES

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


def refused(path: Path, message: str, **options) -> None:
    with pytest.raises(InstanceError) as caught:
        read_points(path, **options)
    assert str(caught.value) == message.format(path=path)


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


HEADER = npy(np.zeros((3, 2)))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"1 2\n3 4\n",
        HEADER[:-1],
        HEADER.replace(b"(3, 2), }" + b" " * 10, b"(10000000000, 90), }"),
        HEADER.replace(b"(3, 2)", b"(3, 'a"),
        HEADER.replace(b"(3, 2), ", b"(-3, 2),"),
        # A division by zero in NumPy, which ends the process.
        HEADER.replace(b"'<f8'", b"'<U0'").replace(b"(3, 2), ", b"(-1,), "),
        HEADER.replace(b"NUMPY\x01", b"NUMPY\x03"),
        npy(np.array([[{}]]), allow_pickle=True),
    ],
)
def test_what_is_no_array_is_refused(tmp_path, content):
    path = file(tmp_path, content, "points.npy")
    expected = f"^{re.escape(str(path))}: is not an array that numpy.save wrote \\(.*\\)$"
    with pytest.raises(InstanceError, match=expected):
        read_points(path)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros(3), "an array of shape (3,); expected (n, d) with n >= 1 and d >= 1"),
        (np.zeros((0, 3)), "an array of shape (0, 3); expected (n, d) with n >= 1 and d >= 1"),
        (np.array([["a"]]), "text; expected a rectangular table of real numbers"),
        (np.array([[1j]]), "complex numbers; expected a rectangular table of real numbers"),
    ],
)
def test_arrays_that_are_no_points_are_refused(tmp_path, array, message):
    refused(file(tmp_path, npy(array), "points.npy"), f"{{path}}: points: {message}")


def test_an_array_with_a_gap_is_refused(tmp_path):
    path = file(tmp_path, npy(np.array([[1.0], [np.nan]])), "points.npy")
    refused(
        path,
        "{path}: points: column 1 has no value in row 1, and 1 row of 2 lacks one; expected "
        + REMEDY,
    )


def test_missing_files_and_folders_are_told(tmp_path):
    refused(tmp_path / "none.npy", "{path}: there is no such file")
    (tmp_path / "folder.npy").mkdir()
    refused(tmp_path / "folder.npy", "{path}: is a folder; expected a file")


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


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            CSV,
            {"drop": ["Class"]},
            "{path}:1: drop = 'Class': there is no such column; expected one of 'name', 'x', "
            "'class', 'y'",
        ),
        (
            CSV,
            {"index_column": "id"},
            "{path}:1: index_column = 'id': there is no such column; expected one of 'name', 'x', "
            "'class', 'y'",
        ),
        (
            CSV,
            {"index_column": "name"},
            "{path}:2: column 3 is 'a'; expected a finite number, or to leave the column out "
            "(--drop 'class')",
        ),
        (
            "x,y\n1,2\n3\n",
            {"drop": ["y"]},
            "{path}:3: the row has 1 fields; line 1 has 2",
        ),
        (
            "x,y\n1,a\n2,b\n3,a\n",
            {"index_column": "y"},
            "{path}: index_column = 'y': rows 0 and 2 are both called 'a'; expected names that "
            "differ",
        ),
        ("x,y\n", {"drop": ["y"]}, "{path}:1: no rows after the heading; expected points"),
        (
            "x,y\n1,2\n",
            {"drop": ["x", "y"]},
            "{path}:1: no feature columns remain; expected at least one",
        ),
        (
            "x,x\n1,2\n",
            {"drop": ["x"]},
            "{path}:1: drop = 'x': two columns have this name; expected different names",
        ),
        ("x,y\n1,inf\n", {"drop": ["x"]}, "{path}:2: column 2 is 'inf'; expected a finite number, "
            "or to leave the column out (--drop 'y')"),
        ("", {"drop": ["x"]}, "{path}: the file is empty; expected points"),
        ("x,y\n1,2\n", {"drop": "x"}, "drop = 'x': expected a list of columns"),
    ],
)  # fmt: skip
def test_wrong_choices_of_columns_are_told(tmp_path, content, options, message):
    refused(file(tmp_path, content, "points.csv"), message, **options)


@pytest.mark.parametrize(
    ("name", "content"), [("points.txt", b"1 1\n0\n"), ("points.npy", npy(np.zeros((1, 1))))]
)
def test_files_without_names_of_columns_have_none_to_choose(tmp_path, name, content):
    path = file(tmp_path, content, name)
    for options in ({"drop": ["x"]}, {"index_column": "x"}):
        argument = next(iter(options))
        message = (
            f"{argument} = 'x': the columns of {{path}} have no names; expected {TABLES} with it"
        )
        refused(path, message, **options)


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


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (
            COLUMNS,
            {},
            "{path}: points: column 'kind' holds 'a' in row 0; expected numbers, or to leave the "
            "column out (drop), or to name the rows by it (index_column), or columns of 0 and 1 "
            "for its categories (one_hot)",
        ),
        (
            COLUMNS,
            {"drop": ["class"]},
            "{path}: drop = 'class': there is no such column; expected one of 'id', 'x', 'n', "
            "'kind'",
        ),
        (
            COLUMNS,
            {"index_column": "kind"},
            "{path}: index_column = 'kind': rows 0 and 2 are both called 'a'; expected names that "
            "differ",
        ),
        (
            {"x": [1.0, None]},
            {},
            "{path}: points: column 'x' has no value in row 1, and 1 row of 2 lacks one; expected "
            + REMEDY,
        ),
        (
            {"x": [1.0, 2.0], "id": ["a", None]},
            {"index_column": "id"},
            "{path}: index_column = 'id': row 1 has no name; expected one for every row",
        ),
    ],
)
def test_wrong_parquet_is_told(tmp_path, columns, options, message):
    refused(parquet(tmp_path, columns), message, **options)


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


def test_a_damaged_parquet_file_is_told(tmp_path):
    path = parquet(tmp_path, COLUMNS)
    content = path.read_bytes()
    for damaged in (b"", b"PAR1", content[:-9], content[: len(content) // 2], b"x" + content[5:]):
        path.write_bytes(damaged)
        with pytest.raises(InstanceError, match=f"^{re.escape(str(path))}: ") as caught:
            read_points(path)
        assert "\n" not in str(caught.value)


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


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "0.5"])
def test_numbers_that_are_not_whole_are_no_labels(tmp_path, value):
    whole = "expected a whole number or a word as label"
    cases: list[tuple[str, str | bytes, str | None, str]] = [
        ("a.txt", f"0\n\n{value}\n", None, f":3: '{value}'; {whole}"),
        (
            "a.csv",
            f"x,kind\n0,0\n1,{value}\n",
            "kind",
            f":3: '{value}'; {whole}",
        ),
        ("a.npy", npy(np.array(["0", value])), None, f": label 1: '{value}'; {whole}"),
        (
            "b.npy",
            npy(np.array([0.0, float(value)])),
            None,
            f": label 1 is {value}; expected labels (n,), integers or words",
        ),
    ]
    for name, content, column, message in cases:
        path = file(tmp_path, content, name)
        with pytest.raises(InstanceError) as caught:
            read_labels(path, column=column)
        assert str(caught.value) == f"{path}{message}"


@pytest.mark.parametrize("labels", [np.array([0.5]), np.zeros((2, 2), int), np.array(["a"], "S1")])
def test_other_arrays_are_no_labels(tmp_path, labels):
    path = file(tmp_path, npy(labels), "labels.npy")
    with pytest.raises(InstanceError, match=r"expected labels \(n,\), integers or words$"):
        read_labels(path)


def test_an_array_of_characters_that_do_not_exist_is_no_labels(tmp_path):
    path = file(tmp_path, npy(np.array(["a"])).replace(b"a\0\0\0", b"a\0\0\x7f"), "labels.npy")
    with pytest.raises(InstanceError, match=r"expected labels \(n,\), integers or words$"):
        read_labels(path)


def test_labels_may_be_a_column(tmp_path):
    assert read_labels(file(tmp_path, CSV, "a.csv"), column="class").tolist() == [0, 1]
    numbers = file(tmp_path, "x,class\n5,1\n6,2\n7,1.0\n", "c.csv")
    assert read_labels(numbers, column="class").tolist() == [0, 1, 0]
    unnamed = file(tmp_path, "5.1,setosa\n4.9,virginica\n", "b.csv")
    assert read_labels(unnamed, 2, column="2").tolist() == [0, 1]


@pytest.mark.parametrize(
    ("name", "content", "column", "message"),
    [
        ("a.csv", CSV, "kind", "{path}:1: column = 'kind': there is no such column; expected one "
            "of 'name', 'x', 'class', 'y'"),
        ("a.txt", "0\n1\n", "kind", "{path}:1: column = 'kind': there is no such column; expected "
            "one of '1'"),
        ("a.csv", CSV, None, "{path}:1: a table of the columns 'name', 'x', 'class', 'y'; "
        "expected --column with the name of the labels"),
        ("a.csv", "a,a\n1,2\n", "a", "{path}:1: column = 'a': two columns have this name; "
        "expected one of 'a', 'a'"),
        ("a.npy", npy(np.zeros(2)), "a", "column: {path} has no columns; expected " + TABLES
            + " with it"),
    ],
)  # fmt: skip
def test_what_holds_no_labels_is_told(tmp_path, name, content, column, message):
    path = file(tmp_path, content, name)
    with pytest.raises(InstanceError) as caught:
        read_labels(path, column=column)
    assert str(caught.value) == message.format(path=path)
