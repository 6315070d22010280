"""Reading of files that are too large: for the memory, or for a user who waits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from sdpbb.errors import InstanceError
from sdpbb.runtime.executors.memory import USABLE, free_mebibytes
from sdpbb.runtime.files import FilePath, shown_path

LOGGER = logging.getLogger("sdpbb.reading")
"""Log of files whose reading takes long, at level INFO."""

# Seconds of reading until the first line of the log; each further line takes twice as long.
FIRST_NOTE = 3.0
# Bytes that always fit: finding out the free memory takes longer than reading so little.
SMALL = 2**26


@contextmanager
def reading_file(path: FilePath) -> Iterator[None]:
    """Context manager: log that a file is still being read, and name it if the memory runs out.

    Raises
    ------
    InstanceError
        In place of a MemoryError within the block.
    """
    name, done = shown_path(path), threading.Event()
    threading.Thread(target=_log, args=(name, done), daemon=True).start()
    try:
        yield
    except MemoryError:
        raise InstanceError(
            f"{name}: does not fit into the memory, or is damaged; expected less data"
        ) from None
    finally:
        done.set()


def check_memory(what: str, n_bytes: int) -> None:
    """Raise the InstanceError if reading n_bytes takes more than the free memory.

    what : is read, the file and its size, for the message
    """
    if n_bytes <= SMALL:
        return
    needed, usable = n_bytes / 2**20, USABLE * free_mebibytes()
    if needed > usable:
        raise InstanceError(
            f"{what}: reading takes {_shown(needed)} of memory, and {_shown(usable)} are free; "
            "expected less data"
        )


def _log(name: str, done: threading.Event) -> None:
    started, wait = perf_counter(), FIRST_NOTE
    while not done.wait(wait):
        seconds = perf_counter() - started
        LOGGER.info("still reading %s after %.0f s; a time limit begins afterwards", name, seconds)
        wait = seconds


def _shown(mebibytes: float) -> str:
    return f"{mebibytes / 1024:,.1f} GiB"
