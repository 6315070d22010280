"""Program of a worker process: it does the tasks that its parent sends, one after the other.

Both directions carry pickled pairs of a `Kind` and its content. When the parent's end, the parent
has ended, and this process ends at once.
"""

from __future__ import annotations

import os
import pickle
import queue
import threading
import traceback
from enum import Enum
from typing import Any, BinaryIO, NoReturn

from sdpbb.runtime.interruption import ignore_signals
from sdpbb.runtime.lean_imports import lean_imports

LOST_PARENT = 1
"""Exit status of a worker whose parent has ended."""

GREETING = b"sdpbb worker\n"
"""The line before the first message to the parent: others printed what came before it, while the
interpreter started."""


class Kind(Enum):
    """Kinds of messages, by their content."""

    # To the worker.
    WARM_UP = "warm up"
    """A pickled function without arguments, or a pickled None: first of all."""
    TASK = "task"
    """A pickled function without arguments."""
    INTERRUPT = "interrupt"

    # To its parent.
    READY = "ready"
    UNFIT = "unfit"
    """A line: the error that the function of WARM_UP has raised."""
    NOTE = "note"
    """The pickled argument of `tell`."""
    STEP = "step"
    """A task begins, or has called `tell_step`."""
    VALUE = "value"
    """The pickled value of a task."""
    ERROR = "error"
    """A pickled pair of the pickled exception that a task has raised, and its traceback as text."""


interrupt = threading.Event()
"""Set in a worker process when its tasks are asked for an early end."""


def tell_step() -> None:
    """Restart the time limit of the running task; no effect outside of workers."""
    _send(Kind.STEP)


def tell(note: Any) -> None:
    """Send a note to the `on_note` of this worker's executor; no effect outside of workers."""
    _send(Kind.NOTE, pack(note))


def pack(value: Any) -> bytes:
    """Pickle a value; functions and classes of the main module go by value, others by name."""
    import cloudpickle  # seldom needed

    return bytes(cloudpickle.dumps(value))


def outcome(task: bytes) -> tuple[Kind, bytes]:
    """Call a pickled function without arguments; return its value or error, as a message."""
    try:
        function = pickle.loads(task)
        del task  # it may be large
        return Kind.VALUE, pack(function())
    except BaseException as error:
        return Kind.ERROR, _packed_error(error)


def value_of(kind: Kind, content: bytes) -> Any:
    """Return the value of an outcome, or raise its error, with the traceback as its cause."""
    if kind is Kind.VALUE:
        return pickle.loads(content)
    packed, text = pickle.loads(content)
    try:
        error: BaseException = pickle.loads(packed)
    except Exception:  # it cannot be pickled, or be made of its arguments
        error = RuntimeError(text.splitlines()[-1])
    raise error from _WorkerTraceback(text)


class _WorkerTraceback(Exception):
    """Cause of an exception that a task has raised: the traceback in its worker."""

    def __str__(self) -> str:
        return f"\n\n{self.args[0]}"


def _packed_error(error: BaseException) -> bytes:
    text = "".join(traceback.format_exception(error))
    try:
        return pack((pack(error), text))
    except Exception:
        return pack((b"", text))


def send(stream: BinaryIO, kind: Kind, content: bytes = b"") -> None:
    """Write a message, and flush it."""
    pickle.dump((kind, content), stream, protocol=pickle.HIGHEST_PROTOCOL)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[Kind, bytes] | None:
    """Return the next message; None if the stream ends before it or within it."""
    try:
        kind, content = pickle.load(stream)
    except (EOFError, pickle.UnpicklingError):
        return None
    return kind, content


def main() -> NoReturn:
    """Work until the parent ends."""
    global _channel
    ignore_signals()
    source, _channel = _take_streams()
    _channel.write(GREETING)
    contents: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    # A thread of its own, so that this process receives interrupts while it works, and ends with
    # its parent whatever it is doing.
    threading.Thread(target=_listen, args=(source, contents), daemon=True).start()
    _warm_up(contents.get())
    while True:
        _work(contents)


_channel: BinaryIO | None = None
_sending = threading.Lock()


def _send(kind: Kind, content: bytes = b"") -> None:
    if _channel is None:
        return
    try:
        with _sending:
            send(_channel, kind, content)
    except OSError:  # the parent has ended
        os._exit(LOST_PARENT)


def _take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Move standard input and output out of the way of what libraries read and print."""
    source, channel = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, channel


def _listen(source: BinaryIO, contents: queue.SimpleQueue[bytes]) -> NoReturn:
    try:
        while _take_message(source, contents):
            pass
    finally:
        os._exit(LOST_PARENT)


def _take_message(source: BinaryIO, contents: queue.SimpleQueue[bytes]) -> bool:
    """Return whether there was another message.

    It is a function, so that no large task is held meanwhile.
    """
    message = receive(source)
    if message is None:
        return False
    kind, content = message
    if kind is Kind.INTERRUPT:
        interrupt.set()
    else:
        contents.put(content)
    return True


def _warm_up(content: bytes) -> None:
    try:
        with lean_imports():  # a pickled function imports its module
            function = pickle.loads(content)
            if function is not None:
                function()
        from threadpoolctl import threadpool_limits

        threadpool_limits(1)  # also libraries that do not heed the environment
    except BaseException as error:
        line = " ".join(f"{type(error).__name__}: {error}".split())
        _send(Kind.UNFIT, line.encode())
        os._exit(1)
    _send(Kind.READY)


def _work(contents: queue.SimpleQueue[bytes]) -> None:
    """Do the next task.

    It is a function, and the task is in a list, so that nothing large is held for longer than it is
    needed.
    """
    task = [contents.get()]
    _send(Kind.STEP)
    done = outcome(task.pop())
    _send(*done)
