"""Labels as CSV: a spreadsheet that has written the data opens them as a table."""

import csv
import io

import pytest

from sdpbb.problem.formats import read_labels, read_points

ROWS = [["name", "x", "y"], ["Anna", "0,5", "1"], ["Björn", "1,5", "1"], ["Zoë", "9,5", "8"]]
ASCII = [["name", "x", "y"], ["Anna", "0,5", "1"], ["Bob", "1,5", "1"], ["Zoe", "9,5", "8"]]


def text_of(rows, separator):
    lines = (separator.join(row) for row in rows)
    text = "".join(f"{line}\r\n" for line in lines)
    return text if separator == ";" else text.replace("0,5", "0.5").replace(",5", ".5")


def table(content, encoding, separator):
    with io.TextIOWrapper(io.BytesIO(content), encoding, newline="") as file:
        return list(csv.reader(file, delimiter=separator))


def pandas_table(path, encoding, separator):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(path, sep=separator, encoding=encoding)
    return [list(frame.columns), *(list(map(str, row)) for row in frame.itertuples(index=False))]


# By case: the rows, the separator, the encoding of the data, the options, the encoding of the
# labels, and how they begin.
CASES = {
    "excel in Europe": (ROWS, ";", "utf-8-sig", [], "utf-8-sig", b"\xef\xbb\xbf"),
    "of a mark alone": (ASCII, ";", "utf-8-sig", [], "utf-8-sig", b"\xef\xbb\xbf"),
    "letters beyond ASCII": (ROWS, ",", "utf-8", [], "utf-8-sig", b"\xef\xbb\xbf"),
    "ascii": (ASCII, ",", "utf-8", [], "utf-8", b"name,"),
    "tabs": (ASCII, "\t", "utf-8", [], "utf-8", b"name\t"),
    "old excel": (ROWS, ";", "cp1252", ["--encoding", "cp1252"], "cp1252", b"name;"),
    "unicode text": (ROWS, "\t", "utf-16", [], "utf-16", b"\xff\xfe"),
}


@pytest.mark.parametrize("case", CASES)
def test_labels_are_written_as_the_data_are(run, tmp_path, monkeypatch, case):
    rows, separator, encoding, options, expected, begins = CASES[case]
    monkeypatch.chdir(tmp_path)
    with open("data.csv", "w", encoding=encoding, newline="") as file:
        file.write(text_of(rows, separator))
    arguments = ["data.csv", "-k", "2", "--index-column", "name", *options, "--labels", "out.csv"]
    assert run("solve", *arguments, "--quiet")[0] == 0
    content = (tmp_path / "out.csv").read_bytes()
    assert content.startswith(begins)
    names = [row[0] for row in rows[1:]]
    wanted = [["name", "cluster"], [names[0], "0"], [names[1], "0"], [names[2], "1"]]
    assert table(content, expected, separator) == wanted
    assert pandas_table("out.csv", expected, separator) == wanted
    again = {"encoding": "cp1252"} if encoding == "cp1252" else {}
    origin = read_points("data.csv", index_column="name", **again).origin()
    assert read_labels("out.csv", 3, origin=origin, **again).tolist() == [0, 0, 1]


def test_labels_of_a_workbook_are_for_excel(run, tmp_path, monkeypatch):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    book = openpyxl.Workbook()
    for row in [["name", "x"], ["Anna", 0], ["Björn", 1], ["Zoë", 9]]:
        book.active.append(row)
    book.save("data.xlsx")
    arguments = ["data.xlsx", "-k", "2", "--index-column", "name", "--labels", "out.csv"]
    assert run("solve", *arguments, "--quiet")[0] == 0
    content = (tmp_path / "out.csv").read_bytes()
    assert content.startswith(b"\xef\xbb\xbfname,cluster\n")
    assert table(content, "utf-8-sig", ",")[2] == ["Björn", "0"]


def test_a_sweep_and_a_batch_write_labels_as_the_data_are(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("data.csv", "w", encoding="utf-8-sig", newline="") as file:
        file.write(text_of(ROWS, ";"))
    arguments = ["data.csv", "-k", "2-3", "--index-column", "name", "--out", "sweep"]
    assert run("sweep", *arguments, "--labels", "sweep.csv", "--quiet")[0] == 0
    wanted = [["name", "k=2", "k=3"], ["Anna", "0", "0"], ["Björn", "0", "1"], ["Zoë", "1", "2"]]
    for path in ("sweep.csv", "sweep/labels.csv"):
        assert table((tmp_path / path).read_bytes(), "utf-8-sig", ";") == wanted
    (tmp_path / "m.toml").write_text(
        '[[instance]]\ndata = "data.csv"\nk = 2\nindex_column = "name"\n'
    )
    assert run("batch", "m.toml", "--out", "results", "--quiet")[0] == 0
    wanted = [["name", "cluster"], ["Anna", "0"], ["Björn", "0"], ["Zoë", "1"]]
    content = (tmp_path / "results" / "labels" / "data-k2.csv").read_bytes()
    assert content.startswith(b"\xef\xbb\xbf")
    assert table(content, "utf-8-sig", ";") == wanted
    before = (tmp_path / "results" / "results.jsonl").read_bytes()
    assert run("batch", "m.toml", "--out", "results", "--resume", "--quiet")[0] == 0
    assert (tmp_path / "results" / "results.jsonl").read_bytes() == before


def test_resumed_runs_remember_how_the_data_are_written(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open("data.csv", "w", encoding="utf-8-sig", newline="") as file:
        file.write(text_of(ROWS, ";"))
    arguments = ["data.csv", "-k", "2", "--index-column", "name", "--checkpoint", "run"]
    assert run("solve", *arguments, "--quiet")[0] == 0
    assert run("resume", "run", "--labels", "out.csv", "--quiet")[0] == 0
    content = (tmp_path / "out.csv").read_bytes()
    assert table(content, "utf-8-sig", ";")[2] == ["Björn", "0"]
