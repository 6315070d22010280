"""`sdpbb parameters`, and `--parameters FILE` of other commands."""

import tomllib

import pytest

from sdpbb.app.cli.options import EngineOptions
from sdpbb.run.parameters import SolverParameters


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "parameters.toml"
    path.write_text("gap = 0.25\nworkers = 3\n[sdp]\nsolver = 'scs'\n[search]\nfixing = false\n")
    return str(path)


def test_all_cores_are_used_unless_something_else_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("sdpbb.app.cli.options.usable_cores", lambda: 7)
    path = tmp_path / "parameters.toml"
    path.write_text("gap = 0.5\n")
    assert EngineOptions(file=str(path)).parameters().workers == 7
    assert EngineOptions(workers=2).parameters().workers == 2
    path.write_text("dask = 'tcp://host:1'\n")
    assert EngineOptions(file=str(path)).parameters().workers == 1
    assert EngineOptions(file=str(path), workers=2).parameters().dask is None


def test_a_file_that_is_printed_can_be_read(run, file, tmp_path):
    status, out, _ = run("parameters", "--toml", "--parameters", file)
    assert status == 0
    assert tomllib.loads(out)["gap"] == 0.25
    path = tmp_path / "printed.toml"
    path.write_text(out)
    assert SolverParameters.load(path) == SolverParameters.load(file)
