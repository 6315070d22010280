"""Observers that show the progress of a batch: a live display, or plain lines."""

from __future__ import annotations

import time
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from sdpbb.questions.batch.events import (
    AtWork,
    BatchEnded,
    BatchEvent,
    BatchStarted,
    JobEnded,
    JobPutBack,
    JobStarted,
    Stopping,
)
from sdpbb.questions.batch.row import RowStatus
from sdpbb.questions.batch.summary import short_line, summary
from sdpbb.runtime.files import shown_path
from sdpbb.search.events import Compiling

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

SHOWN = 8
"""Number of running jobs that are named."""

COMPILING = "Compiling kernels: once per machine and version"


class Stream(Protocol):
    """Output stream."""

    def write(self, text: str, /) -> object: ...

    def flush(self) -> object: ...


class PlainLines:
    """Observer that writes plain lines.

    There is one for each job that ends, one with the number of jobs under way where none ends for a
    while, and the summary.
    """

    def __init__(self, stream: Stream, version: str) -> None:
        self._stream = stream
        self._version = version
        self._n_done = self._n_jobs = 0

    def __call__(self, event: BatchEvent) -> None:
        match event:
            case BatchStarted(n_jobs, n_done):
                self._n_done, self._n_jobs = n_done, n_jobs
                self._write(header(event, self._version))
            case Compiling():
                self._write(COMPILING)
            case JobPutBack():
                self._write(_retry_line(event))
            case JobEnded(row, n_done, n_jobs):
                self._n_done = n_done
                self._write(f"{_count(n_done, n_jobs)} {short_line(row)}")
            case AtWork(n_running, seconds):
                count = _count(self._n_done, self._n_jobs)
                self._write(f"{count} {n_running} running, {clock(seconds)}")
            case BatchEnded(result):
                self._write(f"\n{summary(result)}".rstrip("\n"))

    def _write(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()


class LiveDisplay:
    """Observer that keeps a few lines at the bottom of a terminal up to date.

    They show how many jobs are done, which are running, and the time left. Above them it prints a
    line for each job without an answer. It is a context manager, and draws within its block.
    """

    def __init__(self, console: Console, version: str) -> None:
        from rich.live import Live

        self._console = console
        self._version = version
        self._counts: Counter[RowStatus] = Counter()
        self._running: dict[str, float] = {}
        self._started = time.monotonic()
        self._n_jobs = self._n_before = self._n_done = 0
        self._workers = 1
        self._is_stopping = False
        self._live = Live(
            console=console, get_renderable=self._drawing, refresh_per_second=4, transient=True
        )

    def __enter__(self) -> LiveDisplay:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.stop()

    def __call__(self, event: BatchEvent) -> None:
        match event:
            case BatchStarted():
                self._started = time.monotonic()
                self._n_jobs, self._n_before = event.n_jobs, event.n_done
                self._n_done, self._workers = event.n_done, event.n_workers
                self._print(header(event, self._version))
            case Compiling():
                self._print(COMPILING)
            case JobStarted(name):
                self._running[name] = time.monotonic()
            case JobPutBack(name):
                self._running.pop(name, None)
                self._print(_retry_line(event))
            case JobEnded(row, n_done):
                self._running.pop(row.name, None)
                self._counts[row.status] += 1
                self._n_done = n_done
                if not row.succeeded:
                    self._print(short_line(row))
            case Stopping():
                self._is_stopping = True
            case BatchEnded(result):
                self._live.stop()
                self._print(f"\n{summary(result)}".rstrip("\n"))

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, emoji=False, soft_wrap=True)

    def _drawing(self) -> Text:
        from rich.text import Text

        lines = self._lines() if self._n_jobs else []
        return Text("\n".join(lines), no_wrap=True, overflow="crop")

    def _lines(self) -> list[str]:
        now = time.monotonic()
        elapsed = now - self._started
        first = f"{self._n_done}/{self._n_jobs} done, {clock(elapsed)}"
        if self._is_stopping:
            first += ", interrupted: waiting for running instances"
        elif (left := self._seconds_left(elapsed)) is not None:
            first += f", about {clock(left)} remaining"
        counts = ", ".join(f"{self._counts[s]} {s.value}" for s in RowStatus if self._counts[s])
        running = list(self._running.items())
        names = [f"{shown_path(name)} ({clock(now - since)})" for name, since in running[:SHOWN]]
        more = f", and {len(running) - SHOWN} more" if len(running) > SHOWN else ""
        return [
            first,
            f"so far: {counts or 'none'}",
            f"running: {', '.join(names) or 'none'}{more}",
        ]

    def _seconds_left(self, elapsed: float) -> float | None:
        """Return the seconds left, extrapolated from ended jobs; None before the first."""
        n_ended = self._n_done - self._n_before
        if n_ended <= 0:
            return None
        return elapsed / n_ended * (self._n_jobs - self._n_done)


def _count(n_done: int, n_jobs: int) -> str:
    return f"[{n_done:>{len(str(n_jobs))}}/{n_jobs}]"


def header(started: BatchStarted, version: str) -> str:
    """Return the first line of a batch: its instances and workers."""
    n, workers = started.n_jobs, started.n_workers
    before = f", {started.n_done} of them done before" if started.n_done else ""
    return (
        f"sdpbb {version}: batch of {n} instance{'' if n == 1 else 's'}{before}, "
        f"{workers} worker{'' if workers == 1 else 's'}"
    )


def clock(seconds: float) -> str:
    """Return seconds as h:mm:ss."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def _retry_line(event: JobPutBack) -> str:
    return (
        f"{shown_path(event.name)}: worker process {event.reason}; retried once, at the end and "
        "alone"
    )
