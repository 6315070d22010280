"""When kernels are compiled, and what is told of it."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from sdpbb import compilation
from sdpbb.bounds.sdp import kernels
from sdpbb.compilation import compile_once
from sdpbb.errors import BackendFailure

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def part(monkeypatch, tmp_path):
    """The name of a part of the engine that no process has compiled, with a record of its own."""
    monkeypatch.setattr(compilation, "_ready", set())
    monkeypatch.setattr(compilation, "_record", lambda part: tmp_path / f"kernels.{part}.txt")
    return "part"


def forget(part):
    """Have the next call be that of a new process."""
    compilation._ready.discard(part)


def compile_one():
    numba.njit(lambda x: x + 1)(1)


def test_without_a_compiler_nothing_is_compiled(monkeypatch, part):
    # With NUMBA_DISABLE_JIT=1 kernels are plain functions.
    monkeypatch.setattr(compilation, "spread", getattr(kernels.spread, "py_func", kernels.spread))
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
    monkeypatch.setattr(compilation, "_cached_files", lambda: [str(file)] if file.exists() else [])
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
SCRIPT = """
import heuristics.kernel_of_a_test as module
from sdpbb.compilation import compile_once
from sdpbb.errors import BackendFailure

compile_once("test", module.exercise, lambda: print("compiling"))
"""


@pytest.mark.parametrize("name", ["New", None], ids=["renamed", "cut short"])
@pytest.mark.long
def test_a_cache_that_cannot_be_read_is_compiled_anew(tmp_path, name):
    hidden = shutil.ignore_patterns("__pycache__")
    for package in ("sdpbb", "heuristics"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=hidden)
    module = tmp_path / "heuristics" / "kernel_of_a_test.py"
    environment = os.environ | {
        "PYTHONPATH": str(tmp_path),
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
    }

    def told() -> str:
        command = [sys.executable, "-c", SCRIPT]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        ).stdout

    module.write_text(KERNEL.format(name="Old"))
    assert told() == "compiling\n"
    assert told() == ""
    if name is not None:
        module.write_text(KERNEL.format(name=name))
    else:
        for file in (tmp_path / "cache").rglob("*.nb?"):
            file.write_bytes(file.read_bytes()[:-9])
    assert told() == "compiling\n"
    assert told() == ""


def test_what_the_other_process_did_not_compile_is_compiled_here(part, monkeypatch):
    """Also if there is no other process to be had."""
    calls, told = [], []

    def no_process(*_):
        raise BackendFailure("no worker can be started")

    monkeypatch.setattr(compilation, "LocalProcesses", no_process)
    monkeypatch.setattr(compilation, "_exercise_heuristics", compile_one)
    monkeypatch.setattr(compilation, "_exercise", calls.append)
    compilation.prepare_kernels(lambda: told.append(part), "hybrid")
    assert calls == ["sdp", "colgen"]
    assert told == [part]
