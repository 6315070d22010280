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
    """Write content, of which text is UTF-8, to path, wholly or not at all; see `replacement`."""
    content = content if isinstance(content, bytes) else content.encode("utf-8")
    with replacement(path) as file:
        file.write(content)


@contextlib.contextmanager
def replacement(path: FilePath) -> Iterator[BinaryIO]:
    """Context manager: a file that takes path's place at the end if nothing was raised.

    It is a temporary file in the same folder, so that the file that was there before survives any
    failure, a power cut included. A symbolic link is followed; the permissions of an existing file
    are kept, and are those of the temporary file before anything is in it.

    Raises
    ------
    OSError
        If the folder cannot be written to, the disk is full, or `output_problem` finds fault.
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
            if mode is not None:  # of which the process's mask has taken some off
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

    For a path that nobody else writes to now; a replacement that is under way there will fail.
    """
    target = Path(os.path.realpath(path))
    with contextlib.suppress(OSError):
        for name in os.listdir(target.parent):
            if name.startswith(f"{_stem(target)}-") and name.endswith(_SUFFIX):
                target.with_name(name).unlink()


def companion(path: FilePath, ending: str) -> str:
    """Return the name of a hidden file in the folder of path, which is followed if it is a link.

    It is another one for each name and ending.
    """
    target = Path(os.path.realpath(path))
    return str(target.with_name(f"{_stem(target)}{ending}"))


def _stem(target: Path) -> str:
    """Return the stem of hidden files: short and plain, however long the target's name is."""
    return f".sdpbb-{zlib.crc32(os.fsencode(target.name)):08x}"


def output_problem(path: FilePath) -> str | None:
    """Return why a file cannot be written at path, or None.

    The answer is one line; it is asked for before a long run.
    """
    if problem := name_problem(path):
        return problem
    name, target = shown_path(path), Path(os.path.realpath(path))
    try:
        if target.is_dir():
            return f"{name}: is a folder; give the name of a file"
        # Replacing a device or a pipe by a file is never what was meant, nor is replacing the file
        # that a stream such as /dev/stdout has been sent to.
        is_stream = os.path.abspath(path).startswith(("/dev/", "/proc/"))
        if is_stream or (target.exists() and not target.is_file()):
            return f"{name}: is a device; give the name of a file"
        if not target.parent.is_dir():
            return f"{name}: there is no folder {shown_path(target.parent)}"
        if not os.access(target.parent, os.W_OK | os.X_OK):
            return f"{name}: the folder {shown_path(target.parent)} is not writable"
        # The folder's permission suffices to replace a file, but its owner has said no.
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
    """Return the name of a file as messages show it: on one line, whatever is in it."""
    name = os.fspath(path)
    return name if name.isprintable() else ascii(name)


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
    with open(beside, "ab") as file:
        hold(file, path, writer)
        try:
            yield
        finally:
            with contextlib.suppress(FileNotFoundError):  # removed with its folder
                os.unlink(beside)
