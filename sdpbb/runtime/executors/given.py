"""Tasks in an executor of the user: of a Dask cluster, of MPI, or any other."""

from __future__ import annotations

import contextlib
import functools
import math
import pickle
import re
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from importlib.metadata import version
from typing import Any

from sdpbb.errors import BackendFailure, BackendUnavailable, ParameterError
from sdpbb.runtime.executors.scheduler import TaskExecutor, WorkerDied
from sdpbb.runtime.executors.worker import Outcome, no_warm_up, outcome, pack, value_of
from sdpbb.runtime.version import install_command

# Seconds for which a counted number of workers is used.
COUNT_SECONDS = 2.0
# Seconds that a scheduler may take to answer.
CONNECT_SECONDS = 10.0
_ADDRESS = re.compile(r"((tcp|tls|ws|wss|ucx|inproc)://)?(\[.+\]|[^][/:]+):[1-9]\d{0,4}")


class GivenExecutor(TaskExecutor):
    """Workers of a `concurrent.futures.Executor`, each with one BLAS thread while it runs a task.

    They need the same version of this package as this process, and versions of Python and NumPy
    that can read each other's pickles. The executor is not shut down. Tasks wait while a cluster
    has no workers: it may start some for them.

    A task that has begun runs to its end on its worker, also after `kill`. If a worker dies, the
    executor may repeat its tasks itself first, as Dask's scheduler does.

    Attributes
    ----------
    executor : of the user
    """

    def __init__(
        self,
        executor: Executor,
        warm_up: Callable[[], None] = no_warm_up,
        *,
        name: str = "the executor",
    ) -> None:
        """
        Parameters
        ----------
        executor : gets the tasks
        warm_up : function of a module, called once in each worker process before its first task
        name : of the executor in messages
        """
        self.executor = executor
        self._warm_up = pack(warm_up)
        self._name = name
        self._n_workers = 0
        self._counted = -math.inf

    @property
    def n_workers(self) -> int:
        """Number of workers, counted a few seconds ago; 0 without a connection."""
        if time.monotonic() - self._counted >= COUNT_SECONDS:
            self._n_workers = count_workers(self.executor)
            self._counted = time.monotonic()
        return self._n_workers

    def check(self) -> None:
        self._require_connection()

    def submit(self, function: Callable[[], Any], seconds: float = math.inf) -> Future[Any]:
        """Run the function on any worker of the executor, without a deadline."""
        while _status(self.executor) == "connecting":  # to Dask, until that succeeds or fails
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
            return value_of(future.result())
        except CancelledError:
            self._require_connection()  # Dask cancels tasks that it cannot run any more
            raise WorkerDied(f"was cancelled by {self._name}") from None
        except BrokenExecutor as error:
            raise BackendFailure(f"{self._name} is broken ({_line(error)})") from error
        except Exception as error:
            if type(error).__name__ == "KilledWorker":  # of Dask, perhaps not installed
                raise WorkerDied("died on the Dask cluster") from error
            # A scheduler between this process and the workers may lack packages, too.
            missing = error.__cause__ if isinstance(error.__cause__, ImportError) else error
            if isinstance(missing, ImportError):
                raise BackendFailure(
                    f"{self._name} lacks packages of this process: {missing}"
                ) from error
            raise

    def abandon(self, future: Future[Any]) -> None:
        if _status(self.executor) != "closed":  # then Dask has cancelled it already
            future.cancel()

    def _require_connection(self) -> None:
        if _status(self.executor) == "closed":
            raise BackendFailure(f"the scheduler of {self._name} has gone")


def count_workers(executor: Executor) -> int:
    """Return how many tasks an executor runs at the same time.

    Raises
    ------
    BackendFailure
        If it has no such number.
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
    """Return Dask's status of the connection to its scheduler; "" of other executors.

    It is "running", "connecting" or "closed", among others.
    """
    return str(getattr(getattr(executor, "_client", None), "status", ""))


def _line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


@contextlib.contextmanager
def workers_beyond(
    executor: Executor | None, dask: str | None, mpi: bool, warm_up: Callable[[], None]
) -> Iterator[GivenExecutor | None]:
    """Context manager: workers other than processes of this machine; None: no such workers.

    It connects at once, so that a wrong address is reported before the work begins.

    executor : of the caller; None: a Dask cluster at the address, or the processes of `mpiexec`
    warm_up : function that is called once in each worker process
    """
    name = "the executor"
    with contextlib.ExitStack() as block:
        if executor is None and dask is not None:
            executor, name = block.enter_context(dask_executor(dask)), f"the Dask cluster at {dask}"
        elif executor is None and mpi:
            executor, name = block.enter_context(mpi_executor()), "MPI"
        yield None if executor is None else GivenExecutor(executor, warm_up, name=name)


@contextlib.contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """Context manager: the executor of a Dask cluster, connected within the block.

    Parameters
    ----------
    address : of the scheduler, such as tcp://10.0.0.1:8786

    Raises
    ------
    ParameterError
        If the address is not one.
    BackendUnavailable
        If Dask is not installed.
    BackendFailure
        If there is no scheduler at this address.
    """
    try:
        from distributed import Client
    except ImportError:
        raise BackendUnavailable(
            f"Dask is not installed; expected dask.distributed; {install_command('dask')}",
            extra="dask",
        ) from None
    if not _ADDRESS.fullmatch(address):  # over which a client waits for itself when collected
        raise ParameterError(
            f"dask = {address!r}: expected the address of a Dask scheduler, such as tcp://host:8786"
        )
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except Exception as error:
        reason = " ".join(str(error).split())
        raise BackendFailure(
            f"the Dask scheduler at {address} cannot be reached ({reason})"
        ) from error
    try:
        yield client.get_executor(pure=False)
    finally:
        client.close()


@contextlib.contextmanager
def mpi_executor() -> Iterator[Executor]:
    """Context manager: the executor of the processes that `mpiexec` has started.

    The command is `mpiexec -n N python -m mpi4py.futures -m sdpbb ...`. The first of the N
    processes runs the command, the others are its workers.

    Raises
    ------
    BackendUnavailable
        If mpi4py is not installed.
    BackendFailure
        If there is no other process.
    """
    try:
        from mpi4py.futures import MPIPoolExecutor
    except (ImportError, RuntimeError):  # the latter without a library of MPI
        raise BackendUnavailable(
            f"MPI is not installed; expected a library of MPI and mpi4py; {install_command('mpi')}",
            extra="mpi",
        ) from None
    with MPIPoolExecutor() as executor:
        if count_workers(executor) < 1:
            raise BackendFailure(
                "MPI has no worker processes; expected "
                "mpiexec -n N python -m mpi4py.futures -m sdpbb ..., N > 1"
            )
        yield executor


# The following functions run in the workers.


def _run_there(unique: str, wanted: str, warm_up: bytes, task: bytes) -> Outcome:
    """Return the outcome of a task.

    unique : different for each call; a Dask cluster would run equal calls only once
    wanted : version of this package in the parent
    """
    from threadpoolctl import threadpool_limits

    _prepare(wanted, warm_up)
    with threadpool_limits(1):  # only during the task: the worker may serve others
        return outcome(task)


@functools.cache
def _prepare(wanted: str, warm_up: bytes) -> None:
    if version("sdpbb") != wanted:
        raise ImportError(f"needs sdpbb {wanted}, has {version('sdpbb')}")
    pickle.loads(warm_up)()
