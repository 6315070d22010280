"""What was done to the data: the steps that reports tell, and the note on one dominant column."""

import warnings

import numpy as np
import pytest

import sdpbb
from sdpbb.errors import InstanceNote
from sdpbb.problem.formats import read_instance, read_points
from sdpbb.problem.origin import dominant_column

DATA = "name,income,age,class,w\n" + "".join(
    f"p{i},{1000 * i},{age},a,{i + 1}\n" for i, age in enumerate([31, 33, 58, "", 35, 59])
)
NOTE = (
    "column 'income' has 99.9% of the variance, so that other columns hardly count; --standardize "
    "(standardize=True in Python) makes columns comparable"
)
STEPS = ("column 'name' names the rows", "column 'w' holds the weights of the rows")
OPTIONS = {"index_column": "name", "weight_column": "w", "drop": ["class"], "missing": "mean"}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(DATA)
    return path


def notes_of(read):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = read()
    assert all(issubclass(warning.category, InstanceNote) for warning in caught)
    return result, [str(warning.message) for warning in caught]


def test_a_column_with_nearly_all_of_the_variance_is_told(path):
    instance, notes = notes_of(lambda: read_instance(path, 2, **OPTIONS))
    assert notes == [
        f"{path}: 1 missing value filled in by the mean of 1 column: 'age'",
        f"{path}: {NOTE}",
    ]
    assert instance.origin.preparation == (
        *STEPS,
        "column left out: 'class'",
        "1 missing value filled in by the mean of 1 column: 'age'",
        NOTE,
    )


def test_standardized_columns_are_comparable(path):
    table, notes = notes_of(lambda: read_points(path, standardize=True, **OPTIONS))
    assert len(notes) == 1
    assert table.preparation[-1].startswith("columns are standardized to mean zero and variance")


def test_a_frame_is_told_like_its_file(path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(path)
    instance, notes = notes_of(lambda: sdpbb.Instance.from_frame(frame, 2, **OPTIONS))
    assert notes == ["1 missing value filled in by the mean of 1 column: 'age'", NOTE]
    assert instance.origin.preparation[-1] == NOTE


def test_rows_that_are_left_out_are_told(path):
    options = OPTIONS | {"missing": "drop-rows", "standardize": True}
    table, _ = notes_of(lambda: read_points(path, **options))
    assert "1 row of 6 dropped, as values are missing: 'p3'" in table.preparation


@pytest.mark.parametrize(
    ("points", "weights", "expected"),
    [
        ([[0.0, 0], [1, 0], [2, 0], [3, 0], [4, 0]], None, None),  # no other column varies
        ([[0.0], [1], [2], [3], [4]], None, None),
        ([[0.0, 0], [1, 1], [2, 2], [3, 3], [4, 9]], None, None),
        ([[0.0, 1], [1, 100]], None, None),  # too few
        ([[5.0, 0], [5, 100], [5, 200], [6, 300], [5, 400]], None, 1),
        ([[0.0, 0], [1, 9], [0, 9], [1, 9], [0, 9]], [1, 1e-9, 1, 1e-9, 1], 1),
        ([[1e308, 0], [-1e308, 1], [0, 0], [0, 0], [0, 0]], None, None),  # no finite variance
        ([[1e200, 0], [-1e200, 1], [0, 0], [0, 0], [0, 0]], None, 0),
    ],
)
def test_which_column_dominates(points, weights, expected):
    points = np.array(points)
    weights = None if weights is None else np.array(weights)
    found = dominant_column(points, weights)
    assert (None if found is None else found[0]) == expected
    if found is not None:
        assert 0.99 <= found[1] <= 1.0


COMMANDS = {
    "solve": ["solve", "data.csv", "-k", "2"],
    "gap": ["gap", "data.csv", "labels.txt"],
    "sweep": ["sweep", "data.csv", "-k", "2"],
    "heuristic": ["heuristic", "kmeans", "data.csv", "-k", "2"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("standardize", [False, True])
def test_every_command_tells_it_once(run, tmp_path, monkeypatch, command, standardize):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{1000 * i},{i % 3}\n" for i in range(6))
    (tmp_path / "data.csv").write_text(f"income,age\n{rows}")
    (tmp_path / "labels.txt").write_text("0\n0\n0\n1\n1\n1\n")
    status, _, err = run(*COMMANDS[command], *(["--standardize"] if standardize else []))
    assert status == 0
    assert err.count(f"note: data.csv: {NOTE}\n") == (not standardize)
    assert run(*COMMANDS[command], "--quiet")[2] == ""


def test_a_batch_tells_it_in_the_row(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{1000 * i},{i % 3}\n" for i in range(6))
    (tmp_path / "data.csv").write_text(f"income,age\n{rows}")
    (tmp_path / "m.toml").write_text('[[instance]]\ndata = "data.csv"\nk = 2\n')
    assert run("batch", "m.toml", "--out", "results", "--quiet")[0] == 0
    assert NOTE.replace('"', '\\"') in (tmp_path / "results" / "results.jsonl").read_text()
