"""When kernels are compiled, and what is told of it."""

import importlib.util
import itertools
import pickle
import sys
import time

import numba
import pytest

from sdpbb import compilation, kernel_records, kernels
from sdpbb.bounds.sdp.admm_kernels import dual_sweeps
from sdpbb.compilation import RunKernels
from sdpbb.errors import BackendFailure
from sdpbb.kernels import compile_once
from sdpbb.time_left import RUN_CLOCK, Clock


@pytest.fixture
def part(monkeypatch, tmp_path):
    """The name of a part of the engine that no process has compiled, with a record of its own."""
    monkeypatch.setattr(kernel_records, "_known", set())
    monkeypatch.setattr(kernel_records, "_file", lambda part: tmp_path / f"kernels.{part}.txt")
    return "part"


def forget(part):
    """Have the next call be that of a new process."""
    kernel_records._known.discard(part)


def compile_one():
    numba.njit(lambda x: x + 1)(1)


def test_without_a_compiler_nothing_is_compiled(monkeypatch, part):
    # With NUMBA_DISABLE_JIT=1 kernels are plain functions.
    plain = getattr(dual_sweeps, "py_func", dual_sweeps)
    monkeypatch.setattr(kernels, "dual_sweeps", plain)
    compile_once(part, lambda: pytest.fail("called"), lambda: pytest.fail("told"))


def test_a_compilation_is_told_of_once(part):
    told = []
    for _ in range(2):
        compile_once(part, lambda: (compile_one(), compile_one()), lambda: told.append(part))
    assert told == [part]


def test_what_is_cached_is_called_by_the_first_process_only(part):
    calls = []
    for _ in range(2):
        compile_once(part, lambda: calls.append(part), lambda: pytest.fail("nothing is compiled"))
        forget(part)
    assert calls == [part]


def test_a_record_ends_with_any_of_its_files(part, monkeypatch, tmp_path):
    calls, file = [], tmp_path / "kernel.nbc"
    monkeypatch.setattr(
        kernel_records, "_cached_files", lambda part: [str(file)] if file.exists() else []
    )
    for content in (b"", pickle.dumps("longer"), None):
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content)
        for _ in range(2):
            compile_once(part, lambda: calls.append(part), lambda: None)
            forget(part)
    assert len(calls) == 3


KERNEL = """
from typing import NamedTuple
import numpy as np
import numba

class {name}(NamedTuple):
    value: int

@numba.njit(cache=True)
def kernel(pair):
    return pair.value

def exercise():
    assert kernel({name}(2)) == 2
"""
NAME = "heuristics.kernel_of_a_test"


@pytest.mark.parametrize("change", ["renamed", "cut short"])
def test_a_cache_that_cannot_be_read_is_compiled_anew(part, monkeypatch, tmp_path, change):
    monkeypatch.setattr(kernel_records, "KERNELS", (str(tmp_path),))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    file = tmp_path / "kernel_of_a_test.py"

    def told() -> list[str]:
        """What a new process tells."""
        forget(part)
        spec = importlib.util.spec_from_file_location(NAME, file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, NAME, module)
        spec.loader.exec_module(module)
        found = []
        compile_once(part, module.exercise, lambda: found.append("compiling"))
        module.exercise()
        return found

    file.write_text(KERNEL.format(name="Old"))
    assert told() == ["compiling"]
    assert told() == []
    cached = list(tmp_path.rglob("*.nb?"))
    assert cached
    if change == "renamed":
        file.write_text(KERNEL.format(name="Renamed"))
    else:
        for path in cached:
            path.write_bytes(path.read_bytes()[:-9])
    assert told() == ["compiling"]
    assert told() == []


@pytest.fixture
def exercised(part, monkeypatch) -> list[str]:
    """The parts that this process compiles."""
    calls = []

    def exercise(part):
        calls.append(part)
        compile_one()

    monkeypatch.setattr(kernels, "_exercise", exercise)
    return calls


@pytest.fixture(autouse=True)
def asked(monkeypatch) -> list[float]:
    """When processes were asked for; none is to be had."""
    found = []

    def no_process(*_):
        found.append(time.perf_counter())
        raise BackendFailure("no worker can be started")

    monkeypatch.setattr(compilation, "LocalProcesses", no_process)
    return found


def test_what_the_other_process_did_not_compile_is_compiled_here(exercised):
    told = []
    compilation.prepare_kernels(lambda: told.append("compiling"), "hybrid")
    assert exercised == ["heuristics", "heuristics-rare", "sdp", "sdp-rare", "colgen", "places"]
    assert told == ["compiling"]


def test_a_run_waits_for_the_kernels_that_it_begins_with(exercised):
    with RunKernels("hybrid", lambda: None) as run:
        assert exercised == ["sdp", "heuristics"]
        run.finish()
        later = {"heuristics-rare", "sdp-rare", "colgen", "places"}
        assert {*exercised} == {"sdp", "heuristics"} | later
        run.finish()
        assert len(exercised) == 6


def test_a_short_run_starts_no_process_for_what_it_does_not_need(exercised, asked, monkeypatch):
    monkeypatch.setattr(compilation, "LATE", 1e6)
    with RunKernels("hybrid", lambda: None) as run:
        before = len(asked)
        assert run.is_compiling
    assert not run.is_compiling
    assert len(asked) == before


@pytest.mark.parametrize("late", [0.0, 1e6])
def test_a_run_that_lasts_or_waits_for_kernels_starts_a_process(
    exercised, asked, monkeypatch, late
):
    monkeypatch.setattr(compilation, "LATE", late)
    with RunKernels("hybrid", lambda: None) as run:
        if late:
            run.finish()
        while run.is_compiling:
            time.sleep(0.01)
    assert len(asked) == 2  # one before the run


def test_the_clock_of_runs_stands_still_while_a_run_compiles(exercised, monkeypatch):
    monkeypatch.setattr("sdpbb.time_left.perf_counter", itertools.count().__next__)
    readings = []

    def compiled():
        """A function with a body that is evaluated by the compiler."""

    @numba.extending.overload(compiled)
    def typed():
        readings.append((RUN_CLOCK(), RUN_CLOCK()))
        return lambda: 1

    with RunKernels("hybrid", lambda: None):
        before = RUN_CLOCK()
        numba.njit(lambda: compiled())()
        assert readings
        assert all(first == second for first, second in readings)
        assert before < RUN_CLOCK() < RUN_CLOCK()


def test_a_clock_goes_on_when_nobody_stops_it_any_more(monkeypatch):
    monkeypatch.setattr("sdpbb.time_left.perf_counter", itertools.count(10).__next__)
    clock = Clock()
    assert [clock(), clock()] == [10, 11]
    with clock.stopped():  # at 12
        clock.stop()
        clock.go_on()
        assert [clock(), clock()] == [12, 12]
    assert [clock(), clock()] == [13, 14]  # it went on at 13, and was asked at 14 and 15
