"""Pool of tasks that loses no task when a worker dies."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future
from concurrent.futures import wait as wait_for_futures
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from types import TracebackType
from typing import Any

from sdpbb.errors import BackendFailure
from sdpbb.executors.executor import TaskDropped, TaskExecutor, TaskOverdue, WorkerDied

DEATHS = 2
"""A task is given up when so many workers have died of it, the last one while it ran alone."""

DROPS = 3
"""Number of times a task is dropped until the executor is given up."""

CHECK_SECONDS = 1.0
"""Seconds between two checks of the executor while the pool waits."""


class Ending(Enum):
    """End of a task."""

    DONE = "done"
    LOST = "lost"
    """Its workers died, also when no other task was under way."""
    OVERDUE = "overdue"
    """It did not end in time, and its worker was killed."""


@dataclass(frozen=True)
class Completion:
    """Outcome of a task.

    Attributes
    ----------
    key : of the task
    value : what its function returned; None unless it is done
    ending : how it ended
    reasons : how the workers that died of it ended, in their order
    """

    key: int
    value: Any
    ending: Ending = Ending.DONE
    reasons: tuple[str, ...] = ()

    @property
    def lost(self) -> bool:
        """True if its workers died of it."""
        return self.ending is Ending.LOST

    @property
    def attempts(self) -> int:
        """Number of workers that have begun with it."""
        return len(self.reasons) + (not self.lost)


@dataclass(eq=False)
class _QueuedTask:
    key: int
    function: Callable[[], Any]
    seconds: float
    deaths: list[str] = field(default_factory=list)
    n_drops: int = 0

    @property
    def is_suspect(self) -> bool:
        return bool(self.deaths)

    def completion(self, value: Any, ending: Ending = Ending.DONE) -> Completion:
        return Completion(self.key, value, ending, tuple(self.deaths))


class TaskPool:
    """Pool of tasks: keeps the workers of an executor busy.

    It is for one thread, which submits and waits in turns.

    A task whose worker died is a suspect. It may have brought down the worker itself, or have been
    the victim: of a user, of the system running out of memory under all workers together. So it is
    evaluated again alone, when nothing else is under way; if that kills a worker too, the task is
    given back as lost. Others are unaffected, except that no new ones are taken meanwhile.

    A context manager: without `shutdown`, this process may end only after all tasks.

    Attributes
    ----------
    n_deaths : tasks whose worker died, so far; one that is lost counts twice
    """

    def __init__(
        self,
        executor: TaskExecutor,
        *,
        suspects_last: bool = False,
        on_start: Callable[[int, int], None] = lambda key, attempt: None,
        on_death: Callable[[int, str], None] = lambda key, reason: None,
    ) -> None:
        """
        Parameters
        ----------
        executor : is taken over, and ended with the pool
        suspects_last : whether suspects wait until nothing else is submitted. If not, no new tasks
            are taken while there are any
        on_start : called with the key of a task that is handed to a worker, and the number of
            workers that it has been handed to, from 1
        on_death : called with the key of a task that becomes a suspect, and how its worker ended
        """
        self.n_deaths = 0
        self._executor = executor
        self._suspects_last = suspects_last
        self._on_start = on_start
        self._on_death = on_death
        self._running: dict[Future[Any], _QueuedTask] = {}
        self._dropped: deque[_QueuedTask] = deque()
        self._suspects: deque[_QueuedTask] = deque()
        self._ready: list[Completion] = []
        self._is_interrupted = False

    def __enter__(self) -> TaskPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.shutdown()

    @property
    def n_workers(self) -> int:
        """Number of tasks that can run at the same time; may change on a cluster."""
        return self._executor.n_workers

    @property
    def n_free(self) -> int:
        """Number of further tasks that can be submitted now; 0 while suspects are evaluated."""
        if self._runs_suspect or (self._suspects and not self._suspects_last):
            return 0
        # A cluster may have lost its workers for now; whoever submits one task and waits is told
        # if it stays so.
        return max(0, max(1, self.n_workers) - len(self._running) - len(self._dropped))

    def start(self) -> None:
        """Start the workers ahead of the first tasks (see `TaskExecutor.start`)."""
        self._executor.start()

    @property
    def n_running(self) -> int:
        """Number of workers that are at work."""
        return len(self._running)

    @property
    def n_under_way(self) -> int:
        """Tasks submitted whose completions `wait` has not returned yet."""
        return len(self.keys)

    @property
    def keys(self) -> list[int]:
        """Keys of the tasks under way."""
        tasks = [*self._running.values(), *self._dropped, *self._suspects]
        return [task.key for task in tasks] + [completion.key for completion in self._ready]

    @property
    def _runs_suspect(self) -> bool:
        return any(task.is_suspect for task in self._running.values())

    def submit(
        self, key: int, function: Callable[..., Any], *args: Any, seconds: float = math.inf
    ) -> None:
        """Evaluate function(*args) in a worker; only while n_free > 0.

        Parameters
        ----------
        key : tells tasks under way apart
        function : belongs to a module that workers can import, and can be evaluated twice
        seconds : that a local process has for it (`TaskExecutor.submit`)
        """
        if self.n_free <= 0:
            raise RuntimeError("the pool does not accept tasks now")
        if any(task.key == key for task in self._running.values()):
            raise RuntimeError(f"a task {key} is under way already")
        self._start(_QueuedTask(key, partial(function, *args), seconds))

    def wait(self, timeout: float | None = None) -> list[Completion]:
        """Return the tasks completed since the last call, in order of submission.

        At least one; none only after `timeout` seconds, or if no task is under way but suspects
        that wait for those that the caller may submit now.

        Raises
        ------
        BackendFailure
            If no worker can be had any more.
        Exception
            Whatever a function raised, MemoryError included, chained to the traceback in the
            worker. The task is forgotten, others are not.
        """
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        self._start_again()
        while True:
            self._collect()
            left = deadline - time.monotonic()
            if self._ready or not self._running or left <= 0.0:
                ready, self._ready = self._ready, []
                return ready
            pause = min(left, CHECK_SECONDS)
            if not wait_for_futures(self._running, pause, FIRST_COMPLETED).done:
                self._executor.check()

    def interrupt(self) -> None:
        """Ask all tasks for an early end.

        From here on `wait` returns those that end with a value; the others are forgotten, and
        nothing is started.
        """
        self._is_interrupted = True
        self._dropped.clear()
        self._suspects.clear()
        self._executor.interrupt()

    def shutdown(self) -> None:
        """End all workers at once; what is under way is lost. Can be repeated."""
        self._running.clear()
        self._dropped.clear()
        self._suspects.clear()
        self._ready.clear()
        self._executor.kill()

    def _start(self, task: _QueuedTask) -> None:
        self._running[self._executor.submit(task.function, task.seconds)] = task
        self._on_start(task.key, len(task.deaths) + 1)

    def _collect(self) -> None:
        for future in [future for future in self._running if future.done()]:
            self._finish(self._running.pop(future), future)
        if not self._suspects_last:
            self._start_again()

    def _finish(self, task: _QueuedTask, future: Future[Any]) -> None:
        error = future.exception()
        if error is None:
            self._ready.append(task.completion(future.result()))
        elif self._is_interrupted and isinstance(error, (WorkerDied, TaskDropped, TaskOverdue)):
            pass
        elif isinstance(error, WorkerDied):
            self._note_death(task, str(error))
        elif isinstance(error, TaskOverdue):
            self._ready.append(task.completion(None, Ending.OVERDUE))
        elif isinstance(error, TaskDropped):
            task.n_drops += 1
            if task.n_drops >= DROPS:
                raise BackendFailure(str(error)) from error
            (self._suspects if task.is_suspect else self._dropped).append(task)
        else:
            raise error

    def _note_death(self, task: _QueuedTask, reason: str) -> None:
        self.n_deaths += 1
        task.deaths.append(reason)
        if len(task.deaths) < DEATHS:
            self._suspects.append(task)
            self._on_death(task.key, reason)
        else:
            self._ready.append(task.completion(None, Ending.LOST))

    def _start_again(self) -> None:
        """Start tasks that have come back: those dropped at once, suspects alone."""
        if self._runs_suspect:
            return
        while self._dropped and (self._running or self._suspects_last or not self._suspects):
            self._start(self._dropped.popleft())
        if self._suspects and not self._running:
            self._start(self._suspects.popleft())
