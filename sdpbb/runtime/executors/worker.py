"""Program of a worker process: it runs the tasks that its parent sends, one after the other.

The parent sends pickled functions without arguments. The first function prepares the worker, and
the worker answers each with its `outcome`. The message None requests an early end of the running
task. This process ends at once when the stream from its parent ends.
"""

from __future__ import annotations

import os
import pickle
import queue
import threading
import traceback
from typing import Any, BinaryIO, NoReturn

from sdpbb.runtime.interruption import ignore_signals, lean_imports

LOST_PARENT = 1
"""Exit status of a worker whose parent has ended."""

interrupt = threading.Event()
"""Set in a worker process when its task should end early."""

Outcome = tuple[bool, bytes]
"""Whether a task has a value; and the pickled value, or the pickled pair of its pickled exception
and the traceback as text."""


def no_warm_up() -> None:
    """Do nothing: the preparation of a worker that needs none."""


def pack(value: Any) -> bytes:
    """Pickle a value; functions and classes of the main module by value, others by name."""
    import cloudpickle  # seldom needed

    return bytes(cloudpickle.dumps(value))


def outcome(task: bytes) -> Outcome:
    """Return the outcome of a pickled function without arguments."""
    try:
        function = pickle.loads(task)
        del task  # it may be large
        return True, pack(function())
    except BaseException as error:
        text = "".join(traceback.format_exception(error))
        try:
            return False, pack((pack(error), text))
        except Exception:  # it cannot be pickled
            return False, pack((b"", text))


def value_of(outcome: Outcome) -> Any:
    """Return the value of an outcome, or raise its error, with the traceback as its cause."""
    has_value, content = outcome
    if has_value:
        return pickle.loads(content)
    packed, text = pickle.loads(content)
    try:
        error: BaseException = pickle.loads(packed)
    except Exception:  # it cannot be pickled, or rebuilt from its arguments
        error = RuntimeError(text.splitlines()[-1])
    raise error from _WorkerTraceback(text)


class _WorkerTraceback(Exception):
    """Cause of an exception of a task: the traceback in its worker."""

    def __str__(self) -> str:
        return f"\n\n{self.args[0]}"


def send(stream: BinaryIO, message: bytes | Outcome | None) -> None:
    """Write a message, and flush it."""
    pickle.dump(message, stream, protocol=pickle.HIGHEST_PROTOCOL)
    stream.flush()


def main() -> NoReturn:
    """Work until the parent ends."""
    ignore_signals()
    source, channel = _take_streams()
    tasks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    # Another thread listens, so that interrupts arrive during a task, and this process always ends
    # with its parent.
    threading.Thread(target=_listen, args=(source, tasks), daemon=True).start()
    first = tasks.get()
    with lean_imports():  # a pickled function imports its module
        prepared = outcome(first)
    send(channel, prepared)
    while True:
        send(channel, outcome(tasks.get()))


def _take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Duplicate standard input and output, and protect them from libraries that read and print."""
    source, channel = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, channel


def _listen(source: BinaryIO, tasks: queue.SimpleQueue[bytes]) -> NoReturn:
    def take(message: bytes | None) -> None:  # keeps no reference to the message
        if message is None:
            interrupt.set()
        else:
            tasks.put(message)

    try:
        while True:
            take(pickle.load(source))
    finally:
        os._exit(LOST_PARENT)
