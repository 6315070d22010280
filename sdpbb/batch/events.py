"""What an observer of a batch is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdpbb.batch.row import Row

if TYPE_CHECKING:
    from sdpbb.batch.outcome import BatchResult


@dataclass(frozen=True)
class BatchStarted:
    """n_jobs in all, n_done of which need not be done again; n_workers processes do the others."""

    n_jobs: int
    n_done: int
    n_workers: int


@dataclass(frozen=True)
class Compiling:
    """A worker compiles kernels before it begins: once per machine and version."""


@dataclass(frozen=True)
class JobStarted:
    """A process was given the job; attempt counts from 1."""

    name: str
    attempt: int


@dataclass(frozen=True)
class JobPutBack:
    """The process that worked on the job died of reason: it is tried once more, at the end and
    alone."""

    name: str
    reason: str


@dataclass(frozen=True)
class JobEnded:
    """A row has been written. n_done counts the jobs that need not be done any more."""

    row: Row
    n_done: int
    n_jobs: int


@dataclass(frozen=True)
class AtWork:
    """A sign of life while no job ends: n_running jobs are under way, seconds after the start."""

    n_running: int
    n_done: int
    n_jobs: int
    seconds: float


@dataclass(frozen=True)
class Stopping:
    """The batch was interrupted: what is running is asked to end."""


@dataclass(frozen=True)
class BatchEnded:
    """The results have been written."""

    result: BatchResult


BatchEvent = (
    BatchStarted | Compiling | JobStarted | JobPutBack | JobEnded | AtWork | Stopping | BatchEnded
)
BatchObserver = Callable[[BatchEvent], None]


def ignore(event: BatchEvent) -> None:
    """The observer of those who do not want to know."""
