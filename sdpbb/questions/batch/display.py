"""Observers that show the progress of a batch: a live display, or plain lines."""

from __future__ import annotations

import time
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sdpbb.questions.batch.batch import (
    BatchEnded,
    BatchEvent,
    BatchStarted,
    JobEnded,
)
from sdpbb.questions.batch.outcome import Row, RowStatus, short_line, summary
from sdpbb.questions.study import AtWork, JobPutBack, JobStarted, Stopping
from sdpbb.run.report import COMPILING, TextStream
from sdpbb.runtime.files import shown_path
from sdpbb.runtime.values import counted
from sdpbb.search.events import Compiling

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

SHOWN = 8
"""Number of running jobs that are named."""


class PlainLines:
    """Observer that writes plain lines.

    There is one for each job that ends, one with the number of jobs under way where none ends for a
    while, and the summary.
    """

    def __init__(self, stream: TextStream, version: str) -> None:
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
            case JobPutBack(name, reason):
                again = "retried once, at the end and alone"
                self._write(f"{shown_path(name)}: worker process {reason}; {again}")
            case JobEnded(row, n_done):
                self._n_done = n_done
                self._write_row(row)
            case AtWork(n_running, seconds):
                self._write_count(f"{n_running} running, {clock(seconds)}")
            case BatchEnded(result):
                self._write(f"\n{summary(result)}".rstrip("\n"))

    def _write(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()

    def _write_row(self, row: Row) -> None:
        self._write_count(short_line(row))

    def _write_count(self, text: str) -> None:
        """Write a line that begins with the number of jobs that are done."""
        self._write(f"[{self._n_done:>{len(str(self._n_jobs))}}/{self._n_jobs}] {text}")


class LiveDisplay(PlainLines):
    """Observer that keeps a few lines at the bottom of a terminal up to date.

    They show how many jobs are done, which are running, and the time left. Above them it prints a
    line for each job without an answer. It is a context manager, and draws within its block.
    """

    def __init__(self, console: Console, version: str) -> None:
        from rich.live import Live

        super().__init__(console.file, version)
        self._console = console
        self._counts: Counter[RowStatus] = Counter()
        self._running: dict[str, float] = {}
        self._started = time.monotonic()
        self._n_before = 0
        self._is_stopping = False
        self._live = Live(
            console=console, get_renderable=self._drawing, refresh_per_second=4, transient=True
        )

    def __enter__(self) -> Self:
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
                self._started, self._n_before = time.monotonic(), event.n_done
            case JobStarted(name):
                self._running[name] = time.monotonic()
            case JobPutBack(name):
                self._running.pop(name, None)
            case JobEnded(row):
                self._running.pop(row.name, None)
                self._counts[row.status] += 1
            case Stopping():
                self._is_stopping = True
            case AtWork():
                return  # which is seen
            case BatchEnded():
                self._live.stop()
        super().__call__(event)

    def _write(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, emoji=False, soft_wrap=True)

    def _write_row(self, row: Row) -> None:
        if not row.succeeded:
            self._write(short_line(row))

    def _drawing(self) -> Text:
        from rich.text import Text

        lines = self._lines() if self._n_jobs else []
        return Text("\n".join(lines), no_wrap=True, overflow="crop")

    def _lines(self) -> list[str]:
        now = time.monotonic()
        elapsed = now - self._started
        first = f"{self._n_done}/{self._n_jobs} done, {clock(elapsed)}"
        n_ended = self._n_done - self._n_before
        if self._is_stopping:
            first += ", interrupted: waiting for running instances"
        elif n_ended > 0:
            left = elapsed / n_ended * (self._n_jobs - self._n_done)
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


def header(started: BatchStarted, version: str) -> str:
    """Return the first line of a batch: its instances and workers."""
    before = f", {started.n_done} of them done before" if started.n_done else ""
    return (
        f"sdpbb {version}: batch of {counted(started.n_jobs, 'instance')}{before}, "
        f"{counted(started.n_workers, 'worker')}"
    )


def clock(seconds: float) -> str:
    """Return seconds as h:mm:ss."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
