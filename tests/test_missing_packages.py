"""Optional packages that are missing: exit status 2, one line, before anything is computed."""

import sys

import numpy as np
import pytest

from sdpbb.app.cli import ExitCode
from sdpbb.errors import BackendUnavailable
from sdpbb.problem import Instance
from sdpbb.problem.formats import write_points
from sdpbb.runtime.version import install_command, requirements

MANIFEST = '[[instance]]\ndata = "points.txt"\n'
CASES = {
    "solve": ("matplotlib", ["solve", "points.txt", "--report", "out.html"]),
    "gap": ("matplotlib", ["gap", "points.txt", "labels.txt", "--report", "out.html"]),
    "sweep": ("matplotlib", ["sweep", "points.txt", "-k", "2-3", "--report", "out.html"]),
    "batch": (
        "matplotlib",
        ["batch", "manifest.toml", "--out", "results", "--report", "out.html"],
    ),
    "dask": ("distributed", ["solve", "points.txt", "--dask", "tcp://127.0.0.1:9"]),
    "gurobi": ("gurobipy", ["heuristic", "pccc", "points.txt", "-o", "solver=gurobi"]),
    "workbook": ("openpyxl", ["solve", "points.xlsx", "-k", "2"]),
    "parquet": ("pyarrow", ["solve", "points.parquet", "-k", "2"]),
    "feather": ("pyarrow", ["check", "points.feather", "-k", "2"]),
    "labels": ("openpyxl", ["gap", "points.txt", "points.xlsx"]),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_points("points.txt", np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 1.0], [6.0, 1.0]]), 2)
    (tmp_path / "labels.txt").write_text("0\n0\n1\n1\n")
    (tmp_path / "manifest.toml").write_text(MANIFEST)
    for ending in ("xlsx", "parquet", "feather"):
        (tmp_path / f"points.{ending}").write_bytes(b"only there")
    return tmp_path


@pytest.fixture
def no_computing(monkeypatch):
    def fail(*_arguments, **_named):
        raise AssertionError("something is computed")

    for name in (
        "sdpbb.run.solving.Run._solve",
        "sdpbb.questions.batch.batch.run_batch",
        "heuristics.method.first_clustering",
    ):
        monkeypatch.setattr(name, fail)


@pytest.mark.parametrize("case", CASES)
def test_a_missing_package_is_told_before_anything_is_computed(
    run, folder, no_computing, monkeypatch, case
):
    package, arguments = CASES[case]
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    before = sorted(folder.iterdir())
    status, out, err = run(*arguments)
    assert (status, out) == (ExitCode.USAGE, "")
    assert err.startswith("error: ")
    assert f"'{package}" in err.partition("pip install ")[2]
    assert err.count("\n") == 1
    assert sorted(folder.iterdir()) == before


def test_python_is_told_the_extra(monkeypatch, tmp_path):
    from sdpbb.plots.pages import write_html_report

    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    instance = Instance([[0.0], [1.0]], k=2)
    with pytest.raises(BackendUnavailable) as raised:
        write_html_report(tmp_path / "report.html", instance, None)
    assert raised.value.extra == "plot"


def test_commands_name_packages_that_an_index_has():
    assert install_command("plot") == "pip install 'matplotlib>=3.8'"
    assert "sdpbb" not in install_command("test")


def test_requirements_of_the_package_itself_are_those_without_an_extra():
    needed = requirements()
    assert any(text.startswith("numpy") for text in needed)
    assert not any(text.startswith(("matplotlib", "pytest")) for text in needed)
    assert requirements("none") == ()
