"""Interface of executors, which run the tasks of a pool and outlive their workers."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class WorkerDied(Exception):
    """The worker ended while it ran the task, which may or may not be to blame.

    The text says how it ended, such as "was ended by SIGKILL".
    """


class TaskOverdue(Exception):
    """The worker was killed because the task did not end in time."""


class TaskDropped(Exception):
    """The task was returned unexecuted: no worker had begun with it."""


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
        function : by its name or of values that can be pickled, unless the executor runs tasks in
            this process
        seconds : that it may take, counted from its beginning and again from each
            `worker.tell_step()` in it. Kept by local processes only

        Returns
        -------
        A future that ends in a value; the exception that the function raised, with the traceback of
        the worker as its cause; WorkerDied, TaskOverdue or TaskDropped; or BackendFailure, if
        workers cannot work at all. The executor takes further tasks after each of these.
        """
        raise NotImplementedError

    def start(self) -> None:
        """Start the workers ahead of the first tasks, if they are processes of this machine."""

    def check(self) -> None:
        """Do what is due while waiting: called now and then.

        Raises
        ------
        BackendFailure
            If there is nothing left to wait for.
        """

    def interrupt(self) -> None:
        """Ask tasks for an early end, where that is possible; no tasks are taken afterwards."""

    def kill(self) -> None:
        """End at once, also what is under way as far as that is possible; can be repeated."""
        raise NotImplementedError


def end_with_value(future: Future[Any], packed: bytes) -> None:
    """End a future with a pickled value, or with the error of reading it."""
    try:
        value = pickle.loads(packed)
    except Exception as error:
        future.set_exception(error)
    else:
        future.set_result(value)
