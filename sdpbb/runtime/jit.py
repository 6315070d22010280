"""`njit` of Numba, with types; clocks are stopped while it compiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numba
from numba.core.event import Event, Listener, install_listener

from sdpbb.runtime.time_left import RUN_CLOCK

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def njit(**options: Any) -> Callable[[Kernel], Kernel]:
    """Return the decorator that Numba's `njit` returns for these options."""
    return numba.njit(**options)  # type: ignore[no-any-return]


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
