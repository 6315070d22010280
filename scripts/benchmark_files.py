"""Measure readers, writers and what comes before a run, for up to a million points and constraints.

Points of ten normal clouds in ten dimensions, as many constraints as points, drawn from the clouds:
must-links, cannot-links, or as they come ("mixed"). Each part is a process of its own, whose peak
memory includes what it imports; the seconds are those that a core was at work on the part. Each row
replaces the one of the same part in the CSV file, and the table of all rows is printed at the end.
"""

from __future__ import annotations

import argparse
import csv
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
from benchmark import ONE_THREAD, ROOT

K, D = 10, 10
KINDS = ("must", "cannot", "mixed")
POINTS = {"text": "txt", "CSV": "csv", "npy": "npy", "Parquet": "parquet"}
FIELDS = ("part", "n", "seconds", "peak_rss_mib")


def points_and_labels(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(n)
    labels = rng.integers(K, size=n)
    return 10.0 * rng.random((K, D))[labels] + rng.normal(size=(n, D)), labels


def write_files(folder: Path, n: int) -> None:
    """Write the points in all formats, the labels, and constraints of each kind and format."""
    import pyarrow
    from pyarrow import parquet

    from sdpbb.constraint_sets.procedures import by_kinds, by_number
    from sdpbb.problem.formats import write_constraints, write_labels, write_points

    points, labels = points_and_labels(n)
    write_points(folder / "points.txt", points, K)
    names = [f"x{j}" for j in range(D)]
    np.save(folder / "points.npy", points)
    table = pyarrow.table(dict(zip(names, points.T, strict=True)))
    parquet.write_table(table, folder / "points.parquet")
    with open(folder / "points.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([names, *points.tolist()])
    with open(folder / "named.csv", "w", newline="", encoding="utf-8") as file:
        named = ([f"row{i}", *row] for i, row in enumerate(points.tolist()))
        csv.writer(file, lineterminator="\n").writerows([["id", *names], *named])
    write_labels(folder / "labels.txt", labels)
    rng = np.random.default_rng(0)
    drawn = {
        "must": by_kinds(labels, n, 0, rng),
        "cannot": by_kinds(labels, 0, n, rng),
        "mixed": by_number(labels, n, rng),
    }
    for kind, pairs in drawn.items():
        np.savez(folder / f"{kind}.npz", must=pairs.must_link, cannot=pairs.cannot_link)
        for name in ("pc-sos-sdp", "cccg", "pccc"):
            write_constraints(folder / f"{kind}.{name}", pairs.hard, name)
    write_constraints(folder / "soft.pc-sos-sdp", drawn["mixed"].soft)
    with open(folder / "names.pc-sos-sdp", "w", encoding="utf-8") as file:
        file.writelines(f"ML row{i} row{j}\n" for i, j in drawn["must"].must_link.tolist())


Part = Callable[[], object]


def parts(folder: Path) -> dict[str, Callable[[], Part]]:
    """Return the parts by name: functions that prepare them, and return what is measured."""
    import sdpbb
    from sdpbb import problem
    from sdpbb.problem import formats

    def points() -> Any:
        return np.load(folder / "points.npy")

    def instance(kind: str) -> Any:
        pairs = np.load(folder / f"{kind}.npz")
        return sdpbb.Instance(points(), K, pairs["must"], pairs["cannot"])

    def read(constraints: str) -> Callable[[], Part]:
        def prepare() -> Part:
            file = folder / constraints
            names, n = None, len(points())
            if constraints.startswith("names"):
                names = [f"row{i}" for i in range(n)]
            return lambda: formats.read_constraints(file, n, row_names=names)

        return prepare

    def reading(data: str, **options: Any) -> Callable[[], Part]:
        return lambda: lambda: sdpbb.read_instance(folder / data, K, **options)

    def making(kind: str) -> Part:
        given = points()
        pairs = np.load(folder / f"{kind}.npz")
        must, cannot = pairs["must"], pairs["cannot"]
        return lambda: sdpbb.Instance(given, K, must, cannot)

    def contracting(kind: str) -> Part:
        given = instance(kind)
        return lambda: problem.contract(given)

    def colouring(kind: str) -> Part:
        from sdpbb.problem.feasibility import find_feasible

        contraction: Any = problem.contract(instance(kind))
        return lambda: find_feasible(contraction)

    def checking(kind: str) -> Part:
        given = instance(kind)
        return lambda: sdpbb.check_constraints(given, 60.0)

    def evaluating() -> Part:
        given, labels = instance("mixed"), formats.read_labels(folder / "labels.txt")

        def measured() -> None:
            partition = problem.Partition(labels)
            partition.sum_of_squares(given.points)
            partition.is_feasible(given)

        return measured

    def drawing() -> Part:
        from sdpbb.constraint_sets.drawing import Drawing

        labels = formats.read_labels(folder / "labels.txt")
        return lambda: Drawing(pairs=len(labels)).of(labels)

    def writing(name: str) -> Part:
        given = points()
        pairs = np.load(folder / "mixed.npz")
        constraints = formats.Constraints(pairs["must"], pairs["cannot"])
        labels = formats.read_labels(folder / "labels.txt")
        return {
            "points": lambda: formats.write_points(folder / "written", given),
            "labels": lambda: formats.write_labels(folder / "written", labels),
            "constraints": lambda: formats.write_constraints(folder / "written", constraints),
        }[name]

    def reading_labels() -> Part:
        return lambda: formats.read_labels(folder / "labels.txt")

    found: dict[str, Callable[[], Part]] = {
        f"read {name}": reading(f"points.{suffix}") for name, suffix in POINTS.items()
    }
    found["read CSV with names"] = reading("named.csv", index_column="id")
    for name in ("pc-sos-sdp", "cccg", "pccc"):
        for kind in KINDS:
            found[f"read {kind}, {name}"] = read(f"{kind}.{name}")
    found["read soft, pc-sos-sdp"] = read("soft.pc-sos-sdp")
    found["read must by name, pc-sos-sdp"] = read("names.pc-sos-sdp")
    found["read labels"] = reading_labels
    found |= {f"write {name}": lambda name=name: writing(name) for name in ("points", "labels")}
    found["write constraints"] = lambda: writing("constraints")
    for verb, prepare in {
        "Instance": making,
        "contract": contracting,
        "colour": colouring,
        "check": checking,
    }.items():
        found |= {f"{verb}, {kind}": lambda kind=kind, do=prepare: do(kind) for kind in KINDS}
    found["cost and violations of labels"] = evaluating
    found["draw constraints"] = drawing
    return found


def measure(folder: Path, part: str) -> None:
    """Run one part in this process, and print its seconds and the peak memory in MiB."""
    import sdpbb  # noqa: F401

    run = parts(folder)[part]()
    began = time.process_time()
    run()
    seconds = time.process_time() - began
    unit = 2**20 if sys.platform == "darwin" else 2**10
    print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--only", default="", help="parts whose names hold this")
    parser.add_argument("--time-limit", type=float, default=300.0, help="seconds of a process")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "files.csv")
    parser.add_argument("--files", type=Path, help="a folder, to keep the files from run to run")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.write:
        write_files(arguments.write, int(arguments.write.name))
        return 0
    if arguments.measure:
        measure(Path(arguments.measure[0]), arguments.measure[1])
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        for n in arguments.sizes:
            folder = (arguments.files or Path(temporary)) / str(n)
            if not folder.exists():
                folder.mkdir(parents=True)
                # In a process of its own: on Linux, peak memory is handed down to children.
                subprocess.run([sys.executable, __file__, "--write", str(folder)], check=True)
            for part in parts(folder):
                if arguments.only in part:
                    row = measured(folder, part, n, arguments.time_limit)
                    print(*row.values(), flush=True)
                    rows.replace(arguments.out, FIELDS, [row], ["part", "n"])
    print("\n".join(table(rows.read(arguments.out))))
    return 0


def measured(folder: Path, part: str, n: int, time_limit: float) -> dict[str, str]:
    """Return the row of a part; its process is ended at the time limit."""
    command = [sys.executable, __file__, "--measure", str(folder), part]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **ONE_THREAD},
            capture_output=True,
            text=True,
            check=True,
            timeout=time_limit,
        )
    except subprocess.TimeoutExpired:
        return dict(zip(FIELDS, (part, str(n), f"> {time_limit:g}", ""), strict=True))
    seconds, memory = map(float, done.stdout.splitlines()[-1].split())
    return dict(zip(FIELDS, (part, str(n), f"{seconds:.2f}", f"{memory:.0f}"), strict=True))


def table(known: list[rows.Row]) -> list[str]:
    """Return a line for each part, with seconds and memory for each n."""
    sizes = sorted({int(row["n"]) for row in known})
    cells = {(row["part"], int(row["n"])): (row["seconds"], row["peak_rss_mib"]) for row in known}
    head = ["", *(f"{n:,}: {unit}" for n in sizes for unit in ("s", "MiB"))]
    lines = [
        [part, *(cell for n in sizes for cell in cells.get((part, n), ("", "")))]
        for part in dict.fromkeys(row["part"] for row in known)
    ]
    return rows.markdown(head, lines)


if __name__ == "__main__":
    sys.exit(main())
