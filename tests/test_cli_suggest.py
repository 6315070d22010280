import csv
import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from sdpbb.app.cli import ExitCode
from sdpbb.problem.formats import read_instance, write_points


@pytest.fixture
def run(run):
    """Run the command in this process: its exit status, standard output and standard error."""
    return partial(run, "suggest")


@pytest.fixture
def data(tmp_path) -> Path:
    points = np.random.default_rng(0).normal(size=(20, 2))
    points[10:] += 3.0
    write_points(tmp_path / "points.txt", points, 2)
    return tmp_path / "points.txt"


def test_a_table_of_queries_with_their_reasons(run, data):
    code, out, err = run(data, "-q", 4)
    assert (code, err) == (ExitCode.FOUND, "")
    head, blank, heading, *rows = out.splitlines()
    assert head == "points: 20 points, k = 2, 0 constraints known"
    assert blank == ""
    assert heading.split() == ["together", "or", "apart?", "clusters", "score", "reason"]
    assert len(rows) == 4
    assert all("clusters" in row or "most likely of cluster" in row for row in rows)


def test_the_file_to_fill_in_is_read_once_it_is_filled_in(run, data, tmp_path):
    form = tmp_path / "answers.txt"
    assert run(data, "-q", 3, "--out", form, "--quiet") == (ExitCode.FOUND, "", "")
    text = form.read_text()
    assert text.startswith("# 3 pairs to answer. Replace ?? by\n")
    code, _, err = run(data, "--constraints", form)
    assert code == ExitCode.BAD_INPUT
    assert f"{form}:5: " in err
    form.write_text(text.replace("?? ", "ML "))
    instance = read_instance(data, constraints_path=form)
    assert len(instance.must_link) == 3
    assert "3 constraints known" in run(data, "--constraints", form)[1]


def test_names_of_rows_are_used(run, tmp_path):
    (tmp_path / "p.csv").write_text("name,x\na,0\nb,1\nc,9\nd,8\n")
    out = run(tmp_path / "p.csv", "-k", 2, "--index-column", "name", "--out", "-", "-q", 2)[1]
    asked = [line.split() for line in out.splitlines() if line.startswith("??")]
    assert len(asked) == 2
    assert {name for line in asked for name in line[1:3]} <= set("abcd")


def test_names_with_blanks_are_read_back(run, tmp_path):
    (tmp_path / "p.csv").write_text('name,x\n"a 1",0\n"b#2",1\n"c ""3""",9\nd,8\n')
    inputs = (tmp_path / "p.csv", "-k", 2, "--index-column", "name")
    form = tmp_path / "answers.txt"
    assert run(*inputs, "-q", 3, "--out", form, "--quiet") == (ExitCode.FOUND, "", "")
    lines = [line for line in form.read_text().splitlines() if line.startswith("??")]
    together = [('"a 1"' in line) == ('"b#2"' in line) for line in lines]
    answers = [
        line.replace("??", "ML" if is_same else "CL")
        for line, is_same in zip(lines, together, strict=True)
    ]
    form.write_text("\n".join(answers))
    code, out, err = run(*inputs, "--constraints", form)
    assert (code, err) == (ExitCode.FOUND, "")
    assert "3 constraints known" in out


def test_json_and_csv_hold_the_queries(run, data, tmp_path):
    outputs = ("--json", tmp_path / "q.json", "--csv", tmp_path / "q.csv")
    assert run(data, "-q", 3, *outputs)[0] == ExitCode.FOUND
    values = json.loads((tmp_path / "q.json").read_text())
    assert len(values["queries"]) == 3
    assert values["n_asked_for"] == 3
    assert len(values["labels"]) == 20
    with open(tmp_path / "q.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["reason"] for row in rows] == [query["reason"] for query in values["queries"]]


def test_a_clustering_can_be_given(run, data, tmp_path):
    (tmp_path / "labels.txt").write_text("0\n1\n" * 10)
    out = tmp_path / "q.json"
    assert run(data, "--clustering", tmp_path / "labels.txt", "--json", out)[0] == ExitCode.FOUND
    assert json.loads(out.read_text())["labels"] == [0, 1] * 10
    (tmp_path / "labels.txt").write_text("0\n" * 20)
    code, _, err = run(data, "--clustering", tmp_path / "labels.txt")
    assert code == ExitCode.USAGE
    assert err.startswith("error: --clustering ...: 1 cluster instead of k = 2; expected")


def test_when_nothing_is_left_a_line_says_so(run, tmp_path):
    write_points(tmp_path / "p.txt", np.arange(3.0)[:, None], 3)
    code, out, err = run(tmp_path / "p.txt")
    assert (code, err) == (ExitCode.FOUND, "")
    assert out.endswith("no queries: the constraints imply the answer for every pair\n")


def test_infeasible_constraints_are_one_line(run, data, tmp_path):
    (tmp_path / "c.txt").write_text("ML 0 1\nCL 1 0\n")
    code, out, err = run(data, "--constraints", tmp_path / "c.txt")
    assert (code, out) == (ExitCode.INFEASIBLE, "")
    assert err.startswith("error: no clustering satisfies the constraints: a cannot-link between")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-q", 0), "-q 0: expected an integer >= 1"),
        (("--queries", "x"), "--queries 'x': expected an integer"),
        (("--memberships", "none"), "--memberships 'none': expected one of 'covariance', "),
        (("--time-limit", 0), "--time-limit 0.0: expected seconds > 0"),
    ],
)
def test_wrong_usage(run, data, arguments, message):
    code, out, err = run(data, *arguments)
    assert (code, out) == (ExitCode.USAGE, "")
    assert err.startswith(f"error: {message}")


def test_a_form_without_answers_is_told(run, data, tmp_path):
    form = tmp_path / "form.txt"
    assert run(data, "-q", 2, "--out", form)[0] == ExitCode.FOUND
    code, _, err = run(data, "--constraints", form)
    assert code == ExitCode.BAD_INPUT
    assert "form.txt:5: has no answer yet; replace ?? by ML or CL" in err
