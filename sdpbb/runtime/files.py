"""Output files: written wholly or not at all, by one process at a time."""

from __future__ import annotations

import contextlib
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from sdpbb.errors import FileInUse

try:
    import fcntl
except ImportError:  # on Windows, where nothing is locked
    fcntl = None  # type: ignore[assignment]

FilePath = str | os.PathLike[str]

_SUFFIX = ".tmp"


def write_atomically(path: FilePath, content: str | bytes) -> None:
    """Write content to path, text as UTF-8, wholly or not at all; see `replacement`."""
    content = content if isinstance(content, bytes) else content.encode("utf-8")
    with replacement(path) as file:
        file.write(content)


@contextlib.contextmanager
def replacement(path: FilePath) -> Iterator[BinaryIO]:
    """Context manager: a file that replaces path at the end if nothing was raised.

    It is a temporary file in the same folder, so that the previous file survives any failure, also
    a power cut. Symbolic links are followed. The new file has the permissions of the previous one,
    even while it is empty.

    Raises
    ------
    OSError
        If the folder is not writable, the disk is full, or `output_problem` finds a problem.
    """
    problem = output_problem(path)
    if problem:
        raise OSError(problem)
    target = Path(os.path.realpath(path))
    temporary = Path(companion(path, f"-{os.urandom(8).hex()}{_SUFFIX}"))
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    most = 0o666 if mode is None else mode
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, most)) as file:
            if mode is not None:  # the mask of the process has removed some permissions
                os.chmod(temporary, mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise


def remove_leftovers(path: FilePath) -> None:
    """Remove the temporary files of processes that were killed within a `replacement` of path.

    Nobody else may write to path now: a replacement in progress would fail.
    """
    target = Path(os.path.realpath(path))
    with contextlib.suppress(OSError):
        for name in os.listdir(target.parent):
            if name.startswith(f"{_stem(target)}-") and name.endswith(_SUFFIX):
                target.with_name(name).unlink()


def companion(path: FilePath, ending: str) -> str:
    """Return the name of a hidden file beside path, different for each name and ending.

    Symbolic links are followed.
    """
    target = Path(os.path.realpath(path))
    return str(target.with_name(f"{_stem(target)}{ending}"))


def _stem(target: Path) -> str:
    """Return the stem of hidden files: short and plain for any name of the target."""
    return f".sdpbb-{zlib.crc32(os.fsencode(target.name)):08x}"


def output_problem(path: FilePath) -> str | None:
    """Return in one line why a file cannot be written at path, or None.

    Long runs ask before they start.
    """
    if problem := name_problem(path):
        return problem
    name, target = shown_path(path), Path(os.path.realpath(path))
    try:
        if target.is_dir():
            return f"{name}: is a folder; give the name of a file"
        # Nobody wants to replace a device or a pipe by a file, or the file that a stream such as
        # /dev/stdout is redirected to.
        is_stream = os.path.abspath(path).startswith(("/dev/", "/proc/"))
        if is_stream or (target.exists() and not target.is_file()):
            return f"{name}: is a device; give the name of a file"
        if not target.parent.is_dir():
            return f"{name}: there is no folder {shown_path(target.parent)}"
        if not os.access(target.parent, os.W_OK | os.X_OK):
            return f"{name}: the folder {shown_path(target.parent)} is not writable"
        # Replacing a file needs only the permission of its folder, but the file is write-protected.
        if target.exists() and not os.access(target, os.W_OK):
            return f"{name}: the file exists and is not writable"
    except OSError as error:
        return f"{name}: cannot be written ({error.strerror})"
    return None


def new_file_problem(path: FilePath) -> str | None:
    """Return why a new file cannot be written at path, as one line, or None."""
    problem = output_problem(path)
    if problem is None and os.path.lexists(path):
        return f"{shown_path(path)}: exists already; give the name of a new file"
    return problem


def name_problem(path: FilePath) -> str | None:
    """Return why path cannot be the name of a file at all, as one line, or None."""
    name = os.fspath(path)
    if not name or "\0" in name:
        return f"{name!r}: is not the name of a file"
    return None


def shown_path(path: FilePath) -> str:
    """Return the name of a file in one line, for messages."""
    name = os.fspath(path)
    return name if name.isprintable() else ascii(name)


def hold(file: BinaryIO, path: FilePath, writer: str) -> None:
    """Lock an open file until it is closed, at the latest by the end of the process.

    path : name of the file in messages
    writer : name of the other writer in messages ("run", "batch")

    Raises
    ------
    FileInUse
        If another process or thread has locked the file. On file systems without locks, never.
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
    """Context manager: exclude other writers to path that use this context manager.

    Files that are replaced (`replacement`), or do not exist yet, cannot be locked themselves. So it
    locks an empty file beside path, which is removed at the end. The file of a killed process locks
    nothing.

    Raises
    ------
    FileInUse
        As `hold`.
    OSError
        If the folder is not writable.
    """
    if fcntl is None:
        yield
        return
    beside = companion(path, ".lock")
    with open(beside, "ab") as file:
        hold(file, path, writer)
        try:
            yield
        finally:
            with contextlib.suppress(FileNotFoundError):  # removed with its folder
                os.unlink(beside)
