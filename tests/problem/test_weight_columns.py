"""Weights of points in a column of a file or of a data frame."""

import json

import pandas as pd
import pytest

import sdpbb

TEXT = "id,x,count,y\na,0.0,3,1.0\nb,0.5,1,1.5\nc,9.0,2.5,7.0\n"


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(TEXT)
    return path


def test_gaps_and_batches_take_weights(data, tmp_path, run):
    weights = [3.0, 1.0, 2.5]
    points = [[0.0, 1.0], [0.5, 1.5], [9.0, 7.0]]
    report = sdpbb.optimality_gap(points, [0, 0, 1], weights=weights)
    assert report.objective == pytest.approx(0.75 * 0.5)
    (tmp_path / "l.txt").write_text("0\n0\n1\n")
    columns = ["--index-column", "id", "--weight-column", "count"]
    code, out, err = run("gap", data, tmp_path / "l.txt", *columns, "--json", tmp_path / "g.json")
    assert (code, err) == (0, "")
    assert "3 points with weights, 2 features" in out
    assert json.loads((tmp_path / "g.json").read_text())["objective"] == pytest.approx(0.375)
    manifest = '[[instance]]\ndata = "data.csv"\nk = 2\nindex_column = "id"\n'
    (tmp_path / "m.toml").write_text(manifest + 'weight_column = "count"\n')
    code, _, err = run("batch", tmp_path / "m.toml", "--out", tmp_path / "out")
    assert code == 0
    rows = pd.read_csv(tmp_path / "out" / "results.csv")
    assert rows["objective"].tolist() == pytest.approx([0.375])
