"""Measure what the engine can do as n, k and d grow, for the page on limits.

Points in k normal clouds about centres uniform in the unit cube of d dimensions, whose deviation
is a third of what makes them touch; no constraints, or n / 4 that are drawn from the clouds. Each
run is a process of its own, with one worker and one BLAS thread. Each row is appended to the CSV
file at once, and rows that are there already are not made again. The table of all rows is printed
at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import rows
from benchmark import ONE_THREAD, ROOT, cpu_name

FIELDS = (
    *("n", "k", "d", "constraints", "status", "objective", "gap", "seconds", "nodes"),
    *("peak_rss_mib", "time_limit", "version", "machine"),
)
# Of the deviation with which neighbouring clouds touch.
SPREAD = 1.0 / 3.0


class Case(NamedTuple):
    n: int
    k: int
    d: int
    constraints: int


def cases() -> Iterator[Case]:
    """Return the cases, small ones first."""
    for n in (100, 200, 500, 1000, 2000):
        for k in sorted({3, 10, n // 10}):
            for d in (2, 10, 50):
                for constraints in (0, n // 4):
                    yield Case(n, k, d, constraints)


def solve_one(case: Case, time_limit: float) -> dict[str, Any]:
    """Solve in this process, after a small instance that loads the kernels."""
    import sdpbb
    from sdpbb.constraint_sets import by_number

    points = np.random.default_rng(0).normal(size=(40, 3))
    small = sdpbb.Instance(points, 8, cannot_link=[(0, 1)])
    sdpbb.solve(small)
    rng = np.random.default_rng([case.n, case.k, case.d, case.constraints])
    labels = np.arange(case.n) % case.k
    deviation = SPREAD * 0.5 * case.k ** (-1 / case.d)
    clouds = rng.random((case.k, case.d))[labels]
    points = clouds + deviation * rng.normal(size=clouds.shape)
    must_link, cannot_link = by_number(labels, case.constraints, rng)
    instance = sdpbb.Instance(points, case.k, must_link, cannot_link)
    parameters = sdpbb.SolverParameters(time_limit=time_limit)
    began = time.perf_counter()
    result = sdpbb.solve(instance, parameters)
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return case._asdict() | {
        "status": result.status.value,
        "objective": result.objective,
        "gap": result.gap,
        "seconds": time.perf_counter() - began,
        "nodes": result.statistics.n_nodes,
        "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit,
        "time_limit": time_limit,
        "version": result.version,
        "machine": cpu_name(),
    }


def table(known: list[rows.Row]) -> str:
    """Return one line for each row."""
    head = ("n", "k", "d", "constraints", "seconds", "gap", "MiB")
    lines = []
    for row in known:
        solved = row["status"] == "optimal"
        seconds = f"{float(row['seconds']):.1f}" if solved else f"> {float(row['time_limit']):g}"
        gap = "proven" if solved else f"{100 * float(row['gap']):.2g} %"
        memory = f"{float(row['peak_rss_mib']):.0f}"
        case = (row[name] for name in ("n", "k", "d", "constraints"))
        lines.append((*case, seconds, gap, memory))
    return "\n".join(rows.markdown(head, lines, 0)) + "\n"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--time-limit", type=float, default=120.0, help="seconds per run")
    parser.add_argument("--largest", type=int, default=2000, metavar="N", help="no larger n")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "limits.csv")
    parser.add_argument("--table-only", action="store_true", help="measure nothing")
    parser.add_argument("--solve-one", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.solve_one:
        case = Case(*json.loads(arguments.solve_one))
        print(json.dumps(solve_one(case, arguments.time_limit)))
        return 0
    names = Case._fields
    known = {tuple(row[name] for name in names) for row in rows.read(arguments.out)}
    wanted = [case for case in cases() if case.n <= arguments.largest]
    for case in [] if arguments.table_only else wanted:
        if tuple(map(str, case)) in known:
            continue
        command = [sys.executable, __file__, "--solve-one", json.dumps(case)]
        command += ["--time-limit", repr(arguments.time_limit)]
        environment = {**os.environ, **ONE_THREAD}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        row = json.loads(done.stdout.splitlines()[-1])
        rows.append(arguments.out, FIELDS, row)
        print(
            f"{tuple(case)}: {row['status']}, gap {row['gap']}, {row['seconds']:.2f} s", flush=True
        )
    print(table(rows.read(arguments.out)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
