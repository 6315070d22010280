"""Events of a batch, for its observer, and its exception."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdpbb.errors import InstanceError
from sdpbb.questions.batch.row import Row
from sdpbb.search.events import Compiling

if TYPE_CHECKING:
    from sdpbb.questions.batch.outcome import BatchResult


@dataclass(frozen=True)
class BatchStarted:
    """The batch begins.

    Of n_jobs in all, n_done were settled before; n_workers processes do the others.
    """

    n_jobs: int
    n_done: int
    n_workers: int


@dataclass(frozen=True)
class JobStarted:
    """A job was handed to a worker process; attempt counts from 1."""

    name: str
    attempt: int


@dataclass(frozen=True)
class JobPutBack:
    """The worker process of a job ended, for a reason such as "was ended by SIGKILL".

    The job is tried once more, at the end and alone.
    """

    name: str
    reason: str


@dataclass(frozen=True)
class JobEnded:
    """A row has been written. n_done counts the jobs that are settled now."""

    row: Row
    n_done: int
    n_jobs: int


@dataclass(frozen=True)
class AtWork:
    """Heartbeat while no job ends: n_running jobs are under way, seconds after the start."""

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
    """Do nothing: the observer of a quiet batch."""


class BatchError(InstanceError):
    """A manifest is wrong, or the folder of the results cannot be used.

    The message is one line that names the file, and the line or the table, says what is wrong there
    and what would be right.
    """
