"""Threads of this process that share the pieces of a large step.

The pieces do not depend on the number of threads, and no piece reads what another piece writes. So
the result is the same to the last bit for any number of threads.
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

# Rows of a piece, few enough for many cores.
ROWS = 128
# Minimum operations of a shared step: some milliseconds. Waking a thread takes a third of a
# millisecond.
LEAST_WORK = 1e8
# Operations that take as long as reading and writing an entry of some matrices.
PASS = 40.0
# Order of matrices from which some steps of an iteration take as long as a shared step.
LARGE = 256


class _Cores(threading.local):
    """Number of cores that the present thread may use, and its threads for them."""

    n = 1
    pool: ThreadPoolExecutor | None = None


_cores = _Cores()


@contextmanager
def using_cores(n: int) -> Iterator[None]:
    """Context manager: large steps of this thread use n cores within the block.

    BLAS must be limited to one thread already, here and in all threads.
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
    """Call step(first, last) for each piece; return the values in the order of the pieces.

    A step uses several cores only if it releases the interpreter, as matrix products and compiled
    loops do.
    """
    if min(_cores.n, len(pieces)) < 2:
        return [step(first, last) for first, last in pieces]
    if _cores.pool is None:
        _cores.pool = ThreadPoolExecutor(
            _cores.n, "sdpbb", initializer=threadpool_limits, initargs=(1,)
        )
    values = [_cores.pool.submit(step, *piece) for piece in pieces]
    wait(values)  # even if one fails: others use the same arrays
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
