"""Weights of points in a column of a file or of a data frame."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sdpbb
from heuristics.registry import METHODS
from sdpbb.errors import InstanceNote
from sdpbb.problem import Instance

TEXT = "id,x,count,y\na,0.0,3,1.0\nb,0.5,1,1.5\nc,9.0,2.5,7.0\n"


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(TEXT)
    return path


def assert_read(instance):
    assert instance.points.tolist() == [[0.0, 1.0], [0.5, 1.5], [9.0, 7.0]]
    assert instance.weights.tolist() == [3.0, 1.0, 2.5]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_column_holds_weights(data, tmp_path, kind):
    columns = {"index_column": "id", "weight_column": "count"}
    assert_read(Instance.from_files(data, 2, **columns))
    assert_read(sdpbb.read_instance(data, 2, **columns))
    frame = kind({"id": ["a", "b", "c"], "x": [0.0, 0.5, 9.0], "count": [3.0, 1.0, 2.5]})
    frame = (
        frame.assign(y=[1.0, 1.5, 7.0])
        if kind is pd.DataFrame
        else frame.with_columns(y=pl.Series([1.0, 1.5, 7.0]))
    )
    assert_read(Instance.from_frame(frame, 2, **columns))
    (tmp_path / "c.txt").write_text("CL a b\n")
    assert_read(Instance.from_points(frame, 2, tmp_path / "c.txt", **columns))
    frame.to_parquet(tmp_path / "p.parquet") if kind is pd.DataFrame else frame.write_parquet(
        tmp_path / "p.parquet"
    )
    assert_read(Instance.from_files(tmp_path / "p.parquet", 2, **columns))


def test_limits_on_weights_of_points_without_any_are_noted(data, tmp_path):
    limits = tmp_path / "limits.txt"
    limits.write_text("MAXWEIGHT 4\n")
    with pytest.warns(InstanceNote, match=r"limits\.txt: limits on weights count points, .* --wei"):
        Instance.from_files(data, 2, limits, drop=["id"])
    Instance.from_files(data, 2, limits, index_column="id", weight_column="count")  # no note


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


@pytest.mark.parametrize("name", METHODS)
def test_every_heuristic_reports_the_weighted_sum_of_squares(name):
    rng = np.random.default_rng(4)
    instance = Instance(
        rng.normal(size=(20, 2)), 3, [(0, 1)], [(2, 3)], weights=10.0 ** rng.uniform(-2, 2, 20)
    )
    found = sdpbb.heuristic(name).run(instance)
    labels = found.labels
    cost = sum(
        instance.weights[labels == c]
        @ np.square(instance.points[labels == c] - found.centers[c]).sum(axis=1)
        for c in range(3)
    )
    assert found.sum_of_squares == pytest.approx(cost, rel=1e-10)
