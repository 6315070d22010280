"""Tasks in processes on this machine."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future
from concurrent.futures import wait as wait_for_futures
from functools import partial
from typing import Any

from sdpbb.errors import BackendFailure
from sdpbb.executors.executor import TaskDropped, TaskExecutor, WorkerDied
from sdpbb.executors.packing import pack, run_packed, unpack_into
from sdpbb.interruption import ignore_signals

ONE_THREAD = dict.fromkeys(
    (
        "BLIS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
)
"""The environment of workers: these libraries read it when they are loaded."""

PARENT_SECONDS = 1.0
"""How often a worker looks whether its parent is still there."""

FILES = 8
"""File descriptors per worker, with some to spare."""


class LocalProcesses(TaskExecutor):
    """Fresh processes (loky's: no fork, so no half-copied threads), each with one BLAS thread.

    A process starts when the first task for it is submitted, and stays. Each has an executor of its
    own: loky gives up all processes of an executor, and whatever they are doing, when one of them
    dies, and cannot tell whose fault it was.

    Workers ignore SIGINT and SIGTERM, which a terminal, timeout(1) or a batch system send to all
    processes of a command: what is to be done about it is decided here. They end by themselves
    within seconds after this process, however it ended.
    """

    def __init__(self, n_workers: int, warm_up: Callable[[], None] | None = None) -> None:
        """
        Parameters
        ----------
        n_workers : at least 1
        warm_up : function of a module, called once in each process before its first task
        """
        self._workers: list[_Worker | None] = [None] * n_workers
        self._warm_up = warm_up
        self._is_shut_down = False
        _allow_open_files(FILES * n_workers)

    @property
    def n_workers(self) -> int:
        return len(self._workers)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run fn in an idle process; with more tasks than processes, behind others."""
        if self._is_shut_down:
            raise RuntimeError("these workers are shut down")
        task = pack(partial(fn, *args, **kwargs))
        while True:
            position = self._least_busy()
            worker = self._workers[position]
            try:
                if worker is None:
                    self._workers[position] = worker = _Worker(self._warm_up)
                return worker.submit(task)
            except BrokenExecutor:  # it died between two tasks
                self._discard(position)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers, after what they are doing if `wait` and not `cancel_futures`."""
        if wait and not cancel_futures:
            wait_for_futures(
                future for worker in self._workers if worker for future in worker.tasks
            )
        self.kill()

    def kill(self) -> None:
        self._is_shut_down = True
        for position in range(len(self._workers)):
            self._discard(position)

    def _least_busy(self) -> int:
        """Where to submit to: rather to a running process than to one that must be started."""
        for position, worker in enumerate(self._workers):
            if worker is not None and worker.is_dead:
                self._discard(position)
        loads = [
            (len(worker.tasks), 0) if worker is not None else (0, 1) for worker in self._workers
        ]
        return loads.index(min(loads))

    def _discard(self, position: int) -> None:
        worker, self._workers[position] = self._workers[position], None
        if worker is not None:
            worker.kill()


class _Worker:
    """A process; `submit` raises BrokenExecutor once it is known to have ended."""

    def __init__(self, warm_up: Callable[[], None] | None) -> None:
        from joblib.externals.loky import ProcessPoolExecutor

        self.is_dead = False
        self._tasks: list[Future[Any]] = []
        _start_trackers()
        with _born_deaf():
            self._loky = ProcessPoolExecutor(
                1, env=ONE_THREAD, initializer=_depend_on, initargs=(os.getpid(),)
            )
            # A task, not the initializer: what goes wrong in there kills the process and is said
            # on the standard error stream only.
            self._prepared = self._loky.submit(run_packed, pack(partial(_prepare, warm_up)))
        _leave_pipes_to_worker(self._loky)

    @property
    def tasks(self) -> list[Future[Any]]:
        """What has not ended yet."""
        self._tasks = [future for future in self._tasks if not future.done()]
        return self._tasks

    def submit(self, task: bytes) -> Future[Any]:
        inner = self._loky.submit(run_packed, task)
        outer: Future[Any] = Future()
        outer.set_running_or_notify_cancel()
        self._tasks.append(outer)
        inner.add_done_callback(lambda done: self._hand_over(done, outer))
        return outer

    def kill(self) -> None:
        """End the process and wait for its end."""
        self.is_dead = True
        # Loky drops what waits, and then a thread of its looks for it, unless nobody knows of it.
        with contextlib.suppress(queue.Empty):
            while True:
                self._loky._work_ids.get_nowait()
        self._loky.shutdown(wait=True, kill_workers=True)

    def _hand_over(self, inner: Future[bytes], outer: Future[Any]) -> None:
        """Called by a thread of loky's, which nothing may hold up."""
        error = inner.exception()
        failed_start = self._prepared.exception() if self._prepared.done() else error
        if self.is_dead:
            outer.set_exception(TaskDropped("the worker process has ended"))
            return
        self.is_dead = failed_start is not None or isinstance(error, BrokenExecutor)
        if isinstance(failed_start, BrokenExecutor):
            outer.set_exception(TaskDropped("worker processes die while they start"))
        elif failed_start is not None:
            reason = f"{type(failed_start).__name__}: {failed_start}"
            failure = BackendFailure(f"a worker process cannot start: {reason}")
            failure.__cause__ = failed_start
            outer.set_exception(failure)
        elif isinstance(error, BrokenExecutor):
            outer.set_exception(WorkerDied("a worker process died"))
        elif error is not None:
            outer.set_exception(error)
        else:
            unpack_into(outer, inner.result())


def _leave_pipes_to_worker(loky: Any) -> None:
    """Close the ends of pipes that only the worker uses, so that its death closes the pipes.

    Otherwise a thread of loky's waits for ever: for the rest of a value, if the worker dies while
    it sends one (and this process waits for the thread), or for somebody to take a large task.
    """
    loky._result_queue._writer.close()
    loky._call_queue._reader.close()


def _start_trackers() -> None:
    """Start the processes, loky's and Python's own, that remove semaphores when this one has been
    killed, without a word: to people who have pressed Ctrl-C their warning that there were any says
    nothing.

    Loky would start them together with its first process. They ignore signals by themselves, but
    starting Python's may unblock these here, so that the process would be born without the mask.
    """
    from multiprocessing import resource_tracker as of_python

    from joblib.externals.loky.backend import resource_tracker as of_loky

    sys.warnoptions.append("ignore:resource_tracker")  # is handed on to the processes
    try:
        of_loky.ensure_running()
        of_python.ensure_running()
    finally:
        sys.warnoptions.pop()


@contextlib.contextmanager
def _born_deaf() -> Iterator[None]:
    """Processes started within the block do not receive SIGINT and SIGTERM until they have begun to
    ignore them.

    The mask is inherited; it holds for this thread only, so meanwhile signals go to another thread
    of this process, or are delivered at the end of the block.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def _allow_open_files(n_more: int) -> None:
    """Raise this process's own limit where many workers would hit it."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = n_more + 512
    if soft != resource.RLIM_INFINITY and soft < wanted:
        if hard != resource.RLIM_INFINITY:
            wanted = min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


# What follows runs in the workers.


def _depend_on(parent: int) -> None:
    """First of all: leave signals to the parent, and end when it does."""
    ignore_signals()
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    # No PR_SET_PDEATHSIG: it tells of the end of the thread that started the process.
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os._exit(1)


def _prepare(warm_up: Callable[[], None] | None) -> None:
    from joblib.externals.loky import process_executor
    from threadpoolctl import threadpool_limits

    # Loky replaces workers that have grown by 300 MB between two tasks, with a warning. Large
    # nodes do that to them, and a new worker would only grow again.
    process_executor._MAX_MEMORY_LEAK_SIZE = float("inf")
    if warm_up is not None:
        warm_up()
    threadpool_limits(1)  # also libraries that do not heed the environment
