"""Proofs with limits on the sizes of clusters, where they hardly bind and where they do.

iris      iris in clusters of 50 points
pairs     data sets of PC-SOS-SDP with the smallest of their mixed constraint sets, and
          ceil(n / 2k) to floor(2n / k) points in each cluster
series    time series of CCMSSC (RiNNAL+) in clusters of the sizes of their classes
equal     the time series in clusters of equal sizes
balanced  data sets of PC-SOS-SDP in clusters of equal sizes, without pairs and with 25 must-links
          and 25 cannot-links, the first ones of the set of pairs above
hundreds  500 points of five blobs of 80 to 120, in clusters of 100 and of 90 to 110
plane     points in the plane with limits that bind: blobs are unequal, clouds are not
clouds    20,000 points of ten unequal blobs in the plane, at most 2,200 in each cluster
page      groups of docs/how-to/sizes.md in clusters of n / k points, and of a tenth less to a
          tenth more; those of few columns by the semidefinite bound alone, too ("page sdp")
large     20,000 points of ten blobs in five dimensions, at most 2,200 in each cluster

Those of iris, series and pairs are run, and others if they are named (`--only equal hundreds
balanced plane`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_blobs

import sdpbb
from scripts.bench import rows
from scripts.bench.data import published_instance, reference, unequal_groups
from scripts.bench.measuring import solved, warm_up
from scripts.bench.suite import SOLVED, Case, Options
from scripts.bench.tables import Cell, each, span, value, values
from scripts.bench.tables import table as table_of
from sdpbb.problem import Instance

KEY = "suite name set workers"
COLUMNS = """n k least most sizes status objective lower_bound gap root_gap nodes seconds
    cpu_seconds load"""
OPTIONS = {"time_limit": None, "workers": 1}
ONLY = ("iris", "series", "pairs")
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
"""Seconds of a run of each group."""
GAPS = {"large": 1e-2}
"""Gaps of the groups that are not proven to that of the parameters."""

SizeCase = tuple[str, str, str]
"""Suite, name, and constraint set or limits."""
SERIES = ("BME", "Trace", "PowerCons", "ECGFiveDays", "InsectEPGSmallTrain", "Strawberry")
LARGE: SizeCase = ("large", "blobs", "")
PAGE = [(n, k, d) for n, k in ((200, 5), (1_000, 5), (10_000, 10)) for d in (2, 8)]
"""Rows, clusters and columns of the groups of the page on balanced clusters."""
EXACTLY, NEARLY = "n / k", "10 %"
PAGES = ("page", "page sdp")
"""Groups of the page by the default bound, and by the semidefinite one alone."""
BINDING = ("equal", "hundreds", "balanced", "plane")
FEW = 25
SHAPES = ("blobs", "uniform")
PLANE: dict[SizeCase, tuple[str, int, int, int, int]] = {
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
"""Shape, points, clusters, and the least and the largest size."""


def cases(options: Options) -> list[Case]:
    found = size_cases(options.data)
    return [dict(zip(KEY.split(), (*one, options.workers), strict=True)) for one in found]


def measure(options: Options, suite: str, name: str, set: str, workers: int) -> dict[str, Any]:
    warm_up(min_size=3, max_size=6)
    instance = instance_of(options.data, (suite, name, set))
    limit = options.time_limit or LIMITS[suite]
    parameters = sdpbb.SolverParameters(workers=workers, time_limit=limit)
    if suite in GAPS:
        parameters = replace(parameters, gap=GAPS[suite])
    if suite == PAGES[1]:
        parameters = replace(parameters, bounding="sdp")
    limits = instance.size_limits
    assert limits is not None
    return {
        "least": limits.least,
        "most": limits.most,
        "sizes": "/".join(map(str, limits.listed or ())),
        **solved(instance, parameters)[1],
    }


def size_cases(data: Path) -> list[SizeCase]:
    """Return the cases, the quick ones first."""
    page = [
        (suite, f"{n} {d}", limits)
        for suite in PAGES
        for n, _, d in PAGE
        if suite == PAGES[0] or (d == 2 and n <= 1_000)
        for limits in (EXACTLY, NEARLY)
    ]
    if not (data / "ccmssc").is_dir():
        return [*page, *PLANE, LARGE]
    sets = []
    for path in sorted((data / "pc-sos-sdp" / "constraints").iterdir()):
        mixed = [f for f in path.glob("ml_*_cl_*_*.txt") if f.stem.split("_")[1] != "0"]
        least = min(int(f.stem.split("_")[1]) for f in mixed if f.stem.split("_")[3] != "0")
        sets += [(path.name, f.stem) for f in mixed if f.stem.startswith(f"ml_{least}_cl_{least}_")]
    # The first set of each before the second of any.
    pairs = [("pairs", *each) for each in sorted(sets, key=lambda s: (s[1][-1], s[0]))]
    first = [each for each in pairs if each[2].endswith("_0")]
    return [
        ("iris", "iris", ""),
        *pairs,
        *((suite, name, "") for suite in ("series", "equal") for name in SERIES),
        ("equal", "UMD", ""),
        *(("hundreds", "five blobs", limits) for limits in ("100", "90 to 110")),
        *(("balanced", name, chosen) for _, name, pair in first for chosen in ("", pair)),
        *page,
        *PLANE,
        LARGE,
    ]


def instance_of(data: Path, case: SizeCase) -> Instance:
    """Return the instance of a case."""
    suite, name, limits = case
    if case == LARGE:
        points, _ = make_blobs(20_000, 5, centers=10, cluster_std=2.0, random_state=0)
        return Instance(points, 10, name=name, max_size=2_200)
    if case in PLANE:
        shape, n, k, least, most = PLANE[case]
        points = clouds(n, k) if shape == "clouds" else points_of(shape, n, k, 0)
        return Instance(points, k, name=name, min_size=least, max_size=most)
    if suite in PAGES:
        n, k, d = next(each for each in PAGE if f"{each[0]} {each[2]}" == name)
        points = unequal_groups(np.random.default_rng(0), n, k, d)
        apart = n // (10 * k) if limits == NEARLY else 0
        return Instance(points, k, name=name, min_size=n // k - apart, max_size=n // k + apart)
    if suite == "hundreds":
        sizes = [80, 90, 100, 110, 120]
        points, _ = make_blobs(sizes, n_features=8, cluster_std=2.0, random_state=1)
        least, most = (100, 100) if limits == "100" else (90, 110)
        return Instance(points, 5, name=name, min_size=least, max_size=most)
    if suite in ("series", "equal"):
        return _series(data / "ccmssc", name, suite == "equal")
    if suite == "iris":
        plain = published_instance(data, name)
        return Instance(plain.points, 3, name=name, sizes=[50, 50, 50])
    read = replace(published_instance(data, name, limits or None), name=name)
    if suite == "balanced":
        pairs = {
            "must_link": read.must_link[:FEW],
            "cannot_link": read.cannot_link[:FEW],
        }
        return balanced(replace(read, **pairs))
    n, k = read.n_points, read.k
    return replace(read, min_size=-(-n // (2 * k)), max_size=2 * n // k)


def _series(folder: Path, name: str, is_equal: bool) -> Instance:
    with open(folder / f"{name}.txt", encoding="utf-8") as file:
        k = int(file.readline().split()[2])
        points = np.loadtxt(file)
    if is_equal:
        return balanced(Instance(points, k, name=name))
    classes = np.loadtxt(folder / f"{name}_labels.txt", dtype=int)
    return Instance(points, k, name=name, sizes=np.bincount(classes).tolist())


def balanced(instance: Instance) -> Instance:
    """Return an instance with clusters of equal sizes, as far as they can be."""
    n, k = instance.n_points, instance.k
    return replace(instance, min_size=n // k, max_size=-(-n // k))


def points_of(shape: str, n: int, k: int, seed: int) -> NDArray[np.float64]:
    """Return points (n, 2): k blobs of unequal sizes, or uniform ones."""
    rng = np.random.default_rng([seed, SHAPES.index(shape)])
    return rng.uniform(size=(n, 2)) if shape == "uniform" else unequal_groups(rng, n, k, 2)


def clouds(n: int, k: int) -> NDArray[np.float64]:
    """Return points (n, 2) of normal clouds of about equal sizes in a box of side 10."""
    rng = np.random.default_rng(0)
    centres, labels = rng.uniform(0.0, 10.0, (k, 2)), rng.integers(0, k, n)
    return centres[labels] + rng.normal(size=(n, 2))


def table(known: list[rows.Row], options: Options) -> list[str]:
    """Return the proofs, time series beside published values (halved, as here) and seconds."""
    published = {row["instance"]: row for row in reference(options.data, "ccmssc_reference.csv")}

    def theirs(column: str) -> Cell:
        def cell(own: list[rows.Row]) -> str:
            found = published.get(own[0]["name"]) if own[0]["suite"] == "series" else None
            return f"{float(found[column]):.8g}" if found else ""

        return cell

    columns: dict[str, Cell] = {
        **INSTANCE,
        "proven": proven,
        **values("workers", "nodes"),
        "s": lambda own: round(float(own[0]["seconds"]), 2),
        "CPU s": lambda own: round(float(own[0]["cpu_seconds"]), 2),
        "RiNNAL+": theirs("rinnal_objective_half"),
        "its s": theirs("rinnal_seconds"),
    }
    return table_of(each(row for row in known if row["suite"] not in (*BINDING, *PAGES)), columns)


def binding(known: list[rows.Row], options: Options) -> list[str]:
    """Return the proofs where limits bind."""
    columns: dict[str, Cell] = {
        **INSTANCE,
        "root gap": value("root_gap", ".1e"),
        "proven": proven,
        "nodes": value("nodes"),
        "s": value("seconds", ".1f"),
    }
    return table_of(each(row for row in known if row["suite"] in BINDING), columns)


def page(known: list[rows.Row], options: Options) -> list[str]:
    """Return the groups of the page on balanced clusters, by the default and by semidefinite."""

    def outcome(suite: str) -> Cell:
        def cell(own: list[rows.Row]) -> str:
            for row in rows.chosen(own, suite=suite):
                if row["status"] in SOLVED:
                    return f"proven in {float(row['seconds']):.1f} s"
                return f"{100 * float(row['gap']):.2g} %"
            return ""

        return cell

    columns: dict[str, Cell] = {
        "rows": value("n", ",.0f"),
        "columns": lambda own: own[0]["name"].split()[1],
        "k": value("k"),
        "sizes": sizes,
        "gap after 30 s": outcome(PAGES[0]),
        "by `--bounding sdp`": outcome(PAGES[1]),
    }
    of_page = [row for row in known if row["suite"] in PAGES]
    return table_of(rows.grouped(of_page, "name", "set").values(), columns, text=())


def sizes(own: list[rows.Row]) -> str:
    """Return the listed sizes of a row, or their limits."""
    return own[0]["sizes"] or span(float(own[0][limit]) for limit in ("least", "most"))


def proven(own: list[rows.Row]) -> str:
    """Return the status of a row, or its gap."""
    is_solved = own[0]["status"] in SOLVED and own[0]["suite"] not in GAPS
    return own[0]["status"] if is_solved else f"gap {float(own[0]['gap']):.1e}"


INSTANCE: dict[str, Cell] = {
    "set": lambda own: f"{own[0]['name']} {own[0]['set']}".strip(),
    **values("n", "k"),
    "sizes": sizes,
    "cost": value("objective", ".8g"),
}
TABLES = {"proofs": table, "proofs binding": binding, "proofs page": page}
