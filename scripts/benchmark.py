"""Solve the PC-SOS-SDP benchmark and compare with the published averages.

Every constraint set is solved in a process of its own, so that its peak memory is its own, with
one BLAS thread. The seconds are those of `sdpbb.solve`: imports and the compilation of kernels
(a small instance is solved first) are outside, reading the result is outside too. The published
times were measured with 16 cores on another machine, and are averages over five sets.

Each set's row is appended to the CSV file as soon as it is there; --resume skips those. --report
writes a report in Markdown, the rows as CSV and, with matplotlib, a performance profile; --rows
does so from the CSV files of finished runs.
"""

from __future__ import annotations

import argparse
import csv
import io
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
from datetime import UTC, datetime
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
    "cores",
    "workers",
    "seed",
    "python",
    "numpy",
    "date",
]
TEXT_FIELDS = {
    *("dataset", "kind", "set", "status", "termination"),
    *("version", "cpu", "python", "numpy", "date"),
}
KINDS = {"ML": "Must-links", "CL": "Cannot-links", "ML+CL": "Must-links and cannot-links"}
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
    """Return the task that a file name `ml_A_cl_B_S.txt` stands for."""
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
    """Return the constraint sets of the chosen data sets, in their order."""
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
    """Return the published averages by `Task.configuration`."""
    columns = (
        *("mean_size", "root_gap_percent", "nodes"),
        *("wall_seconds_16_cores", "solved_percent"),
    )
    with open(path, newline="", encoding="utf-8") as file:
        return {
            (row["dataset"].lower(), row["constraint_kind"], int(row["n_constraints"])): {
                column: float(row[column]) for column in columns
            }
            for row in csv.DictReader(file)
        }


def read_rows(path: Path) -> list[Row]:
    """The rows of an earlier run, their numbers as numbers, None for what it did not record."""
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return [
            dict.fromkeys(FIELDS)
            | {
                name: value if name in TEXT_FIELDS else (float(value) if value else None)
                for name, value in row.items()
            }
            for row in csv.DictReader(file)
        ]


def append_row(path: Path, row: Row) -> None:
    """Append a row, after the heading if the file is new; ValueError if it has other columns."""
    if path.exists():
        with open(path, encoding="utf-8") as file:
            if file.readline().strip() not in ("", ",".join(FIELDS)):
                raise ValueError(f"{path}: has other columns; give another --out")
    is_new = not path.exists() or path.stat().st_size == 0
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of positive values; nan of none."""
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
    """Return our averages beside the published ones (in brackets), a line per configuration."""
    lines = [
        f"{'dataset':<14} {'kind':<6} {'constr':>6} {'sets':>4} {'blocks':>16} "
        f"{'root gap %':>17} {'nodes':>16} {'seconds':>18} {'ratio':>7} {'solved':>7}"
    ]
    for configuration, members in by_configuration(rows).items():
        dataset, kind, n_constraints = configuration
        published = reference.get(configuration, {})
        ratios = [r for r in (speedup(row, reference) for row in members) if r is not None]
        solved = sum(row["status"] == "optimal" for row in members)
        seconds = published.get("wall_seconds_16_cores")
        lines.append(
            f"{dataset:<14} {kind:<6} {n_constraints:>6} {len(members):>4} "
            f"{_beside(_column(members, 'blocks'), published.get('mean_size'), 1):>16} "
            f"{_beside(_root_gaps(members), published.get('root_gap_percent'), 3):>17} "
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


def report(rows: list[Row], reference: dict, picture: str | None) -> str:
    """The report in Markdown; picture is the file name of the performance profile, if there is."""
    tables = [
        f"## {title}\n\n{table}"
        for kind, title in KINDS.items()
        if (table := markdown_table([row for row in rows if row["kind"] == kind], reference))
    ]
    profile = (
        f"![Share of the sets solved within a time]({picture})"
        if picture
        else "*The picture of it was skipped: matplotlib is not installed.*"
    )
    parts = [
        "# Benchmark\n\nWritten by `scripts/benchmark.py`. Ours are averages over the constraint "
        "sets; in brackets the published averages of PC-SOS-SDP, "
        "over five sets, on 16 cores of another machine. The ratio is published / our seconds, the "
        "geometric mean over sets; above 1 we are faster. Sets that were not solved count with the "
        "time that they took.",
        run_table(rows),
        *tables,
        f"## Summary\n\n```\n{overall(rows, reference)}\n```",
        f"## Performance profile\n\n{profile}",
    ]
    return "\n\n".join(parts) + "\n"


def run_table(rows: list[Row]) -> str:
    """Return the settings that the rows were computed with, as a Markdown table."""
    names = {
        "cpu": "processor",
        "cores": "its cores",
        "workers": "processes for one set, at most",
        "python": "Python",
        "numpy": "NumPy",
        "version": "sdpbb",
        "seed": "seed",
        "gap_tolerance": "relative gap asked for",
        "date": "date",
    }
    lines = ["| | |", "| --- | --- |"]
    for field, name in names.items():
        values = sorted({row[field] for row in rows if row[field] is not None})
        if field == "date" and values:
            values = sorted({values[0], values[-1]})
        text = [value if isinstance(value, str) else f"{value:g}" for value in values]
        separator = " to " if field == "date" else ", "
        lines.append(f"| {name} | {separator.join(text) or 'not recorded'} |")
    return "\n".join(lines)


def markdown_table(rows: list[Row], reference: dict) -> str:
    """Return our averages beside the published ones (in brackets), a line per configuration.

    It is "" of no rows.
    """
    if not rows:
        return ""
    names = ("blocks", "root gap %", "nodes", "seconds", "ratio", "solved %")
    lines = [
        f"| data set | constraints | sets | {' | '.join(names)} |",
        "| --- |" + " ---: |" * (2 + len(names)),
    ]
    for configuration, members in by_configuration(rows).items():
        published = reference.get(configuration, {})
        ratios = [r for r in (speedup(row, reference) for row in members) if r is not None]
        solved = 100.0 * sum(row["status"] == "optimal" for row in members) / len(members)
        cells = [
            members[0]["dataset"],
            str(configuration[2]),
            str(len(members)),
            _beside(_column(members, "blocks"), published.get("mean_size"), 1),
            _beside(_root_gaps(members), published.get("root_gap_percent"), 3),
            _beside(_column(members, "nodes"), published.get("nodes"), 1),
            _beside(_column(members, "seconds"), published.get("wall_seconds_16_cores"), 2),
            f"{geometric_mean(ratios):.2f}" if ratios else "-",
            _beside([solved], published.get("solved_percent"), 0),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def by_configuration(rows: list[Row]) -> dict[tuple[str, str, int], list[Row]]:
    """Return the rows by the key of the published averages, in their order."""
    configurations: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        configurations.setdefault(configuration_of(row), []).append(row)
    return configurations


def steps(times: list[tuple[float, float]], total: float) -> tuple[list[float], list[float]]:
    """Return the times in order, and the share of the total weight that is there by then.

    times holds pairs of a time and its weight.
    """
    seconds, shares, share = [], [], 0.0
    for second, weight in sorted(times):
        share += weight / total
        seconds.append(second)
        shares.append(share)
    return seconds, shares


def draw_profile(path: Path, rows: list[Row], reference: dict) -> bool:
    """Draw the share of the sets solved within t seconds; False if matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    ours = [(row["seconds"], 1.0) for row in rows if row["status"] == "optimal"]
    averages = [reference[key] for key in by_configuration(rows) if key in reference]
    theirs = [(one["wall_seconds_16_cores"], one["solved_percent"] / 100) for one in averages]
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    axes.step(*steps(ours, len(rows)), where="post", label="sdpbb, 1 core: sets")
    if theirs:
        label = "PC-SOS-SDP, 16 cores, published: averages of five sets"
        axes.step(*steps(theirs, len(theirs)), where="post", linestyle="--", label=label)
    axes.set(xscale="log", ylim=(0, 1.02), xlabel="seconds", ylabel="share solved")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left")
    figure.savefig(path, dpi=120)
    return True


def write_report(path: Path, rows: list[Row], reference: dict) -> None:
    """Write the report to path, and the rows and the picture beside it."""
    from sdpbb.runtime.files import write_atomically

    picture = path.with_suffix(".png")
    drawn = draw_profile(picture, rows, reference)
    if not drawn:
        print(f"SKIPPED: {picture}: matplotlib is not installed (pip install '.[benchmark]')")
    text = io.StringIO()
    writer = csv.DictWriter(text, FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_atomically(path.with_suffix(".csv"), text.getvalue())
    write_atomically(path, report(rows, reference, picture.name if drawn else None))
    print(f"Report: {path}")


def finished_rows(paths: list[Path], gap: float) -> list[Row]:
    """Return the rows of finished runs with that gap; of several of one set, the last."""
    rows: dict[tuple[str, str], Row] = {}
    others = 0
    for path in paths:
        if not path.exists():
            raise ValueError(f"{path}: there is no such file")
        for row in read_rows(path):
            if row["gap_tolerance"] == gap:
                rows[row["dataset"], row["set"]] = row
            else:
                others += 1
    if others:
        print(f"SKIPPED: {others} rows with another gap than {gap:g}")
    if not rows:
        raise ValueError(f"no rows with a gap of {gap:g}")
    # Data sets by their size, as they are solved; sets in the order of the file names.
    return sorted(
        rows.values(),
        key=lambda row: (row["n"] or math.inf, parse_task(row["dataset"], f"{row['set']}.txt")),
    )


def solve_in_process(task: Task, arguments: argparse.Namespace) -> Row:
    """Solve a set in a fresh process; a process that fails gives a row with status `failed`."""
    command = [
        sys.executable,
        __file__,
        *("--data", str(arguments.data), "--reference", str(arguments.reference)),
        *("--solve-one", task.dataset, task.file_name),
        *("--gap", repr(arguments.gap), "--time-limit", repr(arguments.time_limit)),
        *("--workers", str(arguments.workers)),
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


def solve_one(data: Path, task: Task, gap: float, time_limit: float, workers: int) -> Row:
    """Solve a set in this process, and further ones where it asks for them, and measure it."""
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
    parameters = sdpbb.SolverParameters(gap=gap, time_limit=time_limit, workers=workers)
    start = time.perf_counter()
    result = sdpbb.solve(instance, parameters)
    seconds = time.perf_counter() - start
    statistics = result.statistics
    # ru_maxrss is in KiB on Linux, in bytes on macOS.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    # Of the children only the largest is known, and it may be none of the workers: an upper bound.
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss if workers > 1 else 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss + workers * largest
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
        "peak_rss_mib": peak / unit,
        "gap_tolerance": gap,
        "version": result.version,
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "workers": workers,
        "seed": parameters.seed,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "date": datetime.now(UTC).date().isoformat(),
    }


def cpu_name() -> str:
    """Return the processor's name, as far as the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def run(tasks: list[Task], arguments: argparse.Namespace) -> list[Row]:
    """Solve the tasks, some side by side; the rows of all, also of earlier runs."""
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
    with ThreadPoolExecutor(arguments.side_by_side) as pool:
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


def _root_gaps(rows: list[Row]) -> list[float | None]:
    """Return the gaps at the root, in per cent."""
    return [None if gap is None else 100 * gap for gap in _column(rows, "root_gap")]


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
    parser.add_argument(
        "--workers", type=int, default=2, help="processes that solve one set (default: 2)"
    )
    parser.add_argument(
        "--side-by-side", type=int, default=1, help="sets solved at the same time (default: 1)"
    )
    parser.add_argument("--report", type=Path, metavar="FILE.md", help="write a report")
    parser.add_argument(
        "--rows", type=Path, nargs="+", metavar="CSV", help="report on finished runs, solve nothing"
    )
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
        row = solve_one(
            arguments.data, task, arguments.gap, arguments.time_limit, arguments.workers
        )
        print(json.dumps(row))
        return 0
    if arguments.rows:
        try:
            rows = finished_rows(arguments.rows, arguments.gap)
        except ValueError as error:
            print(error, file=sys.stderr)
            return 2
        show(rows, read_reference(arguments.reference), arguments.report)
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
    show(rows, reference, arguments.report)
    return 0


def show(rows: list[Row], reference: dict, report_path: Path | None) -> None:
    """Print the comparison, and write the report where one is asked for."""
    print("\nOurs (published: averages of five sets)\n" + comparison(rows, reference))
    print("\n" + overall(rows, reference))
    if report_path is not None:
        write_report(report_path, rows, reference)


if __name__ == "__main__":
    sys.exit(main())
