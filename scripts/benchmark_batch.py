"""Measure `sdpbb batch` on many small instances, some of which must not succeed.

Each instance has 30 points in two dimensions, drawn around three centres, and 20 constraints on
random pairs that agree with the centres. Five are malformed, each in another way, two are
infeasible, and one, of 300 points without clusters, is too hard for its time limit. The command is
run from outside, so that its seconds are those that a user waits for; the kernels are compiled
before, unless --cold is given.

The exit status is 1 if the counts are not those that have to come out.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from sdpbb.problem.formats import Constraints, write_constraints, write_points

N_POINTS, N_CONSTRAINTS, K = 30, 20, 3
N_MALFORMED, N_INFEASIBLE, N_HARD = 5, 2, 1
HARD_POINTS, HARD_SECONDS = 300, 1
FIELDS = ("name", "data", "constraints", "gap", "time_limit")
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
    parser.add_argument("--instances", type=int, default=1000, metavar="N")
    parser.add_argument("--workers", type=int, default=2, metavar="N")
    parser.add_argument("--cold", action="store_true", help="compile the kernels within the time")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="a new folder to keep all files")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if arguments.keep is not None:
            folder = arguments.keep
            folder.mkdir()
        return _measure(folder, arguments.instances, arguments.workers, arguments.cold)


def _measure(folder: Path, n_instances: int, workers: int, cold: bool) -> int:
    manifest = make_batch(folder, n_instances)
    environment = dict(os.environ)
    if cold:
        environment["NUMBA_CACHE_DIR"] = str(folder / "kernels")
    else:
        subprocess.run(
            [sys.executable, "-c", "from sdpbb.compilation import load_kernels as f; f('hybrid')"],
            check=True,
        )
    command = [sys.executable, "-m", "sdpbb", "batch", str(manifest)]
    command += ["--out", str(folder / "out"), "--workers", str(workers), "--json", "-", "--quiet"]
    begun = time.perf_counter()
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment)
    seconds = time.perf_counter() - begun
    counts = json.loads(run.stdout)["counts"]
    print((folder / "out" / "summary.txt").read_text())
    print(f"{n_instances} instances, {workers} workers, {os.cpu_count()} cores: {seconds:.1f} s,")
    print(f"exit status {run.returncode}; 1,000 instances by two workers may take {BUDGET:g} s")
    if counts != expected_counts(n_instances):
        print(f"expected {expected_counts(n_instances)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
