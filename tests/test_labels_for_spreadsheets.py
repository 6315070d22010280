"""Labels as CSV: a spreadsheet that has written the data opens them as a table."""

import csv
import io

import numpy as np
import pytest

from sdpbb.problem import Origin
from sdpbb.problem.formats import labels_file, read_labels, read_points

NAMES, ASCII = ("Anna", "Björn", "Zoë"), ("Anna", "Bob", "Zoe")

# By case: the names, the separator and the encoding of the data, those of the labels, and how they
# begin.
CASES = {
    "excel in Europe": (NAMES, ";", "utf-8-sig", "utf-8-sig", b"\xef\xbb\xbf"),
    "of a mark alone": (ASCII, ";", "utf-8-sig", "utf-8-sig", b"\xef\xbb\xbf"),
    "letters beyond ASCII": (NAMES, ",", "utf-8", "utf-8-sig", b"\xef\xbb\xbf"),
    "ascii": (ASCII, ",", "utf-8", "utf-8", b"name,"),
    "tabs": (ASCII, "\t", "utf-8", "utf-8", b"name\t"),
    "old excel": (NAMES, ";", "cp1252", "cp1252", b"name;"),
    "unicode text": (NAMES, "\t", "utf-16", "utf-16", b"\xff\xfe"),
}


@pytest.mark.parametrize("case", CASES)
def test_labels_are_written_as_the_data_are(tmp_path, case):
    names, separator, encoding, expected, begins = CASES[case]
    rows = [("name", "x"), *((name, str(row)) for row, name in enumerate(names))]
    data = "".join(f"{separator.join(row)}\r\n" for row in rows)
    (tmp_path / "data.csv").write_bytes(data.encode(encoding))
    stated = {"encoding": "cp1252"} if encoding == "cp1252" else {}
    origin = read_points(tmp_path / "data.csv", index_column="name", **stated).origin
    content = labels_file(np.array([0, 0, 1]), origin)
    assert content.startswith(begins)
    with io.TextIOWrapper(io.BytesIO(content), expected, newline="") as file:
        table = list(csv.reader(file, delimiter=separator))
    assert table == [["name", "cluster"], *map(list, zip(names, "001", strict=True))]
    (tmp_path / "out.csv").write_bytes(content)
    assert read_labels(tmp_path / "out.csv", 3, origin=origin, **stated).tolist() == [0, 0, 1]


def test_runs_and_resumed_runs_write_labels_as_the_data_are(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_bytes(
        "name;x\nAnna;0,5\nBjörn;1,5\nZoë;9,5\n".encode("utf-8-sig")
    )
    stated = ["data.csv", "--index-column", "name", "--quiet"]
    expected = "name;cluster\nAnna;0\nBjörn;0\nZoë;1\n".encode("utf-8-sig")
    assert run("solve", *stated, "-k", "2", "--checkpoint", "run", "--labels", "a.csv")[0] == 0
    assert run("resume", "run", "--labels", "b.csv", "--quiet")[0] == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes() == expected


def test_labels_of_a_workbook_are_for_excel():
    origin = Origin(index_name="name", separator=",", row_names=("Anna", "Björn"))
    content = labels_file(np.array([0, 1]), origin)
    assert content == "name,cluster\nAnna,0\nBjörn,1\n".encode("utf-8-sig")
