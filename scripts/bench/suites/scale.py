"""Gaps of data of 4,177 to 1,000,000 points within limits of time.

The published sets begin with their given labels, where nothing is added; "+" has 1,000 must-links
and 1,000 cannot-links between random pairs, drawn from these labels. Clouds are scikit-learn's
`make_blobs`, with constraints drawn from the clouds; china is its picture, whose pixels are points
(r, g, b). The memory is that of all processes of a run together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sdpbb
from scripts.bench import rows
from scripts.bench.measuring import warm_up
from scripts.bench.suite import Case, Options
from scripts.bench.suites.large import COLUMNS as TRACED
from scripts.bench.suites.large import gap_curves, table, traced
from scripts.bench.tables import draw

KEY = "name first workers"
COLUMNS = f"must_links cannot_links time_limit {TRACED}"
OPTIONS = {"time_limit": None, "workers": 2, "first": "auto"}
# Clouds in 10 dimensions, of 10,000 to 1,000,000 points.
FAMILY = ("blobs_10000_10", "blobs_100000_10", "blobs_1000000")
# Least fall of a gap that is a row of its own.
FALL = 0.98
Labelled = tuple[NDArray[np.float64], NDArray[np.intp]]


@dataclass(frozen=True)
class LimitedData:
    """Data, and the limits of their run.

    make : returns points (n, d) and labels (n,) of the folder of published sets
    k : number of clusters
    minutes : the limit of time
    gap : asked for
    n_must_link, n_cannot_link : constraints drawn from the labels
    has_start : whether the run begins with the labels
    file : of published data, which may not be there
    mebibytes : the limit of memory, of all processes together
    """

    make: Callable[[Path], Labelled]
    k: int
    minutes: float
    gap: float
    n_must_link: int = 0
    n_cannot_link: int = 0
    has_start: bool = False
    file: str | None = None
    mebibytes: float = 4096.0


def published(folder: Path, name: str) -> Labelled:
    """Return a published set with its labels; the file may begin with a line n d."""
    lines = (folder / f"{name}.txt").read_text().split("\n")
    values = [line.split() for line in lines if line.strip()]
    labels = np.array((folder / f"{name}_labels.txt").read_text().split(), np.intp)
    labels = labels[-min(len(labels), len(values)) :]
    return np.array(values[-len(labels) :], np.float64), labels


def sampled(folder: Path, name: str, n: int) -> Labelled:
    """Return random points of a published set, n of them or all."""
    points, labels = published(folder, name)
    chosen = np.random.default_rng(0).permutation(len(points))[:n]
    return points[chosen], labels[chosen]


def blobs(folder: Path, n: int, d: int) -> Labelled:
    """Return ten clouds around centres in [-10, 10]^d."""
    from sklearn.datasets import make_blobs

    points, labels = make_blobs(n, d, centers=10, cluster_std=2.0, random_state=0)
    return points, labels.astype(np.intp)


def china(folder: Path) -> Labelled:
    """Return the pixels of a picture."""
    from sklearn.datasets import load_sample_image

    points = load_sample_image("china.jpg").reshape(-1, 3).astype(np.float64)
    return points, np.zeros(len(points), np.intp)


def limited_data() -> dict[str, LimitedData]:
    """Return the data by their names."""
    found = {}
    sets = [("abalone", 3, 10, 5e-4), ("facebook", 3, 10, 5e-4), ("electric", 3, 20, 5e-3)]
    sets += [("10000_2_10", 2, 5, 5e-4), ("10000_3_05", 3, 5, 5e-4), ("10000_4_075", 4, 5, 5e-4)]
    for name, k, minutes, gap in sets:
        make = partial(published, name=name)
        found[name] = LimitedData(make, k, minutes, gap, has_start=True, file=name)
        found[f"{name}+"] = LimitedData(make, k, 20, 5e-3, 1000, 1000, file=name)
    for n in (1000, 2000, 3000, 5000):  # where subsets begin to pay
        found[f"blobs_{n}"] = LimitedData(partial(blobs, n=n, d=5), 10, 10, 1e-4)
        sample = partial(sampled, name="abalone", n=n)
        found[f"abalone_{n}"] = LimitedData(sample, 3, 10, 1e-4, file="abalone")
    clouds = {n: partial(blobs, n=n, d=10) for n in (10_000, 100_000, 200_000, 1_000_000)}
    found["blobs_20000"] = LimitedData(partial(blobs, n=20_000, d=5), 10, 10, 3e-3, 1000, 1000)
    found["blobs_10000_10"] = LimitedData(clouds[10_000], 10, 10, 5e-3)
    found["blobs_100000_10"] = LimitedData(clouds[100_000], 10, 30, 5e-3)
    found["blobs_200000"] = LimitedData(clouds[200_000], 10, 60, 5e-3, 10_000, 10_000)
    found["blobs_1000000"] = LimitedData(
        clouds[1_000_000], 10, 120, 5e-3, 100_000, mebibytes=8192.0
    )
    found["china_8"] = LimitedData(china, 8, 60, 1e-2)
    found["china_16"] = LimitedData(china, 16, 60, 3e-2)
    return found


def cases(options: Options) -> list[Case]:
    return [
        {"name": name, "first": options.first, "workers": options.workers}
        for name, data in limited_data().items()
        if data.file is None or (options.data / "avoc" / f"{data.file}.txt").exists()
    ]


def measure(options: Options, name: str, first: str, workers: int) -> Iterator[dict[str, Any]]:
    bounding = "decomposition" if first == "subsets" else "hybrid"
    warm_up(bounding)
    data = limited_data()[name]
    points, labels = data.make(options.data / "avoc")
    must_link = drawn(labels, True, data.n_must_link, 0)
    cannot_link = drawn(labels, False, data.n_cannot_link, 1)
    instance = sdpbb.Instance(points, data.k, must_link, cannot_link, name=name)
    limit = options.time_limit or 60.0 * data.minutes
    parameters = sdpbb.SolverParameters(
        gap=data.gap,
        time_limit=limit,
        memory_limit=data.mebibytes,
        workers=workers,
        bounding=bounding,
    )
    if first == "whole":
        parameters = parameters.updated({"decomposition.least_blocks": 10**9})
    known = {"must_links": len(must_link), "cannot_links": len(cannot_link), "time_limit": limit}
    lowest = np.inf
    for row in traced(instance, parameters, start=labels if data.has_start else None):
        if row["gap"] < FALL * lowest or "status" in row:
            lowest = row["gap"]
            yield row | known


def drawn(labels: NDArray[np.intp], same: bool, count: int, seed: int) -> NDArray[np.intp]:
    """Return distinct random pairs (p, 2) of points whose labels are equal, or are not."""
    rng, found = np.random.default_rng(seed), np.empty((0, 2), np.intp)
    while len(found) < count:
        pairs = np.sort(rng.integers(len(labels), size=(4 * count, 2)), axis=1)
        fit = (pairs[:, 0] != pairs[:, 1]) & ((labels[pairs[:, 0]] == labels[pairs[:, 1]]) == same)
        found = np.unique(np.concatenate([found, pairs[fit]]), axis=0)
    return rng.permutation(found)[:count]


def two_workers(known: list[rows.Row]) -> list[rows.Row]:
    return [row for row in known if (row["first"], row["workers"]) == ("auto", "2")]


TABLES = {"scale": lambda known, options: table(two_workers(known), options)}


def picture(known: list[rows.Row], path: Path, options: Options) -> None:
    """Draw the runs with two workers: gaps over time, and time over points."""
    chosen = two_workers(known)
    by_points = {}
    for gap, style in ((0.2, ":"), (5e-3, "-")):
        first: dict[int, float] = {}
        for row in chosen:
            if row["name"] in FAMILY and float(row["gap"]) <= gap:
                n, second = int(float(row["n"])), float(row["seconds"])
                first[n] = min(first.get(n, np.inf), second)
        styles = {"color": "black", "marker": "o", "linestyle": style}
        points = sorted(first)
        by_points[f"gap {gap:.1%}"] = (points, [first[n] for n in points], styles)
    curves, axes = gap_curves(chosen)
    logarithmic = {"xscale": "log", "yscale": "log", "ylabel": "Time (s)"}
    second = (by_points, logarithmic | {"xlabel": "Points (10 dimensions)"})
    draw(path, [(curves, axes | {"ylim": (1e-4, 1.5)}), second], (10, 5.5), is_step=True)
