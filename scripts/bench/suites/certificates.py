"""Certificates: what writing one costs a run, its size, and how long checking it takes.

The cases are the constraint sets of PC-SOS-SDP, by the hybrid bound, and with `--only maps` places
in the plane of the travelling salesman library, by column generation.

Every set is solved without and with a certificate in turn, with one BLAS thread, and the
certificate is checked in another process that imports NumPy alone (`python -m sdpbb.checker`). Runs
that are short are repeated, and the shortest of each kind counts. Both kinds are compared by the
seconds of the processor (`plain_cpu`, `cpu_seconds`), which other work on the machine changes
little. The seconds of checking are the checker's own, from the opened file to the verdict, and
`program` those of the whole program, the start of Python and the reading of the data included.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import sdpbb
from scripts.bench import data, rows
from scripts.bench.measuring import process, solved, warm_up
from scripts.bench.suite import Case, Options
from scripts.bench.suites import engines
from scripts.bench.tables import (
    Cell,
    count,
    each,
    geometric_mean,
    machines,
    over,
    span,
    table,
    value,
    values,
)
from sdpbb.problem import Instance

KEY = "dataset set"
COLUMNS = (
    "n blocks status gap nodes plain seconds plain_status plain_nodes plain_cpu cpu_seconds"
    " bytes verdict verified_gap checking program gap_tolerance bounding time_limit version cpu"
    " date"
)
OPTIONS = {"time_limit": 120.0, "draws": 5}
ONLY = ("public",)
# Pairs of runs are repeated until they have taken so many seconds, so often at most.
ENOUGH, MOST_PAIRS = 4.0, 4
GAP = 1e-4
CPU = ("cpu_seconds", "plain_cpu")
# Places in the plane, and the numbers of clusters.
MAPS = {
    "pr299": (10, 30, 60),
    "ali535": (53, 107),
    "gr666": (67, 133),
    "u1060": (50, 106, 212),
    "u2152": (200, 400),
}


def cases(options: Options) -> list[Case]:
    """Return the public sets; and maps without links, and with n / 10 of each kind."""
    found = [
        one.case | {"group": "public"} for one in data.published_sets(options.data, options.draws)
    ]
    for name in MAPS if (options.data / "planar").is_dir() else ():
        for k in MAPS[name]:
            for number in (0, engines.n_points(name) // 10):
                chosen = f"k_{k}_ml_{number}_cl_{number}"
                found.append({"dataset": name, "set": chosen, "group": "maps"})
    return found


def instance_of(folder: Path, dataset: str, name: str, group: str) -> Instance:
    if group == "public":
        return data.published_instance(folder, dataset, name)
    _, k, _, number, _, _ = name.split("_")
    return engines.instance_of(folder, "maps", dataset, int(k), number, 0)


def measure(options: Options, dataset: str, set: str, group: str) -> dict[str, Any]:
    bounding = "hybrid" if group == "public" else "colgen"
    instance = instance_of(options.data, dataset, set, group)
    parameters = sdpbb.SolverParameters(gap=GAP, time_limit=options.time_limit, bounding=bounding)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        warm_up(bounding)
        runs: list[list[dict[str, Any]]] = [[], []]
        began = time.perf_counter()
        while len(runs[0]) < MOST_PAIRS and (not runs[0] or time.perf_counter() - began < ENOUGH):
            for kind, certificate in zip(runs, (None, folder / "run.cert"), strict=True):
                kind.append(solved(instance, parameters, certificate=certificate)[1])
        plain, certified = (
            kind[-1] | {c: min(run[c] for run in kind) for c in ("seconds", "cpu_seconds")}
            for kind in runs
        )
        return certified | {
            "bounding": bounding,
            "plain": plain["seconds"],
            "plain_status": plain["status"],
            "plain_nodes": plain["nodes"],
            "plain_cpu": plain["cpu_seconds"],
            "bytes": (folder / "run.cert").stat().st_size,
            **checked(folder, instance),
        }


def checked(folder: Path, instance: Instance) -> dict[str, Any]:
    """Return what the checker says of the certificate in a folder, and its seconds."""
    np.save(folder / "points.npy", instance.points)
    pairs = [(pair, 1) for pair in instance.must_link.tolist()]
    pairs += [(pair, -1) for pair in instance.cannot_link.tolist()]
    lines = [f"{i} {j} {sign}\n" for (i, j), sign in pairs]
    (folder / "constraints.txt").write_text("".join(lines), encoding="utf-8")
    files = [str(folder / name) for name in ("run.cert", "points.npy", "constraints.txt")]
    command = ["-m", "sdpbb.checker", *files[:2], "--constraints", files[2], "--json"]
    done = process(command, codes=(0, 10, 20))
    verdict = json.loads(done.output)
    return {
        "verdict": verdict["status"],
        "verified_gap": verdict["gap"],
        "checking": verdict["seconds"],
        "program": done.wall,
    }


def public(known: list[rows.Row]) -> list[rows.Row]:
    return [row for row in known if row["dataset"] not in MAPS]


def summary(known: list[rows.Row], options: Options) -> list[str]:
    found = public(known)
    ended = rows.chosen(found, status="optimal")
    if len(ended) < 2:
        return [f"- {len(found)} sets, {len(ended)} solved."]
    checking = shares(ended, "checking", "seconds")
    quartiles = statistics.quantiles(checking, n=4)
    programs = statistics.median(shares(ended, "program", "seconds"))
    costs = shares(both(ended), *CPU)
    dearest = max(both(ended), key=lambda row: rows.ratio(row, *CPU))
    largest = max(ended, key=lambda row: int(row["bytes"]))
    return [
        f"- {len(found)} sets, {len(ended)} solved to the gap asked for within the time limit, "
        f"{len(rows.chosen(ended, verdict='optimal'))} of these verified as optimal.",
        f"- Checking / solving: median {statistics.median(checking):.1%}, quartiles "
        f"{quartiles[0]:.1%} and {quartiles[2]:.1%}, at most {max(checking):.1%}; the whole "
        f"program, Python's start and reading included: median {programs:.1%}.",
        f"- Solving with / without a certificate: geometric mean {geometric_mean(costs):.2f}, "
        f"median {statistics.median(costs):.2f}, at most {max(costs):.2f} "
        f"({dearest['dataset']} {dearest['set']}); {len(costs)} sets.",
        f"- The largest certificate: {int(largest['bytes']) / 1e6:.2f} MB ({largest['dataset']} "
        f"{largest['set']}, {largest['blocks']} blocks, {largest['nodes']} nodes).",
    ]


def by_data_set(known: list[rows.Row], options: Options) -> list[str]:
    """Return medians for each data set."""

    def ended(own: list[rows.Row]) -> list[rows.Row]:
        return rows.chosen(own, status="optimal")

    def median(*columns: str, form: str) -> Cell:
        return lambda own: f"{statistics.median(shares(ended(own), *columns)):{form}}"

    columns: dict[str, Cell] = {
        "data set": value("dataset"),
        "sets": len,
        "blocks": lambda own: span(rows.numbers(own, "blocks"), between="-"),
        "nodes": lambda own: span(rows.numbers(own, "nodes"), between="-"),
        "solved": count(status="optimal"),
        "verified": count(status="optimal", verdict="optimal"),
        "solving s": median("seconds", form=".2f"),
        "checking s": median("checking", form=".3f"),
        "checking / solving": median("checking", "seconds", form=".1%"),
        "certified / plain": lambda own: f"{geometric_mean(shares(both(own), *CPU)):.2f}",
        "largest MB": over("bytes", max, ".2f", 1e-6),
    }
    groups = rows.grouped(public(known), "dataset").values()
    return table([own for own in groups if ended(own)], columns)


def maps(known: list[rows.Row], options: Options) -> list[str]:
    columns: dict[str, Cell] = {
        "data set": value("dataset"),
        **values("set", "blocks", "nodes"),
        "solving": value("status"),
        "gap": value("gap", ".1e"),
        "verified": value("verdict"),
        "plain s": value("plain_cpu", ".1f"),
        "certified s": value("cpu_seconds", ".1f"),
        "checking s": value("checking", ".2f"),
        "kB": value("bytes", ".1f", 1e-3),
    }
    return table(each(row for row in known if row["dataset"] in MAPS), columns)


def shares(found: list[rows.Row], above: str, below: str | None = None) -> list[float]:
    """Return a column, or its ratios to another."""
    return [float(row[above]) / (float(row[below]) if below else 1.0) for row in found]


def both(found: list[rows.Row]) -> list[rows.Row]:
    """Return the rows that are solved with and without a certificate."""
    return rows.chosen(found, status="optimal", plain_status="optimal")


TABLES = {
    "certificates machines": lambda known, options: [machines(known)],
    "certificates summary": summary,
    "certificates": by_data_set,
    "certificates maps": maps,
}
