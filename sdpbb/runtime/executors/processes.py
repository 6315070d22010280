"""Tasks in processes on this machine."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO

from sdpbb.errors import BackendFailure
from sdpbb.runtime.executors.executor import TaskDropped, TaskExecutor, TaskOverdue, WorkerDied
from sdpbb.runtime.executors.memory import resident_bytes
from sdpbb.runtime.executors.worker import GREETING, Kind, pack, receive, send, value_of

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
"""Environment of workers: these libraries read it when they are loaded."""

LONG_PAUSE = 5.0
"""Seconds between two looks at the deadlines after which this process is taken to have been
stopped, with all of its workers, as by Ctrl-Z."""

# Run with the parent's search path: a worker imports what its parent does. The main module of the
# parent is not imported, so programs need no main guard.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from sdpbb.runtime.executors.worker import main; main()"
)


class LocalProcesses(TaskExecutor):
    """Fresh processes, each with one BLAS thread.

    The threads of a `ThreadPoolExecutor` hand tasks to them and wait for the values. A process
    starts when a task finds none that is idle, and stays. What happens to one has no influence on
    the others.

    Workers ignore SIGINT and SIGTERM, which a terminal, timeout(1) or a batch system send to all
    processes of a command: their parent decides what follows. They end with this process, however
    it ends, and stop and resume with it at Ctrl-Z and fg.
    """

    def __init__(
        self,
        n_workers: int,
        warm_up: Callable[[], None] | None = None,
        *,
        first_alone: bool = False,
        growth: float = math.inf,
        grace: float = 0.0,
        on_note: Callable[[Any], None] | None = None,
    ) -> None:
        """
        Parameters
        ----------
        n_workers : at least 1
        warm_up : called once in each process before its first task; can be pickled
        first_alone : whether there is one worker only until that is warm: it compiles what all
            need, or shows why none can work
        growth : bytes; a process that has grown by more between its first task and the end of
            another is replaced
        grace : seconds after which a task is overdue, since the end of its own seconds or since an
            interrupt
        on_note : called with what workers `tell`, by another thread than the caller's
        """
        self._n_workers = n_workers
        self._first_alone = first_alone
        self._growth = growth
        self._grace = grace
        self._on_note = on_note
        self._warm_up = pack(warm_up)
        self._threads = ThreadPoolExecutor(n_workers)
        self._workers: list[_Worker] = []
        self._idle: list[_Worker] = []
        self._lock = threading.Lock()  # for both lists
        self._is_shut_down = False
        self._looked = time.monotonic()

    @property
    def n_workers(self) -> int:
        with self._lock:
            if any(worker.is_warm for worker in self._workers):
                self._first_alone = False
        return 1 if self._first_alone else self._n_workers

    def submit(self, function: Callable[[], Any], seconds: float = math.inf) -> Future[Any]:
        """Run the function in an idle process; with more tasks than processes, after others."""
        if self._is_shut_down:
            raise RuntimeError("these workers are shut down")
        self.check()
        try:
            return self._threads.submit(self._run, [pack(function)], seconds)
        except RuntimeError as error:  # of a thread
            raise _no_worker(error) from None

    def _run(self, task: list[bytes], seconds: float) -> Any:
        """Return the value of a task, or raise how it has ended otherwise: called by threads."""
        worker = self._taken_worker()
        try:
            return worker.run(task, seconds + self._grace)
        finally:
            with self._lock:
                self._idle.append(worker)

    def _taken_worker(self) -> _Worker:
        """Return an idle worker, or a new one."""
        with self._lock:
            if self._is_shut_down:
                raise TaskDropped("the workers are shut down")
            while self._idle:
                worker = self._idle.pop()
                if worker.is_usable:
                    return worker
                self._workers.remove(worker)
                worker.close()
            self._workers.append(_Worker(self._warm_up, self._growth, self._on_note))
            return self._workers[-1]

    def check(self) -> None:
        """Kill the workers of overdue tasks."""
        now = time.monotonic()
        pause, self._looked = now - self._looked, now
        with self._lock:
            for worker in self._workers:
                if pause > LONG_PAUSE:  # it was stopped, too
                    worker.deadline += pause
                if now >= worker.deadline:
                    worker.kill(TaskOverdue())

    def interrupt(self) -> bool:
        """Set `worker.interrupt` for running tasks; tasks that have not begun end as dropped."""
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
        while self._workers:
            self._workers.pop().close()


class _Worker:
    """Worker process. One thread runs tasks in it; others may interrupt or kill it meanwhile.

    Attributes
    ----------
    is_warm : whether it has been ready for tasks
    deadline : monotonic time at which its task is overdue
    """

    def __init__(
        self, warm_up: bytes, growth: float, on_note: Callable[[Any], None] | None
    ) -> None:
        self.is_warm = False
        self.deadline = math.inf
        self._growth = growth
        self._on_note = on_note
        self._most = math.inf  # resident bytes above which it is to be replaced
        self._is_greeted = self._has_begun = self._is_interrupted = False
        self._why_unfit = ""
        self._why_killed: Exception | None = None
        self._lock = threading.Lock()  # for what a thread and an interrupt both change
        with contextlib.ExitStack() as undo:
            try:
                self._errors = undo.enter_context(tempfile.TemporaryFile())
                self._process = undo.enter_context(_start_process(self._errors))
            except OSError as error:
                raise _no_worker(error) from None
            self._send(Kind.WARM_UP, warm_up)
            self._resources = undo.pop_all()

    @property
    def is_usable(self) -> bool:
        """True if it may have another task: it lives, and has not grown too much."""
        if self._why_killed is not None or self._process.poll() is not None:
            return False
        return self._most == math.inf or resident_bytes(self._process.pid) <= self._most

    def run(self, task: list[bytes], seconds: float) -> Any:
        """Return the value of a task.

        task : is taken from the list, as it may be large
        seconds : until it is overdue, from its beginning and from each step

        Raises
        ------
        WorkerDied, TaskOverdue, TaskDropped, BackendFailure, Exception
            As `TaskExecutor.result` does.
        """
        # What was said before is not about this task.
        heard = os.fstat(self._errors.fileno()).st_size
        self._send(Kind.TASK, task.pop())
        while message := self._received():
            match message:
                case (Kind.READY, _):
                    self.is_warm = True
                    if self._growth < math.inf:
                        self._most = resident_bytes(self._process.pid) + self._growth
                case (Kind.UNFIT, line):
                    self._why_unfit = line.decode()
                case (Kind.NOTE, note):
                    if self._on_note is not None:
                        self._on_note(value_of(Kind.VALUE, note))
                case (Kind.STEP, _):
                    self._begin_step(seconds)
                case (kind, content):
                    self._has_begun, self.deadline = False, math.inf
                    return value_of(kind, content)
        self.deadline = math.inf
        raise self._why_not_done(heard)

    def _received(self) -> tuple[Kind, bytes] | None:
        """Return the next message of the process; None if it has ended."""
        stream = self._process.stdout
        assert stream is not None
        try:
            while not self._is_greeted and (line := stream.readline()):
                self._is_greeted = line.endswith(GREETING)
            return receive(stream)  # type: ignore[arg-type]
        except Exception as error:  # such as a MemoryError
            self.kill(error)
            return None

    def _send(self, kind: Kind, content: bytes = b"") -> None:
        with contextlib.suppress(OSError):  # whoever receives from it notices its end
            send(self._process.stdin, kind, content)  # type: ignore[arg-type]

    def _begin_step(self, seconds: float) -> None:
        with self._lock:
            self._has_begun = True
            if not self._is_interrupted:
                self.deadline = time.monotonic() + seconds

    def interrupt(self, grace: float) -> None:
        """Ask the running task to end within some seconds; one that has not begun never will."""
        with self._lock:
            self._is_interrupted = True
            has_begun = self._has_begun
            if has_begun:
                self.deadline = time.monotonic() + grace
        if has_begun:
            self._send(Kind.INTERRUPT)
        else:
            self.kill()

    def kill(self, why: Exception | None = None) -> None:
        """End the process; can be repeated.

        why : how its task ends
        """
        self._why_killed = self._why_killed or why or TaskDropped("the workers are shut down")
        self._process.kill()

    def close(self) -> None:
        """End the process, and give back its resources."""
        self._process.kill()
        with contextlib.suppress(OSError):  # of what could not be sent
            self._resources.close()

    def _why_not_done(self, heard: int) -> Exception:
        reason = self._exit_reason(heard)
        if self._why_unfit:
            return BackendFailure(f"a worker process cannot start: {self._why_unfit}")
        if self._why_killed is not None:
            return self._why_killed
        if self._has_begun:
            return WorkerDied(reason)
        when = "between two tasks" if self.is_warm else "while they start"
        return TaskDropped(f"worker processes die {when}: {reason}")

    def _exit_reason(self, heard: int) -> str:
        """Return why the process ended, in a few words; wait for its end."""
        status = self._process.wait()
        self._errors.seek(heard)
        lines = self._errors.read().decode(errors="replace").splitlines()
        last = next((" ".join(line.split()) for line in reversed(lines) if line.strip()), "")
        return f"{_exit_text(status)}{f': {last}' if last else ''}"


def _no_worker(error: Exception) -> BackendFailure:
    reason = getattr(error, "strerror", None) or error
    return BackendFailure(
        f"worker processes cannot start: {reason}; expected memory, processes and temporary files "
        "for them (fewer workers need less)"
    )


def _start_process(errors: BinaryIO) -> subprocess.Popen[bytes]:
    with _sigint_blocked():
        return subprocess.Popen(
            # Without the folder of the user's files, which may be called like a library, before it
            # is known whether it belongs to the search path.
            [sys.executable, "-P", "-c", _PROGRAM, json.dumps(sys.path, default=str)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **ONE_THREAD},
        )


@contextlib.contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Context manager: processes started within the block receive no signals at first.

    SIGINT and SIGTERM are blocked until they have begun to ignore them.

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


def _exit_text(status: int) -> str:
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    by_whom = " (by somebody, or by the system if memory ran out)" if name == "SIGKILL" else ""
    return f"was ended by {name}{by_whom}"
