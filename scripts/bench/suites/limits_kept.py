"""Limits kept: time, memory, Ctrl-C and silence, on data of any size.

Points in overlapping normal clouds about normal centres, 2,000 constraints drawn from the clouds.
Each run is a command, or a Python program. Seconds after the limit are those of the run's own clock
(`run_over`), where it prints them; the start of a process is not in its limit. Memory is the
largest sum of the resident sizes of the process and its descendants, looked at ten times a second.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from scripts.bench import rows
from scripts.bench.data import ROOT
from scripts.bench.measuring import ONE_THREAD, warm_up
from scripts.bench.suite import Case, Options
from scripts.bench.tables import Cell, over, value
from scripts.bench.tables import table as table_of
from sdpbb.constraint_sets import by_kinds
from sdpbb.problem.formats import write_constraints, write_labels, write_points

N_CONSTRAINTS, SPREAD = 2000, 0.6
# Seconds of runs that are interrupted.
LONG = 600.0
# Heuristics that take n = 20,000 in memory and have a time limit, by their names.
HEURISTICS = (
    *("kmeans", "cop-kmeans", "ipc-kmeans", "blpkm", "bh-kmeans", "pccc", "bckm", "best-of"),
)
KEY = "what n k d memory_limit interrupted_after"
COLUMNS = "time_limit run_over after_interrupt longest_silence peak_mib exit version cpu"
OPTIONS = {"time_limit": 20.0}

ESTIMATOR = """
import sys, sdpbb, warnings
warnings.simplefilter("ignore")
read = sdpbb.Instance.from_files("points.txt", constraints="pairs.txt")
model = sdpbb.ExactConstrainedKMeans(
    n_clusters=read.k, time_limit=float(sys.argv[2]), n_jobs=2, verbose=True
)
model.fit(read.points, must_link=read.must_link, cannot_link=read.cannot_link)
"""
MANIFEST = '[[instance]]\ndata = "points.txt"\nconstraints = "pairs.txt"\n'


def cases(options: Options) -> Iterator[Case]:
    """Return commands on all sizes; the others on the largest and on one whose matrices fit."""
    plain = [("solve", *size) for size in product((3000, 5000, 20000), (10, 100), (5, 50))]
    plain += [("solve", 20000, 2000, 5), ("solve", 5000, 1000, 2)]
    plain += [("solve", 1000, 10, 5), ("solve", 2000, 500, 2)]
    limited = []
    for n in (5000, 20000):
        limited += [("solve", n, 10, 5, 2000.0), ("solve", n, 10, 5, None, options.time_limit)]
        for what in ("gap", "batch", "estimator", "solve --bounding colgen", "solve --certificate"):
            plain.append((what, n, 10, 5))
        plain += [(f"heuristic {name}", n, 10, 5) for name in HEURISTICS]
    plain += [(f"heuristic {name}", 20000, k, 5) for name in HEURISTICS for k in (100, 2000)]
    plain.append(("heuristic ipc-kmeans --option start=sdp", 3000, 10, 5))
    for one in (*plain, *limited):
        yield dict(zip(KEY.split(), (*one, None, None), strict=False))


def write_data(folder: Path, n: int, k: int, d: int) -> None:
    """Write points, pairs, labels that satisfy them, and the manifest of a batch."""
    rng = np.random.default_rng([n, k, d])
    labels = np.arange(n) % k
    points = rng.normal(size=(k, d))[labels] + SPREAD * rng.normal(size=(n, d))
    half = N_CONSTRAINTS // 2
    write_points(folder / "points.txt", points, k)
    write_constraints(folder / "pairs.txt", by_kinds(labels, half, half, rng).hard)
    write_labels(folder / "labels.txt", labels)
    (folder / "manifest.toml").write_text(MANIFEST)


def command(what: str, limits: list[str]) -> list[str]:
    """Return the arguments of Python for a case, in the folder of its data."""
    kind, *more = what.split()
    if kind == "estimator":
        return ["-c", ESTIMATOR, *limits]
    files = {
        "solve": ["points.txt", *more],
        "gap": ["points.txt", "labels.txt"],
        "heuristic": [*more[:1], "points.txt", *more[1:]],
        "batch": ["manifest.toml", "--out", "results"],
    }[kind]
    files += ["run.cert"] if more == ["--certificate"] else []
    files += [] if kind == "batch" else ["--constraints", "pairs.txt"]
    return ["-m", "sdpbb", kind, *files, *limits]


def measure(
    options: Options,
    what: str,
    n: int,
    k: int,
    d: int,
    memory_limit: float | None,
    interrupted_after: float | None,
) -> dict[str, Any]:
    """Run a case, and watch it."""
    warm_up()  # compiles what the process loads
    time_limit = LONG if interrupted_after else options.time_limit
    limits = ["--time-limit", str(time_limit)]
    limits += ["--memory-limit", str(memory_limit)] if memory_limit else []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder, n, k, d)
        row = watched(command(what, limits), time_limit, interrupted_after, folder)
    return {"time_limit": time_limit, **row}


def watched(
    arguments: list[str], time_limit: float, interrupted_after: float | None, folder: Path
) -> dict[str, Any]:
    """Run a command in a folder, and return what was seen."""
    told, root = folder / "output", {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    started = time.perf_counter()
    with told.open("w+b") as output:
        running = subprocess.Popen(
            [sys.executable, *arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | ONE_THREAD | root,
            cwd=folder,
        )
    peak, told_at, size, silence, pressed = 0.0, started, 0, 0.0, None
    while running.poll() is None:
        now = time.perf_counter()
        peak = max(peak, resident(psutil.Process(running.pid)))
        if told.stat().st_size > size:
            size, told_at = told.stat().st_size, now
        silence = max(silence, now - told_at)
        if pressed is None and interrupted_after and now - started >= interrupted_after:
            pressed = now
            running.send_signal(signal.SIGINT)
        time.sleep(0.1)
    ended = time.perf_counter()
    lines = told.read_text(errors="replace").splitlines()
    clock = [float(line.split()[1]) for line in lines if line.startswith("Time ")]
    return {
        "run_over": round(clock[-1] - time_limit, 2) if clock and pressed is None else "",
        "after_interrupt": "" if pressed is None else round(ended - pressed, 2),
        "longest_silence": round(silence, 2),
        "peak_mib": round(peak),
        "exit": running.returncode,
    }


def resident(running: psutil.Process) -> float:
    """Return the MiB of a process and its descendants, without those that have just ended."""
    total = 0
    try:
        for one in [running, *running.children(recursive=True)]:
            total += one.memory_info().rss
    except psutil.Error:
        pass
    return total / 2**20


def table(known: list[rows.Row], options: Options) -> list[str]:
    """Return the largest seconds after the limit and after Ctrl-C, silences and memory."""

    def late(own: list[rows.Row]) -> str:
        found = rows.numbers(rows.chosen(own, interrupted_after=""), "run_over")
        return "-" if not found else f"{max(found):.2f}" if max(found) > 0 else "done before"

    kinds: dict[tuple[str, int], list[rows.Row]] = {}
    for row in known:
        kinds.setdefault((row["what"].split()[0], int(row["n"])), []).append(row)
    columns: dict[str, Cell] = {
        "command": lambda own: own[0]["what"].split()[0],
        "points": value("n", ",.0f"),
        "runs": len,
        "s after the limit": late,
        "s after Ctrl-C": over("after_interrupt", max, ".1f"),
        "longest silence, s": over("longest_silence", max, ".1f"),
        "MiB": over("peak_mib", max, ",.0f"),
    }
    return table_of([kinds[key] for key in sorted(kinds)], columns)


TABLES = {"limits_kept": table}
