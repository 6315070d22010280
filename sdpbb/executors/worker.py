"""Program of a worker process: it runs the tasks that its parent sends, one after the other.

Both directions carry frames: a byte for the kind, eight for the length, and so many bytes. The end
of the parent's frames is the end of the parent, and of this process at once.
"""

from __future__ import annotations

import math
import os
import pickle
import queue
import struct
import threading
import traceback
from enum import IntEnum
from typing import Any, BinaryIO, NoReturn

from sdpbb.interruption import ignore_signals
from sdpbb.lean_imports import lean_imports

LOST_PARENT = 1
"""Exit status of a worker whose parent has ended."""

GREETING = b"sdpbb worker\n"
"""The line before the first frame to the parent: whatever came before was printed by others while
the interpreter started."""

_HEADER = struct.Struct("<BQ")


class Kind(IntEnum):
    """Kinds of frames, by what they carry."""

    # To the worker.
    WARM_UP = 1
    """A pickled pair, first of all: a function without arguments or None, and the bytes by which
    the process may grow until it leaves."""
    TASK = 2
    """A pickled function without arguments."""
    INTERRUPT = 3

    # To its parent.
    READY = 4
    UNFIT = 5
    """A pickled line: the error that the function of WARM_UP has raised."""
    NOTE = 6
    """The pickled argument of `tell`."""
    STEP = 7
    """A task begins, or has called `tell_step`."""
    LEAVING = 8
    """The process ends after the frame that follows."""
    VALUE = 9
    """What a task has returned, pickled."""
    ERROR = 10
    """What it has raised: a pickled pair of the pickled exception and the traceback as text."""


interrupt = threading.Event()
"""Set in a worker process when its tasks are asked for an early end."""


def tell_step() -> None:
    """Have the time limit of the running task count from now; of no effect outside of workers."""
    _send(Kind.STEP)


def tell(note: Any) -> None:
    """Send a note to the `on_note` of this worker's executor; of no effect outside of workers."""
    _send(Kind.NOTE, pack(note))


def pack(value: Any) -> bytes:
    """Pickle a value; functions go by their names."""
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)


def read_frame(stream: BinaryIO) -> tuple[Kind, bytes] | None:
    """Return the next frame; None if the stream ends before it or within it."""
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    kind, length = _HEADER.unpack(header)
    payload = stream.read(length)
    return (Kind(kind), payload) if len(payload) == length else None


def write_frame(stream: BinaryIO, kind: Kind, payload: bytes = b"") -> None:
    """Write a frame, and flush it."""
    stream.write(_HEADER.pack(kind, len(payload)))
    stream.write(payload)
    stream.flush()


def main() -> NoReturn:
    """Work until the parent ends, or until this process has grown too much."""
    global _channel
    ignore_signals()
    source, _channel = _take_streams()
    _channel.write(GREETING)
    payloads: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    # A thread of its own, so that a parent that sends a large task never waits for the one before,
    # and so that this process ends with its parent whatever it is doing.
    threading.Thread(target=_listen, args=(source, payloads), daemon=True).start()
    most = _warm_up(payloads.get())
    _send(Kind.READY)
    while True:
        _work(payloads, most)


_channel: BinaryIO | None = None
_sending = threading.Lock()


def _send(kind: Kind, payload: bytes = b"") -> None:
    if _channel is None:
        return
    try:
        with _sending:
            write_frame(_channel, kind, payload)
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


def _listen(source: BinaryIO, payloads: queue.SimpleQueue[bytes]) -> NoReturn:
    try:
        while _take_frame(source, payloads):
            pass
    finally:
        os._exit(LOST_PARENT)


def _take_frame(source: BinaryIO, payloads: queue.SimpleQueue[bytes]) -> bool:
    """Return whether there was another frame.

    It is a function, so that no large task is held meanwhile.
    """
    frame = read_frame(source)
    if frame is None:
        return False
    kind, payload = frame
    if kind is Kind.INTERRUPT:
        interrupt.set()
    else:
        payloads.put(payload)
    return True


def _warm_up(payload: bytes) -> float:
    """Prepare for tasks; returns the resident bytes above which this process is to leave."""
    try:
        with lean_imports():  # a pickled function imports its module
            warm_up, growth = pickle.loads(payload)
            if warm_up is not None:
                warm_up()
        from threadpoolctl import threadpool_limits

        threadpool_limits(1)  # also libraries that do not heed the environment
        return math.inf if growth == math.inf else _resident_bytes() + growth
    except BaseException as error:
        line = " ".join(f"{type(error).__name__}: {error}".split())
        _send(Kind.UNFIT, pack(line))
        os._exit(1)


def _work(payloads: queue.SimpleQueue[bytes], most: float) -> None:
    kind, payload = _outcome(payloads.get())
    is_leaving = most < math.inf and _resident_bytes() > most
    if is_leaving:
        _send(Kind.LEAVING)
    _send(kind, payload)
    if is_leaving:
        os._exit(0)  # not by the interpreter's end, which a listening thread may abort


def _outcome(task: bytes) -> tuple[Kind, bytes]:
    _send(Kind.STEP)
    try:
        function = pickle.loads(task)
        del task  # it may be large
        return Kind.VALUE, pack(function())
    except BaseException as error:
        return Kind.ERROR, _packed_error(error)


def _packed_error(error: BaseException) -> bytes:
    text = "".join(traceback.format_exception(error))
    try:
        return pack((pack(error), text))
    except Exception:
        return pack((b"", text))


def _resident_bytes() -> int:
    import psutil

    return int(psutil.Process().memory_info().rss)
