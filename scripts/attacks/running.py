"""The command `sdpbb` in processes of its own."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from attacks.outcome import Found

# The exit statuses that the command documents, but for the internal error.
DOCUMENTED = (0, 1, 2, 3, 10, 11, 20, 69, 130, 143)
# What processes that were left alone may take to notice.
ORPHANS = 15.0


class Ended(NamedTuple):
    """code : the exit status, minus the signal for one that was killed"""

    code: int
    out: str
    err: str
    seconds: float


def start(arguments: Sequence[object], folder: Path, file_size: int | None = None) -> Any:
    """Start `sdpbb arguments` in a session of its own.

    file_size : that no file may exceed (writing fails then, as on a full disk)
    """

    def limit() -> None:
        if file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))

    return subprocess.Popen(
        [sys.executable, "-m", "sdpbb", *map(str, arguments)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "SDPBB_DEBUG": "0", "NO_COLOR": "1"},
        preexec_fn=limit,
    )


def ended(process: Any, seconds: float, began: float | None = None) -> Ended:
    """Wait for its end.

    Raises
    ------
    Found
        If it takes longer.
    """
    began = time.monotonic() if began is None else began
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        kill_all(process)
        raise Found("the command does not end", " ".join(process.args[2:])) from None
    return Ended(process.returncode, out, err, time.monotonic() - began)


def run(
    arguments: Sequence[object], folder: Path, seconds: float, file_size: int | None = None
) -> Ended:
    """`sdpbb arguments`, from its beginning to its end, which has to be a documented one."""
    done = ended(start(arguments, folder, file_size), seconds)
    check_end(done, arguments)
    return done


def check_end(done: Ended, arguments: Sequence[object]) -> None:
    """A documented exit status, no traceback, errors of one line."""
    text = f"sdpbb {' '.join(map(str, arguments))}\n# status {done.code}\n{done.err[-2000:]}"
    if done.code not in DOCUMENTED:
        last = (done.err.strip().splitlines() or [""])[-1][:120]
        raise Found(f"the command ends with status {done.code}: {last}", text)
    if "Traceback" in done.err or "Exception ignored" in done.err:
        raise Found("a traceback", text)


def descendants(process: Any) -> list[psutil.Process]:
    """Of a running process, all of them."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(process.pid).children(recursive=True)
    return []


def kill_all(process: Any) -> None:
    """End a process and all that it has started, now."""
    children = descendants(process)
    process.kill()
    for child in children:
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()
    process.communicate()


def check_orphans(children: list[psutil.Process]) -> None:
    """Processes whose parent was killed have to end, too."""
    _, alive = psutil.wait_procs(children, timeout=ORPHANS)
    alive = [child for child in alive if _is_running(child)]
    if alive:
        shown = "; ".join(" ".join(child.cmdline())[:200] for child in alive if _is_running(child))
        for child in alive:
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        raise Found("processes are left when the one that started them was killed", shown)


def _is_running(child: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return child.is_running() and child.status() != psutil.STATUS_ZOMBIE
    return False


def leftovers(folder: Path) -> list[str]:
    """Temporary files that are still there."""
    return sorted(p.name for p in folder.rglob("*") if p.name.startswith(".sdpbb-"))


def read_json(path: Path) -> dict[str, Any]:
    """What `--json` has written."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Found("the file of the result is none", f"{path.name}: {error}") from None
    assert isinstance(values, dict)
    return values
