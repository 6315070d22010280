"""Compilation of kernels, while the clock of runs is stopped.

Numba compiles kernels once per machine and version, and loads what it has cached in a few
milliseconds each. What every run begins with is compiled before it, and the rest where a run comes
to it. Before other processes are started, all kernels that they may call are compiled by this one,
as each of them would compile its own otherwise.
"""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np

from heuristics.assignment.steps import SizedAssignment
from heuristics.incumbents import exercise, exercise_rare
from sdpbb.bounds.registry import BOUNDING_METHODS, bounding_class
from sdpbb.bounds.sdp.admm import dual_sweeps
from sdpbb.problem import Contraction, Instance, contract

PACKAGES, ROOT = ("sdpbb", "heuristics"), Path(__file__).resolve().parents[2]
# Parts of the engine: kernels that almost all runs call, those that bounding methods begin with,
# and those that few runs call.
HEURISTICS, RARE = "heuristics", "rare"
PARTS = HEURISTICS, "sdp", "colgen", RARE


def compile_first(bounding: str) -> None:
    """Compile what every run with a bounding method begins with, unless it is cached."""
    compile_part(BOUNDING_METHODS[bounding].begins_with)
    compile_part(HEURISTICS)


def compile_all() -> None:
    """Compile all kernels, unless they are cached."""
    for part in PARTS:
        compile_part(part)


def compile_part(part: str) -> None:
    """Compile the kernels of a part of the engine, unless that has been done on this machine."""
    if is_compiled(part):
        return
    exercise_part(part)
    with suppress(OSError):  # else the next process calls them again
        _mark(part).touch()


def is_compiled(part: str) -> bool:
    """Return whether nothing is to be compiled of a part: it is cached, or the compiler is off."""
    return _is_compiler_off() or _mark(part).exists()


def can_mark() -> bool:
    """Return whether this process may write marks, and Numba its cache."""
    return _is_compiler_off() or os.access(_folder(), os.W_OK)


def exercise_part(part: str) -> None:
    """Call the kernels of a part of the engine."""
    if part == HEURISTICS:
        exercise(_small())
    elif part == RARE:
        _exercise_rare()
    else:
        bounding_class(part).exercise(_small())


def _exercise_rare() -> None:
    from sdpbb.bounds.lagrangian.places.run import exercise as exercise_places  # few runs call them

    exercise_places()
    exercise_rare(_small())
    limited = _small(min_size=4, max_size=7)
    alike = _small(min_size=4, max_size=7, n_pairs=0)
    exercise(limited)
    exercise(alike)
    SizedAssignment(alike, 0.0)(alike.means[:3])
    for method in ("sdp", "colgen"):
        bounding_class(method).exercise(limited)


def _small(
    min_size: int | None = None, max_size: int | None = None, n_pairs: int = 3
) -> Contraction:
    points = np.random.default_rng(0).normal(size=(16, 3))
    pairs = np.array([[0, 1], [2, 3], [3, 4]])[:n_pairs]
    instance = Instance(points, 3, cannot_link=pairs, min_size=min_size, max_size=max_size)
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    return contraction


def _mark(part: str) -> Path:
    """Return the file that says that all kernels of a part are cached, on this kind of machine.

    Its name depends on all that makes Numba compile anew: sources, versions and the processor.
    """
    return _folder() / f"kernels.{part}.{_digest()}"


@cache
def _digest() -> str:
    """Return a digest of what kernels are compiled from."""
    sources = sorted(path for name in PACKAGES for path in Path(ROOT, name).rglob("*.py"))
    states = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in sources]
    processor = llvmlite.binding.get_host_cpu_name()
    what = (sys.implementation.cache_tag, numba.__version__, processor, states)
    return hashlib.sha256(repr(what).encode()).hexdigest()[:16]


def _folder() -> Path:
    """Return the folder of cached kernels; one that nobody can write to where none are cached."""
    kernel: Any = dual_sweeps
    return Path(kernel.stats.cache_path or os.path.join(os.devnull, "none"))


def _is_compiler_off() -> bool:
    """Return whether kernels are plain functions, as with NUMBA_DISABLE_JIT."""
    return not hasattr(dual_sweeps, "stats")
