"""What runs in a worker process: tasks one after the other, as its parent sends them.

Both directions are lines of JSON. From the parent, on standard input: `{"task": ...}` and
`{"interrupt": true}`; its end is the end of the parent, and of this process at once. To the parent,
on what was standard output when the process began: `{"compiling": true}` if that takes a while,
`{"ready": true}`, then for each task `{"step": ...}` when it is begun and as it says itself, and
`{"value": ..., "leaving": ...}`.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import threading
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Protocol, TextIO, cast

from sdpbb.interruption import ignore_signals

GROWTH = 256 * 2**20
"""A worker that occupies so many bytes more than in the beginning, between two tasks, leaves: what
earlier tasks have left behind must not count towards the memory limits of later ones."""

LOST_PARENT = 1


class Work(Protocol):
    """What a module offers that workers can run."""

    def prepare(self, setting: str, compiling: Callable[[], None]) -> None:
        """Called once, before the first task; calls compiling if that will take a while."""

    def evaluate(
        self, task: Mapping[str, Any], interrupt: threading.Event, tell: Callable[[], None]
    ) -> dict[str, Any]:
        """The value of a task; both are plain values. interrupt asks for an early end, and tell
        says that a step of the work has been done."""


def main(module: str, setting: str) -> NoReturn:
    """Work until the parent ends, or until this process has grown too much."""
    ignore_signals()
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    interrupt = threading.Event()
    source, channel = _take_streams()
    threading.Thread(target=_listen, args=(source, tasks, interrupt), daemon=True).start()
    work = cast(Work, importlib.import_module(module))
    work.prepare(setting, lambda: _send(channel, {"compiling": True}))
    grown = _resident_bytes() + GROWTH
    _send(channel, {"ready": True})
    while True:
        task = tasks.get()
        _send(channel, {"step": "begun"})
        value = work.evaluate(task, interrupt, lambda: _send(channel, {"step": "done"}))
        leaving = _resident_bytes() > grown
        _send(channel, {"value": value, "leaving": leaving})
        if leaving:
            os._exit(0)  # not by the interpreter's end, which a listening thread may abort


def _take_streams() -> tuple[TextIO, TextIO]:
    """Keep what is printed by libraries out of the way of the messages."""
    source = os.fdopen(os.dup(0), encoding="utf-8")
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, channel


def _listen(source: TextIO, tasks: queue.SimpleQueue[Any], interrupt: threading.Event) -> NoReturn:
    try:
        for line in source:
            message = json.loads(line)
            if "task" in message:
                tasks.put(message["task"])
            else:
                interrupt.set()
    finally:  # a parent that dies while it writes leaves a part of a line
        os._exit(LOST_PARENT)


def _send(channel: TextIO, message: dict[str, Any]) -> None:
    try:
        channel.write(json.dumps(message) + "\n")
        channel.flush()
    except OSError:  # nobody is there any more
        os._exit(LOST_PARENT)


def _resident_bytes() -> int:
    import psutil

    return int(psutil.Process().memory_info().rss)
