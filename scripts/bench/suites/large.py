"""Gap over time of data of 569 to 7,050 points.

scikit-learn's breast cancer and digits data, with n / 2 constraints each drawn from their labels,
half of them must-links and half cannot-links, between distinct random pairs; and abalone and
facebook without constraints, if the folder of published data has them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
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
CLUSTERS = {"abalone": 3, "facebook": 3}
KEY = "name"
COLUMNS = "n blocks k seconds lower upper gap status peak_rss_mib"
OPTIONS = {"time_limit": 7200.0, "workers": 2}
PROVEN = 1e-4


def cases(options: Options) -> list[Case]:
    published = [name for name in CLUSTERS if (options.data / "avoc" / f"{name}.txt").exists()]
    return [{"name": name} for name in (*LABELLED, *published)]


def measure(options: Options, name: str) -> Iterator[dict[str, Any]]:
    warm_up()
    if name in CLUSTERS:
        instance = sdpbb.read_instance(options.data / "avoc" / f"{name}.txt", CLUSTERS[name])
    else:
        instance = constrained(name)
    parameters = sdpbb.SolverParameters(time_limit=options.time_limit, workers=options.workers)
    return traced(instance, parameters)


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
