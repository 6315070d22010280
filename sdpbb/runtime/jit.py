"""`njit` of Numba, whose cache outlives damage; clocks are stopped while it compiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import numba
from numba.core.caching import FunctionCache
from numba.core.event import Event, Listener, install_listener

from sdpbb.runtime.time_left import RUN_CLOCK

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def njit(*, cache: bool = False, **options: Any) -> Callable[[Kernel], Kernel]:
    """Return the decorator that Numba's `njit` returns for these options."""
    decorate = numba.njit(**options)

    def decorated(function: Kernel) -> Kernel:
        kernel: Any = decorate(function)
        if cache and hasattr(kernel, "_cache"):  # not with NUMBA_DISABLE_JIT
            # Where no folder can be written to, as in some containers, each process compiles.
            with suppress(RuntimeError):
                kernel._cache = KernelCache(function)
        return kernel  # type: ignore[no-any-return]

    return decorated


class KernelCache(FunctionCache):
    """Cache of a kernel on disk. Numba raises an error where a file of it cannot be read."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the machine code for a signature; None if there is none."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # of a class that is renamed since, or of a file that is cut short
            self.flush()
            return None


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
