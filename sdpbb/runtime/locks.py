"""Locks: a file that one process writes to at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import BinaryIO

from sdpbb.errors import FileInUse
from sdpbb.runtime.files import FilePath, companion, shown_path

try:
    import fcntl
except ImportError:  # on Windows, where nothing is locked
    fcntl = None  # type: ignore[assignment]


def hold(file: BinaryIO, path: FilePath, writer: str) -> None:
    """Lock an open file until it is closed, which the end of the process does, too.

    path, writer : what messages call the file, and who else writes to it ("run", "batch")

    Raises
    ------
    FileInUse
        If another process, or another thread, holds it. File systems without locks have none to
        hold.
    """
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise FileInUse(
            f"{shown_path(path)}: another {writer} is writing to it; use another name, or wait "
            "until it ends"
        ) from None
    except OSError:  # a file system without locks
        return


@contextlib.contextmanager
def only_writer(path: FilePath, writer: str) -> Iterator[None]:
    """Within the block nobody else is within such a block for the same path.

    For files that are replaced (`files.replacement`), or not there yet, and so cannot be locked
    themselves: an empty file beside them is, which is removed at the end. What a process that was
    killed leaves of it holds nothing up.

    Raises
    ------
    FileInUse
        As `hold`.
    OSError
        If nothing can be written there.
    """
    if fcntl is None:
        yield
        return
    beside = companion(path, ".lock")
    with _held(beside, path, writer):
        try:
            yield
        finally:
            with contextlib.suppress(FileNotFoundError):  # removed together with its folder
                os.unlink(beside)


@contextlib.contextmanager
def _held(beside: str, path: FilePath, writer: str) -> Iterator[None]:
    """The lock file, open and locked."""
    while True:
        flags = os.O_RDWR | os.O_CREAT
        with open(os.open(beside, flags, 0o666), "r+b", buffering=0) as file:
            hold(file, path, writer)
            if _is_at(file, beside):
                yield
                return
            # Whoever had it before has removed it since it was opened here: the next one is locked.


def _is_at(file: BinaryIO, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False
