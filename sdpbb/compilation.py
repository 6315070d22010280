"""Compilation of kernels before the clock of a run starts, where Numba's cache on disk lacks them.

Numba compiles kernels once per machine and version, and loads what it has cached in a few
milliseconds each when it is first called. A record beside the cache says that all kernels of a part
of the engine are cached.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from numba.core.event import Event, Listener, install_listener

from heuristics.multi_start import exercise, exercise_wide_components
from sdpbb.bounds.registry import BOUNDING_METHODS, bounding_class
from sdpbb.bounds.sdp.admm_kernels import dual_sweeps
from sdpbb.cache_folder import KERNELS
from sdpbb.errors import BackendFailure
from sdpbb.executors.pool import TaskPool
from sdpbb.executors.processes import LocalProcesses
from sdpbb.problem import Contraction, Instance, contract


def prepare_kernels(on_compile: Callable[[], None], bounding: str = "sdp") -> None:
    """Compile the kernels that a bounding method needs, unless they are cached.

    Those of the second of two methods are compiled in another process at the same time.

    on_compile : called before the first kernel is compiled
    """
    if _is_compiled(bounding):
        return
    kernels = BOUNDING_METHODS[bounding].kernels
    for part in kernels:
        bounding_class(part)  # imports its kernels, whose files in the cache are looked at
    with ExitStack() as block:
        pools: list[TaskPool] = []

        def begin() -> None:
            on_compile()
            for part in kernels[1:]:
                with suppress(BackendFailure):
                    pools.append(block.enter_context(TaskPool(LocalProcesses(1))))
                    pools[-1].submit(0, _exercise, part)

        def exercise_all() -> None:
            _exercise_heuristics()
            _exercise(kernels[0])
            for pool in pools:
                with suppress(BackendFailure):
                    pool.wait()
            for part in kernels[1:]:
                _exercise(part)  # loads what the other process has cached, compiles what it has not

        compile_once(bounding, exercise_all, begin)


def load_kernels(bounding: str = "sdp") -> None:
    """Import the engine, and compile the kernels of a bounding method unless they are cached."""
    prepare_kernels(lambda: None, bounding)


@dataclass(frozen=True)
class WarmUp:
    """Call of `load_kernels` by another process before its first task.

    Two of the same method are equal: a process that gets one with each task makes one call.
    """

    bounding: str

    def __call__(self) -> None:
        load_kernels(self.bounding)


def exercise_kernels(bounding: str) -> None:
    """Call every kernel that a bounding method needs, with the types that runs call it with.

    Those that are cached are loaded.
    """
    _exercise_heuristics()
    for part in BOUNDING_METHODS[bounding].kernels:
        _exercise(part)


def _exercise_heuristics() -> None:
    contraction = _small()
    exercise(contraction)
    exercise_wide_components(contraction)


def _exercise(part: str) -> None:
    contraction = _small()
    affinity = bounding_class(part).exercise(contraction)
    if affinity is not None:
        exercise(contraction, affinity)


def compile_once(part: str, exercise: Callable[[], object], on_compile: Callable[[], None]) -> None:
    """Compile the kernels of a part of the engine, unless they are cached.

    What is cached and cannot be read any more is deleted before: Numba would raise an error.

    part : a name for the kernels
    exercise : calls all of them, with the types that runs call them with
    on_compile : called before the first one is compiled
    """
    if _is_compiled(part):
        return
    _delete_unreadable(_cached_files())
    with install_listener("numba:compile", _FirstCompilation(on_compile)):
        exercise()
    _write(_record(part))
    _ready.add(part)


def _is_compiled(part: str) -> bool:
    """Return whether nothing is to be compiled of a part: it is cached, or the compiler is off."""
    if part not in _ready and not _is_compiler_off() and _is_current(_record(part)):
        _ready.add(part)
    return part in _ready or _is_compiler_off()


_ready: set[str] = set()
"""Parts of the engine whose kernels this process has compiled, or met in the cache, before."""


def _small() -> Contraction:
    points = np.random.default_rng(0).normal(size=(16, 3))
    contraction = contract(Instance(points, 3, cannot_link=np.array([[0, 1], [2, 3], [3, 4]])))
    assert isinstance(contraction, Contraction)
    return contraction


def _is_compiler_off() -> bool:
    """Return whether kernels are plain functions, as with NUMBA_DISABLE_JIT."""
    return not hasattr(dual_sweeps, "stats")


class _FirstCompilation(Listener):
    """Listener that tells of the first compilation."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell: Callable[[], None] | None = tell

    def on_start(self, event: Event) -> None:
        if self._tell is not None:
            tell, self._tell = self._tell, None
            tell()

    def on_end(self, event: Event) -> None:
        pass


# A record lists the source files of kernels, and the files in the cache, with sizes and times. It
# holds while none of them has changed: an upgrade in place, a kernel that is deleted or cut short
# end it. What is cached besides, for other methods or types, does not.


def _record(part: str) -> Path:
    """Return the file of the record of a part on this kind of machine."""
    python, processor = sys.implementation.cache_tag, llvmlite.binding.get_host_cpu_name()
    name = f"kernels.{part}.{python}.numba-{numba.__version__}.{processor}.txt"
    kernel: Any = dual_sweeps
    return Path(kernel.stats.cache_path) / name


def _is_current(record: Path) -> bool:
    try:
        text = record.read_text(encoding="utf-8")
        return text == _listing(line.split(" ", 2)[2] for line in text.splitlines())
    except (OSError, ValueError, IndexError):
        return False


def _write(record: Path) -> None:
    sources = [str(path) for folder in KERNELS for path in Path(folder).glob("*.py")]
    unfinished = record.with_name(f"{record.name}.{os.getpid()}")
    try:
        unfinished.write_text(_listing([*sources, *_cached_files()]), encoding="utf-8")
        unfinished.replace(record)
    except OSError:  # the next process calls all kernels again
        unfinished.unlink(missing_ok=True)


def _listing(paths: Iterable[str]) -> str:
    found = ((os.stat(path), path) for path in paths)
    return "".join(f"{file.st_size} {file.st_mtime_ns} {path}\n" for file, path in found)


def _cached_files() -> list[str]:
    """Return the files that Numba has cached, for this Python, of the kernels imported so far."""
    modules = [
        module for name, module in sys.modules.items() if name.startswith(("sdpbb.", "heuristics."))
    ]
    stats = (getattr(value, "stats", None) for module in modules for value in vars(module).values())
    folders = {path for path in (getattr(stat, "cache_path", None) for stat in stats) if path}
    pattern = f"*.py{sys.version_info.major}{sys.version_info.minor}*.nb[ic]"
    return [str(path) for folder in sorted(folders) for path in Path(folder).glob(pattern)]


def _delete_unreadable(paths: Iterable[str]) -> None:
    """Delete the files in the cache that raise an error when Numba reads them.

    Such are those of kernels that take a class which has been renamed since, and those that were
    cut short.
    """
    for path in paths:
        try:
            with open(path, "rb") as file:
                while file.peek(1):
                    pickle.load(file)
        except Exception:
            Path(path).unlink(missing_ok=True)
