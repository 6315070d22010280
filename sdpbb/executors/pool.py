"""A pool of tasks that no dying worker costs a task."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future
from concurrent.futures import wait as wait_for_futures
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from sdpbb.errors import BackendFailure
from sdpbb.executors.executor import TaskDropped, TaskExecutor, WorkerDied

DEATHS = 2
"""So often must a worker die of a task, the last time with nothing else under way, until the task
is given up."""

DROPS = 3
"""So often may a task be dropped until the executor is given up."""

CHECK_SECONDS = 1.0
"""How often a waiting pool asks whether there is still something to wait for."""


@dataclass(frozen=True)
class Completion:
    """What came of a task: its value, or lost if workers die of it (value is None)."""

    key: int
    value: Any
    lost: bool = False


@dataclass(eq=False)
class _Task:
    key: int
    function: Callable[..., Any]
    args: tuple[Any, ...]
    n_deaths: int = 0
    n_drops: int = 0

    @property
    def is_suspect(self) -> bool:
        return self.n_deaths > 0


class TaskPool:
    """Keeps the workers of an executor busy; for one thread, which submits and waits in turns.

    A task whose worker died is a suspect. It may have brought down the worker itself, or have been
    the victim: of a user, of the system running out of memory under all workers together. So it is
    evaluated again alone, when nothing else is under way; if that kills a worker too, the task is
    given back as lost. Others are unaffected, except that no new ones are taken meanwhile.

    A context manager: without `shutdown`, this process may end only after all tasks.

    Attributes
    ----------
    n_deaths : tasks whose worker died, so far; one that is lost counts twice
    """

    def __init__(self, executor: TaskExecutor) -> None:
        """Takes over the executor, and ends it with itself."""
        self.n_deaths = 0
        self._executor = executor
        self._running: dict[Future[Any], _Task] = {}
        self._again: deque[_Task] = deque()
        self._ready: list[Completion] = []

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
        """How many tasks can run at the same time; may change on a cluster."""
        return self._executor.n_workers

    @property
    def n_free(self) -> int:
        """How many more tasks can be submitted now; 0 while suspects are evaluated."""
        if self._again or any(task.is_suspect for task in self._running.values()):
            return 0
        # A cluster may have lost its workers for now; whoever submits one task and waits is told
        # if it stays so.
        return max(0, max(1, self.n_workers) - len(self._running))

    @property
    def n_under_way(self) -> int:
        """Tasks submitted whose completions `wait` has not returned yet."""
        return len(self._running) + len(self._again) + len(self._ready)

    @property
    def keys(self) -> list[int]:
        """Of the tasks under way."""
        tasks = [*self._running.values(), *self._again]
        return [task.key for task in tasks] + [completion.key for completion in self._ready]

    def submit(self, key: int, function: Callable[..., Any], *args: Any) -> None:
        """Evaluate function(*args) in a worker; only while n_free > 0.

        The function must belong to a module that workers can import, and be one that can be
        evaluated twice. Keys tell tasks under way apart.
        """
        if self.n_free <= 0:
            raise RuntimeError("the pool takes no task now")
        if any(task.key == key for task in self._running.values()):
            raise RuntimeError(f"a task {key} is under way already")
        self._start(_Task(key, function, args))

    def wait(self, timeout: float | None = None) -> list[Completion]:
        """Tasks completed since the last call, in order of submission.

        At least one; none only after `timeout` seconds, or if no task is under way.

        Raises
        ------
        BackendFailure
            If no worker can be had any more.
        Exception
            Whatever a function raised, MemoryError included, chained to the traceback in the
            worker. The task is forgotten, others are not.
        """
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            self._collect()
            left = deadline - time.monotonic()
            if self._ready or not self._running or left <= 0.0:
                ready, self._ready = self._ready, []
                return ready
            pause = min(left, CHECK_SECONDS)
            if not wait_for_futures(self._running, pause, FIRST_COMPLETED).done:
                self._executor.check()

    def shutdown(self) -> None:
        """End all workers at once; what is under way is lost. Can be repeated."""
        self._running.clear()
        self._again.clear()
        self._ready.clear()
        self._executor.kill()

    def _start(self, task: _Task) -> None:
        self._running[self._executor.submit(task.function, *task.args)] = task

    def _collect(self) -> None:
        for future in [future for future in self._running if future.done()]:
            self._finish(self._running.pop(future), future)
        self._start_again()

    def _finish(self, task: _Task, future: Future[Any]) -> None:
        error = future.exception()
        if error is None:
            self._ready.append(Completion(task.key, future.result()))
        elif isinstance(error, WorkerDied):
            self.n_deaths += 1
            task.n_deaths += 1
            if task.n_deaths < DEATHS:
                self._again.append(task)
            else:
                self._ready.append(Completion(task.key, None, lost=True))
        elif isinstance(error, TaskDropped):
            task.n_drops += 1
            if task.n_drops >= DROPS:
                raise BackendFailure(str(error)) from error
            self._again.append(task)
        else:
            raise error

    def _start_again(self) -> None:
        """Start tasks that have come back: those dropped at once, suspects alone."""
        while self._again and not any(task.is_suspect for task in self._running.values()):
            if self._again[0].is_suspect and self._running:
                return
            self._start(self._again.popleft())
