"""Measure certificates on the public constraint sets of PC-SOS-SDP, and on places in the plane.

Measured are the seconds that writing one costs a run, its size, and how long checking it takes.

Every set is solved without and with a certificate in turn, in one process of its own with one BLAS
thread, and the certificate is checked in another one that imports NumPy alone (`python -m
sdpbb.checker`). The seconds of a run are those of `sdpbb.solve`, after a small instance that loads
the kernels; runs that are short are repeated, and the shortest of each kind counts. Both kinds are
compared by the seconds of the processor (`plain_cpu`, `cpu`), which other work on the machine
changes little. The seconds of checking are the checker's own, from the opened file to the verdict,
and `program` those of the whole program, the start of Python and the reading of the data included.

With --maps the sets are those of the travelling salesman library, and column generation is what
proves them; it is the hybrid bound else.

Rows are appended to the CSV file one by one, and sets that are there already are skipped.
--report writes the tables of all rows in --out.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import rows
from benchmark import ONE_THREAD, ROOT, SHARED, Task, cpu_name, find_tasks
from colgen_instances import PLACES, Case, instance_of
from rows import Row

FIELDS = (
    *("dataset", "set", "n", "blocks", "status", "gap", "nodes", "plain", "seconds"),
    *("plain_status", "plain_nodes", "plain_cpu", "cpu"),
    *("bytes", "verdict", "verified_gap", "checking", "program", "gap_tolerance", "bounding"),
    *("time_limit", "version", "machine", "date"),
)
DATA = SHARED / "data" / "pc-sos-sdp"
# Pairs of runs are repeated until they have taken so many seconds, so often at most.
ENOUGH, MOST_PAIRS = 4.0, 4


# Places in the plane, and the numbers of clusters.
MAPS = {
    "pr299": (10, 30, 60),
    "ali535": (53, 107),
    "gr666": (67, 133),
    "u1060": (50, 106, 212),
    "u2152": (200, 400),
}


def map_cases(datasets: Sequence[str]) -> list[Case]:
    """Return the maps without links, and with a link of each kind for every ten places."""
    return [
        Case("maps", name, k, str(number), 0)
        for name in datasets or MAPS
        for k in MAPS[name]
        for number in (0, int(name.lstrip("abcdefghijklmnopqrstuvwxyz")) // 10)
    ]


def name_of(case: Task | Case) -> str:
    """Return the name of a set among those of its data."""
    if isinstance(case, Task):
        return case.set_name
    return f"k_{case.k}_ml_{case.constraints}_cl_{case.constraints}"


def data_of(case: Task | Case) -> str:
    """Return the name of the data of a set."""
    return case.dataset if isinstance(case, Task) else case.name


def solve_one(case: Task | Case, folder: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Solve in this process, without a certificate and with one.

    The points and constraints for the checker, and its certificate, are left in the folder.
    """
    import numpy as np

    import sdpbb

    rng = np.random.default_rng(0)
    if isinstance(case, Task):
        data = DATA / "datasets" / f"{case.dataset}.txt"
        pairs = DATA / "constraints" / case.dataset / case.file_name
        instance = sdpbb.read_instance(data, None, pairs)
        points, k = rng.normal(size=(40, 3)), 8
    else:
        instance = instance_of(case)
        points, k = rng.random((300, 2)), 100
    small = sdpbb.Instance(points, k, np.array([(0, 1)]), np.array([(2, 3), (3, 4)]))
    loading = sdpbb.SolverParameters(node_limit=3, bounding=options["bounding"])
    sdpbb.solve(small, loading, certificate=folder / "small.cert")

    parameters = sdpbb.SolverParameters(**options)
    runs: list[list[tuple[float, float]]] = [[], []]
    began = time.perf_counter()
    while len(runs[0]) < MOST_PAIRS and (not runs[0] or time.perf_counter() - began < ENOUGH):
        for kind, certificate in enumerate((None, folder / "run.cert")):
            started, used = time.perf_counter(), processor_seconds()
            result = sdpbb.solve(instance, parameters, certificate=certificate)
            runs[kind].append((time.perf_counter() - started, processor_seconds() - used))
            if certificate is None:
                plain = result
    taken, processor = zip(*(map(min, zip(*kind, strict=True)) for kind in runs), strict=True)
    np.save(folder / "points.npy", instance.points)
    pairs = [(pair, 1) for pair in instance.must_link.tolist()]
    pairs += [(pair, -1) for pair in instance.cannot_link.tolist()]
    lines = [f"{i} {j} {sign}\n" for (i, j), sign in pairs]
    (folder / "constraints.txt").write_text("".join(lines), encoding="utf-8")
    return {
        "n": instance.n_points,
        "blocks": result.statistics.n_blocks,
        "status": result.status.value,
        "gap": result.gap,
        "nodes": result.statistics.n_nodes,
        "plain": taken[0],
        "seconds": taken[1],
        "plain_status": plain.status.value,
        "plain_nodes": plain.statistics.n_nodes,
        "plain_cpu": processor[0],
        "cpu": processor[1],
        "bytes": (folder / "run.cert").stat().st_size,
        "version": result.version,
    }


def processor_seconds() -> float:
    """Return the processor seconds of this process and those that it has ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def measured(case: Task | Case, options: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a set: solved in one process, checked in another."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        described = json.dumps([type(case).__name__, case, str(folder), options])
        solved = _output([sys.executable, __file__, "--solve-one", described])
        row: dict[str, Any] = json.loads(solved.splitlines()[-1])
        files = [str(folder / "run.cert"), str(folder / "points.npy")]
        command = [sys.executable, "-m", "sdpbb.checker", *files]
        command += ["--constraints", str(folder / "constraints.txt"), "--json"]
        started = time.perf_counter()
        verdict = json.loads(_output(command))
        row["program"] = time.perf_counter() - started
    row |= {
        "verdict": verdict["status"],
        "verified_gap": verdict["gap"],
        "checking": verdict["seconds"],
    }
    return row


def _output(command: Sequence[str]) -> str:
    environment = {**os.environ, **ONE_THREAD}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 10, 20):
        raise RuntimeError(f"{' '.join(command[1:3])}: {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


HEAD = """# What certificates cost

The public constraint sets of [PC-SOS-SDP](benchmarks.md), each solved without and with a
certificate by one process with one BLAS thread, and checked by another one that imports NumPy
alone ([rows](certificates_benchmark.csv)):

<!--- skip: next "takes an hour" -->

```sh
python scripts/benchmark_certificates.py --out rows.csv --report report.md
```

A gap of 10<sup>-4</sup> is asked for, within two minutes. Solving is
`sdpbb.solve(..., certificate=...)`, with kernels loaded; checking is what the checker says it
took, from the opened file to the verdict. Both kinds of runs take turns in one process, and are
compared by the seconds of the processor, where both are solved.
"""


def report(found: list[Row]) -> str:
    """Return the page in Markdown."""
    maps = [row for row in found if row["dataset"] in MAPS]
    found = [row for row in found if row["dataset"] not in MAPS]
    solved = [row for row in found if row["status"] == "optimal"]
    verified = [row for row in solved if row["verdict"] == "optimal"]
    shares = [float(row["checking"]) / float(row["seconds"]) for row in solved]
    programs = [float(row["program"]) / float(row["seconds"]) for row in solved]
    both = [row for row in solved if row["plain_status"] == "optimal"]
    costs = [_ratio(row, "cpu", "plain_cpu") for row in both]
    dearest = max(both, key=lambda row: _ratio(row, "cpu", "plain_cpu"))
    largest = max(solved, key=lambda row: int(row["bytes"]))
    quartiles = statistics.quantiles(shares, n=4)
    lines = [
        f"- {len(found)} sets, {len(solved)} solved to the gap asked for within the time limit, "
        f"{len(verified)} of these verified as optimal.",
        f"- Checking / solving: median {statistics.median(shares):.1%}, quartiles "
        f"{quartiles[0]:.1%} and {quartiles[2]:.1%}, at most {max(shares):.1%}; the whole "
        f"program, Python's start and reading included: median {statistics.median(programs):.1%}.",
        f"- Solving with / without a certificate: geometric mean "
        f"{statistics.geometric_mean(costs):.2f}, median {statistics.median(costs):.2f}, at most "
        f"{max(costs):.2f} ({dearest['dataset']} {dearest['set']}); {len(both)} sets.",
        f"- The largest certificate: {int(largest['bytes']) / 1e6:.2f} MB ({largest['dataset']} "
        f"{largest['set']}, {largest['blocks']} blocks, {largest['nodes']} nodes).",
        "",
    ]
    head = ("data set", "sets", "blocks", "nodes", "solved", "verified", "solving s", "checking s")
    head += ("checking / solving", "certified / plain", "largest MB")
    table = []
    for dataset in dict.fromkeys(row["dataset"] for row in found):
        mine = [row for row in found if row["dataset"] == dataset]
        ended = [row for row in mine if row["status"] == "optimal"]
        if not ended:
            continue
        table.append(
            (
                dataset,
                str(len(mine)),
                _span([int(row["blocks"]) for row in mine]),
                _span([int(row["nodes"]) for row in mine]),
                str(len(ended)),
                str(sum(row["verdict"] == "optimal" for row in ended)),
                f"{statistics.median(float(row['seconds']) for row in ended):.2f}",
                f"{statistics.median(float(row['checking']) for row in ended):.3f}",
                f"{statistics.median(_ratio(row, 'checking', 'seconds') for row in ended):.1%}",
                _geometric(ended),
                f"{max(int(row['bytes']) for row in mine) / 1e6:.2f}",
            )
        )
    note = "Medians per data set.\n"
    machine = ", ".join(sorted({row["machine"] for row in found}))
    lines = [HEAD, f"Measured on {machine}, beside other work.\n", *lines]
    lines += [note, *rows.markdown(head, table)]
    return "\n".join([*lines, *_map_report(maps)] if maps else lines) + "\n"


MAPS_HEAD = """
## Places in the plane

Sets of the travelling salesman library, clustered by column generation
(`scripts/benchmark_certificates.py --maps`), without links and with a must-link and a cannot-link
for every ten places. The checker proves prices by a search over
[boxes of places](certificates.md#evidence).
"""


def _map_report(found: list[Row]) -> list[str]:
    head = ("data set", "set", "blocks", "nodes", "solving", "gap", "verified")
    head += ("plain s", "certified s", "checking s", "kB")
    table = [
        (
            row["dataset"],
            row["set"],
            row["blocks"],
            row["nodes"],
            row["status"],
            f"{float(row['gap']):.1e}",
            row["verdict"],
            f"{float(row['plain_cpu']):.1f}",
            f"{float(row['cpu']):.1f}",
            f"{float(row['checking']):.2f}",
            f"{int(row['bytes']) / 1e3:.1f}",
        )
        for row in found
    ]
    note = "Plain and certified seconds are the processor's; the time limit is that of the row.\n"
    return [MAPS_HEAD, note, *rows.markdown(head, table)]


def _ratio(row: Row, above: str, below: str) -> float:
    return float(row[above]) / float(row[below])


def _geometric(ended: list[Row]) -> str:
    both = [row for row in ended if row["plain_status"] == "optimal"]
    if not both:
        return "-"
    return f"{statistics.geometric_mean(_ratio(row, 'cpu', 'plain_cpu') for row in both):.2f}"


def _span(values: list[int]) -> str:
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low}-{high}"


def _cases(arguments: argparse.Namespace) -> Sequence[Task | Case]:
    datasets = [name for name in arguments.datasets.split(",") if name]
    if arguments.maps:
        if not PLACES.is_dir():
            print(f"SKIPPED: {PLACES} is not there")
            return []
        return map_cases(datasets)
    datasets = datasets or sorted(path.name for path in (DATA / "constraints").iterdir())
    return find_tasks(DATA, datasets, [int(seed) for seed in arguments.seeds.split(",")])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "certificates.csv")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--datasets", default="", help="separated by commas; all without")
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--sample", type=int, default=1, help="only every so many sets")
    parser.add_argument("--time-limit", type=float, default=120.0)
    parser.add_argument("--gap", type=float, default=1e-4)
    parser.add_argument("--bounding", help="colgen for maps, else hybrid, if it is not given")
    parser.add_argument("--maps", action="store_true", help="places in the plane")
    parser.add_argument("--solve-one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.solve_one:
        kind, values, folder, options = json.loads(arguments.solve_one)
        case = (Task if kind == "Task" else Case)(*values)
        print(json.dumps(solve_one(case, Path(folder), options)))
        return
    cases = _cases(arguments)[:: arguments.sample]
    known = {(row["dataset"], row["set"]) for row in rows.read(arguments.out)}
    options = {
        "gap": arguments.gap,
        "time_limit": arguments.time_limit,
        "bounding": arguments.bounding or ("colgen" if arguments.maps else "hybrid"),
    }
    for case in cases:
        if (data_of(case), name_of(case)) in known:
            continue
        row = {"dataset": data_of(case), "set": name_of(case)} | measured(case, options)
        row |= {
            "gap_tolerance": arguments.gap,
            "bounding": options["bounding"],
            "time_limit": arguments.time_limit,
            "machine": cpu_name(),
            "date": datetime.now(UTC).date().isoformat(),
        }
        rows.append(arguments.out, FIELDS, row)
        print(
            f"{data_of(case):<14} {name_of(case):<20} {row['status']:<9} {row['nodes']:>4} nodes "
            f"{row['plain_cpu']:8.2f} s {row['cpu']:8.2f} s, checked in {row['checking']:.3f} s: "
            f"{row['verdict']}, {row['bytes'] / 1e6:.2f} MB",
            flush=True,
        )
    if arguments.report:
        arguments.report.write_text(report(rows.read(arguments.out)), encoding="utf-8")


if __name__ == "__main__":
    main()
