"""Output files that are either the old one or the whole new one, never half of one."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path


def write_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write text (UTF-8) to path through a temporary file in the same folder.

    The file that was there before survives any failure, a power cut included. A symbolic link is
    followed; the permissions of an existing file are kept.

    Raises
    ------
    OSError
        If the folder cannot be written to, the disk is full, or `output_problem` finds fault.
    """
    problem = output_problem(path)
    if problem:
        raise OSError(problem)
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".sdpbb-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        raise


def output_problem(path: str | os.PathLike[str]) -> str | None:
    """Why a file cannot be written at path, as one line, or None: asked before a long run."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        return f"{path}: is a folder; give the name of a file"
    if target.exists() and not target.is_file():
        # Replacing a device or a pipe by a file is never what was meant.
        return f"{path}: is not a regular file, and would be replaced by one"
    if not target.parent.is_dir():
        return f"{path}: there is no folder {target.parent}"
    if not os.access(target.parent, os.W_OK | os.X_OK):
        return f"{path}: the folder {target.parent} is not writable"
    return None
