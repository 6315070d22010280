"""A worker process, seen from its parent."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from typing import Any, BinaryIO

from sdpbb.errors import BackendFailure
from sdpbb.executors.processes import ONE_THREAD

# Run with the parent's search path: a worker imports what its parent does.
_BEGIN = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from sdpbb.batch.worker import main; main(sys.argv[2], sys.argv[3])"
)

Inbox = queue.SimpleQueue[tuple["WorkerProcess", dict[str, Any] | None]]
"""Messages of workers, each with its worker; None when one has ended."""


class WorkerProcess:
    """A fresh process with one BLAS thread that evaluates tasks by the functions of a module.

    It is in a process group of its own and ignores SIGINT and SIGTERM, which are left to its
    parent, and it ends when its parent does, however that ends.
    """

    def __init__(self, module: str, setting: str, inbox: Inbox) -> None:
        """
        Parameters
        ----------
        module : what `sdpbb.batch.worker.Work` describes
        setting : what its `prepare` is called with
        inbox : where the messages of this worker arrive

        Raises
        ------
        BackendFailure
            If the system refuses what it needs.
        """
        self._heard = 0  # what was said before a task was sent is not about that task
        with contextlib.ExitStack() as undo:
            try:
                self._errors = undo.enter_context(tempfile.TemporaryFile())
                self._process = _started(module, setting, self._errors)
                undo.enter_context(self._process)
                undo.callback(self._process.kill)
                self._reader = threading.Thread(target=self._read, args=(inbox,), daemon=True)
                self._reader.start()
            except (OSError, RuntimeError) as error:  # the latter for a thread
                reason = getattr(error, "strerror", None) or error
                raise BackendFailure(
                    f"worker processes cannot start: {reason}; expected memory, processes and "
                    "temporary files for them (fewer workers need less)"
                ) from None
            undo.pop_all()

    def send(self, message: dict[str, Any]) -> None:
        """If it has ended, that is told by the inbox, and not here."""
        self._heard = os.fstat(self._errors.fileno()).st_size
        assert self._process.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()

    def kill(self) -> None:
        """End the process at once, and wait for its end; can be repeated."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # what was not sent is not
            self._process.stdin.close()
        self._errors.close()

    def obituary(self) -> str:
        """Of what it has died, in a few words; only after its end, and before `kill`."""
        status = self._process.wait()
        self._errors.seek(self._heard)
        lines = self._errors.read().decode(errors="replace").splitlines()
        last = next((" ".join(line.split()) for line in reversed(lines) if line.strip()), "")
        return f"{_manner(status)}{f': {last}' if last else ''}"

    def _read(self, inbox: Inbox) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            for line in stream:
                # What a dying process has left of a line says nothing.
                with contextlib.suppress(ValueError):
                    inbox.put((self, json.loads(line)))
        inbox.put((self, None))


def _started(module: str, setting: str, errors: BinaryIO) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _BEGIN, json.dumps(sys.path), module, setting],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env={**os.environ, **ONE_THREAD},
        process_group=0 if os.name == "posix" else None,
    )


def _manner(status: int) -> str:
    if status >= 0:
        return f"ended with exit status {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    by_whom = " (by somebody, or by the system if memory ran out)" if name == "SIGKILL" else ""
    return f"was ended by {name}{by_whom}"
