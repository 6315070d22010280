"""Searches where sizes bind, beside the best of many starts of k-means-constrained and swaps.

The reference is k-means-constrained from 100 sets of k-means++ centres, each ended by moves and
swaps of single points until none saves anything; this descent is the suite's own. Of 20,000 points
it has 3 starts. `best-of` and `solve` have 5 seconds of the clock and one process, for each of
three seeds. `--label` keeps the rows of another version of these beside the others.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

import sdpbb
from scripts.bench import rows
from scripts.bench.measuring import clocked
from scripts.bench.size_cases import SERIES, SizeCase, instance_of
from scripts.bench.suite import Case, Options
from scripts.bench.suites.searches import EQUAL, has_k_means_constrained, k_means_constrained
from scripts.bench.tables import Cell, markdown, span, value, values
from sdpbb.problem import Instance, Partition
from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit

KEY = "case method seed"
COLUMNS = "n k least most starts objective of_starts seconds cpu_seconds load"
OPTIONS = {"label": ""}
STARTS, FEW_STARTS, MANY_POINTS = 100, 3, 10_000
SECONDS, SEEDS = 5.0, 3
REFERENCE, METHODS = "reference", ("best-of", "solve")
BLOBS = ("100", "90 to 110")


def size_cases(data: Path) -> dict[str, SizeCase | None]:
    """Return the cases by name; None for those that are made here."""
    tables = sorted(path.stem for path in (data / "pc-sos-sdp" / "datasets").glob("*.txt"))
    found: dict[str, SizeCase | None] = {}
    if (data / "ccmssc").is_dir():
        found |= {name: ("equal", name, "") for name in ("UMD", *SERIES)}
    found |= {name: ("balanced", name, "") for name in tables}
    found |= {f"blobs {limits}": ("hundreds", "five blobs", limits) for limits in BLOBS}
    return {**found, "plane": None, "large": None}


def made(data: Path, name: str) -> Instance:
    """Return the instance of a case."""
    case = size_cases(data)[name]
    if case is not None:
        return instance_of(data, case)
    if name == "plane":
        points = np.random.default_rng(0).uniform(size=(2_000, 2))
        return Instance(points, 20, name=name, max_size=110)
    sizes = np.linspace(1_000, 3_000, 10).astype(int).tolist()
    points, _ = make_blobs(sizes, n_features=5, cluster_std=2, random_state=0)
    return Instance(points, 10, name=name, max_size=2_200)


def cases(options: Options) -> list[Case]:
    methods = (REFERENCE, *METHODS) if has_k_means_constrained() else METHODS
    return [
        {"case": name, "method": options.label or method, "seed": seed, "by": method}
        for method in methods
        for name in size_cases(options.data)
        for seed in range(1 if method == REFERENCE else SEEDS)
    ]


def measure(options: Options, case: str, method: str, seed: int, by: str) -> dict[str, Any]:
    instance = made(options.data, case)
    limits = instance.size_limits
    assert limits is not None
    starts = FEW_STARTS if instance.n_points >= MANY_POINTS else STARTS
    warm = Instance(np.arange(40.0)[:, None] ** 2, 10, min_size=3, max_size=5)
    costs: list[float] = []
    if by == REFERENCE:
        exchanged(warm.points, np.repeat(np.arange(10), 4), 10, 3, 5)
        costs, times = clocked(partial(of_each_start, instance, starts))
        found = min(costs)
    else:
        searched(warm, by, 0)
        found, times = clocked(partial(searched, instance, by, seed))
    return {
        "n": instance.n_points,
        "k": instance.k,
        "least": limits.least,
        "most": limits.most,
        "starts": starts if costs else "",
        "objective": found,
        "of_starts": sum(cost <= found * (1 + EQUAL) for cost in costs) or "",
        **times,
    }


@njit(nogil=True)
def exchanged(points: Reals, labels: Integers, k: int, least: int, most: int) -> None:
    """Move and swap points of weight 1, the first that saves anything, until none does."""
    n, d = points.shape
    sums, sizes = np.zeros((k, d)), np.zeros(k)
    for i in range(n):
        sums[labels[i]] += points[i]
        sizes[labels[i]] += 1.0
    total = ((points - sums.sum(axis=0) / n) ** 2).sum()
    distances = np.empty((n, k))
    for c in range(k):
        distances[:, c] = ((points - sums[c] / sizes[c]) ** 2).sum(axis=1)
    is_better = True
    while is_better:
        is_better = False
        for i in range(n):
            a, best, j, b = labels[i], 1e-12 * total, -1, -1
            for c in range(k):
                if c == a or sizes[a] - 1 < max(1, least) or sizes[c] + 1 > most:
                    continue
                gain = distances[i, a] * sizes[a] / (sizes[a] - 1.0)
                gain -= distances[i, c] * sizes[c] / (sizes[c] + 1.0)
                if gain > best:
                    best, b = gain, c
            for other in range(n):
                c = labels[other]
                if c == a:
                    continue
                # The triangle inequality bounds what the means save, so that few pairs are looked
                # at in all coordinates.
                gain = distances[i, a] - distances[i, c] + distances[other, c] - distances[other, a]
                follows = 1.0 / sizes[a] + 1.0 / sizes[c]
                reach = np.sqrt(distances[i, a]) + np.sqrt(distances[other, a])
                if gain + follows * reach * reach > best:
                    gain += follows * ((points[i] - points[other]) ** 2).sum()
                    if gain > best:
                        best, j, b = gain, other, c
            if b < 0:
                continue
            is_better = True
            sums[a] -= points[i]
            sums[b] += points[i]
            labels[i] = b
            if j >= 0:
                sums[a] += points[j]
                sums[b] -= points[j]
                labels[j] = a
            else:
                sizes[a] -= 1.0
                sizes[b] += 1.0
            for c in (a, b):
                distances[:, c] = ((points - sums[c] / sizes[c]) ** 2).sum(axis=1)


def of_each_start(instance: Instance, starts: int) -> list[float]:
    """Return the cost of each start of k-means-constrained after moves and swaps."""
    limits, costs = instance.size_limits, []
    assert limits is not None
    for seed in range(starts):
        labels = k_means_constrained(instance, seed, 1)
        exchanged(instance.points, labels, instance.k, limits.least, limits.most)
        assert limits.keeps(np.bincount(labels))
        costs.append(Partition(labels).cost(instance))
    return costs


def searched(instance: Instance, method: str, seed: int) -> float:
    """Return the cost that a search of ours ends with."""
    if method == "solve":
        parameters = sdpbb.SolverParameters(workers=1, time_limit=SECONDS, seed=seed)
        return float(sdpbb.solve(instance, parameters).objective)
    found = sdpbb.heuristic(method, time_limit=SECONDS).run(instance, seed)
    assert instance.size_limits.keeps(np.bincount(found.labels))
    return Partition(found.labels).cost(instance)


def table(known: list[rows.Row], options: Options) -> list[str]:
    """Return costs beside the reference in percent, the range over seeds, for each method."""

    def excess(method: str) -> Cell:
        def cell(own: list[rows.Row]) -> str:
            reference = float(own[0]["objective"])
            found = rows.numbers(rows.chosen(own, method=method), "objective")
            each = [100 * (cost / reference - 1) for cost in found]
            told = {"0" if abs(x) < 100 * EQUAL else f"{x:+.4f}" for x in each}
            ends = sorted(told, key=float)
            return " to ".join(dict.fromkeys((*ends[:1], *ends[-1:])))

        return cell

    def seconds(method: str) -> Cell:
        def cell(own: list[rows.Row]) -> str:
            found = rows.numbers(rows.chosen(own, method=method), "seconds")
            return f"{fmean(found):.1f}" if found else ""

        return cell

    cells: dict[str, Cell] = {
        **values("case", "n", "k"),
        "sizes": lambda own: span(float(own[0][limit]) for limit in ("least", "most")),
        "reference": value("objective", ".8g"),
        "CPU s": value("cpu_seconds", ".0f"),
        "starts there": lambda own: f"{own[0]['of_starts']} of {own[0]['starts']}",
    }
    head, columns = list(cells), list(cells.values())
    for method in dict.fromkeys(row["method"] for row in known if row["starts"] == ""):
        head += [f"{method}, %", "s"]
        columns += [excess(method), seconds(method)]
    # The reference is the first row of each line.
    groups = [
        sorted(own, key=lambda row: row["method"] != REFERENCE)
        for own in rows.grouped(known, "case").values()
    ]
    lines = [own for own in groups if own[0]["method"] == REFERENCE]
    return markdown(head, [[cell(own) for cell in columns] for own in lines])


TABLES = {"incumbents": table}
