"""The process that cases are tried in."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
import types
import warnings
import zlib
from collections.abc import Iterator
from importlib import import_module
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from attacks.outcome import Found, Kind, Outcome, TooSlow

READY = -1
"""The number of what is sent when the process is prepared."""


def work(
    name: str, seed: int, numbers: range, deadline: float | None, connection: Connection
) -> None:
    """Try cases of a part, the module `name`: send (READY, None), then (number, outcome) of each.

    deadline : of the clock `time.monotonic`, after which none is begun
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that started this one ends it
    os.environ["SDPBB_DEBUG"] = "0"
    module = import_module(name)
    folder = Path(tempfile.mkdtemp(prefix="attack-"))
    try:
        module.prepare(folder)
        signal.signal(signal.SIGALRM, _raise)
        connection.send((READY, None))
        for number in numbers:
            if deadline is not None and time.monotonic() > deadline:
                break
            connection.send((number, try_case(module, seed, number, folder)))
        connection.send(None)
    except (BrokenPipeError, EOFError):
        pass  # nobody wants to know
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def try_case(module: types.ModuleType, seed: int, number: int, folder: Path) -> Outcome:
    """One case, whatever it does."""
    part = module.__name__.rpartition(".")[2]
    rng = np.random.default_rng([seed, zlib.crc32(part.encode()), number])
    try:
        with warnings.catch_warnings(), patience(module.PATIENCE):
            warnings.simplefilter("error")
            return module.case(rng, folder)
    except Found as found:
        return Outcome(Kind.FOUND, found.signature, found.text)
    except TooSlow:
        return Outcome(
            Kind.FOUND, f"no answer in {module.PATIENCE:g} s", "".join(traceback.format_exc(-4))
        )
    except Exception as error:
        return Outcome(Kind.FOUND, f"not foreseen: {where(error)}", traceback.format_exc(-6))


@contextlib.contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Raise TooSlow in this thread after so many seconds."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def where(error: BaseException) -> str:
    """The type of an exception, and the innermost place in the package that it passed."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [
        frame for frame in frames if "/sdpbb/" in frame.filename or "/heuristics/" in frame.filename
    ]
    if not inside:
        return f"{type(error).__name__} in {frames[-1].name if frames else '?'}"
    parts = inside[-1].filename.split("/")
    root = max(i for i, name in enumerate(parts) if name in ("sdpbb", "heuristics"))
    path = "/".join(parts[root:])
    return f"{type(error).__name__} in {path}, {inside[-1].name}"


def _raise(_signal: int, _frame: object) -> None:
    raise TooSlow


if sys.platform == "win32":  # pragma: no cover
    raise OSError("alarms and limits of memory are those of POSIX")
