"""Tasks in somebody else's executor: of a Dask cluster, of MPI, or any other."""

from __future__ import annotations

import contextlib
import functools
import math
import pickle
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from importlib.metadata import version
from typing import Any

from sdpbb.errors import BackendFailure
from sdpbb.runtime.executors.executor import TaskDropped, TaskExecutor, WorkerDied
from sdpbb.runtime.executors.worker import Kind, outcome, pack, value_of

# Seconds for which a number of workers is taken to be current.
COUNT_SECONDS = 2.0


class GivenExecutor(TaskExecutor):
    """Workers of a `concurrent.futures.Executor`, each with one BLAS thread while it runs a task.

    They need the same version of this package as this process, and versions of Python and NumPy
    that can read each other's pickles. The executor is used, and not shut down.

    A task that has begun runs to its end on its worker, also after `kill`. When a worker dies, the
    executor may itself give its tasks to others first, as Dask's scheduler does.

    Attributes
    ----------
    executor : that of somebody else
    """

    def __init__(
        self,
        executor: Executor,
        warm_up: Callable[[], None] | None = None,
        *,
        name: str = "the executor",
        patience_seconds: float = 60.0,
    ) -> None:
        """
        Parameters
        ----------
        executor : takes tasks from now on
        warm_up : function of a module, called once in each worker process before its first task
        name : of the executor in messages
        patience_seconds : that there may be no worker
        """
        self.executor = executor
        self._warm_up = pack(warm_up)
        self._name = name
        self._patience = patience_seconds
        self._n_workers = 0
        self._counted = -math.inf
        self._empty_since: float | None = None

    @property
    def n_workers(self) -> int:
        """Workers of the executor, counted a few seconds ago; 0 while there is no connection."""
        if time.monotonic() - self._counted >= COUNT_SECONDS:
            self._n_workers = count_workers(self.executor)
            self._counted = time.monotonic()
            if self._n_workers:
                self._empty_since = None
            elif self._empty_since is None:
                self._empty_since = self._counted
        return self._n_workers

    def check(self) -> None:
        self._require_connection()
        if self.n_workers == 0 and self._empty_since is not None:
            seconds = time.monotonic() - self._empty_since
            if seconds > self._patience:
                raise BackendFailure(f"{self._name} has been without workers for {seconds:.0f} s")

    def submit(self, function: Callable[[], Any], seconds: float = math.inf) -> Future[Any]:
        """Run the function on a worker of the executor's choice, without a deadline."""
        while _status(self.executor) == "connecting":  # again, which Dask gives up by itself
            time.sleep(0.05)
        self._require_connection()
        arguments = (uuid.uuid4().hex, version("sdpbb"), self._warm_up, pack(function))
        try:
            with warnings.catch_warnings():
                # Dask warns of "large graphs": instances of tens of MB, which have to be sent.
                warnings.simplefilter("ignore")
                return self.executor.submit(_run_there, *arguments)
        except Exception as error:  # each library has its own
            raise BackendFailure(f"{self._name} takes no tasks ({_line(error)})") from error

    def result(self, future: Future[Any]) -> Any:
        try:
            return value_of(*future.result())
        except CancelledError:
            self._require_connection()  # Dask cancels what it cannot do any more
            raise TaskDropped(f"{self._name} cancels tasks") from None
        except BrokenExecutor as error:
            raise BackendFailure(f"{self._name} is broken ({_line(error)})") from error
        except Exception as error:
            if type(error).__name__ == "KilledWorker":  # of Dask, which may not be installed
                raise WorkerDied("died on the Dask cluster") from error
            # A scheduler between this process and the workers may lack packages, too.
            missing = error.__cause__ if isinstance(error.__cause__, ImportError) else error
            if isinstance(missing, ImportError):
                raise BackendFailure(
                    f"{self._name} lacks packages of this process: {missing}"
                ) from error
            raise

    def abandon(self, future: Future[Any]) -> None:
        if _status(self.executor) != "closed":  # otherwise Dask has cancelled it, and complains
            future.cancel()

    def _require_connection(self) -> None:
        if _status(self.executor) == "closed":
            raise BackendFailure(f"the scheduler of {self._name} has gone")


def count_workers(executor: Executor) -> int:
    """Return how many tasks an executor runs at the same time.

    Raises
    ------
    BackendFailure
        If it does not say.
    """
    if status := _status(executor):
        try:
            threads = executor._client.nthreads() if status == "running" else {}  # type: ignore[attr-defined]
            return int(sum(threads.values()))
        except (OSError, RuntimeError):
            return 0  # the connection is being lost
    for name in ("num_workers", "_max_workers"):  # of MPI, and of Python's own
        number = getattr(executor, name, None)
        if isinstance(number, int):
            return number
    raise BackendFailure(
        f"executor = {type(executor).__name__}: expected one with a number of workers (num_workers)"
    )


def _status(executor: Executor) -> str:
    """Return the status of the connection to a Dask scheduler; "" of other executors."""
    return str(getattr(getattr(executor, "_client", None), "status", ""))


def _line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


# The rest runs in the workers.


def _run_there(unique: str, wanted: str, warm_up: bytes, task: bytes) -> tuple[Kind, bytes]:
    """Return the outcome of a task.

    unique : tells equal calls apart, which a Dask cluster would make once
    wanted : version of this package that the parent has
    """
    _prepare(wanted, warm_up)
    with _one_blas_thread():
        return outcome(task)


@functools.cache
def _prepare(wanted: str, warm_up: bytes) -> None:
    if version("sdpbb") != wanted:
        raise ImportError(f"needs sdpbb {wanted}, has {version('sdpbb')}")
    function = pickle.loads(warm_up)
    if function is not None:
        function()


# Of the threads of this process that want one BLAS thread; the first holds the limits before.
_limits: list[Any] = []
_lock = threading.Lock()


@contextlib.contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread within the block.

    The limit holds for the whole process, so the first thread to enter sets it, and the last to
    leave restores it: the worker may serve others.
    """
    from threadpoolctl import threadpool_limits

    with _lock:
        _limits.append(threadpool_limits(1))
    try:
        yield
    finally:
        with _lock:
            limits = _limits.pop()
            if not _limits:
                limits.restore_original_limits()
