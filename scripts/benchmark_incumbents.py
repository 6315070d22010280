"""Searches where sizes bind, beside the best of many starts of k-means-constrained and swaps.

    python scripts/benchmark_incumbents.py reference --data ../shared/data --out docs/incumbents.csv
    python scripts/benchmark_incumbents.py best-of --data ../shared/data --out docs/incumbents.csv
    python scripts/benchmark_incumbents.py solve UMD glass --data ../shared/data --out ...
    python scripts/benchmark_incumbents.py reference --table docs/incumbents.csv

`reference` runs k-means-constrained from 100 sets of k-means++ centres, and ends each by moves and
swaps of single points until none saves anything; this descent is the script's own. Of 20,000 points
it has 3 starts. `best-of` and `solve` have 5 seconds of the clock and one process, for each of
three seeds. Cases are those that are named, or all; each is run in this process, and what has a row
is not run again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import rows
from benchmark_sizes import EQUAL, SERIES, measured
from numpy.typing import NDArray
from sklearn.datasets import make_blobs

import sdpbb
from sdpbb.problem import Instance, Partition
from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit

FIELDS = (
    *("case", "n", "k", "least", "most", "method", "seed", "starts", "objective", "of_starts"),
    *("seconds", "cpu_seconds", "load"),
)
STARTS, FEW_STARTS, MANY_POINTS = 100, 3, 10_000
SECONDS, SEEDS = 5.0, 3
REFERENCE, METHODS = "reference", ("best-of", "solve")


def series(data: Path, name: str) -> Instance:
    """Return a time series set of CCMSSC in equal clusters."""
    path = data / "ccmssc" / f"{name}.txt"
    with open(path, encoding="utf-8") as file:
        k = int(file.readline().split()[2])
        return equal(np.loadtxt(file), k, name)


def table(data: Path, name: str) -> Instance:
    """Return a data set of PC-SOS-SDP in equal clusters, without pairs."""
    read = Instance.from_files(data / "pc-sos-sdp" / "datasets" / f"{name}.txt")
    return equal(read.points, read.k, name)


def equal(points: NDArray[np.float64], k: int, name: str) -> Instance:
    n = len(points)
    return Instance(points, k, name=name, min_size=n // k, max_size=-(-n // k))


def blobs(name: str, least: int, most: int) -> Instance:
    sizes = [80, 90, 100, 110, 120]
    points, _ = make_blobs(sizes, n_features=8, cluster_std=2, random_state=1)
    return Instance(points, 5, name=name, min_size=least, max_size=most)


def plane(name: str) -> Instance:
    points = np.random.default_rng(0).uniform(size=(2_000, 2))
    return Instance(points, 20, name=name, max_size=110)


def large(name: str) -> Instance:
    sizes = np.linspace(1_000, 3_000, 10).astype(int).tolist()
    points, _ = make_blobs(sizes, n_features=5, cluster_std=2, random_state=0)
    return Instance(points, 10, name=name, max_size=2_200)


def cases(data: Path) -> dict[str, Callable[[], Instance]]:
    """Return what makes the instance of each case."""
    tables = sorted(path.stem for path in (data / "pc-sos-sdp" / "datasets").glob("*.txt"))
    return {
        **{name: partial(series, data, name) for name in ("UMD", *SERIES)},
        **{name: partial(table, data, name) for name in tables},
        "blobs 100": partial(blobs, "blobs 100", 100, 100),
        "blobs 90 to 110": partial(blobs, "blobs 90 to 110", 90, 110),
        "plane": partial(plane, "plane"),
        "large": partial(large, "large"),
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
    from k_means_constrained import KMeansConstrained

    limits, points, costs = instance.size_limits, instance.points, []
    assert limits is not None
    for seed in range(starts):
        search = KMeansConstrained(
            instance.k,
            size_min=limits.least,
            size_max=limits.most,
            n_init=1,
            random_state=seed,
            n_jobs=1,
        )
        labels = search.fit_predict(points).astype(np.int64)
        exchanged(points, labels, instance.k, limits.least, limits.most)
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


def run(data: Path, out: Path, method: str, names: list[str], label: str) -> None:
    """Run a method on the cases that have no row of it yet."""
    done = {(row["case"], row["method"], row["seed"]) for row in rows.read(out)}
    warm = Instance(np.arange(40.0)[:, None] ** 2, 10, min_size=3, max_size=5)
    if method == REFERENCE:
        exchanged(warm.points, np.repeat(np.arange(10), 4), 10, 3, 5)
    else:
        searched(warm, method, 0)
    for name, make in cases(data).items():
        if names and name not in names:
            continue
        for seed in range(1 if method == REFERENCE else SEEDS):
            if (name, label, str(seed)) in done:
                continue
            instance, costs = make(), []
            limits = instance.size_limits
            starts = FEW_STARTS if instance.n_points >= MANY_POINTS else STARTS
            if method == REFERENCE:
                costs, times = measured(partial(of_each_start, instance, starts))
                found = min(costs)
            else:
                found, times = measured(partial(searched, instance, method, seed))
            row: dict[str, Any] = {
                **dict(zip(FIELDS[:2], (name, instance.n_points), strict=True)),
                "k": instance.k,
                "least": limits.least,
                "most": limits.most,
                "method": label,
                "seed": seed,
                "starts": starts if costs else "",
                "objective": found,
                "of_starts": sum(cost <= found * (1 + EQUAL) for cost in costs) or "",
                **times,
            }
            rows.append(out, FIELDS, row)
            print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)


def search_table(measurements: list[rows.Row]) -> list[str]:
    """Return the table: costs beside the reference in percent, the range over seeds."""
    of_case: dict[str, dict[str, list[rows.Row]]] = {}
    for row in measurements:
        of_case.setdefault(row["case"], {}).setdefault(row["method"], []).append(row)
    methods = list(dict.fromkeys(row["method"] for row in measurements if row["starts"] == ""))
    lines = []
    for name, of_method in of_case.items():
        if REFERENCE not in of_method:
            continue
        known = of_method[REFERENCE][0]
        least, most = known["least"], known["most"]
        line = [name, known["n"], known["k"], least if least == most else f"{least} to {most}"]
        line += [f"{float(known['objective']):.8g}", f"{float(known['cpu_seconds']):.0f}"]
        line += [f"{known['of_starts']} of {known['starts']}"]
        for method in methods:
            each = of_method.get(method, [])
            excess = sorted(
                100 * (float(r["objective"]) / float(known["objective"]) - 1) for r in each
            )
            seconds = [float(r["seconds"]) for r in each]
            span = sorted(
                {"0" if abs(x) < 100 * EQUAL else f"{x:+.4f}" for x in (excess or [0])}, key=float
            )
            line += [" to ".join(span[:: max(1, len(span) - 1)]) if each else ""]
            line += [f"{sum(seconds) / len(seconds):.1f}" if each else ""]
        lines.append(line)
    head = ["case", "n", "k", "sizes", "reference", "CPU s", "starts there"]
    for method in methods:
        head += [f"{method}, %", "s"]
    return rows.markdown(head, lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("method", choices=[REFERENCE, *METHODS])
    parser.add_argument("names", nargs="*", help="cases; else all")
    parser.add_argument("--data", type=Path, help="folder of pc-sos-sdp and ccmssc")
    parser.add_argument("--out", type=Path, help="file of rows, which are added")
    parser.add_argument("--label", help="name of the method in the rows; else its own")
    parser.add_argument("--table", type=Path, help="file of rows: print their table, run nothing")
    given = parser.parse_intermixed_args()
    if given.table is not None:
        print("\n".join(search_table(rows.read(given.table))))
    elif given.out is None:
        parser.error("expected --out")
    elif given.data is None or not given.data.is_dir():
        print(f"{given.method}: SKIPPED, there is no {given.data}")
    else:
        run(given.data, given.out, given.method, given.names, given.label or given.method)


if __name__ == "__main__":
    main()
