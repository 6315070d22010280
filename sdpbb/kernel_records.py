"""Records on disk of the parts of the engine all of whose kernels are cached on this machine.

A record lists the source files of kernels, and the files in Numba's cache, with sizes and times. It
holds while none of them has changed: an upgrade in place, a kernel that is deleted or cut short end
it. What is cached besides, for other methods or types, does not.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba

from sdpbb.bounds.sdp.admm_kernels import dual_sweeps
from sdpbb.cache_folder import KERNELS

# Where the modules of kernels are, by the first word of the part.
PACKAGES = {
    "heuristics": "heuristics.",
    "sdp": "sdpbb.bounds.sdp.",
    "colgen": "sdpbb.bounds.colgen.",
    "places": "sdpbb.bounds.places.",
}


def is_recorded(part: str) -> bool:
    """Return whether a record says that all kernels of a part are cached."""
    if part not in _known and _is_current(_file(part)):
        _known.add(part)
    return part in _known


def record(part: str) -> None:
    """Write the record of a part whose kernels have all been called."""
    _known.add(part)
    path = _file(part)
    sources = [str(source) for folder in KERNELS for source in Path(folder).glob("*.py")]
    unfinished = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        unfinished.write_text(_listing([*sources, *_cached_files(part)]), encoding="utf-8")
        unfinished.replace(path)
    except OSError:  # the next process calls all kernels again
        unfinished.unlink(missing_ok=True)


def can_record() -> bool:
    """Return whether this process may write records, and Numba its cache."""
    return os.access(_folder(), os.W_OK)


def delete_unreadable(part: str) -> None:
    """Delete the files in the cache of a part that raise an error when Numba reads them.

    Such are those of kernels that take a class which has been renamed since, and those that were
    cut short.
    """
    for path in _cached_files(part):
        try:
            with open(path, "rb") as file:
                while file.peek(1):
                    pickle.load(file)
        except Exception:
            Path(path).unlink(missing_ok=True)


_known: set[str] = set()
"""Parts whose kernels this process has called, or met in the cache, before."""


def _folder() -> Path:
    kernel: Any = dual_sweeps
    return Path(kernel.stats.cache_path)


def _file(part: str) -> Path:
    """Return the file of the record of a part on this kind of machine."""
    python, processor = sys.implementation.cache_tag, llvmlite.binding.get_host_cpu_name()
    return _folder() / f"kernels.{part}.{python}.numba-{numba.__version__}.{processor}.txt"


def _is_current(path: Path) -> bool:
    try:
        text = path.read_text(encoding="utf-8")
        return text == _listing(line.split(" ", 2)[2] for line in text.splitlines())
    except (OSError, ValueError, IndexError):
        return False


def _listing(paths: Iterable[str]) -> str:
    found = ((os.stat(path), path) for path in paths)
    return "".join(f"{file.st_size} {file.st_mtime_ns} {path}\n" for file, path in found)


def _cached_files(part: str) -> list[str]:
    """Return the files that Numba has cached, for this Python, of the kernels imported so far.

    part : only of that part; of all, if it is none
    """
    packages = PACKAGES.get(part.partition("-")[0], ("sdpbb.", "heuristics."))
    modules = [module for name, module in sys.modules.items() if name.startswith(packages)]
    stats = (getattr(value, "stats", None) for module in modules for value in vars(module).values())
    folders = {path for path in (getattr(stat, "cache_path", None) for stat in stats) if path}
    pattern = f"*.py{sys.version_info.major}{sys.version_info.minor}*.nb[ic]"
    return [str(path) for folder in sorted(folders) for path in Path(folder).glob(pattern)]
