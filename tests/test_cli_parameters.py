"""`sdpbb parameters`, and `--parameters FILE` of other commands."""

import subprocess
import sys
import tomllib

import pytest

from sdpbb.app.cli.engine import solver_parameters
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.run.parameters import SolverParameters


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "parameters.toml"
    path.write_text("gap = 0.25\nworkers = 3\n[sdp]\nsolver = 'scs'\n[search]\nfixing = false\n")
    return str(path)


def test_options_take_precedence_over_the_file(file):
    read = solver_parameters(file)
    assert read == SolverParameters.load(file)
    assert read.workers == 3
    changed = solver_parameters(file, gap=0.5, sdp_solver="admm", fixing=True, seed=None)
    assert (changed.gap, changed.sdp.solver, changed.search.fixing) == (0.5, "admm", True)
    assert solver_parameters(file, dask="tcp://host:1").workers == 1


def test_all_cores_are_used_unless_something_else_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("sdpbb.app.cli.engine.usable_cores", lambda: 7)
    path = tmp_path / "parameters.toml"
    path.write_text("gap = 0.5\n")
    assert solver_parameters(str(path)).workers == 7
    assert solver_parameters(workers=2).workers == 2
    path.write_text("dask = 'tcp://host:1'\n")
    assert solver_parameters(str(path)).workers == 1
    assert solver_parameters(str(path), workers=2).dask is None


def test_what_is_wrong_with_a_file_is_told_of_the_file(tmp_path):
    path = tmp_path / "parameters.toml"
    path.write_text("[sdp]\nmax_iterations = 0\n")
    with pytest.raises(InstanceError) as caught:
        solver_parameters(str(path))
    expected = "sdp.max_iterations = 0: expected an integer >= 1"
    assert str(caught.value) == f"{path}: {expected}"
    with pytest.raises(ParameterError, match=r"^gap = 2: expected"):
        solver_parameters(gap=2)


def run(*arguments):
    command = [sys.executable, "-m", "sdpbb", "parameters", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def test_parameters_are_printed(file):
    status, out, err = run("search.fixing", "--parameters", file)
    assert (status, err) == (0, "")
    first, *others = out.splitlines()
    assert first == "search.fixing = False"
    assert others[-1] == "    Default: True. Expected: True or False."
    assert run("nothing") == (2, "", "error: PREFIX 'nothing': no parameter starts with it\n")


def test_a_file_that_is_printed_can_be_read(file, tmp_path):
    status, out, _ = run("--toml", "--parameters", file)
    assert status == 0
    assert tomllib.loads(out)["gap"] == 0.25
    path = tmp_path / "printed.toml"
    path.write_text(out)
    assert SolverParameters.load(path) == SolverParameters.load(file)
