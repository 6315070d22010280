import itertools
import json

import numpy as np
import pytest

from sdpbb.app.cli import ExitCode, doctor
from sdpbb.app.cli.doctor import Fact, installation_facts, self_test
from sdpbb.run import kernels, solver
from sdpbb.runtime.version import installed_version


def named(facts):
    return {fact.name: fact for fact in facts}


def test_facts_of_this_installation():
    facts = list(installation_facts())
    found = named(facts)
    assert found["sdpbb"].value.startswith(installed_version())
    assert found["numpy"].value == np.__version__
    assert "usable of" in found["Cores"].value
    assert {fact.group for fact in facts} == {"Versions", "Machine", "Compiled kernels"}
    assert not {"gurobipy", "pytest"} & {*found}


def test_what_is_missing_is_told(monkeypatch):
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "scs" else "1.0")
    monkeypatch.setattr("sdpbb.runtime.memory.free_mebibytes", lambda: 100.0)
    found = named(installation_facts())
    assert found["scs"].problem == "scs is not installed; pip install scs"
    assert found["numpy"].problem == ""
    assert "only 100 MiB are free" in found["Memory"].problem


@pytest.mark.long
def test_the_self_test_passes():
    checks = list(self_test())
    assert [check.problem for check in checks] == [""] * 2


def test_a_wrong_answer_is_a_problem(monkeypatch):
    solve, costs = solver.solve, itertools.count(1.0)

    def wrong(instance, parameters, **named):
        found = solve(instance, parameters, **named)
        object.__setattr__(found, "objective", next(costs))
        return found

    monkeypatch.setattr(solver, "solve", wrong)
    assert next(self_test()).problem == "found 1.0 and 2.0, expected the same"


def test_what_a_check_raises_is_a_problem(monkeypatch):
    def fail(*_arguments, **_named):
        raise OSError("no\nroom")

    monkeypatch.setattr(solver, "solve", fail)
    assert [check.problem for check in self_test()] == ["OSError: no room"] * 2


def test_command(run, tmp_path):
    code, out, err = run("doctor", "--no-test", "--json", tmp_path / "d.json")
    values = json.loads((tmp_path / "d.json").read_text())
    assert err == ""
    assert code == (ExitCode.UNANSWERED if values["problems"] else ExitCode.FOUND)
    assert "Machine:" in out
    assert values["self_test"] == []
    assert values["facts"][0]["name"] == "sdpbb"


def test_command_with_a_failing_check(run, monkeypatch):
    failed = Fact("Self-test", "arithmetic", "0.1 s", "found 1, expected 2")
    monkeypatch.setattr(doctor, "self_test", lambda: iter([failed]))
    code, out, _ = run("doctor")
    assert code == ExitCode.UNANSWERED
    assert "Self-test:\n ! arithmetic            0.1 s\n" in out
    assert out.rstrip().endswith("arithmetic: found 1, expected 2")


def test_all_kernels_are_compiled_beforehand_and_once(monkeypatch, tmp_path, run):
    done = []
    monkeypatch.setattr(kernels, "_folder", lambda: tmp_path)
    monkeypatch.setattr(kernels, "exercise_all", lambda: done.append("all"))
    first, second = (run("doctor", "--warm", "--no-test")[1] for _ in range(2))
    assert done == ["all"]
    assert "all done (" in first
    assert "Compiling: nothing, as all kernels are cached" in second
