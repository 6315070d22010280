"""Folder for compiled kernels, where Numba finds none by itself. Light: it is imported first."""

from __future__ import annotations

import contextlib
import os
import stat
import sys

VARIABLE = "NUMBA_CACHE_DIR"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
"""Folder of the packages of this project."""


def ensure_cache_folder() -> None:
    """Name a folder below the one for temporary files if Numba could write to none of its own.

    Numba looks for one beside the source and in the user's home, and raises an error while a
    module of kernels is imported if it can write to neither, as in many containers.
    """
    named = os.environ.get(VARIABLE)
    if (
        (named and _can_write(named))
        or _can_write(os.path.join(ROOT, "sdpbb", "runtime", "__pycache__"))
        or _can_write(_user_cache())
    ):
        return
    folder = _private_folder()
    os.environ[VARIABLE] = folder
    if "numba" in sys.modules:  # it has read its environment
        sys.modules["numba"].config.CACHE_DIR = folder


def _user_cache() -> str:
    """Return Numba's folder for the user.

    Elsewhere than on Linux it goes by another name, and one that can be written to if this one can.
    """
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "numba")


def _can_write(folder: str) -> bool:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def _private_folder() -> str:
    """Return a folder that nobody else can write to: what is in it is executed."""
    import tempfile

    user = getattr(os, "getuid", int)()
    folder = os.path.join(tempfile.gettempdir(), f"sdpbb-kernels-{user}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.lstat(folder)  # of a link: whoever made it chooses where it leads
    is_private = stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o077
    return folder if is_private else tempfile.mkdtemp(prefix="sdpbb-kernels-")
