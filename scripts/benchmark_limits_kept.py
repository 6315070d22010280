"""Measure how well limits are kept: time, memory, Ctrl-C and silence, on data of any size.

Points in overlapping normal clouds about normal centres, 2,000 constraints drawn from the clouds.
Each run is a command, or a Python program, of its own. The seconds are those of the clock from the
start of the process to its end, and of the run's own clock where it tells (`run_over`); what a run
of four points takes (imports, kernels, reading) is measured first and shown beside (`baseline`).
Memory is the largest sum of the resident sizes of the process and its descendants, looked at ten
times a second. Each row is appended to the CSV file at once.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import psutil
import rows
from benchmark import ONE_THREAD, cpu_name

FIELDS = (
    *("what", "n", "k", "d", "time_limit", "memory_limit", "interrupted_after", "over", "run_over"),
    *("after_interrupt", "first_clustering", "longest_silence", "peak_mib", "exit", "last_line"),
    *("baseline", "version", "machine"),
)
N_CONSTRAINTS, SPREAD = 2000, 0.6
# Heuristics that take n = 20,000 in memory and have a time limit, by their names.
HEURISTICS = (
    *("kmeans", "cop-kmeans", "ipc-kmeans", "blpkm", "bh-kmeans", "pccc", "bckm", "best-of"),
)

ESTIMATOR = """
import sys, numpy as np, sdpbb, warnings
warnings.simplefilter("ignore")
points, pairs, k, limit = sys.argv[1:]
X = np.load(points)
C = np.load(pairs)
model = sdpbb.ExactConstrainedKMeans(
    n_clusters=int(k), time_limit=float(limit), n_jobs=2, verbose=True
)
model.fit(X, must_link=C[C[:, 2] == 1, :2], cannot_link=C[C[:, 2] == 0, :2])
"""


class Case(NamedTuple):
    what: str
    n: int
    k: int
    d: int
    time_limit: float
    memory_limit: float | None = None
    interrupted_after: float | None = None


def cases(limit: float) -> Iterator[Case]:
    """Return commands on all sizes; the others on the largest and on one whose matrices fit."""
    for n, k, d in itertools.product((3000, 5000, 20000), (10, 100), (5, 50)):
        yield Case("solve", n, k, d, limit)
    yield Case("solve", 20000, 2000, 5, limit)
    yield Case("solve", 5000, 1000, 2, limit)
    yield Case("solve", 1000, 10, 5, limit)
    yield Case("solve", 2000, 500, 2, limit)
    for n in (5000, 20000):
        yield Case("solve", n, 10, 5, limit, memory_limit=2000.0)
        yield Case("solve", n, 10, 5, 600.0, interrupted_after=limit)
        for what in ("gap", "batch", "estimator", "solve --bounding colgen", "solve --certificate"):
            yield Case(what, n, 10, 5, limit)
        for name in HEURISTICS:
            yield Case(f"heuristic {name}", n, 10, 5, limit)
    for name in HEURISTICS:
        yield Case(f"heuristic {name}", 20000, 100, 5, limit)
        yield Case(f"heuristic {name}", 20000, 2000, 5, limit)
    yield Case("heuristic ipc-kmeans --option start=sdp", 3000, 10, 5, limit)


class Data(NamedTuple):
    points: Path
    constraints: Path
    labels: Path
    array: Path
    pairs: Path


def write_data(case: Case, folder: Path) -> Data:
    """Write the files of a case."""
    stem = folder / f"{case.n}_{case.k}_{case.d}"
    data = Data(*(stem.with_suffix(s) for s in (".txt", ".con", ".labels", ".npy", ".pairs.npy")))
    if data.pairs.exists():
        return data
    rng = np.random.default_rng([case.n, case.k, case.d])
    labels = np.arange(case.n) % case.k
    centres = rng.normal(size=(case.k, case.d))
    points = centres[labels] + SPREAD * rng.normal(size=(case.n, case.d))
    i, j = rng.integers(case.n, size=(2, 200 * N_CONSTRAINTS))
    i, j = i[i != j], j[i != j]
    same = labels[i] == labels[j]
    half = N_CONSTRAINTS // 2
    ml, cl = np.column_stack([i, j])[same][:half], np.column_stack([i, j])[~same][:half]
    header = f"{case.n} {case.d} {case.k}"
    np.savetxt(data.points, points, fmt="%.9g", header=header, comments="")
    lines = [f"ML {a} {b}" for a, b in ml] + [f"CL {a} {b}" for a, b in cl]
    data.constraints.write_text("\n".join(lines) + "\n")
    # Labels that keep the constraints, for the gap of labels: those that the points are from.
    np.savetxt(data.labels, labels, fmt="%d")
    np.save(data.array, points)
    marked = [np.column_stack([pairs, np.full(len(pairs), s)]) for pairs, s in ((ml, 1), (cl, 0))]
    np.save(data.pairs, np.concatenate(marked))
    return data


def command(case: Case, data: Data, folder: Path) -> list[str]:
    """Return the command that a case runs."""
    python, limit = sys.executable, ["--time-limit", str(case.time_limit)]
    kind, *more = case.what.split()
    constraints = ["--constraints", str(data.constraints)]
    if case.memory_limit is not None:
        limit += ["--memory-limit", str(case.memory_limit)]
    if kind == "estimator":
        files = [str(data.array), str(data.pairs)]
        return [python, "-c", ESTIMATOR, *files, str(case.k), str(case.time_limit)]
    begin = [python, "-m", "sdpbb", kind]
    if kind == "gap":
        return [*begin, str(data.points), str(data.labels), *constraints, *limit]
    if kind == "batch":
        manifest = folder / "manifest.toml"
        manifest.write_text(
            f'[[instance]]\ndata = "{data.points}"\nconstraints = "{data.constraints}"\n'
        )
        out = tempfile.mkdtemp(dir=folder)
        return [*begin, str(manifest), "--out", f"{out}/results", *limit]
    if kind == "heuristic":
        name, *options = more
        return [*begin, name, str(data.points), *constraints, *limit, *options]
    if more == ["--certificate"]:
        more = ["--certificate", str(folder / "run.cert")]
    out = ["--json", str(folder / "out.json")] if case.memory_limit is None else []
    return [*begin, str(data.points), *constraints, *limit, *more, *out]


def measured(case: Case, data: Data, folder: Path) -> dict[str, Any]:
    """Run a case, and watch it."""
    environment = {**os.environ, **ONE_THREAD, "PYTHONUNBUFFERED": "1"}
    started = time.perf_counter()
    output = (folder / "output").open("w+b")
    process = subprocess.Popen(
        command(case, data, folder), stdout=output, stderr=subprocess.STDOUT, env=environment
    )
    watched = psutil.Process(process.pid)
    peak, told_at, size, silence, pressed, first = 0.0, started, 0, 0.0, None, None
    while process.poll() is None:
        now = time.perf_counter()
        peak = max(peak, resident(watched))
        if os.fstat(output.fileno()).st_size > size:
            size, told_at = os.fstat(output.fileno()).st_size, now
            if first is None and b"100.0000%" in Path(output.name).read_bytes():
                first = now - started
        silence = max(silence, now - told_at)
        if pressed is None and now - started >= (case.interrupted_after or np.inf):
            pressed = now
            process.send_signal(signal.SIGINT)
        time.sleep(0.1)
    ended = time.perf_counter()
    lines = Path(output.name).read_text(errors="replace").strip().splitlines()
    return {
        "over": round(ended - started - case.time_limit, 2) if pressed is None else "",
        "run_over": "" if pressed is not None else own_seconds(lines, case.time_limit),
        "after_interrupt": "" if pressed is None else round(ended - pressed, 2),
        "first_clustering": "" if first is None else round(first, 2),
        "longest_silence": round(silence, 2),
        "peak_mib": round(peak),
        "exit": process.returncode,
        "last_line": next((x for x in lines if x.startswith("Gap")), (lines or [""])[-1])[:100],
    }


def own_seconds(lines: list[str], limit: float) -> float | str:
    """Return seconds beyond the limit by the program's own clock, if it tells."""
    told = [line.split() for line in lines if line.startswith("Time ")]
    return round(float(told[-1][1]) - limit, 2) if told else ""


def resident(process: psutil.Process) -> float:
    """Return the MiB of a process and its descendants."""
    total = 0
    for one in [process, *children(process)]:
        try:
            total += one.memory_info().rss
        except psutil.Error:
            continue
    return total / 2**20


def children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def baseline(folder: Path) -> float:
    """Return seconds of a command that finds and proves a tiny clustering."""
    path = folder / "tiny.txt"
    path.write_text("4 1 2\n0\n1\n5\n6\n")
    started = time.perf_counter()
    tiny = [sys.executable, "-m", "sdpbb", "solve", str(path), "--quiet"]
    subprocess.run(tiny, check=True, capture_output=True, env={**os.environ, **ONE_THREAD})
    return round(time.perf_counter() - started, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("limits_kept.csv"))
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of each run")
    parser.add_argument("--only", default="", help="cases whose name begins so")
    parser.add_argument("--n", type=int, help="cases of so many points")
    options = parser.parse_args()
    import sdpbb

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        baseline(folder)  # compiles
        for case in cases(options.limit):
            if not case.what.startswith(options.only) or options.n not in (None, case.n):
                continue
            ready = baseline(folder)
            row = {**case._asdict(), **measured(case, write_data(case, folder), folder)}
            row |= {"baseline": ready, "version": sdpbb.__version__, "machine": cpu_name()}
            rows.append(options.out, FIELDS, row)
            shown = ("what", "n", "k", "d", "over", "run_over", "baseline", "after_interrupt")
            more = ("longest_silence", "first_clustering", "peak_mib", "exit", "last_line")
            print(*(f"{row[name]}" for name in (*shown, *more)), sep=" | ", flush=True)


if __name__ == "__main__":
    main()
