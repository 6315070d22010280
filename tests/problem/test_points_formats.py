"""Files of points and of labels: what is written is read back, in every spelling."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sdpbb.errors import InstanceError
from sdpbb.problem.formats import read_labels, read_points, write_labels, write_points

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
EXPECTED = [[1.5, 2.0], [3.0, 4.25], [-5.0, 60.0]]
COMMA = "x,y\n1.5,2\n3,4.25\n-5,6e1\n"
EURO = "x;y\n1,5;2\n3;4,25\n-5;60,0\n"
finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e100, max_value=1e100)


def file(folder: Path, content: str | bytes, name: str) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


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
# Readers check arrays like an `Instance`; the size of numbers in text is checked later.
any_size = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.filterwarnings("ignore::sdpbb.errors.InstanceNote")  # on a dominant column
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
    assert (read.k, read.origin.row_names) == (None, None)


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


def test_a_workbook_that_states_too_few_cells_is_read_whole(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["x", "y"], [1, 2], [3, 4]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    with (
        zipfile.ZipFile(tmp_path / "a.xlsx") as given,
        zipfile.ZipFile(tmp_path / "b.xlsx", "w") as changed,
    ):
        for name in given.namelist():
            changed.writestr(name, given.read(name).replace(b'ref="A1:B3"', b'ref="A1:A2"'))
    assert read_points(tmp_path / "b.xlsx").points.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("content", "name", "options"),
    [
        (COMMA, "a.csv", {}),
        (COMMA.replace("\n", "\r\n"), "a.csv", {}),
        (COMMA.replace("\n", "\r"), "a.csv", {}),
        (COMMA.replace("\n", "\n\n"), "a.csv", {}),
        (COMMA.replace("\n", ",\n"), "a.csv", {}),
        (COMMA.replace("\n", ",,\n") + ",,,\n,,,\n", "a.csv", {}),
        (COMMA.replace("x,y\n", ""), "a.csv", {}),
        (COMMA.replace("x,y\n", "").replace("\n", ",\n"), "a.csv", {}),
        ('"x, in cm","y\n(long)"\n"1.5","2"\n3,4.25\n-5,60\n', "a.csv", {}),
        (EURO, "a.csv", {}),
        (EURO, "a.txt", {}),
        (EURO, "a.csv", {"decimal": ",", "separator": "semicolon"}),
        (EURO.replace("x;y", "Höhe, cm;Breite, cm"), "a.csv", {}),
        (EURO.replace("x;y\n", ""), "a.csv", {}),
        (EURO.replace(";", "\t"), "a.csv", {}),
        (EURO.replace(";", "\t"), "a.tsv", {}),
        (EURO.replace(";", "\t"), "a.txt", {}),
        (EURO.replace(";", "|"), "a.csv", {"separator": "|"}),
        ('x,y\n"1,5","2"\n"3","4,25"\n"-5","60,0"\n', "a.csv", {}),
        (COMMA.replace(",", "|"), "a.csv", {}),
        (COMMA.replace(",", "\t"), "a.csv", {"separator": "tab"}),
        ("3 2\n1,5 2\n3 4,25\n-5 60\n", "a.txt", {}),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@pytest.mark.parametrize("is_compressed", [False, True])
def test_spellings_of_the_same_points(tmp_path, content, name, options, encoding, is_compressed):
    data = content.encode(encoding)
    path = file(tmp_path, gzip.compress(data) if is_compressed else data, "points.csv")
    path = path.rename(tmp_path / (f"{name}.gz" if is_compressed else name))
    assert read_points(path, **options).points.tolist() == EXPECTED


def test_a_file_without_permission_is_told(tmp_path, monkeypatch):
    def refuse(*arguments, **options):
        raise PermissionError(13, "Permission denied")

    data = file(tmp_path, "1 1\n1\n", "points.txt")
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InstanceError, match=r"points.txt: cannot be read \(Permission denied\)"):
        read_points(data)


@given(labels=st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_labels_round_trip(folder, labels):
    write_labels(folder / "labels.txt", np.array(labels))
    read = read_labels(folder / "labels.txt", len(labels))
    assert np.array_equal(read[:, None] == read, np.equal.outer(labels, labels))
