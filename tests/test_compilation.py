"""When kernels are compiled, and what is printed then."""

import importlib.util
import itertools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from sdpbb.bounds.sdp.admm import dual_sweeps
from sdpbb.run import kernels
from sdpbb.runtime.jit import KernelCache, clock_stopped_by_compiler
from sdpbb.runtime.time_left import RUN_CLOCK, StoppableClock

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A folder for marks that no process has been in."""
    monkeypatch.setattr(kernels, "_folder", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def calls(monkeypatch):
    """The times when all kernels have been called."""
    made = []
    monkeypatch.setattr(kernels, "exercise_all", lambda: made.append("all"))
    return made


def compile_one():
    numba.njit(lambda x: x + 1)(1)


def test_without_a_compiler_nothing_is_compiled(monkeypatch, folder, calls):
    # With NUMBA_DISABLE_JIT=1 kernels are plain functions.
    plain = getattr(dual_sweeps, "py_func", dual_sweeps)
    monkeypatch.setattr(kernels, "dual_sweeps", plain)
    kernels.compile_all()
    assert not calls


def test_a_compilation_is_told_of_once():
    told = []
    with clock_stopped_by_compiler(lambda: told.append("compiling")):
        compile_one()
        compile_one()
    assert told == ["compiling"]


def test_a_mark_ends_with_any_of_the_sources(folder, calls, monkeypatch):
    source = folder / "kernel.py"
    monkeypatch.setattr(kernels, "ROOT", str(folder.parent))
    monkeypatch.setattr(kernels, "PACKAGES", (folder.name,))
    for content in ("one", "two"):
        source.write_text(content)
        kernels._digest.cache_clear()
        for _ in range(2):
            kernels.compile_all()
            assert kernels.is_compiled()
    assert len(calls) == 2


def test_a_folder_that_cannot_be_written_to_holds_no_marks(folder, calls, monkeypatch):
    monkeypatch.setattr(kernels, "_folder", lambda: folder / "missing")
    for _ in range(2):
        kernels.compile_all()
    assert len(calls) == 2


KERNEL = """
from typing import NamedTuple
from sdpbb.runtime.jit import njit

class {name}(NamedTuple):
    value: int

@njit(cache=True)
def kernel(pair):
    return pair.value

def exercise():
    assert kernel({name}(2)) == 2
"""
NAME = "heuristics.kernel_of_a_test"


@pytest.mark.parametrize("change", ["renamed", "cut short"])
def test_a_cache_that_cannot_be_read_is_compiled_anew(monkeypatch, tmp_path, change):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    numba.config.reload_config()
    file = tmp_path / "kernel_of_a_test.py"

    def told() -> list[str]:
        """What a new process tells."""
        spec = importlib.util.spec_from_file_location(NAME, file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, NAME, module)
        spec.loader.exec_module(module)
        found = []
        with clock_stopped_by_compiler(lambda: found.append("compiling")):
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


def test_the_clock_of_runs_stands_still_while_a_run_compiles(monkeypatch):
    monkeypatch.setattr("sdpbb.runtime.time_left.perf_counter", itertools.count().__next__)
    readings = []

    def compiled():
        """A function with a body that is evaluated by the compiler."""

    @numba.extending.overload(compiled)
    def typed():
        readings.append((RUN_CLOCK(), RUN_CLOCK()))
        return lambda: 1

    with clock_stopped_by_compiler():
        before = RUN_CLOCK()
        numba.njit(lambda: compiled())()
        assert readings
        assert all(first == second for first, second in readings)
        assert before < RUN_CLOCK() < RUN_CLOCK()


def test_the_clock_of_runs_stands_still_while_a_run_loads(monkeypatch):
    monkeypatch.setattr("sdpbb.runtime.time_left.perf_counter", itertools.count().__next__)
    readings = []

    def load(*_):
        readings.append((RUN_CLOCK(), RUN_CLOCK()))

    monkeypatch.setattr("numba.core.caching.FunctionCache.load_overload", load)
    cache = KernelCache(dual_sweeps.py_func)
    with clock_stopped_by_compiler():
        cache.load_overload((), None)
    cache.load_overload((), None)  # as in a worker, whose time its caller counts
    (first, then), (later, last) = readings
    assert first == then
    assert later < last


def test_a_clock_goes_on_when_nobody_stops_it_any_more(monkeypatch):
    monkeypatch.setattr("sdpbb.runtime.time_left.perf_counter", itertools.count(10).__next__)
    clock = StoppableClock()
    assert [clock(), clock()] == [10, 11]
    with clock.stopped():  # at 12
        clock.stop()
        clock.go_on()
        assert [clock(), clock()] == [12, 12]
    assert [clock(), clock()] == [13, 14]  # it went on at 13, and was asked at 14 and 15


def test_kernels_can_be_imported_where_nothing_can_be_written(tmp_path):
    hidden = shutil.ignore_patterns("__pycache__")
    for package in ("sdpbb", "heuristics"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=hidden)
        for folder in {source.parent for source in (tmp_path / package).rglob("*.py")}:
            (folder / "__pycache__").touch()  # a file: not even root can write into it
    environment = os.environ | {
        "PYTHONPATH": str(tmp_path),
        "HOME": os.devnull,
        "XDG_CACHE_HOME": os.devnull,
    }
    environment.pop("NUMBA_CACHE_DIR", None)
    script = "from sdpbb.run import kernels; print(kernels.can_mark(), kernels.is_compiled())"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "False False\n", done.stderr
