"""What a pool asks of an executor, on top of concurrent.futures."""

from __future__ import annotations

from concurrent.futures import Executor


class WorkerDied(Exception):
    """The worker ended while it ran the task, which may or may not be to blame."""


class TaskDropped(Exception):
    """The task was given back through no fault of its own: no worker had begun with it."""


class TaskExecutor(Executor):
    """An executor that outlives its workers.

    A future ends in one of these ways: a value; the exception that the function raised, with the
    worker's traceback; WorkerDied; TaskDropped; or BackendFailure, if workers cannot work at all.
    After each of these the executor takes further tasks: it replaces dead workers itself.
    """

    @property
    def n_workers(self) -> int:
        """How many tasks can run at the same time; may change where workers come and go."""
        raise NotImplementedError

    def check(self) -> None:
        """To be called now and then while waiting.

        Raises
        ------
        BackendFailure
            If there is nothing left to wait for.
        """

    def kill(self) -> None:
        """End at once, also what is under way as far as that is possible; can be repeated."""
        raise NotImplementedError
