"""Compiling the kernels, or loading them from the cache on disk, before the clock matters."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from heuristics.multi_start import exercise, exercise_wide_components
from sdpbb.bounds.colgen.bounding import ColgenBounding
from sdpbb.bounds.colgen.columns import Columns
from sdpbb.bounds.colgen.partitioning import cheapest_partition
from sdpbb.bounds.colgen.partitioning.exact_cover import reduced_costs
from sdpbb.bounds.sdp import kernels
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.cuts import SeparationParameters
from sdpbb.bounds.sdp.cuts.pentagons import PentagonCuts
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.problem import Contraction, Instance, contract


def prepare_kernels(
    on_compile: Callable[[], None], bounding: str = "sdp", begins_with_columns: bool = True
) -> None:
    """Make every kernel that a bounding needs ready in this process; calls on_compile first if that
    needs compiling.

    Numba keeps compiled kernels in its cache on disk, so they are compiled once per machine and
    version, and loaded in a fraction of a second afterwards.

    begins_with_columns : whether the hybrid bounding is expected to need those of column generation
        from the beginning. If not, they are loaded when they are needed, but compiled at once. The
        bounding by columns alone always does
    """
    begins_with_columns = begins_with_columns or bounding == "colgen"
    may_need_columns = bounding != "sdp"
    are_columns_cached = may_need_columns and _are_columns_cached()
    is_cached = _is_cached()
    if not is_cached or (may_need_columns and not are_columns_cached):
        on_compile()
    if bounding != "colgen":
        _exercise_relaxation()
    if may_need_columns and (begins_with_columns or not are_columns_cached):
        _exercise_columns()
    _exercise_heuristics()
    if not is_cached:
        exercise_wide_components(_small())


@cache
def _is_cached() -> bool:
    """Compiles or loads the smallest kernel: what held for it holds for all."""
    none = np.empty((0, 3), np.int32)
    kernels.spread(np.empty(0, np.int64), none, 1, 1, 1)
    return _hits(kernels.spread)


@cache
def _are_columns_cached() -> bool:
    """The same of those of column generation."""
    none = np.empty(0, np.int64)
    reduced_costs(np.zeros(1, np.int64), none, none, none, np.empty((0, 3), np.int64), none)
    return _hits(reduced_costs)


def _hits(kernel: Callable[..., object]) -> bool:
    # With NUMBA_DISABLE_JIT there is nothing to compile: kernels are plain functions.
    stats = getattr(kernel, "stats", None)
    return stats is None or not stats.cache_misses


# What follows calls every kernel with the types that the engine calls it with.


def _small() -> Contraction:
    contraction = contract(Instance(_points(), 3, cannot_link=np.array([[0, 1], [2, 3], [3, 4]])))
    assert isinstance(contraction, Contraction)
    return contraction


def _points() -> NDArray[np.float64]:
    return np.random.default_rng(0).normal(size=(16, 3))


@cache
def _exercise_relaxation() -> None:
    contraction = _small()
    parameters = SdpParameters(separation=SeparationParameters(pentagons=PentagonCuts(after=0)))
    run = SdpBounding(parameters).start(contraction, None)
    run.advance(np.inf)
    run.fixings(contraction.total)
    exercise(contraction, run.affinity())


@cache
def _exercise_heuristics() -> None:
    exercise(_small())


@cache
def _exercise_columns() -> None:
    contraction = _small()
    run = ColgenBounding().start(contraction, None)
    while not run.advance(contraction.total).stalled:
        pass
    columns = Columns.of(contraction, np.tri(16, dtype=bool) & ~np.tri(16, k=-3, dtype=bool))
    cheapest_partition(contraction, columns, contraction.total)


def load_kernels() -> None:
    """What another process does before its first task: import the engine and make kernels ready."""
    prepare_kernels(lambda: None)


def load_all_kernels() -> None:
    """The same for column generation too."""
    prepare_kernels(lambda: None, "hybrid")


def warm_up(bounding: str) -> Callable[[], None]:
    """What another process that bounds in this way does before its first task."""
    return load_kernels if bounding == "sdp" else load_all_kernels
