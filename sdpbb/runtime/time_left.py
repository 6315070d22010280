"""Cooperative time limits: every loop asks for the time left between bounded chunks of work."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

TimeLeft = Callable[[], float]
"""Seconds until the caller wants a result: 0 or less if it wants the result at once."""

# Elementary steps of a compiled loop between two checks of the time: about 0.05 s.
WORK = 30_000_000


class StoppableClock:
    """Clock that counts seconds. After a `stop` it pauses until every `stop` has its `go_on`."""

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


RUN_CLOCK = StoppableClock()
"""Clock for the time limits of runs in this process: it is stopped while kernels are compiled."""


def never() -> bool:
    """Return False: nobody asks for an early end."""
    return False


@dataclass(frozen=True)
class Clock:
    """Time limit of some work, and whether somebody asks for its early end.

    limit : seconds from `started`
    stop : whether the work is to end now; checked between pieces of work
    started : time on `RUN_CLOCK`
    """

    limit: float = math.inf
    stop: Callable[[], bool] = never
    started: float = field(default_factory=RUN_CLOCK)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return RUN_CLOCK() - self.started

    @property
    def seconds_left(self) -> float:
        """Seconds until the limit: at least 0; inf without a limit."""
        return max(0.0, self.limit - self.seconds)

    @property
    def is_over(self) -> bool:
        """True once the work is to end."""
        return self.stop() or self.seconds >= self.limit

    def time_left(self) -> float:
        """Return the remaining seconds: 0 once the work is to end, inf without a limit."""
        return 0.0 if self.is_over else self.seconds_left


class OutOfTime(Exception):
    """The time has run out before there was a result."""


def no_limit() -> float:
    """Return the time left of a run without a time limit."""
    return math.inf


def check_time(time_left: TimeLeft) -> None:
    """Raise OutOfTime if no time remains."""
    if time_left() <= 0.0:
        raise OutOfTime


def at_most(time_left: TimeLeft, seconds: float) -> TimeLeft:
    """Return the time left, limited to some seconds from now on."""
    if seconds == math.inf:
        return time_left
    end = RUN_CLOCK() + seconds
    return lambda: min(time_left(), end - RUN_CLOCK())


def with_stop(time_left: TimeLeft, stop: Callable[[], bool] | None) -> TimeLeft:
    """Return the time left, which is 0 once `stop` is true."""
    if stop is None:
        return time_left
    asked = stop
    return lambda: 0.0 if asked() else time_left()


def chunks(n: int, each: int, time_left: TimeLeft) -> Iterator[tuple[int, int]]:
    """Yield ranges (first, last) that make up 0..n-1, and check the time between two ranges.

    A range has about WORK steps.

    each : steps that a number takes

    Raises
    ------
    OutOfTime
        If no time remains.
    """
    length = max(1, WORK // max(1, each))
    for first in range(0, n, length):
        if first:
            check_time(time_left)
        yield first, min(n, first + length)
