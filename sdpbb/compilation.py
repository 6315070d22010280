"""Compiling the kernels, or loading them from the cache on disk, before the clock matters."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from heuristics.multi_start import MultiStart
from sdpbb.bounds.sdp import kernels
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.problem import Contraction, Instance, contract


def prepare_kernels(on_compile: Callable[[], None]) -> None:
    """Make every kernel ready in this process; calls on_compile first if that needs compiling.

    Numba keeps compiled kernels in its cache on disk, so they are compiled once per machine and
    version, and loaded in a fraction of a second afterwards.
    """
    if not _is_cached():
        on_compile()
    _exercise()


@cache
def _is_cached() -> bool:
    """Compiles or loads the smallest kernel: what held for it holds for all."""
    none = np.empty((0, 3), np.int32)
    kernels.spread(np.empty(0, np.int64), none, 1, 1, 1)
    # With NUMBA_DISABLE_JIT there is nothing to compile: kernels are plain functions.
    stats = getattr(kernels.spread, "stats", None)
    return stats is None or not stats.cache_misses


@cache
def _exercise() -> None:
    """Calls every kernel with the types that the engine calls it with."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(16, 3))
    contraction = contract(Instance(points, 3, cannot_link=np.array([[0, 1], [2, 3], [3, 4]])))
    assert isinstance(contraction, Contraction)
    run = SdpBounding(SdpParameters(pentagons_after=0)).start(contraction, None)
    run.advance(np.inf)
    run.fixings(contraction.total)
    MultiStart().run(contraction, rng)
    MultiStart().run(contraction, rng, run.affinity())


def load_kernels() -> None:
    """What another process does before its first task: import the engine and make kernels ready."""
    prepare_kernels(lambda: None)
