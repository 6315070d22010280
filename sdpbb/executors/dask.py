"""Tasks on an existing Dask cluster."""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import pickle
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from importlib.metadata import version
from typing import Any

from sdpbb.errors import BackendFailure, BackendUnavailable, ParameterError
from sdpbb.executors.executor import TaskDropped, TaskExecutor, WorkerDied, end_with_value
from sdpbb.executors.worker import pack
from sdpbb.extras import install_command

LOGGERS = (
    "distributed",
    "distributed.client",
    "distributed.comm",
    "distributed.core",
    "tornado",
    "tornado.application",
)

COUNT_SECONDS = 2.0
"""Seconds for which a number of workers is taken to be current."""


class DaskCluster(TaskExecutor):
    """Workers of an existing cluster, each with one BLAS thread while it runs a task.

    The scheduler and the workers need the same version of this package as this process, and of
    Python and NumPy versions that can read each other's pickles.

    When a worker dies, the scheduler itself first gives its tasks to others, as often as
    `distributed.scheduler.allowed-failures` of its configuration says. A task that has begun runs
    to its end on its worker, also after `kill`.
    """

    def __init__(
        self,
        address: str,
        warm_up: Callable[[], None] | None = None,
        *,
        connect_seconds: float = 10.0,
        patience_seconds: float = 60.0,
    ) -> None:
        """
        Parameters
        ----------
        address : of the scheduler, such as tcp://10.0.0.1:8786
        warm_up : function of a module, called once in each worker process before its first task
        connect_seconds : that the scheduler may take to answer, and to have a worker
        patience_seconds : that the cluster may be without any worker

        Raises
        ------
        ParameterError
            If the address is not one.
        BackendUnavailable
            If Dask is not installed.
        BackendFailure
            If there is no scheduler at this address, or no worker there.
        """
        self._address = address
        self._patience = patience_seconds
        self._warm_up = warm_up
        self._client = _connect(address, connect_seconds)
        self._executor = self._client.get_executor(pure=False)
        self._n_workers = 0
        self._counted = -float("inf")
        self._empty_since: float | None = None
        deadline = time.monotonic() + connect_seconds
        while self._count() == 0:  # they may be starting, too
            if time.monotonic() > deadline:
                self.kill()
                raise BackendFailure(f"the Dask cluster at {address} has no workers")
            time.sleep(0.05)

    @property
    def n_workers(self) -> int:
        """Threads of all workers, counted a few seconds ago; 0 while there is no connection."""
        if time.monotonic() - self._counted >= COUNT_SECONDS:
            self._n_workers = self._count()
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
                raise BackendFailure(
                    f"the Dask cluster at {self._address} has been without workers for "
                    f"{seconds:.0f} s"
                )

    def submit(self, function: Callable[[], Any], seconds: float = math.inf) -> Future[Any]:
        """Run the function on a worker of the scheduler's choice, without a deadline."""
        while self._client.status == "connecting":  # again, which it gives up by itself
            time.sleep(0.05)
        self._require_connection()
        outer: Future[Any] = Future()
        outer.set_running_or_notify_cancel()
        with warnings.catch_warnings():
            # Instances of tens of MB are "large graphs"; they are what there is to send.
            warnings.simplefilter("ignore")
            inner = self._executor.submit(
                _run_on_worker,
                version("sdpbb"),
                self._warm_up,
                pack(function),
            )
        inner.add_done_callback(lambda done: self._hand_over(done, outer))
        return outer

    def kill(self) -> None:
        """Cancel tasks that have not begun, and leave the cluster."""
        with contextlib.suppress(Exception):  # the connection may be gone
            self._executor.shutdown(wait=False)
        self._client.close()

    def _count(self) -> int:
        if self._client.status != "running":
            return 0
        try:
            return sum(self._client.nthreads().values())
        except (OSError, RuntimeError):
            return 0  # the connection is being lost; `check` tells when it is gone for good

    def _require_connection(self) -> None:
        if self._client.status == "closed":
            raise BackendFailure(f"the Dask scheduler at {self._address} has gone")

    def _hand_over(self, inner: Future[bytes], outer: Future[Any]) -> None:
        """Hand a result over: called by Dask's thread."""
        from distributed import KilledWorker

        error = None if inner.cancelled() else inner.exception()
        if inner.cancelled():
            outer.set_exception(TaskDropped("the Dask scheduler cancels tasks"))
        elif isinstance(error, KilledWorker):
            outer.set_exception(WorkerDied("Dask workers died"))
        elif error is not None:
            outer.set_exception(self._not_installed(error) or error)
        else:
            end_with_value(outer, inner.result())

    def _not_installed(self, error: BaseException) -> BackendFailure | None:
        """Return the failure for a package that a worker lacks; None for other errors.

        The scheduler may lack it, too.
        """
        missing = error.__cause__ if isinstance(error.__cause__, ImportError) else error
        if not isinstance(missing, ImportError):
            return None
        failure = BackendFailure(
            f"the Dask cluster at {self._address} lacks packages of this process: {missing}"
        )
        failure.__cause__ = error
        return failure


def _connect(address: str, seconds: float) -> Any:
    is_ours = "distributed" not in sys.modules
    try:
        from distributed import Client
    except ImportError:
        raise BackendUnavailable(
            f"Dask is not installed; expected dask.distributed; {install_command('dask')}",
            extra="dask",
        ) from None
    _require_address(address)
    if is_ours:  # whoever has imported it before wants to see what it logs, or has seen to that
        for name in LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # tables of differing versions
            return Client(address, timeout=seconds, set_as_default=False)
    except Exception as error:
        reason = " ".join(str(error).split())
        raise BackendFailure(
            f"the Dask scheduler at {address} cannot be reached ({reason})"
        ) from error


def _require_address(address: str) -> None:
    """Refuse what is no address; a client that fails over one waits for itself when collected."""
    from distributed.comm.addressing import parse_address, parse_host_port
    from distributed.comm.registry import get_backend

    try:
        scheme, location = parse_address(address)
        get_backend(scheme)
        if scheme in ("tcp", "tls"):
            host, port = parse_host_port(location)
            if not host or not 1 <= port <= 65535:
                raise ValueError("expected a host and a port from 1 to 65535")
    except ValueError as error:
        raise ParameterError(
            f"dask = {address!r}: expected the address of a Dask scheduler, such as "
            f"tcp://host:8786 ({' '.join(str(error).split())})"
        ) from None


# The rest runs in the workers.


def _run_on_worker(wanted: str, warm_up: Callable[[], None] | None, task: bytes) -> bytes:
    _prepare(wanted, warm_up)
    call = pickle.loads(task)  # here, because it may load the libraries that are to be limited
    with _one_blas_thread():
        return pack(call())


@functools.cache
def _prepare(wanted: str, warm_up: Callable[[], None] | None) -> None:
    if version("sdpbb") != wanted:
        raise ImportError(f"needs sdpbb {wanted}, has {version('sdpbb')}")
    if warm_up is not None:
        warm_up()


class _Limit:
    """Number of threads of this process that want one BLAS thread, and the limits before."""

    lock = threading.Lock()
    n_users = 0
    limits: Any = None


@contextlib.contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread within the block.

    The limit holds for the whole process, so the first thread to enter sets it, and the last to
    leave restores it: the worker may serve others.
    """
    from threadpoolctl import threadpool_limits

    with _Limit.lock:
        if _Limit.n_users == 0:
            _Limit.limits = threadpool_limits(1)
        _Limit.n_users += 1
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.n_users -= 1
            if _Limit.n_users == 0:
                _Limit.limits.restore_original_limits()
