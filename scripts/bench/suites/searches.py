"""Searches with limits on sizes, beside k-means-constrained.

Both begin from as many sets of k-means++ centres, on points in the plane, in clusters of n / k
points, or of up to a tenth or a half more or less.
"""

from __future__ import annotations

import math
from functools import partial
from importlib.util import find_spec
from itertools import product
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

import sdpbb
from scripts.bench import rows
from scripts.bench.measuring import clocked
from scripts.bench.suite import Case, Options
from scripts.bench.suites.proofs import SHAPES, points_of
from scripts.bench.tables import Cell, over, span, value, values
from scripts.bench.tables import table as table_of
from sdpbb.problem import Instance, Partition

KEY = "name n k least most seed starts method"
COLUMNS = "objective seconds cpu_seconds load"
OPTIONS = {"draws": 6, "starts": 10}
SEARCHES = [
    (n, k, share) for n, k in ((5_000, 10), (1_000, 5), (1_000, 20)) for share in (0.1, 0, 0.5)
]
"""Points, clusters, and the part of n / k by which sizes may differ from that."""
OURS, THEIRS = "best-of", "k-means-constrained"
# Costs that differ by less than this part are the same.
EQUAL = 1e-9


def has_k_means_constrained() -> bool:
    """Return whether the package is installed; say so if it is not."""
    found = find_spec("k_means_constrained") is not None
    if not found:
        print(f"{THEIRS}: SKIPPED, it is not installed")
    return found


def cases(options: Options) -> list[Case]:
    methods = (OURS, THEIRS) if has_k_means_constrained() else (OURS,)
    found = []
    for (n, k, share), seed, shape in product(SEARCHES, range(options.draws), SHAPES):
        least, most = math.floor(n / k * (1 - share)), math.ceil(n / k * (1 + share))
        for method in methods:
            one = (shape, n, k, least, most, seed, options.starts, method)
            found.append(dict(zip(KEY.split(), one, strict=True)))
    return found


def measure(
    options: Options,
    name: str,
    n: int,
    k: int,
    least: int,
    most: int,
    seed: int,
    starts: int,
    method: str,
) -> dict[str, Any]:
    points = points_of(name, n, k, seed)
    instance = Instance(points, k, name=name, min_size=least, max_size=most)
    searched = best_of if method == OURS else k_means_constrained
    small = Instance(np.arange(40.0)[:, None] ** 2, 10, min_size=3, max_size=5)
    searched(small, 0, 1)  # loads what it needs
    labels, times = clocked(partial(searched, instance, seed, starts))
    assert instance.size_limits is not None
    assert instance.size_limits.keeps(np.bincount(labels))
    return {"objective": Partition(labels).cost(instance), **times}


def best_of(instance: Instance, seed: int, starts: int) -> NDArray[np.intp]:
    """Return the labels of one run of `best-of`."""
    return np.asarray(sdpbb.heuristic(OURS, n_runs=1, n_starts=starts).run(instance, seed).labels)


def k_means_constrained(instance: Instance, seed: int, starts: int) -> NDArray[np.intp]:
    """Return the labels of k-means-constrained."""
    from k_means_constrained import KMeansConstrained

    limits = instance.size_limits
    assert limits is not None
    sizes = {"size_min": limits.least, "size_max": limits.most}
    found = KMeansConstrained(instance.k, **sizes, n_init=starts, random_state=seed, n_jobs=1)
    return np.asarray(found.fit_predict(instance.points), np.intp)


def table(known: list[rows.Row], options: Options) -> list[str]:
    """Return all draws of a shape and of limits in one line, of those with both methods."""
    groups = []
    large_first = sorted(known, key=lambda row: -int(row["n"]))
    for own in rows.grouped(large_first, *KEY.split()[:5], "starts").values():
        draws = [draw for draw in rows.grouped(own, "seed").values() if len(draw) == 2]
        groups += [[row for draw in draws for row in draw]] if draws else []

    def ratios(own: list[rows.Row], column: str) -> list[float]:
        ours, theirs = (
            {r["seed"]: float(r[column]) for r in rows.chosen(own, method=method)}
            for method in (OURS, THEIRS)
        )
        return [ours[seed] / theirs[seed] for seed in ours]

    def cost(own: list[rows.Row]) -> str:
        excess = [100 * (ratio - 1) for ratio in ratios(own, "objective")]
        return f"{min(excess):+.3f} to {max(excess):+.3f} %"

    def cpu(own: list[rows.Row]) -> str:
        return f"{min(ratios(own, 'cpu_seconds')):.2f} to {max(ratios(own, 'cpu_seconds')):.2f}"

    its_seconds = over("cpu_seconds", fmean, ".1f")
    columns: dict[str, Cell] = {
        "points": value("name"),
        **values("n", "k"),
        "sizes": lambda own: span(float(own[0][limit]) for limit in ("least", "most")),
        "draws": lambda own: len(own) // 2,
        "worse": lambda own: sum(ratio > 1 + EQUAL for ratio in ratios(own, "objective")),
        "cost": cost,
        "its CPU s": lambda own: its_seconds(rows.chosen(own, method=THEIRS)),
        "CPU": cpu,
    }
    return table_of(groups, columns)


TABLES = {"searches": table}
