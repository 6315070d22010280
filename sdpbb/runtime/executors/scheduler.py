"""Scheduler of tasks: keeps workers busy, and loses no task when one of them dies."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future
from concurrent.futures import wait as wait_for_futures
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sdpbb.errors import BackendFailure
from sdpbb.runtime.executors.executor import TaskDropped, TaskExecutor, TaskOverdue, WorkerDied

DEATHS = 2
"""A task is given up when so many workers have died of it, the last one while it ran alone."""

DROPS = 3
"""Number of times a task is dropped until the executor is given up."""

CHECK_SECONDS = 1.0
"""Seconds between two checks of the executor while the scheduler waits."""


@dataclass(eq=False)
class Task:
    """Call of a function that may be made twice, and its outcome.

    Attributes
    ----------
    key : different from those of other tasks under way
    function, args : can be pickled, unless the executor is that of this process
    seconds : that a process of this machine has for it (`TaskExecutor.submit`)
    value : what the function returned; None without it
    is_overdue : whether it did not end in time, and its worker was killed
    deaths : how the workers that died of it ended, in their order
    n_drops : number of workers that did not begin with it
    """

    key: int
    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    seconds: float = math.inf
    value: Any = None
    is_overdue: bool = False
    deaths: list[str] = field(default_factory=list)
    n_drops: int = 0

    @property
    def is_lost(self) -> bool:
        """True if its workers died of it, also when no other task was under way."""
        return len(self.deaths) >= DEATHS

    @property
    def n_attempts(self) -> int:
        """Number of workers that have started with it, if it has ended."""
        return len(self.deaths) + (not self.is_lost)


TaskSource = Callable[[], Task | None]
"""Source of tasks: a function that returns the next one, or None if there is none now."""


def source_of(*tasks: Task) -> TaskSource:
    """Return the source of some tasks; of none, to wait for those under way."""
    return partial(next, iter(tasks), None)


class Scheduler:
    """Scheduler of the tasks of a source, for one thread.

    Its caller makes rounds, until one returns None:

        while (tasks := scheduler.round(next_task, PAUSE)) is not None:
            for task in tasks:
                ...  # with its value

    A task whose worker died is a suspect. It may have brought down the worker itself, or have been
    the victim: of a user, of the system running out of memory under all workers together. So it is
    done again alone, when nothing else is under way; if that kills a worker too, the task is lost.
    Others are unaffected, except that no new ones are begun meanwhile.

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
        on_start: Callable[[int, int], object] = lambda key, attempt: None,
        on_death: Callable[[int, str], object] = lambda key, reason: None,
    ) -> None:
        """
        Parameters
        ----------
        executor : is taken over, and ended with the scheduler
        suspects_last : whether suspects wait until the source has no other task. If not, no new
            tasks are begun while there are any
        on_start : called with the key of a task that is handed to a worker, and the number of
            workers that it has been handed to, from 1
        on_death : called with the key of a task that becomes a suspect, and how its worker ended
        """
        self.n_deaths = 0
        self._executor = executor
        self._suspects_last = suspects_last
        self._on_start = on_start
        self._on_death = on_death
        self._running: dict[Future[Any], Task] = {}
        self._dropped: deque[Task] = deque()
        self._suspects: deque[Task] = deque()
        self._ready: list[Task] = []
        self._is_interrupted = False

    def __enter__(self) -> Scheduler:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    @property
    def n_workers(self) -> int:
        """Number of tasks that can run at the same time; may change on a cluster."""
        return self._executor.n_workers

    @property
    def n_running(self) -> int:
        """Number of workers that are at work."""
        return len(self._running)

    @property
    def keys(self) -> list[int]:
        """Keys of the tasks under way, which no round has returned yet."""
        tasks = [*self._running.values(), *self._dropped, *self._suspects, *self._ready]
        return [task.key for task in tasks]

    def round(self, next_task: TaskSource, pause: float = math.inf) -> list[Task] | None:
        """Begin tasks while workers are free, and wait until one ends.

        Parameters
        ----------
        next_task : is called while a worker is free
        pause : seconds to wait

        Returns
        -------
        The tasks that have ended, in order of submission; there may be none. None if nothing is
        under way, and the source has no task.

        Raises
        ------
        BackendFailure
            If there are no workers any more.
        Exception
            Whatever a function raised, MemoryError included, chained to the traceback in the
            worker. The task is forgotten, others are not.
        """
        while (task := self._next(next_task)) is not None:
            self._start(task)
        if not self.keys:
            return None
        self._wait(0.0 if self._ready else pause)
        ready, self._ready = self._ready, []
        return ready

    def interrupt(self) -> None:
        """Ask all tasks for an early end; can be repeated.

        From here on a round returns those that end with a value; the others are forgotten, and
        nothing is begun.
        """
        if self._is_interrupted:
            return
        self._is_interrupted = True
        self._dropped.clear()
        self._suspects.clear()
        if not self._executor.interrupt():
            self._abandon()

    def shutdown(self) -> None:
        """End all workers at once; what is under way is lost. Can be repeated."""
        self._dropped.clear()
        self._suspects.clear()
        self._ready.clear()
        self._abandon()
        self._executor.kill()

    def _abandon(self) -> None:
        for future in self._running:
            self._executor.abandon(future)
        self._running.clear()

    def _next(self, next_task: TaskSource) -> Task | None:
        """Return the task to begin now: a dropped one, one of the source, or a suspect alone."""
        # A cluster may have lost its workers for now: one task is begun, to be told if it stays so.
        is_full = len(self._running) >= max(1, self._executor.n_workers)
        if is_full or self._is_interrupted or any(task.deaths for task in self._running.values()):
            return None
        if self._suspects_last or not self._suspects:
            if self._dropped:
                return self._dropped.popleft()
            if (task := next_task()) is not None:
                return task
        return self._suspects.popleft() if self._suspects and not self._running else None

    def _start(self, task: Task) -> None:
        function = partial(task.function, *task.args)
        self._running[self._executor.submit(function, task.seconds)] = task
        self._on_start(task.key, len(task.deaths) + 1)

    def _wait(self, seconds: float) -> None:
        """Wait until tasks end, and take them."""
        deadline = time.monotonic() + seconds
        while self._running:
            pause = min(CHECK_SECONDS, max(0.0, deadline - time.monotonic()))
            if wait_for_futures(self._running, pause, FIRST_COMPLETED).done:
                break
            self._executor.check()
            if time.monotonic() >= deadline:
                return
        for future in [future for future in self._running if future.done()]:
            self._take(self._running.pop(future), future)

    def _take(self, task: Task, future: Future[Any]) -> None:
        """Take a task that has ended."""
        try:
            task.value = self._executor.result(future)
        except (WorkerDied, TaskDropped, TaskOverdue) as end:
            if not self._is_interrupted:
                self._take_without_value(task, end)
        else:
            self._end(task)

    def _take_without_value(self, task: Task, end: Exception) -> None:
        if isinstance(end, TaskOverdue):
            task.is_overdue = True
            self._end(task)
        elif isinstance(end, TaskDropped):
            task.n_drops += 1
            if task.n_drops >= DROPS:
                raise BackendFailure(str(end)) from end
            (self._suspects if task.deaths else self._dropped).append(task)
        else:
            self.n_deaths += 1
            task.deaths.append(str(end))
            if task.is_lost:
                self._end(task)
            else:
                self._suspects.append(task)
                self._on_death(task.key, str(end))

    def _end(self, task: Task) -> None:
        task.args = ()  # which may be large
        self._ready.append(task)
