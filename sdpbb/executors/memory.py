"""What a run occupies of this machine."""

from __future__ import annotations


def resident_mebibytes() -> float:
    """Resident memory of this process and of all its descendants, in MiB.

    The sum of resident set sizes, so pages shared by several processes count several times: the
    libraries that all have mapped, some tens of MiB each. Finding out the exact share takes the
    system milliseconds per process, and is not allowed everywhere.
    """
    import psutil

    this = psutil.Process()
    return sum(map(_resident_bytes, [this, *this.children(recursive=True)])) / 2**20


def _resident_bytes(process: object) -> int:
    import psutil

    try:
        return process.memory_info().rss  # type: ignore[attr-defined]
    except psutil.Error:  # it has ended since it was listed
        return 0
