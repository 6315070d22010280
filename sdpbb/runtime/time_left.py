"""Cooperative time limits: every loop asks for the time left between bounded chunks of work."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter

TimeLeft = Callable[[], float]
"""Seconds until the caller wants a result: 0 or less where it wants it at once."""

# Elementary steps of a compiled loop between two looks at the time: about 0.05 s.
WORK = 30_000_000


class Clock:
    """Clock that counts seconds, and can be stopped. It goes on when all who stopped it go on."""

    def __init__(self) -> None:
        self._seconds_stopped = 0.0
        self._n_stops = 0
        self._stopped_at = 0.0

    def __call__(self) -> float:
        now = self._stopped_at if self._n_stops else perf_counter()
        return now - self._seconds_stopped

    def stop(self) -> None:
        """Stop the clock."""
        if not self._n_stops:
            self._stopped_at = perf_counter()
        self._n_stops += 1

    def go_on(self) -> None:
        """Take a stop back."""
        self._n_stops -= 1
        if not self._n_stops:
            self._seconds_stopped += perf_counter() - self._stopped_at

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Within the block, the clock is stopped."""
        self.stop()
        try:
            yield
        finally:
            self.go_on()


RUN_CLOCK = Clock()
"""Clock for the time limits of runs in this process: it is stopped while kernels are compiled."""


class OutOfTime(Exception):
    """The time has run out before there was a result."""


def no_limit() -> float:
    """Return the time left of a run without a time limit."""
    return math.inf


def check_time(time_left: TimeLeft) -> None:
    """Raise OutOfTime if no time is left."""
    if time_left() <= 0.0:
        raise OutOfTime


def at_most(time_left: TimeLeft, seconds: float) -> TimeLeft:
    """Return the time left, limited to so many seconds from now on."""
    if seconds == math.inf:
        return time_left
    end = RUN_CLOCK() + seconds
    return lambda: min(time_left(), end - RUN_CLOCK())


def with_stop(time_left: TimeLeft, stop: Callable[[], bool] | None) -> TimeLeft:
    """Return the time left, which is none once `stop` is true."""
    if stop is None:
        return time_left
    asked = stop
    return lambda: 0.0 if asked() else time_left()


def chunks(n: int, each: int, time_left: TimeLeft) -> Iterator[tuple[int, int]]:
    """Yield ranges (first, last) that make up 0..n-1, and check the time before each but the first.

    A range has WORK steps where each number takes `each` steps.

    Raises
    ------
    OutOfTime
        If none is left.
    """
    length = max(1, WORK // max(1, each))
    for first in range(0, n, length):
        if first:
            check_time(time_left)
        yield first, min(n, first + length)
