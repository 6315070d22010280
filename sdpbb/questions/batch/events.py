"""Events of a batch, for its observer, and its exception."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sdpbb.questions.batch.row import Row
from sdpbb.questions.study import AtWork, JobPutBack, JobStarted, Stopping
from sdpbb.questions.study_folder import StudyError as BatchError
from sdpbb.search.events import Compiling

if TYPE_CHECKING:
    from sdpbb.questions.batch.outcome import BatchResult

__all__ = [
    "AtWork",
    "BatchEnded",
    "BatchError",
    "BatchEvent",
    "BatchObserver",
    "BatchStarted",
    "Compiling",
    "JobEnded",
    "JobPutBack",
    "JobStarted",
    "Stopping",
    "ignore",
]


@dataclass(frozen=True)
class BatchStarted:
    """The batch begins.

    Of n_jobs in all, n_done were settled before; n_workers processes do the others.
    """

    n_jobs: int
    n_done: int
    n_workers: int


@dataclass(frozen=True)
class JobEnded:
    """A row has been written. n_done counts the jobs that are settled now."""

    row: Row
    n_done: int
    n_jobs: int


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
