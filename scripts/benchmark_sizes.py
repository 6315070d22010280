"""Sizes of clusters: proofs on published sets, and searches beside k-means-constrained.

    python scripts/benchmark_sizes.py proofs --data ../shared/data --out docs/sizes.csv
    python scripts/benchmark_sizes.py proofs pairs --workers 2 --data ../shared/data --out ...
    python scripts/benchmark_sizes.py proofs equal balanced --workers 2 --data ... --out ...
    python scripts/benchmark_sizes.py proofs plane clouds --data ../shared/data --out ...
    python scripts/benchmark_sizes.py proofs large --workers 2 --data ../shared/data --out ...
    python scripts/benchmark_sizes.py proofs page --workers 2 --out docs/balanced.csv
    python scripts/benchmark_sizes.py proofs page --table docs/balanced.csv
    python scripts/benchmark_sizes.py searches --out docs/sizes_searches.csv
    python scripts/benchmark_sizes.py searches 1000 --out docs/sizes_searches.csv
    python scripts/benchmark_sizes.py proofs --table docs/sizes.csv

`proofs` solves, with one worker unless told otherwise: iris in clusters of 50 points; the time
series of CCMSSC (RiNNAL+) in clusters of the sizes of their classes; the data sets of PC-SOS-SDP
with the smallest of their mixed constraint sets and ceil(n / 2k) to floor(2n / k) points in each
cluster; and, if they are named, `equal`: the time series in clusters of equal sizes; `hundreds`:
500 points of five blobs of 80 to 120, in clusters of 100 and of 90 to 110; `balanced`: the sets of
PC-SOS-SDP in clusters of equal sizes, without pairs and with 25 must-links and 25 cannot-links, the
first ones of the set of pairs above; `plane`: points in the plane with limits that bind, as those
of the searches, where blobs are unequal, and as the clouds of `benchmark_places.py`, which are not;
`clouds`: 20,000 points of ten unequal blobs in the plane, at most 2,200 in each cluster; `page`:
the groups of docs/how-to/balanced.md in clusters of n / k points, and of a tenth less to a tenth
more, by the default bound, and those in two dimensions by the semidefinite one, too, which needs no
data and is named alone; and `large`: 20,000 points of ten blobs in five dimensions, at most 2,200
in each cluster, to a gap of 1 %. `searches` runs `best-of` and k-means-constrained, each from the
same number of sets of k-means++ centres, on points in the plane, of the numbers that are named or
all, in clusters of n / k points, or of up to a tenth or a half more or less. Rows are appended as
soon as they are there; what has one of so many workers is not run again.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import rows
from benchmark_places import clouds
from numpy.typing import NDArray

import sdpbb
from sdpbb.problem import Instance, Partition
from sdpbb.run.kernels import compile_method

PROOF_FIELDS = (
    *("suite", "name", "set", "workers", "n", "k", "least", "most", "sizes", "status"),
    "objective",
    *("lower_bound", "gap", "root_gap", "nodes", "seconds", "cpu_seconds", "load"),
)
SEARCH_FIELDS = (
    *("name", "n", "k", "least", "most", "seed", "starts", "method", "objective"),
    *("seconds", "cpu_seconds", "load"),
)
SERIES = ("BME", "Trace", "PowerCons", "ECGFiveDays", "InsectEPGSmallTrain", "Strawberry")
LIMITS = {
    "iris": 60.0,
    "series": 120.0,
    "pairs": 60.0,
    "equal": 300.0,
    "hundreds": 20.0,
    "balanced": 60.0,
    "plane": 120.0,
    "clouds": 600.0,
    "page": 30.0,
    "page sdp": 30.0,
    "large": 600.0,
}
"""Seconds of a run of each suite."""
GAPS = {"large": 1e-2}
"""Gaps of the suites that are not proven to that of the parameters."""
LARGE = ("large", "blobs", "")
ON_DEMAND = ("equal", "hundreds", "balanced", "plane", "clouds", "large")
"""Suites that are run where they are named only."""
PAGE = [(n, k, d) for n, k in ((200, 5), (1_000, 5), (10_000, 10)) for d in (2, 8)]
"""Rows, clusters and columns of the groups of the page on balanced clusters."""
EXACTLY, NEARLY = "n / k", "10 %"
"""Limits of these."""
PAGE_SDP = "page sdp"
"""Suite of few columns by the semidefinite bound alone."""
FEW = 25
"""Must-links, and cannot-links, of a balanced set with pairs."""
SEARCHES = [
    (n, k, share) for n, k in ((5_000, 10), (1_000, 5), (1_000, 20)) for share in (0.1, 0, 0.5)
]
"""Points, clusters, and the part of n / k by which sizes may differ from that."""
SHAPES = ("blobs", "uniform")
OURS, THEIRS = "best-of", "k-means-constrained"
# Costs that differ by less than this part are the same.
EQUAL = 1e-9
Case = tuple[str, str, str]
"""Suite, name, and constraint set of a proof."""
PLANE: dict[Case, tuple[str, int, int, int, int]] = {
    (suite, f"{shape} {n}", f"{least} to {most}"): (shape, n, k, least, most)
    for suite, shape, n, k, least, most in (
        ("plane", "clouds", 500, 5, 100, 100),
        ("plane", "clouds", 500, 5, 90, 110),
        ("plane", "clouds", 800, 10, 1, 88),
        ("plane", "blobs", 500, 5, 100, 100),
        ("plane", "blobs", 500, 5, 90, 110),
        ("plane", "uniform", 2_000, 20, 1, 110),
        ("clouds", "blobs", 20_000, 10, 1, 2_200),
    )
}
"""Proofs in the plane: shape, points, clusters, and the least and the largest size."""


def page_cases() -> list[Case]:
    """Return the proofs of the page on balanced clusters, by their rows and columns."""
    return [
        (suite, f"{n} {d}", limits)
        for suite in ("page", PAGE_SDP)
        for n, _, d in PAGE
        if suite == "page" or (d == 2 and n <= 1_000)
        for limits in (EXACTLY, NEARLY)
    ]


def cases(data: Path) -> list[Case]:
    """Return the proofs to do, the quick ones first, and the large one last."""
    sets = []
    for path in sorted((data / "pc-sos-sdp" / "constraints").iterdir()):
        mixed = [f for f in path.glob("ml_*_cl_*_*.txt") if f.stem.split("_")[1] != "0"]
        counts = sorted({int(f.stem.split("_")[1]) for f in mixed if f.stem.split("_")[3] != "0"})
        least = counts[0]
        sets += [(path.name, f.stem) for f in mixed if f.stem.startswith(f"ml_{least}_cl_{least}_")]
    # The first set of each before the second of any.
    pairs = [("pairs", *each) for each in sorted(sets, key=lambda s: (s[1][-1], s[0]))]
    series = [(suite, name, "") for suite in ("series", "equal") for name in SERIES]
    blobs = [("hundreds", "five blobs", limits) for limits in ("100", "90 to 110")]
    first = [each for each in pairs if each[2].endswith("_0")]
    balanced = [("balanced", name, of) for _, name, chosen in first for of in ("", chosen)]
    return [
        ("iris", "iris", ""),
        *pairs,
        *series,
        ("equal", "UMD", ""),
        *blobs,
        *balanced,
        *PLANE,
        LARGE,
    ]


def instance_of(data: Path, case: Case) -> Instance:
    """Return the instance of a proof."""
    suite, name, constraint_set = case
    if case == LARGE:
        from sklearn.datasets import make_blobs

        points, _ = make_blobs(20_000, 5, centers=10, cluster_std=2.0, random_state=0)
        return Instance(points, 10, name=name, max_size=2_200)
    if case in PLANE:
        shape, n, k, least, most = PLANE[case]
        points = clouds(n, 2, k, 1.0)[0] if shape == "clouds" else points_of(shape, n, k, 0)
        return Instance(points, k, name=name, min_size=least, max_size=most)
    if suite in ("page", PAGE_SDP):
        return _of_page(name, constraint_set)
    if suite == "hundreds":
        return _of_blobs(constraint_set)
    if suite in ("series", "equal"):
        with open(data / "ccmssc" / f"{name}.txt", encoding="utf-8") as file:
            k = int(file.readline().split()[2])
            points = np.loadtxt(file)
        if suite == "equal":
            return _balanced(Instance(points, k, name=name))
        classes = np.loadtxt(data / "ccmssc" / f"{name}_labels.txt", dtype=int)
        return Instance(points, k, name=name, sizes=np.bincount(classes).tolist())
    folder = data / "pc-sos-sdp"
    points = folder / "datasets" / f"{name}.txt"
    if suite == "iris":
        plain = Instance.from_files(points)
        return Instance(plain.points, 3, name=name, sizes=[50, 50, 50])
    if suite == "balanced" and not constraint_set:
        return _balanced(replace(Instance.from_files(points), name=name))
    pairs = folder / "constraints" / name / f"{constraint_set}.txt"
    read = Instance.from_files(points, constraints=pairs)
    if suite == "balanced":
        few = replace(read, must_link=read.must_link[:FEW], cannot_link=read.cannot_link[:FEW])
        return _balanced(replace(few, name=name))
    n, k = read.n_points, read.k
    return Instance(
        read.points,
        k,
        read.must_link,
        read.cannot_link,
        name,
        min_size=-(-n // (2 * k)),
        max_size=2 * n // k,
    )


def _balanced(instance: Instance) -> Instance:
    """Return an instance with clusters of equal sizes, as far as they can be."""
    n, k = instance.n_points, instance.k
    return replace(instance, min_size=n // k, max_size=-(-n // k))


def groups(n: int, k: int, d: int) -> NDArray[np.float64]:
    """Return rows (n, d) of k groups of unequal sizes, as docs/how-to/balanced.md draws them."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(k, 5.0))
    centres = rng.uniform(0.0, 10.0, size=(k, d))
    return centres[rng.choice(k, n, p=shares)] + rng.normal(size=(n, d))


def _of_page(name: str, limits: str) -> Instance:
    """Return the instance of the page on balanced clusters that has so many rows and columns."""
    n, k, d = next(each for each in PAGE if f"{each[0]} {each[2]}" == name)
    apart = n // (10 * k) if limits == NEARLY else 0
    least, most = n // k - apart, n // k + apart
    return Instance(groups(n, k, d), k, name=name, min_size=least, max_size=most)


def _of_blobs(limits: str) -> Instance:
    """Return 500 points of blobs of unequal sizes in eight dimensions."""
    from sklearn.datasets import make_blobs

    sizes = [80, 90, 100, 110, 120]
    points, _ = make_blobs(sizes, n_features=8, cluster_std=2.0, random_state=1)
    least, most = (100, 100) if limits == "100" else (90, 110)
    return Instance(points, 5, name="five blobs", min_size=least, max_size=most)


def measured(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Return what work returns, and its times; the load is that of the last minute."""
    began, cpu = time.perf_counter(), os.times()
    outcome = work()
    spent = os.times()
    used = sum(spent[:4]) - sum(cpu[:4])
    seconds = time.perf_counter() - began
    load = round(os.getloadavg()[0], 1)
    return outcome, {"seconds": round(seconds, 2), "cpu_seconds": round(used, 2), "load": load}


def prove(data: Path, case: Case, workers: int, seconds: float) -> dict[str, Any]:
    """Solve, and return the row."""
    instance = instance_of(data, case)
    parameters = sdpbb.SolverParameters(workers=workers, time_limit=seconds)
    if case[0] in GAPS:
        parameters = replace(parameters, gap=GAPS[case[0]])
    if case[0] == PAGE_SDP:
        parameters = replace(parameters, bounding="sdp")
    result, times = measured(lambda: sdpbb.solve(instance, parameters))
    limits = instance.size_limits
    return {
        **dict(zip(("suite", "name", "set"), case, strict=True)),
        "workers": workers,
        "n": instance.n_points,
        "k": instance.k,
        "least": limits.least,
        "most": limits.most,
        "sizes": "/".join(map(str, limits.listed or ())),
        "status": result.status.value,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "root_gap": result.statistics.root_gap,
        "nodes": result.statistics.n_nodes,
        **times,
    }


def run_proofs(
    wanted: list[Case], data: Path, out: Path, workers: int, seconds: float | None
) -> None:
    """Do the proofs that are wanted and have no row yet, with kernels compiled before."""
    compile_method("hybrid")
    small = Instance(np.arange(12.0)[:, None] ** 2, 3, sizes=[4, 4, 4])
    sdpbb.solve(small, sdpbb.SolverParameters(workers=1))
    done = {
        (row["suite"], row["name"], row["set"])
        for row in rows.read(out)
        if row["workers"] == str(workers)
    }
    for case in wanted:
        if case in done:
            continue
        limit = LIMITS[case[0]] if seconds is None else seconds
        row = prove(data, case, workers, limit)
        rows.append(out, PROOF_FIELDS, row)
        keys = ("name", "set", "status", "objective", "gap", "nodes", "seconds", "cpu_seconds")
        print(*(f"{key} {row[key]}" for key in keys), sep=", ", flush=True)


def points_of(shape: str, n: int, k: int, seed: int) -> NDArray[np.float64]:
    """Return points (n, 2): k blobs of unequal sizes, or uniform ones."""
    rng = np.random.default_rng([seed, SHAPES.index(shape)])
    if shape == "uniform":
        return rng.uniform(size=(n, 2))
    shares = rng.dirichlet(np.full(k, 5.0))
    centres = rng.uniform(0.0, 10.0, size=(k, 2))
    return centres[rng.choice(k, n, p=shares)] + rng.normal(size=(n, 2))


def searched_by_ours(instance: Instance, seed: int, starts: int) -> NDArray[np.intp]:
    """Return the labels of one run of `best-of`."""
    return sdpbb.heuristic(OURS, n_runs=1, n_starts=starts).run(instance, seed).labels


def searched_by_theirs(instance: Instance, seed: int, starts: int) -> NDArray[np.intp]:
    """Return the labels of k-means-constrained."""
    from k_means_constrained import KMeansConstrained

    limits = instance.size_limits
    found = KMeansConstrained(
        instance.k,
        size_min=limits.least,
        size_max=limits.most,
        n_init=starts,
        random_state=seed,
        n_jobs=1,
    )
    return found.fit_predict(instance.points)


def run_searches(out: Path, names: list[str], seeds: int, starts: int) -> None:
    """Run both searches on each draw, in turn, where there is no row yet."""
    methods = {OURS: searched_by_ours, THEIRS: searched_by_theirs}
    try:
        version(THEIRS)
    except PackageNotFoundError:
        print(f"{THEIRS}: SKIPPED, it is not installed")
        del methods[THEIRS]
    keys = ("name", "n", "k", "least", "most", "seed", "starts", "method")
    done = {tuple(row[key] for key in keys) for row in rows.read(out)}
    searched_by_ours(Instance(np.arange(40.0)[:, None] ** 2, 10, min_size=3, max_size=5), 0, 1)
    for (n, k, share), seed, shape in product(SEARCHES, range(seeds), SHAPES):
        if names and str(n) not in names:
            continue
        least, most = math.floor(n / k * (1 - share)), math.ceil(n / k * (1 + share))
        points = points_of(shape, n, k, seed)
        instance = Instance(points, k, name=shape, min_size=least, max_size=most)
        for name, method in methods.items():
            case = dict(zip(keys, (shape, n, k, least, most, seed, starts, name), strict=True))
            if tuple(map(str, case.values())) in done:
                continue
            labels, times = measured(partial(method, instance, seed, starts))
            assert instance.size_limits.keeps(np.bincount(labels))
            row = case | {"objective": Partition(labels).cost(instance), **times}
            rows.append(out, SEARCH_FIELDS, row)
            print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)


def reference(path: Path) -> dict[str, tuple[float, float]]:
    """Return published objectives (halved, as here) and seconds by name; none without the file."""
    if not path.exists():
        return {}
    with open(path, newline="", encoding="utf-8") as file:
        return {
            row["instance"]: (float(row["rinnal_objective_half"]), float(row["rinnal_seconds"]))
            for row in csv.DictReader(file)
        }


def proof_table(measurements: list[rows.Row], known: dict[str, tuple[float, float]]) -> list[str]:
    """Return the table of the proofs."""
    lines = []
    for row in measurements:
        is_solved = row["status"] in ("optimal", "infeasible") and row["suite"] not in GAPS
        published, seconds = known.get(row["name"], (None, None))
        if row["suite"] != "series":
            published = seconds = None
        lines.append(
            [
                f"{row['name']} {row['set']}".strip(),
                *(row["n"], row["k"], row["sizes"] or f"{row['least']} to {row['most']}"),
                f"{float(row['objective']):.8g}" if row["objective"] else "-",
                row["status"] if is_solved else f"gap {float(row['gap']):.1e}",
                *(row["workers"], row["nodes"], row["seconds"], row["cpu_seconds"]),
                *("" if value is None else f"{value:.8g}" for value in (published, seconds)),
            ]
        )
    head = ["set", "n", "k", "sizes", "cost", "proven", "workers", "nodes", "s", "CPU s"]
    return rows.markdown([*head, "RiNNAL+", "its s"], lines)


def search_table(measurements: list[rows.Row]) -> list[str]:
    """Return the table of the searches: all draws of a shape and of limits in one line."""
    draws: dict[tuple[str, ...], dict[str, dict[str, rows.Row]]] = {}
    for row in measurements:
        group = tuple(row[key] for key in ("name", "n", "k", "least", "most", "starts"))
        draws.setdefault(group, {}).setdefault(row["seed"], {})[row["method"]] = row
    lines = []
    for (name, n, k, least, most, _), of_seed in draws.items():
        both = [of_method for of_method in of_seed.values() if len(of_method) == 2]
        if not both:
            continue
        excess, ratios = (
            [float(each[OURS][key]) / float(each[THEIRS][key]) for each in both]
            for key in ("objective", "cpu_seconds")
        )
        lines.append(
            [
                *(name, n, k, f"{least} to {most}" if least != most else least, str(len(both))),
                str(sum(each > 1 + EQUAL for each in excess)),
                f"{100 * (min(excess) - 1):+.3f} to {100 * (max(excess) - 1):+.3f} %",
                f"{sum(float(each[THEIRS]['cpu_seconds']) for each in both) / len(both):.1f}",
                f"{min(ratios):.2f} to {max(ratios):.2f}",
            ]
        )
    head = ["points", "n", "k", "sizes", "draws", "worse", "cost", "its CPU s", "CPU"]
    return rows.markdown(head, lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["proofs", "searches"])
    parser.add_argument(
        "names", nargs="*", help="suites, sets, numbers of points; else all but large"
    )
    parser.add_argument("--data", type=Path, help="folder of pc-sos-sdp and ccmssc")
    parser.add_argument("--reference", type=Path, help="published results on ccmssc, for the table")
    parser.add_argument("--out", type=Path, help="file of rows, which are added")
    parser.add_argument("--table", type=Path, help="file of rows: print their table, run nothing")
    parser.add_argument("--workers", type=int, default=1, help="processes of a proof")
    parser.add_argument("--seconds", type=float, help="time limit of a proof; else by its suite")
    parser.add_argument("--seeds", type=int, default=6, help="draws of points of the searches")
    parser.add_argument("--starts", type=int, default=10, help="sets of centres of the searches")
    given = parser.parse_intermixed_args()
    if given.table is not None:
        found = rows.read(given.table)
        is_proof = given.what == "proofs"
        known = reference(given.reference) if given.reference else {}
        print("\n".join(proof_table(found, known) if is_proof else search_table(found)))
    elif given.out is None:
        parser.error("expected --out")
    elif given.what == "searches":
        run_searches(given.out, given.names, given.seeds, given.starts)
    elif given.names == ["page"]:  # of no data that are read
        run_proofs(page_cases(), Path(), given.out, given.workers, given.seconds)
    elif given.data is None or not given.data.is_dir():
        print(f"proofs: SKIPPED, there is no {given.data}")
    else:
        wanted = [
            case
            for case in cases(given.data)
            if ({*case} & {*given.names} if given.names else case[0] not in ON_DEMAND)
        ]
        run_proofs(wanted, given.data, given.out, given.workers, given.seconds)


if __name__ == "__main__":
    main()
