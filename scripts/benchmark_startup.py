"""Measure how long processes take to start: whole processes, of one checkout or of several in turn.

Give folders of checkouts to compare, or none for this one. Each part is a process of its own, which
is run once to fill the caches of Python and Numba, and then as often as asked for; the medians of
wall-clock and of CPU seconds are written. With --cold kernels are compiled: each checkout solves
once with an empty cache.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import rows

ROOT = Path(__file__).resolve().parents[1]
SOLVE = (
    *("-m", "sdpbb", "solve", "instances/iris.txt"),
    *("--constraints", "instances/iris_ml_38_cl_38.txt"),
)
PARTS = {
    "python": ("-c", "pass"),
    "numpy": ("-c", "import numpy"),
    "numba": ("-c", "import numba"),
    "help": ("-m", "sdpbb", "solve", "--help"),
    "imports": ("-c", "import sdpbb.run.solver"),
    "kernels": ("-c", "from sdpbb.run.kernels import WarmUp; WarmUp('sdp')()"),
    "solve": SOLVE,
}
"""Arguments of Python; each part from "imports" on includes those before."""
FIELDS = ("checkout", "part", "runs", "wall", "cpu")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="*", type=Path, default=[ROOT])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--cold", action="store_true", help="with an empty cache of kernels")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "startup.csv")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for name, command in {"first run": SOLVE}.items() if arguments.cold else PARTS.items():
            if arguments.cold:
                found = cold(arguments.checkouts, environment)
            else:
                found = measured(command, arguments.checkouts, arguments.runs, environment)
            for checkout, seconds in found.items():
                wall, cpu = (f"{median(column):.2f}" for column in zip(*seconds, strict=True))
                row = (described(checkout), name, len(seconds), wall, cpu)
                print(*row, flush=True)
                rows.append(arguments.out, FIELDS, dict(zip(FIELDS, row, strict=True)))


def measured(
    command: tuple[str, ...], checkouts: list[Path], runs: int, environment: dict[str, str]
) -> dict[Path, list[tuple[float, float]]]:
    """Return wall-clock and CPU seconds of each run in each checkout, by turns."""
    found: dict[Path, list[tuple[float, float]]] = {checkout: [] for checkout in checkouts}
    for run in range(runs + 1):
        for checkout in checkouts:
            seconds = seconds_of(command, checkout, environment)
            if run:
                found[checkout].append(seconds)
    return found


def cold(
    checkouts: list[Path], environment: dict[str, str]
) -> dict[Path, list[tuple[float, float]]]:
    """Return the seconds of a run in each checkout with an empty cache of kernels."""
    found = {}
    for checkout in checkouts:
        with tempfile.TemporaryDirectory() as kernels:
            fresh = environment | {"NUMBA_CACHE_DIR": kernels}
            found[checkout] = [seconds_of(SOLVE, checkout, fresh)]
    return found


def seconds_of(
    command: tuple[str, ...], checkout: Path, environment: dict[str, str]
) -> tuple[float, float]:
    """Return wall-clock and CPU seconds of a process and of those that it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    subprocess.run(
        [sys.executable, *command],
        cwd=checkout,
        env=environment | {"PYTHONPATH": str(checkout.resolve())},
        capture_output=True,
        check=True,
    )
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu


def described(checkout: Path) -> str:
    """Return the commit of a checkout, or its name where there is none."""
    asked = ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)
    return told.stdout.strip() or checkout.resolve().name


if __name__ == "__main__":
    main()
