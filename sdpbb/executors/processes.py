"""Tasks in processes on this machine."""

from __future__ import annotations

import contextlib
import json
import math
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, BinaryIO

from sdpbb.errors import BackendFailure
from sdpbb.executors.executor import (
    TaskDropped,
    TaskExecutor,
    TaskOverdue,
    WorkerDied,
    end_with_value,
)
from sdpbb.executors.worker import GREETING, Kind, pack, read_frame, write_frame

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

FILES = 8
"""File descriptors per worker, with some to spare."""

LONG_PAUSE = 5.0
"""Seconds between two looks at the deadlines after which this process is taken to have been
stopped, with all of its workers, as by Ctrl-Z."""

# Run with the parent's search path: a worker imports what its parent does. The main module of the
# parent is not imported, so programs need no main guard.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from sdpbb.executors.worker import main; main()"
)


class LocalProcesses(TaskExecutor):
    """Fresh processes, each with one BLAS thread.

    A process starts when the first task for it is submitted, and stays. What happens to one has no
    influence on the others.

    Workers ignore SIGINT and SIGTERM, which a terminal, timeout(1) or a batch system send to all
    processes of a command: what is to be done about it is decided here. They end with this process,
    however it ends, and stop and continue with it at Ctrl-Z and fg.
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
        self._grace = grace
        self._on_note = on_note
        self._warm_up = pack((warm_up, growth))
        self._workers: list[_Worker] = []
        self._was_warm = threading.Event()
        self._is_shut_down = False
        self._looked = time.monotonic()
        _allow_open_files(FILES * n_workers)

    @property
    def n_workers(self) -> int:
        return 1 if self._first_alone and not self._was_warm.is_set() else self._n_workers

    def start(self) -> None:
        """Start all processes, which are warm when the first tasks come.

        Raises
        ------
        BackendFailure
            If the system refuses what a process needs.
        """
        while len(self._workers) < self.n_workers:
            self._add_worker()

    def submit(self, function: Callable[[], Any], seconds: float = math.inf) -> Future[Any]:
        """Run the function in an idle process; with more tasks than processes, behind others.

        Raises
        ------
        BackendFailure
            If the system refuses what a process needs.
        """
        if self._is_shut_down:
            raise RuntimeError("these workers are shut down")
        self.check()
        task = pack(function)
        while True:
            future = self._least_busy().submit(task, seconds)
            if future is not None:
                return future

    def check(self) -> None:
        """Kill the workers of overdue tasks."""
        self._allow_for_pauses()
        now = time.monotonic()
        for worker in self._workers:
            if now >= worker.deadline:
                worker.kill(TaskOverdue())

    def interrupt(self) -> None:
        """Set `worker.interrupt` for running tasks; tasks that have not begun end as dropped."""
        self._is_shut_down = True
        for worker in self._workers:
            worker.interrupt(self._grace)

    def kill(self) -> None:
        self._is_shut_down = True
        for worker in self._workers:
            worker.kill()
        self._workers.clear()

    def _least_busy(self) -> _Worker:
        """Return an idle worker, or a new one, or that with the fewest tasks."""
        for worker in [worker for worker in self._workers if not worker.takes_tasks]:
            if not worker.n_tasks:
                worker.kill()
                self._workers.remove(worker)
        usable = [worker for worker in self._workers if worker.takes_tasks]
        least = min(usable, key=lambda worker: worker.n_tasks, default=None)
        if least is not None and (not least.n_tasks or len(self._workers) >= self._n_workers):
            return least
        return self._add_worker()

    def _add_worker(self) -> _Worker:
        worker = _Worker(self._warm_up, self._grace, self._was_warm, self._on_note)
        self._workers.append(worker)
        return worker

    def _allow_for_pauses(self) -> None:
        """Postpone deadlines by the time for which this process and its workers were stopped."""
        now = time.monotonic()
        pause, self._looked = now - self._looked, now
        if pause > LONG_PAUSE:
            for worker in self._workers:
                worker.postpone(pause)


@dataclass(eq=False)
class _SentTask:
    future: Future[Any]
    seconds: float
    has_begun: bool = False


class _Worker:
    """Worker process and its tasks, which it runs in the order of submission.

    A thread writes to its pipe and another reads from it, so that nobody waits for a worker that is
    stopped or busy. The latter ends all futures, the last ones when the process has ended.
    """

    def __init__(
        self,
        warm_up: bytes,
        grace: float,
        was_warm: threading.Event,
        on_note: Callable[[Any], None] | None,
    ) -> None:
        self.takes_tasks = True
        self.deadline = math.inf
        self._grace = grace
        self._was_warm = was_warm
        self._on_note = on_note
        self._tasks: deque[_SentTask] = deque()
        self._is_warm = self._is_interrupted = False
        self._why_unfit = ""
        self._why_killed: Exception | None = None
        self._lock = threading.Lock()
        self._heard = 0  # what was said before a task was sent is not about that task
        self._outbox: queue.SimpleQueue[tuple[Kind, bytes] | None] = queue.SimpleQueue()
        self._outbox.put((Kind.WARM_UP, warm_up))
        with contextlib.ExitStack() as undo:
            try:
                self._errors = undo.enter_context(tempfile.TemporaryFile())
                self._process = undo.enter_context(_start_process(self._errors))
                undo.callback(self._process.kill)
                self._sender = threading.Thread(target=self._send_all, daemon=True)
                self._receiver = threading.Thread(target=self._receive_all, daemon=True)
                self._sender.start()
                undo.callback(self._outbox.put, None)
                self._receiver.start()
            except (OSError, RuntimeError) as error:  # the latter for a thread
                reason = getattr(error, "strerror", None) or error
                raise BackendFailure(
                    f"worker processes cannot start: {reason}; expected memory, processes and "
                    "temporary files for them (fewer workers need less)"
                ) from None
            undo.pop_all()

    @property
    def n_tasks(self) -> int:
        """Tasks that have not ended yet."""
        return len(self._tasks)

    def submit(self, task: bytes, seconds: float) -> Future[Any] | None:
        """Send a task; None if the process takes no tasks any more."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        with self._lock:
            if not self.takes_tasks:
                return None
            self._heard = os.fstat(self._errors.fileno()).st_size
            self._tasks.append(_SentTask(future, seconds))
        self._outbox.put((Kind.TASK, task))
        return future

    def interrupt(self, seconds: float) -> None:
        """Ask the running task to end within so many seconds; one that has not begun never will."""
        with self._lock:
            self.takes_tasks = False
            self._is_interrupted = True
            has_begun = bool(self._tasks) and self._tasks[0].has_begun
            if has_begun:
                self.deadline = time.monotonic() + seconds
        if has_begun:
            self._outbox.put((Kind.INTERRUPT, b""))
        else:
            self.kill()

    def postpone(self, seconds: float) -> None:
        """Postpone the deadline of the running task."""
        with self._lock:
            self.deadline += seconds

    def kill(self, why: Exception | None = None) -> None:
        """End the process, and wait for its end; can be repeated.

        why : how the future of the running task ends
        """
        with self._lock:
            self.takes_tasks = False
            self._why_killed = self._why_killed or why or TaskDropped("the workers are shut down")
        self._process.kill()
        self._outbox.put(None)
        self._receiver.join()
        self._sender.join()

    def _send_all(self) -> None:
        stream = self._process.stdin
        assert stream is not None
        with contextlib.suppress(OSError):  # its end is told by the receiver
            while (frame := self._outbox.get()) is not None:
                write_frame(stream, *frame)  # type: ignore[arg-type]
                del frame  # it may be large
        with contextlib.suppress(OSError):  # what was not sent is not
            stream.close()

    def _receive_all(self) -> None:
        try:
            with self._process.stdout as stream:  # type: ignore[union-attr]
                for line in stream:
                    if line.endswith(GREETING):
                        break
                while frame := read_frame(stream):  # type: ignore[arg-type]
                    self._receive(*frame)
                    del frame  # it may be large
        except Exception as error:  # such as a MemoryError
            with self._lock:
                self._why_killed = self._why_killed or error
            self._process.kill()
        self._finish_tasks()

    def _receive(self, kind: Kind, payload: bytes) -> None:
        match kind:
            case Kind.READY:
                self._is_warm = True
                self._was_warm.set()
            case Kind.UNFIT:
                self._why_unfit = pickle.loads(payload)
            case Kind.NOTE:
                if self._on_note is not None:
                    self._on_note(pickle.loads(payload))
            case Kind.STEP:
                self._begin_step()
            case Kind.LEAVING:
                self.takes_tasks = False
            case _:
                with self._lock:
                    self.deadline = math.inf
                    future = self._tasks.popleft().future
                (end_with_value if kind is Kind.VALUE else _end_with_error)(future, payload)

    def _begin_step(self) -> None:
        with self._lock:
            if not self._tasks:  # told by a thread that the task has left behind
                return
            self._tasks[0].has_begun = True
            if not self._is_interrupted:
                self.deadline = time.monotonic() + self._tasks[0].seconds + self._grace

    def _finish_tasks(self) -> None:
        reason = self._exit_reason()
        with self._lock:
            self.takes_tasks = False
            self.deadline = math.inf
            tasks = list(self._tasks)
            self._tasks.clear()
            self._errors.close()
        for task in tasks:
            task.future.set_exception(self._why_not_done(task, reason))

    def _why_not_done(self, task: _SentTask, reason: str) -> Exception:
        if self._why_unfit:
            return BackendFailure(f"a worker process cannot start: {self._why_unfit}")
        if task.has_begun:
            return self._why_killed or WorkerDied(reason)
        if self._is_warm or self._why_killed:
            return TaskDropped(f"worker processes die between two tasks: {reason}")
        return TaskDropped(f"worker processes die while they start: {reason}")

    def _exit_reason(self) -> str:
        """Return why the process ended, in a few words; wait for its end."""
        status = self._process.wait()
        self._errors.seek(self._heard)
        lines = self._errors.read().decode(errors="replace").splitlines()
        last = next((" ".join(line.split()) for line in reversed(lines) if line.strip()), "")
        return f"{_exit_text(status)}{f': {last}' if last else ''}"


class _WorkerTraceback(Exception):
    """Cause of an exception that a task has raised: the traceback in its worker."""

    def __str__(self) -> str:
        return f"\n\n{self.args[0]}"


def _end_with_error(future: Future[Any], payload: bytes) -> None:
    packed, text = pickle.loads(payload)
    try:
        error = pickle.loads(packed)
    except Exception:  # it cannot be pickled, or be made of its arguments
        error = RuntimeError(text.splitlines()[-1])
    error.__cause__ = _WorkerTraceback(text)
    future.set_exception(error)


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
