import csv
import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from sdpbb.app.cli import ExitCode
from sdpbb.problem.formats import write_points
from sdpbb.run import solver

CONSTRAINTS = "ML 0 3\nML 10 14\n# wrong\nML 5 15\nCL 0 12\nCL 3 12\nCL 1 17\nCL 7 8\n"


@pytest.fixture
def run(run):
    """Run the command in this process: its exit status, standard output and standard error."""
    return lambda *arguments: run("price", *arguments, "--workers", "1")


@pytest.fixture
def data(tmp_path) -> Path:
    points = np.random.default_rng(0).normal(size=(20, 2))
    points[10:] += 12.0
    write_points(tmp_path / "points.txt", points, 2)
    return tmp_path / "points.txt"


@pytest.fixture
def constraints(tmp_path) -> Path:
    (tmp_path / "c.txt").write_text(CONSTRAINTS)
    return tmp_path / "c.txt"


def test_the_wrong_constraints_are_on_top(run, data, constraints):
    code, out, err = run(data, "--constraints", constraints)
    assert (code, err) == (ExitCode.OPTIMAL, "")
    heading, *table = out[out.index("stated at") :].splitlines()
    assert heading.split("  ")[0] == "stated at"
    assert " ".join(heading.split()[2:]) == "constraint costs at least at most found"
    told = {" ".join(line.split(":")[-1].split()[:4]) for line in table}
    assert told == {"4 ML 5 15", "8 CL 7 8"}
    assert "Priced          7 constraints\n" in out
    assert "Cost nothing    3, as the other constraints imply it\n" in out
    assert "Cost nothing    2, as no clustering that violates it is better\n" in out
    assert "; 0 to go\n" in out


def test_only_some_lines(run, data, constraints, tmp_path):
    code, out, _ = run(
        data, "--constraints", constraints, "--only", "4, 5-6", "--csv", tmp_path / "p.csv", "-q"
    )
    assert (code, out) == (ExitCode.OPTIMAL, "")
    with open(tmp_path / "p.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["place"] for row in rows] == [f"{constraints}:{line}" for line in (4, 5, 6)]
    assert float(rows[0]["price_lower"]) > 1.0
    assert [row["proof"] for row in rows[1:]] == ["implied", "implied"]


def test_positions_in_a_list_of_json(run, data, tmp_path):
    file = tmp_path / "c.json"
    file.write_text(json.dumps({"ml": [[0, 3], [5, 15]], "cl": [[0, 12]], "sml": [], "scl": []}))
    code, out, _ = run(data, "--constraints", file, "--only", "ml[1],cl[0]", "--json", "-", "-q")
    assert code == ExitCode.OPTIMAL
    places = [price["place"] for price in json.loads(out)["prices"]]
    assert places == [f"{file}: ml[1]", f"{file}: cl[0]"]


def test_the_table_is_cut_and_the_json_is_not(run, data, constraints, tmp_path):
    json_file = tmp_path / "p.json"
    _, out, _ = run(data, "--constraints", constraints, "--top", 1, "--json", json_file)
    assert "... and 1 more" in out
    assert len(json.loads(json_file.read_text())["prices"]) == 7


def test_a_time_limit_leaves_some_unpriced(run, data, constraints):
    code, out, _ = run(data, "--constraints", constraints, "--time-limit-each", 1e-6)
    assert code == ExitCode.LIMIT
    assert "(not solved to the end)" in out


def test_ctrl_c_tells_what_is_known(run, data, constraints, tmp_path, monkeypatch):
    solve = solver.solve

    def interrupted(*arguments, **options):
        """Interrupt the first run without a constraint."""
        os.kill(os.getpid(), signal.SIGINT)
        return solve(*arguments, **options)

    monkeypatch.setattr(solver, "solve", interrupted)
    json_file = tmp_path / "p.json"
    code, out, _ = run(data, "--constraints", constraints, "--json", json_file)
    assert code == ExitCode.INTERRUPTED
    assert "2 constraints, as the run was interrupted" in out
    values = json.loads(json_file.read_text())
    assert values["interrupted"]
    assert len(values["prices"]) == 5
    assert [s["text"] for s in values["unpriced"]] == ["ML 5 15", "CL 7 8"]


NOT_THERE = "no must-link or cannot-link there in"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--only", "3"], f"--only 3: {NOT_THERE} {{file}}"),
        (["--only", "9"], f"--only 9: {NOT_THERE} {{file}}"),
        (["--only", "two"], f"--only two: {NOT_THERE} {{file}}"),
        (["--only", "5-5"], "--only 5-5: expected a first line and a later one"),
        (["--top", "-1"], "--top -1: expected an integer >= 0"),
        (["--gap", "2"], "--gap 2.0: expected a number in [0, 1)"),
        (["--time-limit-each", "0"], "--time-limit-each 0.0: expected seconds > 0"),
    ],
)
def test_wrong_options_are_one_line(run, data, constraints, options, says):
    code, out, err = run(data, "--constraints", constraints, *options)
    assert (code, out) == (ExitCode.USAGE, "")
    assert err == f"error: {says.format(file=constraints)}\n"


def test_soft_constraints_have_prices_by_their_lines(run, data, constraints, tmp_path):
    constraints.write_text("SML 0 1 0\nSML 10 14 1\n# a comment\nSCL 7 8 1e-3\nSML 10 14 2\n")
    json_file, csv_file = tmp_path / "p.json", tmp_path / "p.csv"
    files = ("--json", json_file, "--csv", csv_file)
    code, out, _ = run(data, "--constraints", constraints, *files)
    assert code == 0
    assert f"{constraints}:4  SCL 7 8 0.001 (violated)" in out
    rows = {row["place"]: row for row in json.loads(json_file.read_text())["prices"]}
    assert set(rows) == {f"{constraints}:{line}" for line in (2, 4, 5)}
    told = rows[f"{constraints}:4"]
    assert (told["kind"], told["weight"], told["violated"]) == ("soft_cannot_link", 1e-3, True)
    header, *_ = csv_file.read_text().splitlines()
    assert header.startswith("place,kind,row_i,row_j,weight,violated,price_lower")
    code, out, _ = run(data, "--constraints", constraints, "--only", "4")
    assert (code, "Priced          1 constraint" in out) == (0, True)


def test_outputs_are_three_different_files(run, data, constraints, tmp_path):
    code, _, err = run(data, "--constraints", constraints, "--csv", constraints)
    assert (code, "is an input already" in err) == (ExitCode.USAGE, True)
    both = tmp_path / "both"
    code, _, err = run(data, "--constraints", constraints, "--csv", both, "--json", both)
    assert (code, "is an output already" in err) == (ExitCode.USAGE, True)


def test_the_help_names_the_exit_statuses(run):
    code, out, _ = run("--help")
    assert code == 0
    assert "every price is known within the gap" in out
