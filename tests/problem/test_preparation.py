"""Steps of preparation in reports, and the note on a dominant column."""

import numpy as np
import pytest

from sdpbb.problem.origin import dominant_column

NOTE = (
    "column 'income' has 99.9% of the variance, so that other columns hardly count; --standardize "
    "(standardize=True in Python) makes columns comparable"
)


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
