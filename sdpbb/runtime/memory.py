"""Memory of this process and its descendants, free memory of the machine, and a limit to it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

# File of Linux with the memory of the machine, in KiB.
MACHINE = Path("/proc/meminfo")
# Folder of Linux with the memory of a control group.
CONTROL_GROUP = Path("/sys/fs/cgroup")
# Share of the free memory that reading may take; the system needs the rest.
USABLE = 0.9


def resident_mebibytes() -> float:
    """Return the resident memory of this process and of all its descendants, in MiB.

    It is the sum of resident set sizes. Pages that processes share count several times: libraries,
    some tens of MiB for each process. Measuring the exact share takes milliseconds per process, and
    is not allowed everywhere.
    """
    import psutil

    this = psutil.Process()
    total = 0
    for process in [this, *this.children(recursive=True)]:
        with contextlib.suppress(psutil.Error):  # the process has ended
            total += process.memory_info().rss
    return total / 2**20


def free_mebibytes() -> float:
    """Return the memory free for this process and its children without swapping, in MiB.

    It is the free memory of the machine, or of the control group of this process if that is less.
    """
    free = _available_bytes()
    with contextlib.suppress(OSError, ValueError):  # no such group, or "max" for no limit
        most = int((CONTROL_GROUP / "memory.max").read_text())
        held = int((CONTROL_GROUP / "memory.current").read_text())
        files = _statistic(CONTROL_GROUP / "memory.stat", "inactive_file")  # can be dropped
        free = min(free, float(max(0, most - held + files)))
    return free / 2**20


@contextlib.contextmanager
def within_free_memory() -> Iterator[None]:
    """Context manager: raise MemoryError before the block takes more than the free memory.

    Without it, Linux promises the memory, and later kills the process without a message. The limit
    applies to the whole process, so only commands and workers use it, not programs of users. Other
    systems have no such limit; there the block changes nothing.
    """
    statm = Path("/proc/self/statm")
    if not statm.exists():
        yield
        return
    import resource

    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    taken = int(statm.read_text().split()[5]) * resource.getpagesize()
    limits = [taken + int(USABLE * free_mebibytes() * 2**20), before, hard]
    limit = min(one for one in limits if one != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))


def _available_bytes() -> float:
    """Return the memory that the machine has free."""
    if MACHINE.exists():
        return 1024.0 * _statistic(MACHINE, "MemAvailable:")
    import psutil  # not on Linux: it would delay every command that reads a file

    return float(psutil.virtual_memory().available)


def _statistic(path: Path, name: str) -> int:
    """Return the value in the line "name value" of a file; 0 if there is none."""
    lines = (line.split()[:2] for line in path.read_text().splitlines())
    return next((int(value) for key, value in lines if key == name), 0)
