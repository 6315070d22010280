"""Gaps of data of 4,177 to 1,000,000 points within limits of time: seconds, memory, gap over time.

The published sets begin with their given labels, where nothing is added; "+" has 1,000 must-links
and 1,000 cannot-links between random pairs, drawn from these labels. Clouds are scikit-learn's
`make_blobs`, with constraints drawn from the clouds; china is its picture, whose pixels are points
(r, g, b). Each run is a process of its own; the memory is that of all of its processes together.
Replaces its rows in a CSV file; a picture of all rows shows the gap over time.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import rows
from cases import PUBLISHED, ROOT, gap_at, run_each
from numpy.typing import NDArray

import sdpbb
from sdpbb.run.report import ProgressTable
from sdpbb.runtime.executors.memory import resident_mebibytes
from sdpbb.search.events import all_of

# Clouds in 10 dimensions, of 10,000 to 1,000,000 points.
FAMILY = ("blobs_10000_10", "blobs_100000_10", "blobs_1000000")
COLUMNS = (
    *("name", "points", "blocks", "k", "must_links", "cannot_links"),
    *("first", "workers", "limit"),
    *("seconds", "lower", "upper", "gap", "status", "mib"),
)
Labelled = tuple[NDArray[np.float64], NDArray[np.intp]]


@dataclass(frozen=True)
class Case:
    """Data, and the limits of their run.

    make : returns points (n, d) and labels (n,)
    k : number of clusters
    minutes : the limit of time
    gap : asked for
    mebibytes : the limit of memory, of all processes together
    n_must_link, n_cannot_link : constraints drawn from the labels
    has_start : whether the run begins with the labels
    is_published : whether the data are files that may not be there
    """

    make: Callable[[], Labelled]
    k: int
    minutes: float
    gap: float
    n_must_link: int = 0
    n_cannot_link: int = 0
    has_start: bool = False
    is_published: bool = False
    mebibytes: float = 4096.0


def published(name: str) -> Labelled:
    """Return a published set with its labels; the file may begin with a line n d."""
    lines = (PUBLISHED / f"{name}.txt").read_text().split("\n")
    values = [line.split() for line in lines if line.strip()]
    labels = np.array((PUBLISHED / f"{name}_labels.txt").read_text().split(), np.intp)
    labels = labels[-min(len(labels), len(values)) :]
    return np.array(values[-len(labels) :], np.float64), labels


def sampled(name: str, n: int) -> Labelled:
    """Return random points of a published set, n of them or all."""
    points, labels = published(name)
    chosen = np.random.default_rng(0).permutation(len(points))[:n]
    return points[chosen], labels[chosen]


def blobs(n: int, d: int, std: float) -> Labelled:
    """Return ten clouds around centres in [-10, 10]^d."""
    from sklearn.datasets import make_blobs

    points, labels = make_blobs(n, d, centers=10, cluster_std=std, random_state=0)
    return points, labels.astype(np.intp)


def china() -> Labelled:
    """Return the pixels of a picture."""
    from sklearn.datasets import load_sample_image

    points = load_sample_image("china.jpg").reshape(-1, 3).astype(np.float64)
    return points, np.zeros(len(points), np.intp)


def cases() -> dict[str, Case]:
    """Return the cases by their names."""
    found = {}
    sets = [("abalone", 3, 10, 5e-4), ("facebook", 3, 10, 5e-4), ("electric", 3, 20, 5e-3)]
    sets += [("10000_2_10", 2, 5, 5e-4), ("10000_3_05", 3, 5, 5e-4), ("10000_4_075", 4, 5, 5e-4)]
    for name, k, minutes, gap in sets:
        found[name] = Case(partial(published, name), k, minutes, gap, 0, 0, True, True)
        found[f"{name}+"] = Case(partial(published, name), k, 20, 5e-3, 1000, 1000, False, True)
    for n in (1000, 2000, 3000, 5000):  # where subsets begin to pay
        found[f"blobs_{n}"] = Case(partial(blobs, n, 5, 2.0), 10, 10, 1e-4)
        found[f"abalone_{n}"] = Case(partial(sampled, "abalone", n), 3, 10, 1e-4, 0, 0, False, True)
    found["blobs_20000"] = Case(partial(blobs, 20_000, 5, 2.0), 10, 10, 3e-3, 1000, 1000)
    found["blobs_10000_10"] = Case(partial(blobs, 10_000, 10, 2.0), 10, 10, 5e-3)
    found["blobs_100000_10"] = Case(partial(blobs, 100_000, 10, 2.0), 10, 30, 5e-3)
    found["blobs_200000"] = Case(partial(blobs, 200_000, 10, 2.0), 10, 60, 5e-3, 10_000, 10_000)
    found["blobs_1000000"] = Case(
        partial(blobs, 1_000_000, 10, 2.0), 10, 120, 5e-3, 100_000, mebibytes=8192.0
    )
    found["china_8"] = Case(china, 8, 60, 1e-2)
    found["china_16"] = Case(china, 16, 60, 3e-2)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    every = cases()
    parser.add_argument("names", nargs="*", default=list(every), help=f"of {', '.join(every)}")
    parser.add_argument("--seed", type=int, default=0, help="of the constraints")
    parser.add_argument("--gap", type=float, help="in the place of the case's own")
    parser.add_argument("--minutes", type=float, help="in the place of the case's own")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--dask", help="address of a cluster, in the place of workers")
    parser.add_argument("--first", choices=["auto", "subsets", "whole"], default="auto")
    parser.add_argument("--csv", type=Path, default=ROOT / "docs" / "scale.csv")
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "scale.png")
    parser.add_argument("--here", action="store_true", help="run one case in this process")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in every]:
        parser.error(f"{', '.join(unknown)}: expected {', '.join(every)}")
    published_cases = [name for name, case in every.items() if case.is_published]
    run_each(
        arguments.names,
        arguments.here,
        lambda name: solve(name, every[name], arguments),
        published_cases,
    )
    if not arguments.here and arguments.csv.exists():
        draw(arguments.csv, arguments.picture)
    return 0


def solve(name: str, case: Case, arguments: argparse.Namespace) -> None:
    """Solve one case, and replace its rows."""
    points, labels = case.make()
    must_link = drawn(labels, True, case.n_must_link, arguments.seed)
    cannot_link = drawn(labels, False, case.n_cannot_link, arguments.seed + 1)
    instance = sdpbb.Instance(points, case.k, must_link, cannot_link, name=name)
    limit = 60.0 * (arguments.minutes or case.minutes)
    parameters = sdpbb.SolverParameters(
        gap=arguments.gap or case.gap,
        time_limit=limit,
        memory_limit=case.mebibytes,
        workers=1 if arguments.dask else arguments.workers,
        dask=arguments.dask,
        bounding="decomposition" if arguments.first == "subsets" else "hybrid",
    )
    if arguments.first == "whole":
        parameters = parameters.updated({"decomposition.least_blocks": 10**9})
    trace = sdpbb.Trace()
    observe = all_of(trace, ProgressTable(sys.stdout, sdpbb.__version__))
    with peak_memory() as peak:
        result = sdpbb.solve(
            instance, parameters, observe, start=labels if case.has_start else None
        )
    print(f"{name}: gap {result.gap:.3e}, {peak[0]:.0f} MiB in all\n", flush=True)
    same = (
        *(name, len(points), result.statistics.n_blocks, case.k, len(must_link)),
        *(len(cannot_link), arguments.first, arguments.workers, limit),
    )
    steps = []
    for point in trace.points:
        gap = gap_at(point)
        if not steps or gap < 0.98 * steps[-1]["gap"]:
            values = (*same, point.seconds, point.lower, point.upper, gap, "", "")
            steps.append(dict(zip(COLUMNS, values, strict=True)))
    last = (
        *(*same, result.statistics.wall_seconds, result.lower_bound, result.objective, result.gap),
        *(result.status.value, round(peak[0])),
    )
    steps.append(dict(zip(COLUMNS, last, strict=True)))
    rows.replace(arguments.csv, COLUMNS, steps, ["name", "first", "workers"])


def drawn(labels: NDArray[np.intp], same: bool, count: int, seed: int) -> NDArray[np.intp]:
    """Return distinct random pairs (p, 2) of points whose labels are equal, or are not."""
    rng, found = np.random.default_rng(seed), np.empty((0, 2), np.intp)
    while len(found) < count:
        pairs = np.sort(rng.integers(len(labels), size=(4 * count, 2)), axis=1)
        fit = (pairs[:, 0] != pairs[:, 1]) & ((labels[pairs[:, 0]] == labels[pairs[:, 1]]) == same)
        found = np.unique(np.concatenate([found, pairs[fit]]), axis=0)
    return rng.permutation(found)[:count]


@contextmanager
def peak_memory() -> Iterator[list[float]]:
    """Context manager: the largest memory of all processes of this one so far, in MiB."""
    peak, ended = [0.0], threading.Event()

    def watch() -> None:
        while not ended.wait(0.5):
            peak[0] = max(peak[0], resident_mebibytes())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        ended.set()
        watcher.join()


def draw(file: Path, picture: Path) -> None:
    """Draw the runs with two workers of a CSV file: gaps over time, and time over points."""
    import matplotlib
    from matplotlib.figure import Figure

    known = rows.read(file)
    figure = Figure(figsize=(10, 5.5), layout="constrained")
    ax, of_family = figure.subplots(1, 2, width_ratios=[2, 1])
    chosen = [row for row in known if (row["first"], row["workers"]) == ("auto", "2")]
    ax.set_prop_cycle(color=matplotlib.colormaps["tab20"].colors)
    for name in dict.fromkeys(row["name"] for row in chosen):
        own = [row for row in chosen if row["name"] == name]
        seconds, gaps = ([float(row[key]) for row in own] for key in ("seconds", "gap"))
        ax.step(np.maximum(seconds, 0.1), np.maximum(gaps, 1e-6), where="post", label=name)
    ax.set(xscale="log", yscale="log", xlabel="Time (s)", ylabel="Gap", ylim=(1e-4, 1.5))
    for gap, style in ((0.2, "o:"), (5e-3, "o-")):
        points, seconds = times_to(gap, [row for row in chosen if row["name"] in FAMILY])
        of_family.plot(points, seconds, style, color="black", label=f"gap {gap:.1%}")
    of_family.set(xscale="log", yscale="log", xlabel="Points (10 dimensions)", ylabel="Time (s)")
    of_family.legend(frameon=False)
    figure.legend(
        *ax.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=5,
        frameon=False,
        fontsize="small",
    )
    figure.savefig(picture, dpi=120)


def times_to(gap: float, known: list[dict[str, str]]) -> tuple[list[int], list[float]]:
    """Return the numbers of points of runs that reached a gap, and the seconds until then."""
    first: dict[int, float] = {}
    for row in known:
        if float(row["gap"]) <= gap:
            n, seconds = int(float(row["points"])), float(row["seconds"])
            first[n] = min(first.get(n, np.inf), seconds)
    points = sorted(first)
    return points, [first[n] for n in points]


if __name__ == "__main__":
    sys.exit(main())
