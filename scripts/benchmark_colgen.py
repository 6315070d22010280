"""Measure column generation beside the semidefinite bound, on the suites of `colgen_instances`.

Every instance is solved with every engine (`SolverParameters.bounding`), by one worker with one
BLAS thread, in a process of its own. The seconds are those of `sdpbb.solve`: imports and the
compilation of kernels (a small instance is solved first) are outside. Each run's row is appended to
the CSV file at once, and runs that are there already are skipped; those that failed, or stopped at
a shorter time limit, are made again. A process that has gone far beyond its time limit is ended and
counts as failed.

--report writes the tables of all rows in --out; with an empty --suite nothing is solved.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import rows
from benchmark import ONE_THREAD, ROOT, SHARED, cpu_name
from colgen_instances import SUITES, Case, cases, instance_of
from colgen_tables import SOLVED, write_report
from rows import Row

from sdpbb.bounds.registry import BOUNDING_METHODS

FIELDS = (
    *("suite", "instance", "k", "n", "blocks", "constraints", "draw", "engine"),
    *("status", "termination", "objective", "lower", "gap", "root_gap", "root_seconds"),
    *("seconds", "nodes", "peak_rss_mib"),
    *("gap_tolerance", "time_limit", "version", "machine", "date"),
)
# Optima of the public sets are compared to 1e-8.
GAPS = {suite: 1e-9 if suite == "public" else 1e-4 for suite in SUITES}
# Seconds: reading, compiling and the last step of a run come on top of its time limit.
PATIENCE = 300.0


class Run(NamedTuple):
    """One row."""

    case: Case
    engine: str

    @property
    def key(self) -> tuple[str, ...]:
        case = self.case
        return (case.suite, case.name, str(case.k), case.constraints, str(case.draw), self.engine)


def key_of(row: Row) -> tuple[str, ...]:
    """Return `Run.key` of a row."""
    return tuple(row[f] for f in ("suite", "instance", "k", "constraints", "draw", "engine"))


def solve_one(run: Run, time_limit: float) -> dict[str, Any]:
    """Solve in this process, after a small instance that compiles, or loads, the kernels."""
    import numpy as np

    import sdpbb

    points = np.random.default_rng(0).normal(size=(40, 3))
    small = sdpbb.Instance(points, 8, np.array([(0, 1)]), np.array([(2, 3), (3, 4)]))
    sdpbb.solve(small, sdpbb.SolverParameters(bounding=run.engine, node_limit=3, time_limit=60.0))

    instance = instance_of(run.case)
    gap = GAPS[run.case.suite]
    parameters = sdpbb.SolverParameters(bounding=run.engine, gap=gap, time_limit=time_limit)
    start = time.perf_counter()
    result = sdpbb.solve(instance, parameters)
    seconds = time.perf_counter() - start
    statistics = result.statistics
    # ru_maxrss is in KiB on Linux, in bytes on macOS.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return _identity(run, time_limit) | {
        "n": instance.n_points,
        "blocks": statistics.n_blocks,
        "status": result.status.value,
        "termination": result.termination.value,
        "objective": result.objective,
        "lower": result.lower_bound,
        "gap": result.gap,
        "root_gap": statistics.root_gap,
        "root_seconds": statistics.root_seconds,
        "seconds": seconds,
        "nodes": statistics.n_nodes,
        "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit,
        "version": result.version,
    }


def solve_in_process(run: Run, time_limit: float) -> dict[str, Any]:
    """Solve in a fresh process.

    One that fails, or does not end, gives a row with status `failed`.
    """
    command = [sys.executable, __file__, "--time-limit", repr(time_limit)]
    command += ["--solve-one", json.dumps([*run.case, run.engine])]
    patience = None if math.isinf(time_limit) else 2 * time_limit + PATIENCE
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **ONE_THREAD},
            capture_output=True,
            text=True,
            check=False,
            timeout=patience,
        )
    except subprocess.TimeoutExpired:
        reason, told = "no_end", f"no end after {patience:g} s"
    else:
        if done.returncode == 0:
            return json.loads(done.stdout.splitlines()[-1])
        reason, told = f"exit_{done.returncode}", done.stderr
    print(f"{' '.join(run.key)} FAILED:\n{told}", file=sys.stderr, flush=True)
    return _identity(run, time_limit) | {"status": "failed", "termination": reason}


def _identity(run: Run, time_limit: float) -> dict[str, Any]:
    """Return a row that says what was asked, and nothing of the outcome."""
    suite, name, k, constraints, draw = run.case
    return dict.fromkeys(FIELDS) | {
        "suite": suite,
        "instance": name,
        "k": k,
        "constraints": constraints,
        "draw": draw,
        "engine": run.engine,
        "gap_tolerance": GAPS[suite],
        "time_limit": time_limit,
        "machine": cpu_name(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def read(path: Path) -> list[Row]:
    """Return the rows of earlier runs; of several of one run, the last."""
    return list({key_of(row): row for row in rows.read(path)}.values())


def left(runs: Iterable[Run], known: Iterable[Row], time_limit: float) -> list[Run]:
    """The runs that the rows do not answer: not there, failed, or unsolved at a shorter limit."""
    answered = {
        key_of(row)
        for row in known
        if row["status"] in SOLVED
        or (row["status"] != "failed" and float(row["time_limit"]) >= time_limit)
    }
    return [run for run in runs if run.key not in answered]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--suite", default=",".join(SUITES), help="separated by commas (default: all)"
    )
    parser.add_argument("--engines", default=",".join(BOUNDING_METHODS), help="separated by commas")
    parser.add_argument("--time-limit", type=float, default=600.0, help="seconds per run")
    parser.add_argument("--draws", type=int, default=3, help="of every constraint set (default: 3)")
    parser.add_argument("--names", help="only these data sets or families, separated by commas")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "colgen_benchmark.csv")
    parser.add_argument("--report", type=Path, metavar="FILE.md", help="write the tables")
    parser.add_argument("--solve-one", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.solve_one:
        *case, engine = json.loads(arguments.solve_one)
        print(json.dumps(solve_one(Run(Case(*case), engine), arguments.time_limit)))
        return 0
    names = arguments.names and set(arguments.names.split(","))
    engines = arguments.engines.split(",")
    if unknown := set(engines) - set(BOUNDING_METHODS):
        parser.error(
            f"--engines: {', '.join(sorted(unknown))}; expected {', '.join(BOUNDING_METHODS)}"
        )
    wanted = [
        Run(case, engine)
        for suite in arguments.suite.split(",")
        if suite
        for case in cases(suite, arguments.draws)
        if not names or names & {case.name, case.name.split("-")[0]}
        for engine in engines
    ]
    runs = left(wanted, read(arguments.out), arguments.time_limit)
    for position, run in enumerate(runs, start=1):
        row = solve_in_process(run, arguments.time_limit)
        rows.append(arguments.out, FIELDS, row)
        told = " ".join(str(row[field]) for field in ("status", "objective", "gap", "seconds"))
        print(f"{position}/{len(runs)} {' '.join(run.key)}: {told}", flush=True)
    if arguments.report:
        write_report(arguments.report, read(arguments.out), SHARED / "reference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
