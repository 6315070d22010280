"""Executors of an existing Dask cluster, and of the processes of `mpiexec`."""

from __future__ import annotations

import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager

from sdpbb.errors import BackendFailure, BackendUnavailable, ParameterError
from sdpbb.runtime.executors.given import GivenExecutor, count_workers
from sdpbb.runtime.extras import install_command

LOGGERS = (
    "distributed",
    "distributed.client",
    "distributed.comm",
    "distributed.core",
    "tornado",
    "tornado.application",
)

# Seconds that a scheduler may take to answer, and to have a worker.
CONNECT_SECONDS = 10.0


@contextmanager
def workers_beyond(
    executor: Executor | None, dask: str | None, mpi: bool, warm_up: Callable[[], None]
) -> Iterator[GivenExecutor | None]:
    """Context manager: the workers beyond this machine that do tasks; None if there are none.

    They are connected to at once, so that a wrong address is reported before the work begins.

    executor : of the caller; None: that of a Dask cluster at an address, or that of `mpiexec`
    warm_up : function that is called once in each worker process
    """
    name = "the executor"
    with ExitStack() as block:
        if executor is None and dask is not None:
            executor, name = block.enter_context(dask_executor(dask)), f"the Dask cluster at {dask}"
        elif executor is None and mpi:
            executor, name = block.enter_context(mpi_executor()), "MPI"
        yield None if executor is None else GivenExecutor(executor, warm_up, name=name)


@contextmanager
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
        If there is no scheduler at this address, or no worker there.
    """
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
            client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except Exception as error:
        reason = " ".join(str(error).split())
        raise BackendFailure(
            f"the Dask scheduler at {address} cannot be reached ({reason})"
        ) from error
    try:
        executor: Executor = client.get_executor(pure=False)
        deadline = time.monotonic() + CONNECT_SECONDS
        while count_workers(executor) == 0:  # they may be starting, too
            if time.monotonic() > deadline:
                raise BackendFailure(f"the Dask cluster at {address} has no workers")
            time.sleep(0.05)
        yield executor
    finally:
        client.close()


@contextmanager
def mpi_executor() -> Iterator[Executor]:
    """Context manager: the executor of the processes that `mpiexec` has started.

    The command is `mpiexec -n N python -m mpi4py.futures -m sdpbb ...`: of N processes, the first
    runs the command, and the others are its workers.

    Raises
    ------
    BackendUnavailable
        If mpi4py is not installed.
    BackendFailure
        If there is no process beside this one.
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
