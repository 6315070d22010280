"""Scheduler of tasks, which loses none when a worker dies; executors, and this process as one."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from functools import partial
from typing import Any

DEATHS = 2
"""A task is given up when so many workers have died of it, the last one while it ran alone."""

CHECK_SECONDS = 1.0
"""Maximum seconds of a round, after which the executor is checked."""


class WorkerDied(Exception):
    """The worker ended while it ran the task, which may or may not be to blame.

    The text says how it ended, such as "was ended by SIGKILL".
    """


class TaskOverdue(Exception):
    """The worker was killed because the task did not end in time."""


class TaskExecutor:
    """Interface of executors: run functions elsewhere, and replace workers that have died."""

    @property
    def n_workers(self) -> int:
        """Number of tasks that can run at the same time; may change where workers come and go."""
        raise NotImplementedError

    def submit(self, function: Callable[[], Any], seconds: float = math.inf) -> Future[Any]:
        """Run a function without arguments.

        Parameters
        ----------
        function : can be pickled, unless the executor runs tasks in this process
        seconds : that it may take, kept by processes of this machine only

        Returns
        -------
        A future for `result`. The executor accepts further tasks however this one ends.
        """
        raise NotImplementedError

    def result(self, future: Future[Any]) -> Any:
        """Return the value of a task that has ended.

        Raises
        ------
        WorkerDied, TaskOverdue
            As they say.
        BackendFailure
            If workers cannot work at all.
        Exception
            Whatever the function raised, chained to the traceback in the worker.
        """
        return future.result()

    def abandon(self, future: Future[Any]) -> None:
        """Forget a task, which need not begin if it has not."""
        future.cancel()

    def check(self) -> None:
        """Do what is due while waiting: called now and then.

        Raises
        ------
        BackendFailure
            If there is nothing left to wait for.
        """

    def interrupt(self) -> bool:
        """Ask running tasks for an early end; no tasks are accepted afterwards.

        Return whether there is a way to ask them; if not, nobody waits for them.
        """
        return False

    def kill(self) -> None:
        """End at once, also running tasks as far as that is possible; can be repeated."""


class SerialExecutor(TaskExecutor):
    """Executor in this process: no pickling, no processes, the same order every time."""

    @property
    def n_workers(self) -> int:
        return 1

    def submit(self, function: Callable[[], Any], seconds: float = math.inf) -> Future[Any]:
        """Run the function now; its exceptions go into the future, interrupts to the caller."""
        future: Future[Any] = Future()
        try:
            future.set_result(function())
        except Exception as error:
            future.set_exception(error)
        return future


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
        executor : is taken over, and ended with the scheduler
        on_death : called with the key of a task that becomes a suspect, and how its worker ended
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
        """True if no task is under way."""
        return not (self._running or self._suspects or self._ready)

    def round(self, next_task: TaskSource, pause: float = math.inf) -> list[Task] | None:
        """Begin tasks while workers are free, and wait for a moment until one ends.

        Parameters
        ----------
        next_task : is called while a worker is free
        pause : maximum seconds to wait

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
        """Take what a task came to; return whether it is neither a suspect nor forgotten."""
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

        From here on a round returns those that end with a value; the others are forgotten, and
        nothing is begun.
        """
        if self._is_interrupted:
            return
        self._is_interrupted = True
        self._suspects.clear()
        if not self._executor.interrupt():
            self._abandon()

    def shutdown(self) -> None:
        """End all workers at once; what is under way is lost. Can be repeated."""
        self._suspects.clear()
        self._ready.clear()
        self._abandon()
        self._executor.kill()

    def _abandon(self) -> None:
        for future in self._running:
            self._executor.abandon(future)
        self._running.clear()

    def _next(self, next_task: TaskSource) -> Task | None:
        """Return the task to begin now: one of the source, or a suspect alone."""
        # A cluster may have lost its workers for now: one task is begun, to be told if it stays so.
        is_full = len(self._running) >= max(1, self._executor.n_workers)
        if is_full or self._is_interrupted or any(task.deaths for task in self._running.values()):
            return None
        if not self._suspects:
            return next_task()
        return None if self._running else self._suspects.popleft()
