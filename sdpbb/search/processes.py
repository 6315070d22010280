"""Processes of a run: this one, and workers that are started when they are called for."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from sdpbb.executors.executor import TaskExecutor
from sdpbb.executors.pool import TaskPool
from sdpbb.executors.serial import SerialExecutor


class RunProcesses:
    """Processes of a run: this one, and workers that are started when they are called for.

    A context manager, which ends the workers.

    Attributes
    ----------
    local_pool : of this process
    n_cores : of this machine that all processes may use together
    is_cluster : whether the workers are those of a cluster, with memory of their own
    """

    def __init__(
        self,
        make_executor: Callable[[int], TaskExecutor],
        n_workers: int,
        is_cluster: bool = False,
    ) -> None:
        """
        Parameters
        ----------
        make_executor : makes an executor with so many workers; a cluster has its own number
        n_workers : of this machine, where each may use a core
        is_cluster : whether the workers are those of a cluster
        """
        self.local_pool = TaskPool(SerialExecutor())
        self.n_cores = n_workers
        self._make_executor = make_executor
        self._n_workers = n_workers
        self.is_cluster = is_cluster
        self._worker_pool: TaskPool | None = None

    def __enter__(self) -> RunProcesses:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.shutdown()

    @property
    def has_several_workers(self) -> bool:
        """True if the workers can do more than one task at a time."""
        return self.is_cluster or self._n_workers > 1

    @property
    def n_at_once(self) -> int:
        """Tasks that are done at the same time."""
        return self.worker_pool.n_workers if self.has_several_workers else 1

    @property
    def worker_pool(self) -> TaskPool:
        """Pool of the workers, made when it is asked for first."""
        if self._worker_pool is None:
            self._worker_pool = TaskPool(self._make_executor(self._n_workers))
        return self._worker_pool

    def allow_workers(self, most: int) -> None:
        """Have so many workers of this machine at most from now on, where memory holds no more."""
        if most < self._n_workers:
            self._n_workers = most
            self.shutdown()

    def shutdown(self) -> None:
        """End all workers at once; tasks under way are lost."""
        if self._worker_pool is not None:
            self._worker_pool.shutdown()
            self._worker_pool = None
