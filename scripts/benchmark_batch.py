"""Measure `sdpbb batch` on many small instances, some of which must not succeed.

Each instance has 30 points in two dimensions, drawn around three centres, and 20 constraints on
random pairs that agree with the centres. Five are malformed, each in another way, two are
infeasible, and one, of 300 points without clusters, is too hard for its time limit. The command is
run from outside, so that its seconds are those that a user waits for; the kernels are compiled
before, by a small batch, unless --cold is given. Beside the wall-clock seconds are the CPU seconds,
which say what they would be on a machine that does nothing else.

Give folders of checkouts to compare, or none for this one. With --out, rows are appended to a CSV
file. The exit status is 1 if the counts are not those that have to come out.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import rows
from benchmark_startup import ROOT, described

from sdpbb.problem.formats import Constraints, write_constraints, write_points

N_POINTS, N_CONSTRAINTS, K = 30, 20, 3
N_MALFORMED, N_INFEASIBLE, N_HARD = 5, 2, 1
HARD_POINTS, HARD_SECONDS = 300, 1
FIELDS = ("name", "data", "constraints", "gap", "time_limit")
N_WARM = 20
OUT_FIELDS = ("checkout", "instances", "workers", "wall", "cpu")
BUDGET = 600.0
"""Seconds in which 1,000 instances ought to be done by two workers."""


def make_batch(folder: Path, n_instances: int) -> Path:
    """Write the instances and the manifest that names them; the same files every time."""
    rng = np.random.default_rng(0)
    names = [f"i{number:04d}" for number in range(n_instances)]
    for name in names:
        points, constraints = _blobs(rng)
        write_points(folder / f"{name}.txt", points, K)
        write_constraints(folder / f"{name}_pairs.txt", constraints)
    # Spread over the batch, so that what follows a bad one is seen to be unharmed.
    special = iter(np.linspace(0, n_instances - 1, N_MALFORMED + N_INFEASIBLE + N_HARD, dtype=int))
    for spoil in MALFORMED:
        spoil(folder, names[next(special)])
    for contradict in INFEASIBLE:
        contradict(folder, names[next(special)])
    hard = names[next(special)]
    write_points(folder / f"{hard}.txt", rng.uniform(size=(HARD_POINTS, 4)), 12)
    write_constraints(folder / f"{hard}_pairs.txt", Constraints())
    manifest = folder / "manifest.csv"
    with open(manifest, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        for name in names:
            row = {"name": name, "data": f"{name}.txt", "constraints": f"{name}_pairs.txt"}
            limits = {"gap": 0, "time_limit": HARD_SECONDS} if name == hard else {"time_limit": 60}
            writer.writerow(row | limits)
    return manifest


def _blobs(rng: np.random.Generator) -> tuple[np.ndarray, Constraints]:
    classes = rng.integers(0, K, N_POINTS)
    classes[:K] = np.arange(K)
    points = rng.uniform(0.0, 6.0, (K, 2))[classes] + rng.normal(size=(N_POINTS, 2))
    pairs = np.argwhere(np.triu(np.ones((N_POINTS, N_POINTS), bool), k=1))
    drawn = pairs[np.sort(rng.choice(len(pairs), N_CONSTRAINTS, replace=False))]
    together = classes[drawn[:, 0]] == classes[drawn[:, 1]]
    return points, Constraints(drawn[together], drawn[~together])


def _missing(folder: Path, name: str) -> None:
    (folder / f"{name}.txt").unlink()


def _short_row(folder: Path, name: str) -> None:
    _replace_line(folder / f"{name}.txt", 7, "1.0")


def _no_number(folder: Path, name: str) -> None:
    _replace_line(folder / f"{name}.txt", 9, "1.0 two")


def _no_text(folder: Path, name: str) -> None:
    (folder / f"{name}.txt").write_bytes(bytes(range(256)))


def _row_out_of_range(folder: Path, name: str) -> None:
    (folder / f"{name}_pairs.txt").write_text(f"ML 0 {N_POINTS}\n")


def _triangle_for_two(folder: Path, name: str) -> None:
    path = folder / f"{name}.txt"
    _replace_line(path, 1, f"{N_POINTS} 2 2")
    pairs = np.array([[0, 1], [1, 2], [0, 2]])
    write_constraints(folder / f"{name}_pairs.txt", Constraints(cannot_link=pairs))


def _contradiction(folder: Path, name: str) -> None:
    together, apart = np.array([[0, 1], [1, 2]]), np.array([[0, 2]])
    write_constraints(folder / f"{name}_pairs.txt", Constraints(together, apart))


MALFORMED: tuple[Callable[[Path, str], None], ...] = (
    *(_missing, _short_row, _no_number, _no_text, _row_out_of_range),
)
INFEASIBLE: tuple[Callable[[Path, str], None], ...] = (_triangle_for_two, _contradiction)


def _replace_line(path: Path, number: int, line: str) -> None:
    lines = path.read_text().splitlines()
    lines[number - 1] = line
    path.write_text("\n".join(lines) + "\n")


def expected_counts(n_instances: int) -> dict[str, int]:
    """Return the counts that have to come out."""
    optimal = n_instances - N_MALFORMED - N_INFEASIBLE - N_HARD
    return {
        "optimal": optimal,
        "infeasible": N_INFEASIBLE,
        "feasible": N_HARD,
        "bad_input": N_MALFORMED,
    }


def main() -> int:
    """Make, run, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="*", type=Path, default=[ROOT])
    parser.add_argument("--instances", type=int, default=1000, metavar="N")
    parser.add_argument("--workers", type=int, default=2, metavar="N")
    parser.add_argument("--cold", action="store_true", help="compile the kernels within the time")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="a new folder to keep all files")
    parser.add_argument("--out", type=Path, metavar="CSV", help="a file for a row of each run")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if arguments.keep is not None:
            folder = arguments.keep
            folder.mkdir()
        small, batch = folder / "small", folder / "batch"
        status = 0
        for path, n_instances in ((small, N_WARM), (batch, arguments.instances)):
            path.mkdir()
            make_batch(path, n_instances)
        for checkout in arguments.checkouts:
            kernels = None
            if arguments.cold:
                kernels = folder / f"kernels-{described(checkout)}"
            else:
                run_batch(small, checkout, arguments.workers)
            report, wall, cpu = run_batch(batch, checkout, arguments.workers, kernels)
            counts, expected = report["counts"], expected_counts(arguments.instances)
            sizes = (arguments.instances, arguments.workers)
            row = (described(checkout), *map(str, sizes), f"{wall:.1f}", f"{cpu:.1f}")
            print(*row, f"({arguments.instances / wall:.1f} instances per second)", flush=True)
            if arguments.out is not None:
                rows.append(arguments.out, OUT_FIELDS, dict(zip(OUT_FIELDS, row, strict=True)))
            if counts != expected:
                print(f"{counts}; expected {expected}", file=sys.stderr)
                status = 1
        print(f"on {os.cpu_count()} cores; 1,000 instances by two workers may take {BUDGET:g} s")
        return status


def run_batch(
    folder: Path, checkout: Path, workers: int, kernels: Path | None = None
) -> tuple[dict[str, Any], float, float]:
    """Run the batch in a folder; return its report, and wall-clock and CPU seconds.

    kernels : folder of the cache of kernels, where it is not that of the checkout
    """
    environment = os.environ | {"PYTHONPATH": str(checkout.resolve())}
    if kernels is not None:
        environment["NUMBA_CACHE_DIR"] = str(kernels)
    out = tempfile.mkdtemp(prefix=f"{described(checkout)}-", dir=folder)
    command = [sys.executable, "-m", "sdpbb", "batch", str(folder.resolve() / "manifest.csv")]
    command += ["--out", out, "--workers", str(workers), "--json", "-", "--quiet"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    run = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=False, env=environment, cwd=checkout
    )
    wall = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(run.stdout), wall, cpu


if __name__ == "__main__":
    sys.exit(main())
