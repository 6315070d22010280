"""Prove data sets of 569 to 7,050 points: seconds, memory, and the gap over time.

scikit-learn's breast cancer and digits data, with n / 2 constraints each drawn from their labels,
half of them must-links and half cannot-links, between distinct random pairs; and abalone and
facebook without constraints, if the folder of published data has them. Each run is a process of its
own. Prints the log of each run, its gap, its seconds and the peak memory of its process, and
replaces its rows in a CSV file; a picture of all rows shows the gap over time.
"""

from __future__ import annotations

import argparse
import resource
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import rows
from cases import PUBLISHED, ROOT, gap_at, run_each
from sklearn.datasets import load_breast_cancer, load_digits

import sdpbb
from sdpbb.run.report import ProgressTable
from sdpbb.search.events import all_of

if TYPE_CHECKING:
    from sdpbb.search.traces.trace import ProgressPoint

LABELLED = {"breast_cancer": load_breast_cancer, "digits": load_digits}
CLUSTERS = {"abalone": 3, "facebook": 3}
COLUMNS = ("name", "points", "blocks", "k", "seconds", "lower", "upper", "gap", "status", "mib")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    every = [*LABELLED, *CLUSTERS]
    parser.add_argument("names", nargs="*", default=every, help=f"of {', '.join(every)}")
    parser.add_argument("--seed", type=int, default=0, help="of the constraints")
    parser.add_argument("--gap", type=float, default=1e-4)
    parser.add_argument("--time-limit", type=float, default=7200.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--csv", type=Path, default=ROOT / "docs" / "large.csv")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "large.png")
    parser.add_argument("--here", action="store_true", help="run one data set in this process")
    arguments = parser.parse_args()
    run_each(arguments.names, arguments.here, lambda name: solve(name, arguments), list(CLUSTERS))
    if not arguments.here and arguments.csv.exists():
        draw(arguments.csv, arguments.picture)
    return 0


def solve(name: str, arguments: argparse.Namespace) -> None:
    """Solve one data set, and replace its rows."""
    if name in CLUSTERS:
        instance = sdpbb.read_instance(PUBLISHED / f"{name}.txt", CLUSTERS[name])
    else:
        instance = constrained(name, arguments.seed)
    parameters = sdpbb.SolverParameters(
        gap=arguments.gap, time_limit=arguments.time_limit, workers=arguments.workers
    )
    trace = sdpbb.Trace()
    observe = all_of(trace, ProgressTable(sys.stdout, sdpbb.__version__))
    result = sdpbb.solve(instance, parameters, observe)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = result.statistics.wall_seconds
    print(
        f"{name}: {result.status.value}, gap {result.gap:.2e}, {seconds:.1f} s, {peak:.0f} MiB\n",
        flush=True,
    )
    same = (name, len(instance.points), result.statistics.n_blocks, instance.k)
    steps = [
        dict(zip(COLUMNS, (*same, *bounds(point), "", ""), strict=True))
        for before, point in zip([None, *trace.points], trace.points, strict=False)
        if before is None or (before.lower, before.upper) != (point.lower, point.upper)
    ]
    last = (*same, seconds, result.lower_bound, result.objective, result.gap)
    steps.append(dict(zip(COLUMNS, (*last, result.status.value, round(peak)), strict=True)))
    rows.replace(arguments.csv, COLUMNS, steps, ["name"])


def bounds(point: ProgressPoint) -> tuple[float, float, float, float]:
    """Return seconds, lower bound, upper bound and gap."""
    return point.seconds, point.lower, point.upper, gap_at(point)


def draw(file: Path, picture: Path) -> None:
    """Draw the gaps over time of the runs of a CSV file."""
    from matplotlib.figure import Figure

    known = rows.read(file)
    figure = Figure(figsize=(7, 4), layout="constrained")
    ax = figure.add_subplot()
    for name in dict.fromkeys(row["name"] for row in known):
        own = [row for row in known if row["name"] == name]
        seconds, gaps = ([float(row[key]) for row in own] for key in ("seconds", "gap"))
        label = f"{name}, {int(own[0]['points']):,} points, k = {own[0]['k']}"
        ax.step(seconds, np.maximum(gaps, 1e-6), where="post", label=label)
    ax.axhline(1e-4, color="0.6", linewidth=0.8, linestyle=":")
    ax.set(xscale="log", yscale="log", xlabel="Time (s)", ylabel="Gap", ylim=(5e-7, 1.5))
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(picture, dpi=120)


def constrained(name: str, seed: int) -> sdpbb.Instance:
    """Return the data with n // 4 must-links and about as many cannot-links, n // 2 in all."""
    points, labels = LABELLED[name](return_X_y=True)
    n, rng = len(points), np.random.default_rng(seed)
    links: dict[bool, set[tuple[int, int]]] = {True: set(), False: set()}
    wanted = {True: n // 4, False: n // 2 - n // 4}
    while any(len(links[same]) < wanted[same] for same in links):
        i, j = sorted(rng.integers(n, size=2).tolist())
        same = bool(labels[i] == labels[j])
        if i != j and len(links[same]) < wanted[same]:
            links[same].add((i, j))
    k = len(np.unique(labels))
    return sdpbb.Instance(points, k, sorted(links[True]), sorted(links[False]), name=name)


if __name__ == "__main__":
    sys.exit(main())
