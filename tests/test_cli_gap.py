import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sdpbb.app.cli import ExitCode
from sdpbb.app.cli.exits import EXIT_CODES
from sdpbb.app.cli.gap import EXITS
from sdpbb.problem.formats import read_labels, write_points
from sdpbb.questions.gaps.report import LabelVerdict
from tests.problem.bad_files import BAD_LABELS

ROOT = Path(__file__).parents[1]
IRIS = ROOT / "instances" / "iris.txt"
IRIS_CONSTRAINTS = ROOT / "instances" / "iris_ml_19_cl_19.txt"
POINTS = np.array([[0.0, 0.0], [5.0, 0.0], [5.0, 1.0], [5.0, 2.0]])


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """The current one: points for k = 2, and labels of which the first are the best."""
    write_points(tmp_path / "points.txt", POINTS, 2)
    (tmp_path / "best.txt").write_text("x\ny\ny\ny\n")
    (tmp_path / "worse.txt").write_text("3\n3\n7\n7\n")
    (tmp_path / "three.txt").write_text("0\n1\n2\n2\n")
    (tmp_path / "c.txt").write_text("# known\nML 2 3\nCL 0 1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def figures(out: str) -> list[str]:
    """The lines below the log."""
    return out.split("\n\n")[2].splitlines()


def test_the_best_labels(run, folder):
    status, out, err = run("gap", "points.txt", "best.txt")
    assert (status, err) == (0, "")
    assert out.startswith("sdpbb ")
    assert figures(out)[0].startswith("Verdict         Your labels cost 2. They are proven optimal")
    assert "Best clustering 2, proven optimal, the labels themselves" in figures(out)


def test_worse_labels(run, folder):
    status, out, err = run("gap", "points.txt", "worse.txt", "--labels", "found.txt")
    assert (status, err) == (0, "")
    lines = figures(out)
    # 12.5 + 0.5 against 2
    assert lines[0].startswith(
        "Verdict         Your labels cost 13. A clustering that costs 2 exists (84.61 % less); "
        "none is more than 84.6"
    )
    assert "Sum of squares  13" in lines
    assert read_labels("found.txt", 4).tolist() == [0, 1, 1, 1]


def test_a_page_on_the_labels(run, folder):
    pytest.importorskip("matplotlib")
    arguments = ["points.txt", "worse.txt", "--constraints", "c.txt", "--report", "page.html"]
    status, _, err = run("gap", *arguments)
    assert (status, err) == (0, "")
    page = Path("page.html").read_text()
    assert "Not comparable" in page
    assert "c.txt:3" in page
    assert "How to do it again" in page
    assert run("gap", *arguments, "--json", "page.html")[0] == 2


def test_labels_that_violate_constraints(run, folder):
    arguments = ["points.txt", "worse.txt", "--constraints", "c.txt"]
    status, out, err = run("gap", *arguments, "--json", "out.json")
    assert (status, err) == (0, "")
    lines = figures(out)
    assert lines[0].startswith(
        "Verdict         Your labels violate 1 constraint, so they have no gap. They cost 13. "
    )
    assert lines[0].endswith("; one that costs 2 exists.")
    assert lines[2] == "Violated        cannot-link 0 1 (c.txt:3)"
    assert not any(line.startswith("Gap") for line in lines)
    values = json.loads(Path("out.json").read_text())
    assert (values["verdict"], values["gap"]) == (LabelVerdict.NOT_COMPARABLE.value, None)
    (violated,) = values["violations"]
    assert (violated["kind"], violated["rows"]) == ("cannot-link", ["0", "1"])
    assert values["best"]["labels"] == [0, 1, 1, 1]


def test_k_is_that_of_the_option_then_of_the_data_then_of_the_labels(run, folder):
    def k(*arguments: object) -> tuple[int, int]:
        status, out, _ = run("gap", *arguments, "--json", "-", "-q")
        assert status == 0
        values = json.loads(out)
        return values["k"], values["n_clusters"]

    assert k("points.txt", "three.txt", "-k", 4) == (4, 3)
    assert k("points.txt", "three.txt") == (2, 3)
    Path("points.csv").write_text("x,y\n0,0\n5,0\n5,1\n5,2\n")
    assert k("points.csv", "three.txt") == (3, 3)


def test_infeasible_constraints(run, folder):
    Path("c.txt").write_text("ML 0 1\nML 1 2\nCL 0 2\n")
    arguments = ["points.txt", "best.txt", "--constraints", "c.txt"]
    status, out, err = run("gap", *arguments, "--labels", "found.txt", "--json", "out.json")
    assert status == ExitCode.INFEASIBLE
    assert err == "no clustering found: found.txt was not written\n"
    assert "Verdict         Proven: no clustering satisfies the constraints." in out
    assert "c.txt:3" in out
    values = json.loads(Path("out.json").read_text())
    assert values["verdict"] == LabelVerdict.INFEASIBLE.value
    assert values["best"]["infeasibility"]["points"] == [0, 1, 2]
    assert not Path("found.txt").exists()


def test_a_limit(run, tmp_path):
    points = np.random.default_rng(0).normal(size=(120, 4))
    write_points(tmp_path / "points.txt", points)
    (tmp_path / "labels.txt").write_text("".join(f"{i % 8}\n" for i in range(120)))
    arguments = [tmp_path / "points.txt", tmp_path / "labels.txt", "--time-limit", 0.01]
    status, out, _ = run("gap", *arguments, "--json", "-", "-q", "--workers", 1)
    assert status == ExitCode.LIMIT
    values = json.loads(out)
    assert values["best"]["termination"] == "time_limit"
    assert 0 < values["gap"] <= 1


def test_options_reach_the_engine(run, folder):
    Path("c.txt").write_text("MAXSIZE 3\n")
    options = ["--gap", 1e-6, "--seed", 5, "--bounding", "colgen", "--no-fixing", "--workers", 1]
    arguments = ["points.txt", "best.txt", "--constraints", "c.txt", *options, "--json", "-", "-q"]
    status, out, _ = run("gap", *arguments)
    assert status == 0
    asked = json.loads(out)["best"]["parameters"]
    assert (asked["gap"], asked["seed"], asked["bounding"]) == (1e-6, 5, "colgen")
    assert (asked["workers"], asked["search"]["fixing"]) == (1, False)


def test_columns_and_names_of_rows(run, folder):
    Path("points.csv").write_text("id,x,class\na,0,u\nb,5,v\nc,6,v\nd,7,v\n")
    Path("c.txt").write_text("ML a b\n")
    arguments = ["points.csv", "best.txt", "--constraints", "c.txt"]
    status, out, err = run("gap", *arguments, "--index-column", "id", "--drop", "class")
    assert (status, err) == (0, "")
    assert "Violated        must-link a b (c.txt:1)" in figures(out)


def test_quiet(run, folder):
    assert run("gap", "points.txt", "worse.txt", "--quiet") == (0, "", "")


@pytest.mark.parametrize("bad", BAD_LABELS, ids=lambda bad: bad.name)
def test_bad_labels_end_with_one_line(run, folder, bad):
    path = bad.make(folder)
    expected = (ExitCode.BAD_INPUT, "", f"error: {bad.message(path)}\n")
    assert run("gap", "points.txt", path) == expected


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["none.txt", "best.txt"], ExitCode.BAD_INPUT, "none.txt: there is no such file"),
        (
            ["points.txt", "best.txt", "-k", 0],
            ExitCode.USAGE,
            "-k 0: expected 1 <= k <= n = 4, as no cluster may be empty",
        ),
        (
            ["points.txt", "best.txt", "--gap", 2],
            ExitCode.USAGE,
            "--gap 2.0: expected a number in [0, 1)",
        ),
        (
            ["points.txt", "best.txt", "--labels", "best.txt"],
            ExitCode.USAGE,
            "best.txt: is an input already; expected another file",
        ),
    ],
)
def test_wrong_arguments_end_with_one_line(run, folder, arguments, code, message):
    assert run("gap", *arguments) == (code, "", f"error: {message}\n")


def test_soft_constraints_that_are_kept_change_nothing(run, folder):
    Path("c.txt").write_text("SML 0 1 0.5\n")
    plain = run("gap", "points.txt", "best.txt")
    status, out, _ = run("gap", "points.txt", "best.txt", "--constraints", "c.txt")
    assert status == plain[0]
    assert out


def test_every_exit_status_is_documented(run):
    assert set(EXITS) == set(EXIT_CODES)
    status, out, _ = run("gap", "--help")
    assert status == 0
    for code, meaning in EXITS.items():
        assert f"{code.value:>5}  {meaning}\n" in out


def test_ctrl_c_writes_what_is_known(tmp_path):
    points = np.random.default_rng(0).normal(size=(250, 8))
    write_points(tmp_path / "points.txt", points)
    (tmp_path / "labels.txt").write_text("".join(f"{i % 20}\n" for i in range(250)))
    process = subprocess.Popen(
        [sys.executable, "-m", "sdpbb", "gap", "points.txt", "labels.txt", "--json", "out.json"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        line = process.stdout.readline()
        while line and not line.startswith(" "):  # the heading of the table: the run has begun
            line = process.stdout.readline()
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == ExitCode.INTERRUPTED
    assert err == "\ninterrupted: finishing; press Ctrl-C again to exit immediately\n"
    assert "The run was stopped by an interrupt." in out
    values = json.loads((tmp_path / "out.json").read_text())
    assert values["best"]["termination"] == "interrupted"
    assert 0 < values["gap"] <= 1
