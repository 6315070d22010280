"""Solve the PC-SOS-SDP benchmark and compare with the published averages.

Every constraint set is solved in a process of its own, so that its peak memory is its own, with
one BLAS thread. The seconds are those of `sdpbb.solve`: imports and the compilation of kernels
(a small instance is solved first) are outside, reading the result is outside too. The published
times were measured with 16 cores on another machine, and are averages over five sets.

Each set's row is appended to the CSV file as soon as it is there; --resume skips those.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import platform
import re
import resource
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
FIELDS = [
    "dataset",
    "kind",
    "set",
    "n",
    "blocks",
    "k",
    "status",
    "termination",
    "objective",
    "lower_bound",
    "gap",
    "root_gap",
    "root_seconds",
    "nodes",
    "seconds",
    "peak_rss_mib",
    "gap_tolerance",
    "version",
    "cpu",
]
Row = dict[str, Any]


class Task(NamedTuple):
    """One constraint set: kind is ML, CL or ML+CL with n_constraints of each kind it has."""

    dataset: str
    kind: str
    n_constraints: int
    seed: int
    file_name: str

    @property
    def configuration(self) -> tuple[str, str, int]:
        """The key of the published averages: data set in lower case, kind, constraints."""
        return (self.dataset.lower(), self.kind, self.n_constraints)

    @property
    def set_name(self) -> str:
        return Path(self.file_name).stem


def parse_task(dataset: str, file_name: str) -> Task:
    """The task that a file name `ml_A_cl_B_S.txt` stands for."""
    match = re.fullmatch(r"ml_(\d+)_cl_(\d+)_(\d+)\.txt", file_name)
    if match is None:
        raise ValueError(f"{file_name}: expected ml_A_cl_B_S.txt")
    must_links, cannot_links, seed = map(int, match.groups())
    if must_links and cannot_links:
        kind, count = "ML+CL", must_links
    else:
        kind, count = ("ML", must_links) if must_links else ("CL", cannot_links)
    return Task(dataset, kind, count, seed, file_name)


def find_tasks(data: Path, datasets: Iterable[str], seeds: Iterable[int]) -> list[Task]:
    """The constraint sets of the chosen data sets, in their order."""
    seeds = set(seeds)
    tasks = []
    for dataset in datasets:
        folder = data / "constraints" / dataset
        if not folder.is_dir():
            raise ValueError(f"no data set {dataset} in {data / 'constraints'}")
        found = [parse_task(dataset, path.name) for path in folder.glob("*.txt")]
        tasks += sorted(task for task in found if task.seed in seeds)
    return tasks


def read_reference(path: Path) -> dict[tuple[str, str, int], dict[str, float]]:
    """The published averages by `Task.configuration`."""
    columns = ("mean_size", "root_gap_percent", "nodes", "wall_seconds_16_cores")
    with open(path, newline="", encoding="utf-8") as file:
        return {
            (row["dataset"].lower(), row["constraint_kind"], int(row["n_constraints"])): {
                column: float(row[column]) for column in columns
            }
            for row in csv.DictReader(file)
        }


def read_rows(path: Path) -> list[Row]:
    """The rows of an earlier run, their numbers as numbers."""
    if not path.exists():
        return []
    text = {"dataset", "kind", "set", "status", "termination", "version", "cpu"}
    with open(path, newline="", encoding="utf-8") as file:
        return [
            {
                name: value if name in text else (float(value) if value else None)
                for name, value in row.items()
            }
            for row in csv.DictReader(file)
        ]


def append_row(path: Path, row: Row) -> None:
    """Append a row, after the heading if the file is new."""
    is_new = not path.exists() or path.stat().st_size == 0
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def geometric_mean(values: Iterable[float]) -> float:
    """The geometric mean of positive values; nan of none."""
    logarithms = [math.log(value) for value in values]
    return math.exp(fmean(logarithms)) if logarithms else math.nan


def speedup(row: Row, reference: dict) -> float | None:
    """Published average seconds / our seconds, None if the set failed or is not published."""
    published = reference.get(configuration_of(row))
    if published is None or not row["seconds"]:
        return None
    return published["wall_seconds_16_cores"] / row["seconds"]


def configuration_of(row: Row) -> tuple[str, str, int]:
    return parse_task(row["dataset"], f"{row['set']}.txt").configuration


def comparison(rows: list[Row], reference: dict) -> str:
    """Our averages beside the published ones (in brackets), a line per configuration."""
    lines = [
        f"{'dataset':<14} {'kind':<6} {'constr':>6} {'sets':>4} {'blocks':>16} "
        f"{'root gap %':>17} {'nodes':>16} {'seconds':>18} {'ratio':>7} {'solved':>7}"
    ]
    configurations: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        configurations.setdefault(configuration_of(row), []).append(row)
    for configuration, members in configurations.items():
        dataset, kind, n_constraints = configuration
        published = reference.get(configuration, {})
        ratios = [r for r in (speedup(row, reference) for row in members) if r is not None]
        solved = sum(row["status"] == "optimal" for row in members)
        root_gaps = [None if row["root_gap"] is None else 100 * row["root_gap"] for row in members]
        seconds = published.get("wall_seconds_16_cores")
        lines.append(
            f"{dataset:<14} {kind:<6} {n_constraints:>6} {len(members):>4} "
            f"{_beside(_column(members, 'blocks'), published.get('mean_size'), 1):>16} "
            f"{_beside(root_gaps, published.get('root_gap_percent'), 3):>17} "
            f"{_beside(_column(members, 'nodes'), published.get('nodes'), 1):>16} "
            f"{_beside(_column(members, 'seconds'), seconds, 2):>18} "
            f"{geometric_mean(ratios):>7.2f} {f'{solved}/{len(members)}':>7}"
        )
    return "\n".join(lines)


def overall(rows: list[Row], reference: dict) -> str:
    """Geometric means of published / our seconds per set, what was solved, the worst ratio."""
    ratios = {
        (row["dataset"], row["set"]): ratio
        for row in rows
        if (ratio := speedup(row, reference)) is not None
    }
    solved = sum(row["status"] == "optimal" for row in rows)
    lines = ["Published seconds / our seconds, geometric mean over sets (unsolved sets count too):"]
    for dataset in dict.fromkeys(dataset for dataset, _ in ratios):
        mean = geometric_mean(ratio for (of, _), ratio in ratios.items() if of == dataset)
        lines.append(f"  {dataset:<14} {mean:8.2f}")
    lines.append(f"  {'all':<14} {geometric_mean(ratios.values()):8.2f}")
    lines.append(f"Solved {solved} of {len(rows)}")
    if ratios:
        (dataset, name), ratio = min(ratios.items(), key=lambda item: item[1])
        lines.append(f"Slowest ratio {ratio:.2f}: {dataset} {name}")
    peak = max((row["peak_rss_mib"] or 0.0 for row in rows), default=0.0)
    lines.append(f"Largest peak memory {peak:.0f} MiB")
    return "\n".join(lines)


def solve_in_process(task: Task, arguments: argparse.Namespace) -> Row:
    """Solve a set in a fresh process; a process that fails gives a row with status `failed`."""
    command = [
        sys.executable,
        __file__,
        *("--data", str(arguments.data), "--solve-one", task.dataset, task.file_name),
        *("--gap", repr(arguments.gap), "--time-limit", repr(arguments.time_limit)),
    ]
    done = subprocess.run(
        command, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    print(f"{task.dataset} {task.set_name} FAILED:\n{done.stderr}", file=sys.stderr, flush=True)
    row: Row = dict.fromkeys(FIELDS)
    return row | {
        "dataset": task.dataset,
        "kind": task.kind,
        "set": task.set_name,
        "status": "failed",
        "termination": f"exit {done.returncode}",
        "gap_tolerance": arguments.gap,
        "cpu": cpu_name(),
    }


def solve_one(data: Path, task: Task, gap: float, time_limit: float) -> Row:
    """Solve a set in this process and measure it."""
    import numpy as np

    import sdpbb

    points = np.random.default_rng(0).normal(size=(40, 3))
    small = sdpbb.Instance(points, 3, must_link=[(0, 1)], cannot_link=[(2, 3), (3, 4)])
    sdpbb.solve(small, sdpbb.SolverParameters(node_limit=3))  # compiles, or loads, the kernels

    instance = sdpbb.read_instance(
        data / "datasets" / f"{task.dataset}.txt",
        None,
        data / "constraints" / task.dataset / task.file_name,
    )
    parameters = sdpbb.SolverParameters(gap=gap, time_limit=time_limit)
    start = time.perf_counter()
    result = sdpbb.solve(instance, parameters)
    seconds = time.perf_counter() - start
    statistics = result.statistics
    # ru_maxrss is in KiB on Linux, in bytes on macOS.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return {
        "dataset": task.dataset,
        "kind": task.kind,
        "set": task.set_name,
        "n": instance.n_points,
        "blocks": statistics.n_blocks,
        "k": instance.k,
        "status": result.status.value,
        "termination": result.termination.value,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "root_gap": statistics.root_gap,
        "root_seconds": statistics.root_seconds,
        "nodes": statistics.n_nodes,
        "seconds": seconds,
        "peak_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit,
        "gap_tolerance": gap,
        "version": result.version,
        "cpu": cpu_name(),
    }


def cpu_name() -> str:
    """The processor's name, as far as the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def run(tasks: list[Task], arguments: argparse.Namespace) -> list[Row]:
    """Solve the tasks, `arguments.workers` side by side; the rows of all, also of earlier runs."""
    wanted = {(task.dataset, task.set_name) for task in tasks}
    rows = [
        row
        for row in (read_rows(arguments.out) if arguments.resume else [])
        if (row["dataset"], row["set"]) in wanted
        and row["status"] != "failed"
        and row["gap_tolerance"] == arguments.gap
    ]
    done = {(row["dataset"], row["set"]) for row in rows}
    left = [task for task in tasks if (task.dataset, task.set_name) not in done]
    with ThreadPoolExecutor(arguments.workers) as pool:
        futures = [pool.submit(solve_in_process, task, arguments) for task in left]
        for future in as_completed(futures):
            row = future.result()
            rows.append(row)
            append_row(arguments.out, row)
            print(_line(row, len(rows), len(tasks)), flush=True)
    order = {(task.dataset, task.set_name): position for position, task in enumerate(tasks)}
    return sorted(rows, key=lambda row: order[row["dataset"], row["set"]])


def _line(row: Row, position: int, total: int) -> str:
    label = f"[{position}/{total}] {row['dataset']} {row['set']}: {row['status']}"
    if row["seconds"] is None:
        return label
    gap = "-" if row["gap"] is None else f"{row['gap']:.2e}"
    return (
        f"{label}, {row['seconds']:.2f} s, {row['nodes']:.0f} nodes, gap {gap}, "
        f"{row['peak_rss_mib']:.0f} MiB"
    )


def _column(rows: list[Row], name: str) -> list[float | None]:
    return [row[name] for row in rows]


def _beside(ours: list[float | None], published: float | None, digits: int) -> str:
    known = [value for value in ours if value is not None]
    left = f"{fmean(known):.{digits}f}" if known else "-"
    right = "-" if published is None else f"{published:.{digits}f}"
    return f"{left} ({right})"


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=SHARED / "data" / "pc-sos-sdp")
    parser.add_argument(
        "--reference", type=Path, default=SHARED / "reference" / "pc_sos_sdp_results.csv"
    )
    parser.add_argument("--datasets", help="names, separated by commas (default: all)")
    parser.add_argument("--seeds", default="0,1,2", help="of the sets, separated by commas")
    parser.add_argument("--gap", type=float, default=1e-4)
    parser.add_argument("--time-limit", type=float, default=math.inf, help="seconds per set")
    parser.add_argument("--out", type=Path, default=Path("rows.csv"))
    parser.add_argument("--resume", action="store_true", help="skip the sets that --out holds")
    parser.add_argument("--workers", type=int, default=1, help="sets side by side (default: 1)")
    parser.add_argument("--solve-one", nargs=2, metavar=("DATASET", "FILE"), help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    arguments = _arguments(argv)
    for path in (arguments.data, arguments.reference):
        if not path.exists():
            print(f"SKIPPED: {path} is not there")
            return 0
    if arguments.solve_one:
        task = parse_task(*arguments.solve_one)
        print(json.dumps(solve_one(arguments.data, task, arguments.gap, arguments.time_limit)))
        return 0
    if arguments.out.exists() and not arguments.resume:
        print(f"{arguments.out} exists; give --resume or another --out", file=sys.stderr)
        return 2
    reference = read_reference(arguments.reference)
    if arguments.datasets:
        datasets = arguments.datasets.split(",")
    else:
        files = (arguments.data / "datasets").glob("*.txt")
        datasets = [path.stem for path in sorted(files, key=lambda path: path.stat().st_size)]
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    rows = run(find_tasks(arguments.data, datasets, seeds), arguments)
    print("\nOurs (published: averages of five sets)\n" + comparison(rows, reference))
    print("\n" + overall(rows, reference))
    return 0


if __name__ == "__main__":
    sys.exit(main())
