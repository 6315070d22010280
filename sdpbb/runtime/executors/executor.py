"""Interface of executors, which do tasks and outlive their workers; this process as one."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Self


class WorkerDied(Exception):
    """The worker ended while it ran the task, which may or may not be to blame.

    The text says how it ended, such as "was ended by SIGKILL".
    """


class TaskOverdue(Exception):
    """The worker was killed because the task did not end in time."""


class TaskExecutor:
    """Interface of executors: run functions elsewhere, and replace workers that have died.

    A context manager, which kills the workers.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

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
