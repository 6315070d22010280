"""Standard streams, whose failure does not end a run."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import TextIO


def say(line: str) -> None:
    """A line on standard error, if anybody hears it."""
    try:
        print(line, file=sys.stderr)
    except OSError:
        discard(sys.stderr)


class ForgivingStream:
    """Standard stream whose failure does not end the run.

    Its reader may leave (`sdpbb ... | head`), its disk may be full.

    From then on the text is dropped; if it was the reader, and there is an event on_closed, that is
    set.
    """

    def __init__(self, name: str, on_closed: threading.Event | None) -> None:
        self._stream = getattr(sys, name)
        self._name = name
        self._on_closed = on_closed

    def write(self, text: str) -> None:
        self._guarded(lambda: self._stream.write(text))

    def flush(self) -> None:
        self._guarded(self._stream.flush)

    def _guarded(self, action: Callable[[], object]) -> None:
        try:
            action()
        except BrokenPipeError:
            discard(self._stream)
            if self._on_closed is not None:
                self._on_closed.set()
        except OSError as error:
            discard(self._stream)
            say(f"the log stops here: {self._name}: {error.strerror}")


def discard(stream: TextIO) -> None:
    """Send what is still buffered, and all that follows, to nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
