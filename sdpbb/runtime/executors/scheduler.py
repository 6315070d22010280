"""Scheduler of tasks, which repeats them when workers die; base class of executors."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any

DEATHS = 2
"""A task is lost after the deaths of this many workers, the last one while the task ran alone."""

CHECK_SECONDS = 1.0
"""Maximum seconds between two checks of the executor."""


class WorkerDied(Exception):
    """The worker died during the task; the task may be the cause or not.

    The text says how it died, such as "was ended by SIGKILL".
    """


class TaskOverdue(Exception):
    """The worker was killed because the task did not end in time."""


class TaskExecutor:
    """Interface of executors: run functions elsewhere, and replace dead workers."""

    @property
    def n_workers(self) -> int:
        """Number of tasks that can run at the same time; may change on a cluster."""
        raise NotImplementedError

    def submit(self, function: Callable[[], Any], seconds: float = math.inf) -> Future[Any]:
        """Run a function without arguments.

        Parameters
        ----------
        function : can be pickled, unless the executor runs tasks in this process
        seconds : maximum time; only processes of this machine enforce it

        Returns
        -------
        A future for `result`. The executor accepts more tasks however this task ends.
        """
        raise NotImplementedError

    def result(self, future: Future[Any]) -> Any:
        """Return the value of a task that has ended.

        Raises
        ------
        WorkerDied, TaskOverdue
            If the worker has died, or was killed because the task was overdue.
        BackendFailure
            If no worker can run tasks.
        Exception
            The exception of the function, chained to the traceback in the worker.
        """
        return future.result()

    def abandon(self, future: Future[Any]) -> None:
        """Forget a task; if it has not begun, it need not begin."""
        future.cancel()

    def check(self) -> None:
        """Check workers; called regularly while waiting.

        Raises
        ------
        BackendFailure
            If waiting is useless.
        """

    def interrupt(self) -> bool:
        """Ask running tasks for an early end; accept no more tasks.

        Return whether this is possible; otherwise the tasks are abandoned.
        """
        return False

    def kill(self) -> None:
        """End the workers at once, and their tasks where the executor can; may be repeated."""


class SerialExecutor(TaskExecutor):
    """Executor in this process: no pickling, no processes, the same order every time."""

    @property
    def n_workers(self) -> int:
        return 1

    def submit(self, function: Callable[[], Any], seconds: float = math.inf) -> Future[Any]:
        """Run the function now; exceptions go to the future, interrupts to the caller."""
        future: Future[Any] = Future()
        try:
            future.set_result(function())
        except Exception as error:
            future.set_exception(error)
        return future


@dataclass(eq=False)
class Task:
    """Function call that may be repeated, and its outcome.

    Attributes
    ----------
    key : unique among running tasks
    function, args : can be pickled, unless this process is the executor
    seconds : maximum time in a process of this machine (`TaskExecutor.submit`)
    value : returned by the function; None: no value
    is_overdue : whether its worker was killed because the task was overdue
    deaths : how its workers died, in their order
    """

    key: int
    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    seconds: float = math.inf
    value: Any = None
    is_overdue: bool = False
    deaths: list[str] = field(default_factory=list)

    @property
    def is_lost(self) -> bool:
        """True if its workers died, also while no other task was running."""
        return len(self.deaths) >= DEATHS

    @property
    def n_attempts(self) -> int:
        """Number of workers that have run it, once it has ended."""
        return len(self.deaths) + (not self.is_lost)


TaskSource = Callable[[], Task | None]
"""Source of tasks: a function that returns the next task, or None if there is none now."""


def source_of(*tasks: Task) -> TaskSource:
    """Return a source of these tasks; without tasks, a source to wait for running ones."""
    return partial(next, iter(tasks), None)


class Scheduler:
    """Scheduler of the tasks of a source, for one thread.

    Call `round` until it returns None:

        while (tasks := scheduler.round(next_task, PAUSE)) is not None:
            for task in tasks:
                ...  # with its value

    A task whose worker died is a suspect. It may have killed the worker, or be a victim: of a user,
    or of all workers together using up the memory. So it is repeated alone, when no other task is
    running; if that kills a worker, too, the task is lost. Other tasks are not affected, except
    that none begins meanwhile.

    A context manager: without `shutdown`, this process may end only after all tasks.
    """

    def __init__(
        self,
        executor: TaskExecutor,
        *,
        on_death: Callable[[int, str], object] = lambda key, reason: None,
    ) -> None:
        """
        Parameters
        ----------
        executor : belongs to the scheduler, which ends it
        on_death : called with the key of a task that becomes a suspect, and how its worker died
        """
        self._executor = executor
        self._on_death = on_death
        self._running: dict[Future[Any], Task] = {}
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
    def is_idle(self) -> bool:
        """True if no task is running."""
        return not (self._running or self._suspects or self._ready)

    def round(self, next_task: TaskSource, pause: float = math.inf) -> list[Task] | None:
        """Begin tasks while workers are free, and wait a moment for one to end.

        Parameters
        ----------
        next_task : is called while a worker is free
        pause : maximum seconds to wait

        Returns
        -------
        The tasks that have ended, in order of submission, perhaps an empty list. None if no task is
        running, and the source has no task.

        Raises
        ------
        BackendFailure
            If all workers are gone.
        Exception
            The exception of a function, such as a MemoryError, chained to the traceback in the
            worker. This task is forgotten, others are not.
        """
        while (task := self._next(next_task)) is not None:
            self._start(task)
        if self.is_idle:
            return None
        seconds = 0.0 if self._ready else min(pause, CHECK_SECONDS)
        if not wait(self._running, seconds, FIRST_COMPLETED).done:
            self._executor.check()
        for future in [future for future in self._running if future.done()]:
            task = self._running.pop(future)
            if self._has_ended(task, future):
                task.args = ()  # which may be large
                self._ready.append(task)
        ready, self._ready = self._ready, []
        return ready

    def _start(self, task: Task) -> None:
        function = partial(task.function, *task.args)
        self._running[self._executor.submit(function, task.seconds)] = task

    def _has_ended(self, task: Task, future: Future[Any]) -> bool:
        """Record the outcome of a task; return whether it is neither suspect nor forgotten."""
        try:
            task.value = self._executor.result(future)
        except TaskOverdue:
            task.is_overdue = True
        except WorkerDied as death:
            task.deaths.append(str(death))
            if not task.is_lost and not self._is_interrupted:
                self._suspects.append(task)
                self._on_death(task.key, str(death))
                return False
        else:
            return True
        return not self._is_interrupted

    def interrupt(self) -> None:
        """Ask all tasks for an early end; can be repeated.

        Later rounds return the tasks that end with a value, forget the others, and begin none.
        """
        if self._is_interrupted:
            return
        self._is_interrupted = True
        self._suspects.clear()
        if not self._executor.interrupt():
            self._abandon()

    def shutdown(self) -> None:
        """End all workers at once; running tasks are lost. Can be repeated."""
        self._suspects.clear()
        self._ready.clear()
        self._abandon()
        self._executor.kill()

    def _abandon(self) -> None:
        for future in self._running:
            self._executor.abandon(future)
        self._running.clear()

    def _next(self, next_task: TaskSource) -> Task | None:
        """Return the task to begin now: from the source, or a suspect alone."""
        # A cluster without workers gets one task, so that its executor can report a failure.
        is_full = len(self._running) >= max(1, self._executor.n_workers)
        if is_full or self._is_interrupted or any(task.deaths for task in self._running.values()):
            return None
        if not self._suspects:
            return next_task()
        return None if self._running else self._suspects.popleft()
