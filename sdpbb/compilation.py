"""Warm-up of compiled kernels before the clock of a run starts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from heuristics.multi_start import exercise, exercise_wide_components
from sdpbb.bounds.registry import BOUNDING_METHODS, bounding_class
from sdpbb.problem import Contraction, Instance, contract


def prepare_kernels(
    on_compile: Callable[[], None], bounding: str = "sdp", needs_all: bool = True
) -> None:
    """Make every kernel that a bounding needs ready in this process.

    Calls on_compile first if that needs compiling.

    Numba keeps compiled kernels in its cache on disk, so they are compiled once per machine and
    version, and loaded in a fraction of a second afterwards.

    needs_all : whether all kernels are expected to be needed. If not, those that the bounding does
        not begin with are loaded when they are needed, but compiled at once
    """
    parts = BOUNDING_METHODS[bounding].kernels
    are_cached = [_is_cached(part) for part in parts]
    is_cached = _is_cached("sdp")  # what holds for it holds for heuristics
    if not (is_cached and all(are_cached)):
        on_compile()
    for part, is_part_cached in zip(parts, are_cached, strict=True):
        if needs_all or part == parts[0] or not is_part_cached:
            _exercise(part)
    _exercise_heuristics()
    if not is_cached:
        exercise_wide_components(_small())
    _ready.update(parts, ["sdp"])


_ready: set[str] = set()
"""Bounding methods whose kernels this process has compiled, or met in the cache, before."""


def _is_cached(bounding: str) -> bool:
    return bounding in _ready or bounding_class(bounding).are_kernels_cached()


# Kernels are called with the types that the engine calls them with.


def _small() -> Contraction:
    points = np.random.default_rng(0).normal(size=(16, 3))
    contraction = contract(Instance(points, 3, cannot_link=np.array([[0, 1], [2, 3], [3, 4]])))
    assert isinstance(contraction, Contraction)
    return contraction


@cache
def _exercise(bounding: str) -> None:
    contraction = _small()
    affinity = bounding_class(bounding).exercise(contraction)
    if affinity is not None:
        exercise(contraction, affinity)


@cache
def _exercise_heuristics() -> None:
    exercise(_small())


def load_kernels() -> None:
    """Import the engine and make the kernels of the semidefinite bound ready."""
    prepare_kernels(lambda: None)


def load_all_kernels() -> None:
    """Import the engine and make the kernels of all bounding methods ready."""
    for bounding in BOUNDING_METHODS:
        prepare_kernels(lambda: None, bounding)


def warm_up(bounding: str) -> Callable[[], None]:
    """Return the function, of this module, that another process calls before its first task."""
    needs_more = BOUNDING_METHODS[bounding].kernels != BOUNDING_METHODS["sdp"].kernels
    return load_all_kernels if needs_more else load_kernels
