"""Compilation of all kernels by this process, before other processes call them.

Numba compiles a kernel at its first call, once per machine and version, and later loads it from its
cache. Processes that start together would each compile all kernels.
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
from sdpbb.bounds.registry import bounding_class
from sdpbb.bounds.sdp.admm import dual_sweeps
from sdpbb.problem import Contraction, Instance, contract

PACKAGES, ROOT = ("sdpbb", "heuristics"), Path(__file__).resolve().parents[2]


def compile_all() -> None:
    """Compile all kernels, unless they are compiled already on this machine."""
    if is_compiled():
        return
    exercise_all()
    with suppress(OSError):  # without a mark, the next process calls the kernels again
        _mark().touch()


def is_compiled() -> bool:
    """Return whether all kernels are cached, or the compiler is off."""
    return _is_compiler_off() or _mark().exists()


def can_mark() -> bool:
    """Return whether this process may write the mark, and Numba its cache."""
    return _is_compiler_off() or os.access(_folder(), os.W_OK)


def exercise_all() -> None:
    """Call all kernels."""
    from sdpbb.bounds.lagrangian.places.run import exercise as exercise_places  # few runs call them

    paired, limited = _small(), _small(min_size=4, max_size=7)
    alike = _small(min_size=4, max_size=7, n_pairs=0)
    for contraction in (paired, limited, alike):
        exercise(contraction)
    for method in ("sdp", "colgen"):
        for contraction in (paired, limited):
            bounding_class(method).exercise(contraction)
    exercise_places()
    exercise_rare(paired)
    SizedAssignment(alike, 0.0)(alike.means[:3])


def _small(
    min_size: int | None = None, max_size: int | None = None, n_pairs: int = 3
) -> Contraction:
    points = np.random.default_rng(0).normal(size=(16, 3))
    pairs = np.array([[0, 1], [2, 3], [3, 4]])[:n_pairs]
    instance = Instance(points, 3, cannot_link=pairs, min_size=min_size, max_size=max_size)
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    return contraction


@cache
def _digest() -> str:
    """Return a digest of everything that changes compiled code: sources, versions, processor."""
    sources = sorted(path for name in PACKAGES for path in Path(ROOT, name).rglob("*.py"))
    states = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in sources]
    processor = llvmlite.binding.get_host_cpu_name()
    what = (sys.implementation.cache_tag, numba.__version__, processor, states)
    return hashlib.sha256(repr(what).encode()).hexdigest()[:16]


def _mark() -> Path:
    """Return the file that marks all kernels as cached, on this kind of machine."""
    return _folder() / f"kernels.{_digest()}"


def _folder() -> Path:
    """Return the folder of cached kernels; without a cache, a folder that is not writable."""
    kernel: Any = dual_sweeps
    return Path(kernel.stats.cache_path or os.path.join(os.devnull, "none"))


def _is_compiler_off() -> bool:
    """Return whether kernels are plain functions, as with NUMBA_DISABLE_JIT."""
    return not hasattr(dual_sweeps, "stats")
