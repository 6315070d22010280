import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from sdpbb.app.cli import ExitCode
from sdpbb.problem.colouring.exact import Colourability
from sdpbb.problem.formats import write_points
from sdpbb.run.explanation import check
from sdpbb.run.explanation.explain import Diagnosis
from tests.problem.bad_files import BAD_CONSTRAINTS, BAD_POINTS


@pytest.fixture
def run(run):
    """Run the command in this process: its exit status, standard output and standard error."""
    return partial(run, "check")


@pytest.fixture
def data(tmp_path) -> Path:
    write_points(tmp_path / "points.txt", np.random.default_rng(0).normal(size=(8, 2)), 3)
    return tmp_path / "points.txt"


@pytest.fixture
def constraints(tmp_path):
    """A file of constraints."""

    def write(text: str) -> Path:
        (tmp_path / "constraints.txt").write_text(text)
        return tmp_path / "constraints.txt"

    return write


def test_a_conflict_is_told_by_its_lines(run, data, constraints):
    file = constraints("# from a survey\nML 1 2\nCL 3 1\n\nML 2 3\nCL 0 7\n")
    code, out, err = run(data, "--constraints", file)
    assert (code, err) == (ExitCode.INFEASIBLE, "")
    assert out.endswith(
        "3 points in one cluster by must-links, but two of them cannot link:\n"
        f"  {file}:2  ML 1 2\n"
        f"  {file}:5  ML 2 3\n"
        f"  {file}:3  CL 1 3\n"
    )


def test_rows_are_numbered_as_in_the_file(run, data, constraints):
    file = constraints("ML 1 8\nCL 8 1\n")
    code, out, _ = run(data, "--constraints", file, "--one-based")
    assert code == ExitCode.INFEASIBLE
    assert f"{file}:1  ML 1 8" in out


def test_feasible_constraints_are_summed_up(run, data, constraints):
    code, out, err = run(data, "--constraints", constraints("ML 1 2\nML 2 1\nCL 2 3\n"))
    assert (code, err) == (ExitCode.FOUND, "")
    assert "Status          feasible" in out
    assert "1 constraint that the others imply:" in out
    assert "constraints.txt:2 repeats" in out


def test_data_alone_can_be_checked(run, data):
    code, out, _ = run(data)
    assert code == ExitCode.FOUND
    assert "0 must-links, 0 cannot-links" in out
    assert run(data, "-k", 5)[0] == ExitCode.FOUND


def test_soft_constraints_are_left_aside(run, data, constraints):
    code, out, _ = run(data, "--constraints", constraints("SML 0 1\nCL 0 1\n"))
    assert code == ExitCode.FOUND
    assert "1 soft constraint not checked" in out


def test_json_holds_it_all(run, data, constraints, tmp_path):
    file = constraints("ML 1 2\nCL 1 2\n")
    code, out, _ = run(data, "--constraints", file, "--json", tmp_path / "out.json", "-q")
    assert (code, out) == (ExitCode.INFEASIBLE, "")
    values = json.loads((tmp_path / "out.json").read_text())
    assert values["is_feasible"] is False
    assert [member["place"] for member in values["conflict"]["members"]] == [
        f"{file}:1",
        f"{file}:2",
    ]
    code, out, err = run(data, "--constraints", file, "--json", "-")
    assert json.loads(out) == values
    assert "infeasible" in err


def test_json_has_the_limits_on_sizes_and_weights(run, data, constraints):
    def limits(text: str) -> dict:
        _, out, _ = run(data, "--constraints", constraints(text), "--json", "-", "-q")
        names = ("min_size", "max_size", "sizes", "min_weight", "max_weight")
        values = json.loads(out)
        return {name: values[name] for name in names if values[name] is not None}

    assert limits("ML 0 1\n") == {}
    stated = "MINSIZE 2\nMAXSIZE 5\nMINWEIGHT 1.5\nMAXWEIGHT 6\n"
    expected = {"min_size": 2, "max_size": 5, "min_weight": 1.5, "max_weight": 6.0}
    assert limits(stated) == expected
    assert limits("SIZES 4 2 2\n") == {"sizes": [2, 2, 4]}


def test_what_was_not_found_out_has_its_own_status(run, data, monkeypatch):
    monkeypatch.setattr(check, "diagnose", lambda *arguments: Diagnosis(Colourability.UNKNOWN))
    code, out, _ = run(data)
    assert code == ExitCode.LIMIT_WITHOUT_CLUSTERING
    assert "unknown: found neither a clustering that satisfies them nor a proof of conflict" in out
    assert "time" not in out


@pytest.mark.parametrize("bad", BAD_POINTS[:3], ids=lambda bad: bad.says)
def test_wrong_points_are_one_line(run, tmp_path, bad):
    path = bad.make(tmp_path)
    assert run(path) == (ExitCode.BAD_INPUT, "", f"error: {bad.message(path)}\n")


@pytest.mark.parametrize("bad", BAD_CONSTRAINTS[:3], ids=lambda bad: bad.says)
def test_wrong_constraints_are_one_line(run, data, tmp_path, bad):
    path = bad.make(tmp_path)
    code, out, err = run(data, "--constraints", path)
    assert (code, out) == (ExitCode.BAD_INPUT, "")
    assert err.startswith(f"error: {path}")
    assert err.count("\n") == 1


def test_a_wrong_time_limit_is_named_as_an_option(run, data):
    code, out, err = run(data, "--time-limit", 0)
    assert (code, out) == (ExitCode.USAGE, "")
    assert err == "error: --time-limit 0.0: expected seconds > 0\n"


def test_outputs_do_not_overwrite_inputs(run, data):
    before = data.read_text()
    code, _, err = run(data, "--json", data)
    assert code == ExitCode.USAGE
    assert "is an input already" in err
    assert data.read_text() == before


def test_the_help_names_the_exit_statuses(run):
    code, out, _ = run("--help")
    assert code == 0
    assert "a clustering satisfies the constraints" in out
