"""Compilation of kernels while the clock of a run stands still, where the cache on disk lacks them.

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
from functools import partial
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
from sdpbb.time_left import RUN_CLOCK

# Parts of the engine beside the bounding methods: kernels that almost all runs call, and few.
HEURISTICS, RARE_HEURISTICS = "heuristics", "heuristics-rare"
# Where the modules of kernels are, by the first word of the part.
PACKAGES = {
    HEURISTICS: "heuristics.",
    "sdp": "sdpbb.bounds.sdp.",
    "colgen": "sdpbb.bounds.colgen.",
}
# By so much lower is the priority of a process that compiles beside a run.
NICENESS = 10


class RunKernels:
    """Kernels of a run: those that it begins with are compiled before it, others meanwhile.

    A context manager. If kernels are missing in the cache, another process compiles those of the
    heuristics, while this one compiles those of the first bounding method. It goes on, at low
    priority, with those that few runs call or that are of later stages. Where a run comes to one of
    these before, this process compiles it, and the clock of runs stands still.
    """

    def __init__(self, bounding: str, on_compile: Callable[[], None]) -> None:
        """on_compile : called before the first kernel is compiled here"""
        self._first, *later = BOUNDING_METHODS[bounding].kernels
        self._later = [RARE_HEURISTICS, *later]
        self._on_compile = _once(on_compile)
        self._pool: TaskPool | None = None
        self._block = ExitStack()

    def __enter__(self) -> RunKernels:
        _compile_in_two([self._first], [HEURISTICS], self._on_compile)
        later = [part for part in self._later if not _is_compiled(part)]
        if later:
            with ExitStack() as block:
                if os.access(_record(later[0]).parent, os.W_OK):  # where they can be cached
                    self._pool = _start(block, _compile_behind, later)
                block.enter_context(install_listener("numba:compile", _Pause(self._on_compile)))
                self._block = block.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._block.close()

    @property
    def is_compiling(self) -> bool:
        """True while another process compiles."""
        if self._pool is None:
            return False
        with suppress(BackendFailure):
            self._pool.wait(0.0)
        return self._pool.n_under_way > 0

    def finish(self) -> None:
        """Compile what is missing, while the clock of runs stands still."""
        with RUN_CLOCK.stopped():
            # What the other process has not come to is compiled first.
            _compile(self._later[::-1], self._on_compile)


def prepare_kernels(on_compile: Callable[[], None], bounding: str = "sdp") -> None:
    """Compile all kernels that runs with a bounding method call, unless they are cached.

    Those of the second of two methods are compiled in another process at the same time.

    on_compile : called before the first kernel is compiled here
    """
    first, *later = BOUNDING_METHODS[bounding].kernels
    elsewhere = [part for part in later if not part.startswith(first)]
    here = [part for part in later if part not in elsewhere]
    _compile_in_two([HEURISTICS, RARE_HEURISTICS, first, *here], elsewhere, _once(on_compile))


def _compile_in_two(here: list[str], elsewhere: list[str], on_compile: Callable[[], None]) -> None:
    """Compile parts of the engine in this process, and others in another one.

    If only those of one of the two are missing, they are compiled here, as is what the other
    process cannot.
    """
    with ExitStack() as block:
        pool = None
        if not all(map(_is_compiled, here)) and not all(map(_is_compiled, elsewhere)):
            pool = _start(block, _compile, elsewhere)
        _compile(here, on_compile)
        with suppress(BackendFailure):
            while pool is not None and pool.n_under_way:
                pool.wait()
        _compile(elsewhere, on_compile)


def _start(
    block: ExitStack, task: Callable[[list[str]], None], parts: list[str]
) -> TaskPool | None:
    """Have a process that ends with the block compile parts; None if there is none to be had."""
    with suppress(BackendFailure):
        pool = block.enter_context(TaskPool(LocalProcesses(1)))
        pool.submit(0, task, parts)
        return pool
    return None


def _compile(parts: list[str], on_compile: Callable[[], None] = lambda: None) -> None:
    """Compile parts of the engine unless they are cached."""
    for part in parts:
        compile_once(part, partial(_exercise, part), on_compile)


def _compile_behind(parts: list[str]) -> None:
    """Compile parts of the engine in a process whose priority is low from now on."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    _compile(parts)


def _once(function: Callable[[], None]) -> Callable[[], None]:
    """Return a function whose first call is one of another function; later ones do nothing."""
    calls = iter([function])
    return lambda: next(calls, lambda: None)()


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
    for part in (HEURISTICS, RARE_HEURISTICS, *BOUNDING_METHODS[bounding].kernels):
        _exercise(part)


def _exercise(part: str) -> None:
    """Call the kernels of a part of the engine."""
    contraction = _small()
    method, _, rare = part.partition("-")
    if part == HEURISTICS:
        exercise(contraction)
    elif part == RARE_HEURISTICS:
        exercise_wide_components(contraction)
    elif rare:
        bounding_class(method).exercise_rare(contraction)
    else:
        bounding_class(method).exercise(contraction)


def compile_once(part: str, exercise: Callable[[], object], on_compile: Callable[[], None]) -> None:
    """Compile the kernels of a part of the engine, unless they are cached.

    What is cached and cannot be read any more is deleted before: Numba would raise an error.

    part : a name for the kernels
    exercise : calls all of them, with the types that runs call them with
    on_compile : called before the first one is compiled
    """
    if _is_compiled(part):
        return
    method = part.partition("-")[0]
    if method in BOUNDING_METHODS:
        bounding_class(method)  # imports its kernels, whose files in the cache are looked at
    _delete_unreadable(_cached_files(part))
    with install_listener("numba:compile", _Pause(on_compile)):
        exercise()
    _write(part)
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


class _Pause(Listener):
    """Listener that stops the clock of runs while this process compiles."""

    def __init__(self, on_compile: Callable[[], None]) -> None:
        """on_compile : called before the first kernel is compiled"""
        self._on_compile = _once(on_compile)

    def on_start(self, event: Event) -> None:
        self._on_compile()
        RUN_CLOCK.stop()

    def on_end(self, event: Event) -> None:
        RUN_CLOCK.go_on()


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


def _write(part: str) -> None:
    record = _record(part)
    sources = [str(path) for folder in KERNELS for path in Path(folder).glob("*.py")]
    unfinished = record.with_name(f"{record.name}.{os.getpid()}")
    try:
        unfinished.write_text(_listing([*sources, *_cached_files(part)]), encoding="utf-8")
        unfinished.replace(record)
    except OSError:  # the next process calls all kernels again
        unfinished.unlink(missing_ok=True)


def _listing(paths: Iterable[str]) -> str:
    found = ((os.stat(path), path) for path in paths)
    return "".join(f"{file.st_size} {file.st_mtime_ns} {path}\n" for file, path in found)


def _cached_files(part: str) -> list[str]:
    """Return the files that Numba has cached, for this Python, of the kernels imported so far.

    part : only of that part; of all, if it is none
    """
    packages = PACKAGES.get(part.partition("-")[0], ("sdpbb.", "heuristics."))
    modules = [module for name, module in sys.modules.items() if name.startswith(packages)]
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
