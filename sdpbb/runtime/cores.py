"""Threads of this process, among which the pieces of a large step are shared out.

A step is cut into the same pieces however many threads there are, and no piece reads what another
one writes: what comes out does not depend on the number of threads, to the last bit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeVar

from threadpoolctl import threadpool_limits

Value = TypeVar("Value")
Range = tuple[int, int]

# Rows of a piece: few enough for many cores.
ROWS = 128
# Operations from which a step is shared out: some milliseconds, beside which it costs nothing to
# wake a thread, a third of one.
LEAST_WORK = 1e8
# As many operations as reading and writing an entry of some matrices takes the time of.
PASS = 40.0
# Order of matrices from which some steps of an iteration are as long as that.
LARGE = 256


class _Cores(threading.local):
    """Cores that the present thread may use, and the threads that it has for them."""

    n = 1
    pool: ThreadPoolExecutor | None = None


_cores = _Cores()


@contextmanager
def using_cores(n: int) -> Iterator[None]:
    """Context manager: large steps that this thread takes use n cores within the block.

    BLAS is to have one thread already, here and in all threads.
    """
    before = _cores.n, _cores.pool
    _cores.n, _cores.pool = n, None
    try:
        yield
    finally:
        if _cores.pool is not None:
            _cores.pool.shutdown()
        _cores.n, _cores.pool = before


def in_pieces(step: Callable[[int, int], Value], pieces: Sequence[Range]) -> list[Value]:
    """Call step(first, last) for each piece; return what it returns, in the order of the pieces.

    A step that is to use several cores releases the interpreter, as products of matrices and
    compiled loops do.
    """
    if min(_cores.n, len(pieces)) < 2:
        return [step(first, last) for first, last in pieces]
    if _cores.pool is None:
        _cores.pool = ThreadPoolExecutor(
            _cores.n, "sdpbb", initializer=threadpool_limits, initargs=(1,)
        )
    values = [_cores.pool.submit(step, *piece) for piece in pieces]
    wait(values)  # also if one fails: others read and write the same arrays
    return [value.result() for value in values]


def row_pieces(m: int, work: float) -> tuple[Range, ...]:
    """Return the pieces of m rows: ranges of rows from the first to before the last.

    work : operations of the whole step, roughly
    """
    return _pieces(m) if work >= LEAST_WORK else ((0, m),)


def pass_pieces(m: int) -> tuple[Range, ...]:
    """Return the pieces of m rows for a pass over the entries of some matrices of order m."""
    return row_pieces(m, PASS * m**2)


@lru_cache(maxsize=64)
def _pieces(m: int) -> tuple[Range, ...]:
    return tuple((first, min(first + ROWS, m)) for first in range(0, m, ROWS))
