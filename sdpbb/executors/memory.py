"""Memory that this process occupies, and free memory of the machine."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

# Where Linux keeps the memory of a control group, versions 2 and 1: its limit, what is used of it,
# and how much of that are files that need not be kept.
CONTROL_GROUPS = (
    (Path("/sys/fs/cgroup"), "memory.max", "memory.current", "inactive_file"),
    (
        Path("/sys/fs/cgroup/memory"),
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
)


def resident_mebibytes() -> float:
    """Return the resident memory of this process and of all its descendants, in MiB.

    The sum of resident set sizes, so pages shared by several processes count several times: the
    libraries that all have mapped, some tens of MiB each. Finding out the exact share takes the
    system milliseconds per process, and is not allowed everywhere.
    """
    import psutil

    this = psutil.Process()
    return sum(map(_resident_bytes, [this, *this.children(recursive=True)])) / 2**20


def _resident_bytes(process: psutil.Process) -> int:
    import psutil

    try:
        return int(process.memory_info().rss)
    except psutil.Error:  # it has ended since it was listed
        return 0


def free_mebibytes() -> float:
    """Return the memory free for this process and its children without swapping, in MiB.

    It is that of the machine, and of the control group that this process is confined to, if it is.
    """
    import psutil

    free = float(psutil.virtual_memory().available)
    for group, limit, used, cached in CONTROL_GROUPS:
        with contextlib.suppress(OSError, ValueError):  # no such group, or "max" for no limit
            most = int((group / limit).read_text())
            held = int((group / used).read_text()) - _statistic(group / "memory.stat", cached)
            free = min(free, float(max(0, most - held)))
    return free / 2**20


def _statistic(path: Path, name: str) -> int:
    """Return the value in the line "name value" of a file; 0 if there is none."""
    lines = (line.split() for line in path.read_text().splitlines())
    return next((int(value) for key, value in lines if key == name), 0)
