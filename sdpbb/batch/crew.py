"""Worker processes that take one task at a time, each on its own."""

from __future__ import annotations

import math
import queue
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sdpbb.batch.process import Inbox, WorkerProcess
from sdpbb.errors import BackendFailure

FAILED_STARTS = 3
"""So many workers in a row may die before they have begun with a task."""


class Ending(Enum):
    """How a task has ended."""

    DONE = "done"
    DIED = "died"
    """Its worker died while it was at work on it."""
    OVERDUE = "overdue"
    """Its worker was killed because it did not come back."""
    NOT_BEGUN = "not begun"


@dataclass(frozen=True)
class Completion:
    """What came of a task.

    key : of the task
    ending : how it ended
    value : what the worker returned; None unless it is DONE
    reason : of what the worker died, for DIED
    """

    key: int
    ending: Ending
    value: dict[str, Any] | None = None
    reason: str = ""


@dataclass
class _Place:
    """A worker, and the task that it was given."""

    worker: WorkerProcess
    key: int | None = None
    seconds: float = math.inf
    deadline: float = math.inf
    is_ready: bool = False
    has_begun: bool = False

    def give(self, key: int, task: dict[str, Any], seconds: float) -> None:
        self.key, self.seconds = key, seconds
        self.deadline, self.has_begun = math.inf, False
        self.worker.send({"task": task})


def _ignore() -> None:
    """For those who do not want to know."""


class Crew:
    """For one thread, which submits and waits in turns. A context manager by `crew`."""

    def __init__(
        self,
        n_workers: int,
        module: str,
        setting: str,
        grace: float,
        on_compile: Callable[[], None] = _ignore,
    ) -> None:
        """
        Parameters
        ----------
        n_workers : how many tasks run at the same time
        module, setting : as for `WorkerProcess`
        grace : seconds after which a worker that has not come back is killed: since the end of the
            seconds of its task, or since it was interrupted
        on_compile : called when a worker says that it has to compile something before it can begin
        """
        self._n_workers = n_workers
        self._module = module
        self._setting = setting
        self._grace = grace
        self._on_compile = on_compile
        self._inbox: Inbox = queue.SimpleQueue()
        self._places: list[_Place] = []
        self._ready: list[Completion] = []
        self._failed_starts = 0
        self._was_ready = False
        self._interrupted_at = math.inf

    @property
    def running(self) -> list[int]:
        """The keys of the tasks that workers have been given."""
        return [place.key for place in self._places if place.key is not None]

    @property
    def n_free(self) -> int:
        """How many tasks can be submitted now. Until the first worker is ready there is only one:
        it compiles what all need, or shows why none can work."""
        allowed = self._n_workers if self._was_ready else 1
        return max(0, allowed - len(self.running))

    def submit(self, key: int, task: dict[str, Any], seconds: float = math.inf) -> None:
        """Give a task to a worker; only while n_free > 0.

        seconds : what it may take; counted from its begin, and again from each step that it tells
        """
        place = next((place for place in self._places if place.key is None), None)
        if place is None:
            place = _Place(WorkerProcess(self._module, self._setting, self._inbox))
            self._places.append(place)
        place.give(key, task, seconds)

    def wait(self, seconds: float) -> list[Completion]:
        """Tasks that have ended since the last call; after so many seconds at the latest.

        Raises
        ------
        BackendFailure
            If workers cannot start.
        """
        if self._receive(seconds):
            while self._receive(0.0):  # all there is, before anything is found to be overdue
                pass
        self._kill_overdue()
        ready, self._ready = self._ready, []
        return ready

    def interrupt(self) -> None:
        """Ask all tasks for an early end; those that have not begun end at once. The workers take
        no tasks afterwards."""
        self._interrupted_at = time.monotonic()
        for place in list(self._places):
            if place.has_begun or place.key is None:
                place.worker.send({"interrupt": True})
                place.deadline = self._interrupted_at + self._grace
            else:
                self._end(place, Ending.NOT_BEGUN)

    def kill(self) -> None:
        """End all workers at once; can be repeated."""
        for place in self._places:
            place.worker.kill()
        self._places.clear()

    def _receive(self, seconds: float) -> bool:
        """Whether a message has come within so many seconds."""
        try:
            worker, message = self._inbox.get(timeout=seconds) if seconds else self._at_once()
        except queue.Empty:
            return False
        place = next((place for place in self._places if place.worker is worker), None)
        if place is None:  # killed meanwhile
            return True
        if message is None:
            self._bury(place)
        elif "compiling" in message:
            self._on_compile()
        elif "ready" in message:
            place.is_ready = self._was_ready = True
            self._failed_starts = 0
        elif "step" in message:
            place.has_begun = True
            if self._interrupted_at == math.inf:
                place.deadline = time.monotonic() + place.seconds + self._grace
        else:
            self._finish(place, message["value"], message["leaving"])
        return True

    def _at_once(self) -> tuple[WorkerProcess, dict[str, Any] | None]:
        return self._inbox.get_nowait()

    def _finish(self, place: _Place, value: dict[str, Any], leaving: bool) -> None:
        self._complete(place, Ending.DONE, value)
        if leaving:
            self._discard(place)

    def _bury(self, place: _Place) -> None:
        """Its process has ended by itself, or by whoever has killed it."""
        reason = place.worker.obituary()
        if not place.is_ready:
            self._failed_starts += 1
            if self._failed_starts >= FAILED_STARTS:
                raise BackendFailure(f"worker processes die while they start: {reason}")
        if place.key is None:
            self._discard(place)
        else:
            self._end(place, Ending.DIED if place.has_begun else Ending.NOT_BEGUN, reason)

    def _kill_overdue(self) -> None:
        now = time.monotonic()
        for place in list(self._places):
            if place.key is not None and now >= place.deadline:
                self._end(place, Ending.OVERDUE)

    def _end(self, place: _Place, ending: Ending, reason: str = "") -> None:
        self._complete(place, ending, reason=reason)
        self._discard(place)

    def _complete(
        self,
        place: _Place,
        ending: Ending,
        value: dict[str, Any] | None = None,
        reason: str = "",
    ) -> None:
        assert place.key is not None
        self._ready.append(Completion(place.key, ending, value, reason))
        place.key = None

    def _discard(self, place: _Place) -> None:
        place.worker.kill()
        self._places.remove(place)


@contextmanager
def crew(
    n_workers: int,
    module: str,
    setting: str,
    grace: float,
    on_compile: Callable[[], None] = _ignore,
) -> Iterator[Crew]:
    """A `Crew` whose workers are killed at the end of the block."""
    workers = Crew(n_workers, module, setting, grace, on_compile)
    try:
        yield workers
    finally:
        workers.kill()
