import csv
import json

import numpy as np
import pytest

from sdpbb.app.cli import ExitCode
from sdpbb.problem.formats import write_points


@pytest.fixture
def run(run):
    """Run the command in this process: its exit status, standard output and standard error."""
    return lambda *arguments: run("sweep", *arguments, "--workers", "1")


@pytest.fixture
def data(tmp_path):
    points = np.random.default_rng(0).normal(size=(20, 2))
    points[10:] += 12.0
    write_points(tmp_path / "points.txt", points)
    return tmp_path / "points.txt"


def test_a_table_of_all_k(run, data, tmp_path):
    code, out, err = run(
        data, "-k", "1-3,5", "--json", tmp_path / "s.json", "--csv", tmp_path / "s.csv"
    )
    assert (code, err) == (ExitCode.OPTIMAL, "")
    assert "k = 5: optimal" in out
    assert "0 to go" in out
    table = out[out.index("silhouette") :].splitlines()
    assert [int(line.split()[0]) for line in table[1:5]] == [1, 2, 3, 5]
    rows = json.loads((tmp_path / "s.json").read_text())["sweep"]
    with open(tmp_path / "s.csv", newline="") as file:
        assert [row["k"] for row in csv.DictReader(file)] == [str(row["k"]) for row in rows]


def test_pictures(run, data, tmp_path):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "out"
    code, out, err = run(data, "-k", "2-4", "--out", folder, "--picture", tmp_path / "s.svg")
    assert (code, err) == (ExitCode.OPTIMAL, "")
    assert f"Written to {folder}/" in out
    assert (tmp_path / "s.svg").stat().st_size > 5000


def test_going_on(run, data, tmp_path):
    folder = tmp_path / "out"
    assert run(data, "-k", "2", "--out", folder, "-q")[0] == ExitCode.OPTIMAL
    code, _, err = run(data, "-k", "2-3", "--out", folder, "-q")
    assert code == ExitCode.BAD_INPUT
    assert "resume with --resume" in err
    assert run(data, "-k", "2-3", "--out", folder, "--resume", "-q")[0] == ExitCode.OPTIMAL
    assert (folder / "k3.checkpoint").exists()


@pytest.mark.parametrize("ks", ["", "0", "3-2", "a", "2-", "2;3", "1-99999"])
def test_numbers_of_clusters_that_are_none(run, data, ks):
    code, _, err = run(data, "-k", ks)
    assert code == ExitCode.USAGE
    assert err.startswith("error: -k ")
    assert err.count("\n") == 1


def test_a_sweep_with_other_parameters_names_them(run, data, tmp_path):
    folder = tmp_path / "sweep"
    assert run(data, "-k", "2", "--out", folder, "-q")[0] == ExitCode.OPTIMAL
    code, _, err = run(data, "-k", "2", "--out", folder, "--resume", "--gap", "0.5", "-q")
    assert code == ExitCode.USAGE
    assert err.startswith("error: --resume: ")
    assert "is of a run with other parameters (gap; limits and workers may change)" in err
