"""Compilation of the kernels of a run: by this process before it, by another one meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from numba.core.event import install_listener

from sdpbb.bounds.registry import BOUNDING_METHODS
from sdpbb.errors import BackendFailure
from sdpbb.executors.pool import TaskPool
from sdpbb.executors.processes import LocalProcesses
from sdpbb.kernel_records import can_record
from sdpbb.kernels import (
    HEURISTICS,
    RARE_HEURISTICS,
    StoppedClock,
    compile_part,
    is_compiled,
    once,
)
from sdpbb.time_left import RUN_CLOCK

# By so much lower is the priority of a process that compiles beside a run.
NICENESS = 10
# Seconds of a run after which that process is started: most runs end before, and it would slow them
# down without coming to an end itself. And seconds between two looks at whether the run is over.
LATE, LOOK = 2.0, 0.1


class RunKernels:
    """Kernels of a run: those that it begins with are compiled before it, others meanwhile.

    A context manager. If kernels are missing in the cache, another process compiles those of the
    heuristics, while this one compiles those of the first bounding method. If the run lasts,
    another process compiles those that few runs call or that are of later stages, at low priority.
    Where the run comes to one of these before, this process compiles it, and the clock of runs
    stands still.
    """

    def __init__(self, bounding: str, on_compile: Callable[[], None]) -> None:
        """on_compile : called before the first kernel is compiled here"""
        self._first, *later = BOUNDING_METHODS[bounding].kernels
        self._later = [RARE_HEURISTICS, *later]
        self._on_compile = once(on_compile)
        self._behind: _CompilationBehind | None = None
        self._block = ExitStack()

    def __enter__(self) -> RunKernels:
        _compile_in_two([self._first], [HEURISTICS], self._on_compile)
        later = [part for part in self._later if not is_compiled(part)]
        if later:
            with ExitStack() as block:
                if can_record():
                    self._behind = block.enter_context(_CompilationBehind(later))
                block.enter_context(
                    install_listener("numba:compile", StoppedClock(self._on_compile))
                )
                self._block = block.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._block.close()

    @property
    def is_compiling(self) -> bool:
        """True while another process compiles, or is going to."""
        return self._behind is not None and self._behind.is_at_work

    def finish(self) -> None:
        """Compile what is missing, while the clock of runs stands still."""
        if self._behind is not None:
            self._behind.begin()
        with RUN_CLOCK.stopped():
            # What the other process has not come to is compiled first.
            _compile(self._later[::-1], self._on_compile)


class _CompilationBehind:
    """Compilation of parts of the engine by another process, from some time after it is entered.

    A context manager, which ends it.
    """

    def __init__(self, parts: list[str]) -> None:
        self._parts = parts
        self._is_due, self._is_over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._compile, daemon=True)

    def __enter__(self) -> _CompilationBehind:
        with suppress(RuntimeError):  # where there are as many threads as there may be
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._is_due.set()
        if self.is_at_work:
            self._thread.join()

    @property
    def is_at_work(self) -> bool:
        """True while something is to be compiled."""
        return self._thread.is_alive()

    def begin(self) -> None:
        """Begin now."""
        self._is_due.set()

    def _compile(self) -> None:
        self._is_due.wait(LATE)
        if self._is_over.is_set():
            return
        # Whatever goes wrong there, the run compiles itself what it needs.
        with suppress(Exception), TaskPool(LocalProcesses(1)) as pool:
            pool.submit(0, _compile_at_low_priority, self._parts)
            while pool.n_under_way and not self._is_over.is_set():
                pool.wait(LOOK)


def prepare_kernels(on_compile: Callable[[], None], bounding: str = "sdp") -> None:
    """Compile all kernels that runs with a bounding method call, unless they are cached.

    Those of the second of two methods are compiled in another process at the same time.

    on_compile : called before the first kernel is compiled here
    """
    first, *later = BOUNDING_METHODS[bounding].kernels
    elsewhere = [part for part in later if not part.startswith(first)]
    here = [part for part in later if part not in elsewhere]
    _compile_in_two([HEURISTICS, RARE_HEURISTICS, first, *here], elsewhere, once(on_compile))


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


def _compile_in_two(here: list[str], elsewhere: list[str], on_compile: Callable[[], None]) -> None:
    """Compile parts of the engine in this process, and others in another one.

    If only those of one of the two are missing, they are compiled here, as is what the other
    process cannot.
    """
    with ExitStack() as block:
        pool = None
        if not all(map(is_compiled, here)) and not all(map(is_compiled, elsewhere)):
            with suppress(BackendFailure):
                pool = block.enter_context(TaskPool(LocalProcesses(1)))
                pool.submit(0, _compile, elsewhere)
        _compile(here, on_compile)
        with suppress(BackendFailure):
            while pool is not None and pool.n_under_way:
                pool.wait()
        _compile(elsewhere, on_compile)


def _compile(parts: list[str], on_compile: Callable[[], None] = lambda: None) -> None:
    """Compile parts of the engine unless they are cached."""
    for part in parts:
        compile_part(part, on_compile)


def _compile_at_low_priority(parts: list[str]) -> None:
    """Compile parts of the engine in a process whose priority is low from now on."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    _compile(parts)
