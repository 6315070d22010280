"""Kernels of a part of the engine: compiled by this process while the clock of runs stands still.

Numba compiles kernels once per machine and version, and loads what it has cached in a few
milliseconds each when it is first called.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numba.core.event import Event, Listener, install_listener

from heuristics.incumbents import exercise, exercise_rare
from sdpbb.bounds.registry import BOUNDING_METHODS, bounding_class
from sdpbb.bounds.sdp.admm_kernels import dual_sweeps
from sdpbb.kernel_records import delete_unreadable, is_recorded, record
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.time_left import RUN_CLOCK

# Parts of the engine beside those of the bounding methods: kernels that almost all runs call, and
# those that few do.
HEURISTICS, RARE_HEURISTICS = "heuristics", "heuristics-rare"
PLACES = "places"


def is_compiled(part: str) -> bool:
    """Return whether nothing is to be compiled of a part: it is cached, or the compiler is off."""
    return _is_compiler_off() or is_recorded(part)


def compile_part(part: str, on_compile: Callable[[], None] = lambda: None) -> None:
    """Compile the kernels of a part of the engine, unless they are cached.

    on_compile : called before the first one is compiled
    """
    compile_once(part, partial(_exercise, part), on_compile)


def compile_once(part: str, exercise: Callable[[], object], on_compile: Callable[[], None]) -> None:
    """Compile kernels unless they are cached.

    What is cached and cannot be read any more is deleted before: Numba would raise an error.

    part : a name for the kernels
    exercise : calls all of them, with the types that runs call them with
    on_compile : called before the first one is compiled
    """
    if is_compiled(part):
        return
    method = part.partition("-")[0]
    if method in BOUNDING_METHODS:
        bounding_class(method)  # imports its kernels, whose files in the cache are looked at
    delete_unreadable(part)
    with install_listener("numba:compile", StoppedClock(on_compile)):
        exercise()
    record(part)


def exercise_kernels(bounding: str) -> None:
    """Call every kernel that a bounding method needs, with the types that runs call it with.

    Those that are cached are loaded.
    """
    for part in (HEURISTICS, RARE_HEURISTICS, *BOUNDING_METHODS[bounding].kernels):
        _exercise(part)


class StoppedClock(Listener):
    """Listener that stops the clock of runs while this process compiles."""

    def __init__(self, on_compile: Callable[[], None]) -> None:
        """on_compile : called before the first kernel is compiled"""
        self._on_compile = once(on_compile)

    def on_start(self, event: Event) -> None:
        self._on_compile()
        RUN_CLOCK.stop()

    def on_end(self, event: Event) -> None:
        RUN_CLOCK.go_on()


def once(function: Callable[[], None]) -> Callable[[], None]:
    """Return a function whose first call is one of another function; later ones do nothing."""
    calls = iter([function])
    return lambda: next(calls, lambda: None)()


def _exercise(part: str) -> None:
    """Call the kernels of a part of the engine."""
    contraction = _small()
    method, _, rare = part.partition("-")
    if part == HEURISTICS:
        exercise(contraction)
    elif part == RARE_HEURISTICS:
        exercise_rare(contraction)
    elif part == PLACES:
        from sdpbb.bounds.places.run import exercise as exercise_places  # few runs call them

        exercise_places()
    elif rare:
        bounding_class(method).exercise_rare(contraction)
    else:
        bounding_class(method).exercise(contraction)


def _small() -> Contraction:
    points = np.random.default_rng(0).normal(size=(16, 3))
    contraction = contract(Instance(points, 3, cannot_link=np.array([[0, 1], [2, 3], [3, 4]])))
    assert isinstance(contraction, Contraction)
    return contraction


def _is_compiler_off() -> bool:
    """Return whether kernels are plain functions, as with NUMBA_DISABLE_JIT."""
    return not hasattr(dual_sweeps, "stats")
