"""How long there is: asked by every loop between pieces of work that are bounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from time import perf_counter

TimeLeft = Callable[[], float]
"""Seconds until the caller wants to have what there is: 0 or less once it is to come at once."""

# Elementary steps of a compiled loop between two looks at the time: about 0.05 s.
WORK = 30_000_000


class OutOfTime(Exception):
    """The time has run out before there was a clustering, or one that the piece could give."""


def endless() -> float:
    """As long as it takes."""
    return math.inf


def go_on(left: TimeLeft) -> None:
    """OutOfTime if no time is left."""
    if left() <= 0.0:
        raise OutOfTime


def at_most(left: TimeLeft, seconds: float) -> TimeLeft:
    """The time left, and no more than so many seconds from now on."""
    if seconds == math.inf:
        return left
    end = perf_counter() + seconds
    return lambda: min(left(), end - perf_counter())


def stopping(left: TimeLeft, stop: Callable[[], bool] | None) -> TimeLeft:
    """The time left, none once `stop` is true."""
    if stop is None:
        return left
    asked = stop
    return lambda: 0.0 if asked() else left()


def pieces(n: int, each: int, left: TimeLeft) -> Iterator[tuple[int, int]]:
    """Ranges (first, last) that make up 0..n-1, of WORK steps where each number takes `each`; the
    time is looked at before all of them but the first.

    Raises
    ------
    OutOfTime
        If none is left.
    """
    length = max(1, WORK // max(1, each))
    for first in range(0, n, length):
        if first:
            go_on(left)
        yield first, min(n, first + length)
