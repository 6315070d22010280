"""`njit` of Numba, whose cache outlives damage; clocks stop while it compiles and loads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, TypeVar

import numba
from numba.core.caching import FunctionCache
from numba.core.event import Event, Listener, install_listener, trigger_event

from sdpbb.runtime.time_left import RUN_CLOCK

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

COMPILES, LOADS = "numba:compile", "sdpbb:load"
"""Events of Numba: kernels are compiled, or loaded from the cache."""


def njit(*, cache: bool = False, **options: Any) -> Callable[[Kernel], Kernel]:
    """Return the decorator that Numba's `njit` returns for these options."""
    decorate = numba.njit(**options)

    def decorated(function: Kernel) -> Kernel:
        kernel: Any = decorate(function)
        if cache and hasattr(kernel, "_cache"):  # not with NUMBA_DISABLE_JIT
            # If no folder is writable, as in some containers, each process compiles.
            with suppress(RuntimeError):
                kernel._cache = KernelCache(function)
        return kernel  # type: ignore[no-any-return]

    return decorated


class KernelCache(FunctionCache):
    """Cache of a kernel on disk that ignores unreadable files; in Numba they are errors."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code for a signature; None if there is none."""
        try:
            with trigger_event(LOADS):
                return super().load_overload(sig, target_context)
        except Exception:  # a renamed class, or a truncated file
            self.flush()
            return None


@contextmanager
def clock_stopped_by_compiler(
    on_compile: Callable[[], object] = lambda: None,
) -> Iterator[None]:
    """Context manager: the clock of runs is stopped while this process compiles or loads kernels.

    The first kernel that a process loads takes half a second.

    on_compile : called before the first kernel is compiled
    """
    with ExitStack() as listeners:
        listeners.enter_context(install_listener(COMPILES, _StoppedClock(on_compile)))
        listeners.enter_context(install_listener(LOADS, _StoppedClock()))
        yield


class _StoppedClock(Listener):
    def __init__(self, on_first: Callable[[], object] = lambda: None) -> None:
        self._on_next = on_first

    def on_start(self, event: Event) -> None:
        self._on_next()
        self._on_next = lambda: None
        RUN_CLOCK.stop()

    def on_end(self, event: Event) -> None:
        RUN_CLOCK.go_on()
