"""Tasks in processes on this machine."""

from __future__ import annotations

import contextlib
import json
import math
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO

from sdpbb.errors import BackendFailure
from sdpbb.runtime.executors.scheduler import TaskExecutor, TaskOverdue, WorkerDied
from sdpbb.runtime.executors.worker import Outcome, no_warm_up, pack, send, value_of

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
"""Environment of workers, which these libraries read when they are loaded."""

STARTS = 3
"""Attempts to start a worker process."""

# A worker has the search path of its parent, and imports the same modules. It does not import the
# main module of the parent, so programs need no main guard.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from sdpbb.runtime.executors.worker import main; main()"
)


class LocalProcesses(TaskExecutor):
    """Fresh processes, each with one BLAS thread.

    The threads of a `ThreadPoolExecutor` send tasks to them and wait for the values. A process
    starts when a task finds no idle process, and stays. The death of one process does not affect
    the others.

    Workers ignore SIGINT and SIGTERM, which a terminal, timeout(1) or a batch system send to all
    processes of a command: their parent handles them. Workers end with this process, however it
    ends, and stop and resume with it at Ctrl-Z and fg.
    """

    def __init__(
        self, n_workers: int, warm_up: Callable[[], None] = no_warm_up, *, grace: float = 0.0
    ) -> None:
        """
        Parameters
        ----------
        n_workers : at least 1
        warm_up : called once in each process before its first task; can be pickled
        grace : a task is overdue this many seconds after its own time, or after an interrupt
        """
        self._n_workers = n_workers
        self._grace = grace
        self._warm_up = pack(warm_up)
        self._threads = ThreadPoolExecutor(n_workers)
        self._own = threading.local()  # the worker of a thread
        self._workers: list[_Worker] = []
        self._lock = threading.Lock()  # for the list, and for starts
        self._is_shut_down = False

    @property
    def n_workers(self) -> int:
        return self._n_workers

    def submit(self, function: Callable[[], Any], seconds: float = math.inf) -> Future[Any]:
        """Run the function in the next idle process."""
        try:
            return self._threads.submit(self._run, [pack(function)], seconds + self._grace)
        except RuntimeError as error:  # of a thread
            raise _no_worker(error) from None

    def _run(self, task: list[bytes], seconds: float) -> Any:
        """Return the value of a task, or raise its error; threads call this.

        task : list of the pickled task, which is removed from it, as it may be large
        """
        worker: _Worker | None = getattr(self._own, "worker", None)
        if worker is not None and not worker.is_alive:
            worker.close()
            worker = None
        if worker is None:
            worker = self._own.worker = self._warm_worker()
        return value_of(worker.outcome(task.pop(), seconds))

    def _warm_worker(self) -> _Worker:
        """Start a worker for this thread, and prepare it for tasks."""
        for _ in range(STARTS):
            with self._lock:
                if self._is_shut_down:
                    raise WorkerDied("was shut down")
                self._workers.append(worker := _Worker())
            try:
                value_of(worker.outcome(self._warm_up, math.inf))
            except WorkerDied as death:
                reason = str(death)
            except Exception as error:
                line = " ".join(f"{type(error).__name__}: {error}".split())
                raise BackendFailure(f"a worker process cannot start: {line}") from error
            else:
                worker.is_warm = True
                return worker
        raise BackendFailure(f"worker processes die while they start: {reason}")

    def check(self) -> None:
        """Kill the workers of overdue tasks."""
        now = time.monotonic()
        with self._lock:
            for worker in self._workers:
                if now >= worker.deadline:
                    worker.is_overdue = True
                    worker.kill()

    def interrupt(self) -> bool:
        """Set `worker.interrupt` for running tasks; other tasks never begin."""
        with self._lock:
            self._is_shut_down = True
            for worker in self._workers:
                worker.interrupt(self._grace)
        return True

    def kill(self) -> None:
        with self._lock:
            self._is_shut_down = True
            for worker in self._workers:
                worker.kill()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.close()


class _Worker:
    """Worker process. One thread runs tasks in it; other threads may interrupt or kill it.

    Attributes
    ----------
    is_warm : whether it is prepared for tasks
    deadline : monotonic time at which its task is overdue
    is_overdue : whether it was killed because its task was overdue
    """

    def __init__(self) -> None:
        self.is_warm = self.is_overdue = False
        self.deadline = math.inf
        self._is_at_work = False
        with contextlib.ExitStack() as undo:
            try:
                self._errors = undo.enter_context(tempfile.TemporaryFile())
                self._process = undo.enter_context(_start_process(self._errors))
            except OSError as error:
                raise _no_worker(error) from None
            self._resources = undo.pop_all()

    @property
    def is_alive(self) -> bool:
        """True if the process can run another task."""
        return self._process.poll() is None

    def outcome(self, task: bytes, seconds: float) -> Outcome:
        """Return the outcome of a pickled task.

        seconds : until the task is overdue

        Raises
        ------
        WorkerDied, TaskOverdue
            If the process has ended.
        Exception
            If the outcome does not fit the memory.
        """
        # Earlier messages are not about this task.
        heard = os.fstat(self._errors.fileno()).st_size
        try:
            send(self._process.stdin, task)  # type: ignore[arg-type]
            del task
            self.deadline, self._is_at_work = time.monotonic() + seconds, self.is_warm
            outcome: Outcome = pickle.load(self._process.stdout)  # type: ignore[arg-type]
        except (OSError, EOFError, pickle.UnpicklingError):
            reason = self._exit_reason(heard)
            raise TaskOverdue if self.is_overdue else WorkerDied(reason) from None
        except BaseException:  # such as a MemoryError
            self.kill()
            self._process.wait()
            raise
        finally:
            self.deadline, self._is_at_work = math.inf, False
        return outcome

    def interrupt(self, grace: float) -> None:
        """Ask the running task to end within `grace` seconds; other tasks never begin."""
        if not self._is_at_work:
            self.kill()
            return
        self.deadline = time.monotonic() + grace
        with contextlib.suppress(OSError):  # it has ended
            send(self._process.stdin, None)  # type: ignore[arg-type]

    def kill(self) -> None:
        """End the process; can be repeated."""
        self._process.kill()

    def close(self) -> None:
        """End the process, and release its resources; can be repeated."""
        self.kill()
        with contextlib.suppress(OSError):  # of a message that could not be sent
            self._resources.close()

    def _exit_reason(self, heard: int) -> str:
        """Return why the process ended, and its last error line; wait for its end."""
        ended = _exit_text(self._process.wait())
        self._errors.seek(heard)
        lines = self._errors.read().decode(errors="replace").splitlines()
        last = next((" ".join(line.split()) for line in reversed(lines) if line.strip()), "")
        return f"{ended}: {last}" if last else ended


def _no_worker(error: Exception) -> BackendFailure:
    reason = getattr(error, "strerror", None) or error
    return BackendFailure(
        f"worker processes cannot start: {reason}; expected memory, processes and temporary files "
        "for them (fewer workers need less)"
    )


def _start_process(errors: BinaryIO) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        # -P: do not import from the folder of the user before the search path is set; a file there
        # may have the name of a library.
        [sys.executable, "-P", "-c", _PROGRAM, json.dumps(sys.path, default=str)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env={**os.environ, **ONE_THREAD},
    )


def _exit_text(status: int) -> str:
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    by_whom = " (by somebody, or by the system if memory ran out)" if name == "SIGKILL" else ""
    return f"was ended by {name}{by_whom}"
