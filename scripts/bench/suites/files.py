"""Readers, writers and what comes before a run, for up to a million points and constraints.

Points of ten normal clouds in ten dimensions, as many constraints as points, drawn from the clouds:
must-links, cannot-links, or as they come ("mixed"). The peak memory of each part includes what its
process imports; the seconds are those that a core was at work on the part.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from scripts.bench import rows
from scripts.bench.measuring import own_peak
from scripts.bench.suite import Case, Options
from scripts.bench.tables import markdown

KEY = "part n"
COLUMNS = "seconds peak_rss_mib"
OPTIONS = {"time_limit": 300.0}
SIZES = (100_000, 1_000_000)
K, D = 10, 10
KINDS = ("must", "cannot", "mixed")
POINTS = {"text": "txt", "CSV": "csv", "npy": "npy", "Parquet": "parquet"}


def points_and_labels(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(n)
    labels = rng.integers(K, size=n)
    return 10.0 * rng.random((K, D))[labels] + rng.normal(size=(n, D)), labels


def write_files(folder: Path, n: int) -> None:
    """Write the points in all formats, the labels, and constraints of each kind and format."""
    import pyarrow
    from pyarrow import parquet

    from sdpbb.constraint_sets import by_kinds, by_number
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
        write_constraints(folder / f"mixed.{name}", drawn["mixed"].hard, name)
    write_constraints(folder / "soft.pc-sos-sdp", drawn["mixed"].soft)
    with open(folder / "names.pc-sos-sdp", "w", encoding="utf-8") as file:
        file.writelines(f"ML row{i} row{j}\n" for i, j in drawn["must"].must_link.tolist())


Part = tuple[Callable[[], Any], Callable[[Any], object]]
"""What prepares a part, and what is measured of it."""


def parts(folder: Path) -> dict[str, Part]:
    """Return the parts by name."""
    import sdpbb
    from sdpbb import problem
    from sdpbb.constraint_sets import Drawing
    from sdpbb.problem import formats
    from sdpbb.problem.feasibility import find_feasible

    def nothing() -> None:
        return None

    def points() -> Any:
        return np.load(folder / "points.npy")

    def labels() -> Any:
        return formats.read_labels(folder / "labels.txt")

    def given(kind: str) -> tuple[Any, Any, Any]:
        pairs = np.load(folder / f"{kind}.npz")
        return points(), pairs["must"], pairs["cannot"]

    def instance(kind: str) -> Any:
        data, must, cannot = given(kind)
        return sdpbb.Instance(data, K, must, cannot)

    def read(data: str, **options: Any) -> Part:
        return nothing, lambda _: sdpbb.read_instance(folder / data, K, **options)

    def pairs(file: str, is_named: bool = False) -> Part:
        path = folder / file

        def names() -> Any:
            n = len(points())
            return n, [f"row{i}" for i in range(n)] if is_named else None

        return names, lambda told: formats.read_constraints(path, told[0], row_names=told[1])

    def evaluate(drawn: Any) -> None:
        partition = problem.Partition(drawn[1])
        partition.sum_of_squares(drawn[0].points)
        partition.is_feasible(drawn[0])

    out = folder / "written"
    found: dict[str, Part] = {f"read {name}": read(f"points.{s}") for name, s in POINTS.items()}
    found["read CSV with names"] = read("named.csv", index_column="id")
    for name in ("pc-sos-sdp", "cccg", "pccc"):
        found[f"read mixed, {name}"] = pairs(f"mixed.{name}")
    found["read soft, pc-sos-sdp"] = pairs("soft.pc-sos-sdp")
    found["read must by name, pc-sos-sdp"] = pairs("names.pc-sos-sdp", True)
    found["read labels"] = nothing, lambda _: labels()
    found["write points"] = points, lambda data: formats.write_points(out, data)
    found["write labels"] = labels, lambda data: formats.write_labels(out, data)
    found["write constraints"] = (
        lambda: formats.Constraints(*given("mixed")[1:]),
        lambda constraints: formats.write_constraints(out, constraints),
    )
    verbs: dict[str, tuple[Callable[[str], Any], Callable[[Any], object]]] = {
        "Instance": (given, lambda data: sdpbb.Instance(data[0], K, *data[1:])),
        "contract": (instance, problem.contract),
        "colour": (lambda kind: problem.contract(instance(kind)), find_feasible),
        "check": (instance, lambda one: sdpbb.check_constraints(one, 60.0)),
    }
    for (verb, (prepare, work)), kind in product(verbs.items(), KINDS):
        found[f"{verb}, {kind}"] = partial(prepare, kind), work
    found["cost and violations of labels"] = lambda: (instance("mixed"), labels()), evaluate
    found["draw constraints"] = labels, lambda one: Drawing(pairs=len(one)).of(one)
    return found


def cases(options: Options) -> list[Case]:
    return [{"part": part, "n": n} for n in SIZES for part in parts(Path())]


def measure(options: Options, part: str, n: int) -> dict[str, Any]:
    folder = options.scratch / str(n)
    if not folder.exists():
        folder.mkdir()
        # In a process of its own, whose memory does not count.
        with ProcessPoolExecutor(1, get_context("spawn")) as executor:
            executor.submit(write_files, folder, n).result()
    prepare, work = parts(folder)[part]
    given = prepare()
    began = time.process_time()
    work(given)
    seconds = time.process_time() - began
    return {"seconds": f"{seconds:.2f}", "peak_rss_mib": f"{own_peak():.0f}"}


def table(known: list[rows.Row], options: Options) -> list[str]:
    """Return a line for each part, with seconds and memory for each n."""
    sizes = sorted({int(row["n"]) for row in known})
    head = ["", *(f"{n:,}: {unit}" for n in sizes for unit in ("s", "MiB"))]
    lines = []
    for (part,), own in rows.grouped(known, "part").items():
        cells = {int(row["n"]): (row["seconds"], row["peak_rss_mib"]) for row in own}
        lines.append([part, *(cell for n in sizes for cell in cells.get(n, ("", "")))])
    return markdown(head, lines)


TABLES = {"files": table}
