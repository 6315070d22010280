"""`njit` of Numba, with the cache of `kernel_cache`; clocks are stopped while it compiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numba
from numba.core.event import Event, Listener, install_listener

from sdpbb.runtime.time_left import RUN_CLOCK

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

NEWEST = (0, 68)
"""The newest release of Numba with which that cache was tested; newer ones have their own."""


def njit(*, cache: bool = False, **options: Any) -> Callable[[Kernel], Kernel]:
    """Return the decorator that Numba's `njit` returns for these options."""
    has_own_cache = cache and is_tested(numba.__version__)
    decorate = numba.njit(cache=cache and not has_own_cache, **options)

    def decorated(function: Kernel) -> Kernel:
        kernel: Any = decorate(function)
        if has_own_cache and hasattr(kernel, "_cache"):
            from sdpbb.runtime.kernel_cache import (
                KernelCache,  # by parts that other releases may lack
            )

            kernel._cache = KernelCache(function)
            # Numba looks for extensions among all packages before it loads a kernel, for types that
            # none of these takes; it does so again before it compiles one.
            kernel._compilation_chain_init_hook = _nothing
        return kernel  # type: ignore[no-any-return]

    return decorated


def _nothing() -> None:
    """Do nothing."""


def is_tested(version: str) -> bool:
    """Return whether a version of Numba is none newer than those that were tested."""
    release = version.split(".")[:2]
    return all(map(str.isdecimal, release)) and tuple(map(int, release)) <= NEWEST


@contextmanager
def clock_stopped_by_compiler(
    on_compile: Callable[[], object] = lambda: None,
) -> Iterator[None]:
    """Context manager: the clock of runs is stopped while this process compiles.

    on_compile : called before the first kernel is compiled
    """
    with install_listener("numba:compile", _StoppedClock(on_compile)):
        yield


class _StoppedClock(Listener):
    def __init__(self, on_compile: Callable[[], object]) -> None:
        self._on_compile: Callable[[], object] | None = on_compile

    def on_start(self, event: Event) -> None:
        if self._on_compile is not None:
            self._on_compile()
            self._on_compile = None
        RUN_CLOCK.stop()

    def on_end(self, event: Event) -> None:
        RUN_CLOCK.go_on()
