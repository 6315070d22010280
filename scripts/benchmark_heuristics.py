"""Run the heuristics on the published instances and compare with the papers.

Parts (`--parts`, separated by commas):

    table8   the public sets of PC-SOS-SDP: how often each method finds the best clustering of the
             paper's four methods, and the proven optimum (docs/benchmarks.csv), as the paper's
             Table 8 has it; and best-of
    bh       Iris and Wine, standardised, with the published constraint matrices: averages of three
             seeds beside the published rows
    plain    PCCC against its full programme in HiGHS, on these and the public sets of the same data
    col2     blobs of 500 to 5,000 points, 2 to 100 clusters, 0 to 20 % of constraints (PCCC, COL2)
    col3     60,000 points, 100 clusters, 4.5 million constraints (like PCCC's COL3)
    large    10^4 to 10^6 points, 10 clusters, without constraints and with n / 10: one start and
             ten, beside scikit-learn's ten

Each run's row is appended to the CSV file at once, and runs that are there already are skipped. At
the end the tables are printed, and written to `--report`. Seconds are those of `run`: reading,
imports and the compilation of kernels (a small instance is clustered first) are outside. The peak
of the memory is that of the process so far: `--own-process` gives each run one of its own.
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import heuristic_instances as generated
import numpy as np
import rows
from benchmark import ROOT, SHARED, cpu_name, find_tasks
from heuristic_tables import write_report
from numpy.typing import NDArray
from plain_pccc import PlainPCCC
from sklearn.cluster import KMeans as SklearnKMeans

import sdpbb
from heuristics.best_of import BestOf
from heuristics.bh_kmeans import BHKMeans
from heuristics.cop_kmeans import COPKMeans
from heuristics.ipc_kmeans import IPCKMeans
from heuristics.kmeans import KMeans
from heuristics.measures import adjusted_rand_index
from heuristics.method import Heuristic, RunClock, SearchResult, Soft
from heuristics.pccc import PCCC
from heuristics.post_processing import PostProcessing
from heuristics.result import Stop
from sdpbb.problem import Instance
from sdpbb.problem.formats import read_instance

FIELDS = (
    *("part", "dataset", "set", "method", "seed", "n", "k", "n_constraints"),
    *("status", "stop", "sum_of_squares", "penalised_objective", "hard_violations"),
    *("soft_violations", "n_iterations", "seconds", "peak_rss_mib", "ari", "version", "cpu"),
)
LINE_END = "\r\n"  # of the rows that are there already
PERCENTAGES = ("0.05", "0.1", "0.15", "0.2")
SEEDS = (0, 1, 2)
PUBLIC = SHARED / "data" / "pc-sos-sdp"
MATRICES = SHARED / "data" / "bh-kmeans"
MATRIX_DATA = ("iris", "wine")
COL2_SECONDS = 30.0
COL2_STEP_SECONDS = 3.0
LARGE_OBJECTS = (10_000, 100_000, 1_000_000)
LARGE_SECONDS = 30.0


class Case(NamedTuple):
    """Instance, and the true labels where they are known."""

    instance: Instance
    truth: NDArray[np.intp] | None = None


class Run(NamedTuple):
    """One row: the instance and the method are made when it is its turn."""

    part: str
    dataset: str
    set: str
    method: str
    seed: int
    case: Callable[[], Case]
    make: Callable[[], Heuristic]

    @property
    def key(self) -> tuple[str, ...]:
        return (self.part, self.dataset, self.set, self.method, str(self.seed))


def table8() -> Iterator[Run]:
    """100 starts each, as in section 4.4 of the paper; 10 from each solution of the relaxation."""
    methods: dict[str, Callable[[], Heuristic]] = {
        "ipc-kmeans sdp": partial(sdpbb.heuristic, "ipc-kmeans", start="sdp", n_starts=10),
        "ipc-kmeans": partial(IPCKMeans, n_starts=100),
        "post-processing": partial(PostProcessing, n_starts=100),
        "cop-kmeans": partial(COPKMeans, n_starts=100),
        "best-of": BestOf,
    }
    datasets = sorted(path.stem for path in (PUBLIC / "datasets").glob("*.txt"))
    for task in find_tasks(PUBLIC, datasets, range(5)):
        case = partial(public_case, task.dataset, task.file_name)
        for name, make in methods.items():
            yield Run("table8", task.dataset, task.set_name, name, 0, case, make)


def bh() -> Iterator[Run]:
    for dataset in MATRIX_DATA:
        for percentage in PERCENTAGES:
            case = partial(matrix_case, dataset, percentage)
            for seed in SEEDS:
                yield Run("bh", dataset, percentage, "bh-kmeans", seed, case, BHKMeans)
                yield Run("bh", dataset, percentage, "pccc", seed, case, PCCC)


def plain() -> Iterator[Run]:
    for dataset in MATRIX_DATA:
        cases = {p: partial(matrix_case, dataset, p) for p in PERCENTAGES}
        for task in find_tasks(PUBLIC, [dataset], SEEDS):
            cases[task.set_name] = partial(public_case, dataset, task.file_name)
        for name, case in cases.items():
            yield Run("plain", dataset, name, "pccc", 0, case, PCCC)
            yield Run("plain", dataset, name, "plain", 0, case, PlainPCCC)


def col2() -> Iterator[Run]:
    limits = {"time_limit": COL2_SECONDS, "assignment_time_limit": COL2_STEP_SECONDS}
    for n in generated.COL2_OBJECTS:
        for k in generated.COL2_CLUSTERS:
            for fraction in generated.COL2_FRACTIONS:
                hard = partial(col2_case, n, k, fraction, soft=False)
                soft = partial(col2_case, n, k, fraction, soft=True)
                name, cell = f"n{n}-k{k}", f"{fraction:.0%}"
                yield Run("col2", name, cell, "pccc", 0, hard, partial(PCCC, **limits))
                for q in (2, 3, 5):
                    make = partial(PCCC, q=q, **limits)
                    yield Run("col2", name, cell, f"pccc-n{q}-s", 0, soft, make)


def col3() -> Iterator[Run]:
    make = partial(PCCC, q=2, time_limit=1200.0, assignment_time_limit=20.0)
    yield Run("col3", "n60000-k100", "4.5M", "pccc-n2-s", 0, col3_case, make)


def large() -> Iterator[Run]:
    best_of = partial(BestOf, n_runs=1, n_starts=5, n_relocations=10, time_limit=LARGE_SECONDS)
    methods: list[tuple[str, float, Callable[[], Heuristic]]] = [
        ("scikit-learn, 10 starts", 0.0, ScikitLearn),
        ("kmeans, 1 start", 0.0, KMeans),
        ("kmeans, 10 starts", 0.0, partial(KMeans, n_starts=10)),
        ("best-of", 0.0, best_of),
        ("pccc, 1 start", 0.1, PCCC),
        ("pccc, 10 starts", 0.1, partial(PCCC, n_starts=10, time_limit=LARGE_SECONDS)),
        ("best-of", 0.1, best_of),
    ]
    for n in LARGE_OBJECTS:
        for name, fraction, make in methods:
            case = partial(large_case, n, fraction)
            yield Run("large", f"n{n}-k10", f"{fraction:.0%}", name, 0, case, make)


PARTS = {
    "table8": table8,
    "bh": bh,
    "plain": plain,
    "col2": col2,
    "col3": col3,
    "large": large,
}


class ScikitLearn(Heuristic):
    """k-means of scikit-learn from ten starts, all else as it is by default."""

    name = "scikit-learn"
    soft = Soft.IGNORED

    def search(self, instance: Instance, rng: np.random.Generator, clock: RunClock) -> SearchResult:
        found = SklearnKMeans(instance.k, n_init=10, random_state=0).fit(instance.points)
        return SearchResult(found.labels_.astype(np.intp), Stop.CONVERGED, found.n_iter_)


@lru_cache(maxsize=2)
def public_case(dataset: str, file_name: str) -> Case:
    points = PUBLIC / "datasets" / f"{dataset}.txt"
    return Case(read_instance(points, None, PUBLIC / "constraints" / dataset / file_name))


@lru_cache(maxsize=2)
def matrix_case(dataset: str, percentage: str) -> Case:
    return Case(*generated.bh_kmeans(dataset, percentage, MATRICES))


@lru_cache(maxsize=2)
def col2_case(n: int, k: int, fraction: float, soft: bool) -> Case:
    """Return hard constraints, or soft cannot-links of weight 1 (the paper's N2-S and its like)."""
    instance, truth = generated.col2(n, k, fraction, seed=0)
    return Case(generated.with_soft_cannot_links(instance) if soft else instance, truth)


def col3_case() -> Case:
    instance, truth = generated.col3(seed=0)
    return Case(generated.with_soft_cannot_links(instance), truth)


def large_case(n: int, fraction: float) -> Case:
    return Case(*generated.clouds(n, fraction, seed=0))


def row_of(run: Run) -> dict[str, Any]:
    instance, truth = run.case()
    result = run.make().run(instance, run.seed)
    labels, violations = result.labels, result.violations
    pairs = (instance.must_link, instance.cannot_link)
    soft = (instance.soft_must_link, instance.soft_cannot_link)
    values = (
        *run.key,
        *(instance.n_points, instance.k, sum(map(len, (*pairs, *soft)))),
        *(result.status.name.lower(), result.stop.name.lower()),
        *(result.sum_of_squares, result.penalised_objective),
        None if violations is None else violations.hard,
        None if violations is None else violations.soft_must_link + violations.soft_cannot_link,
        *(result.n_iterations, round(result.seconds, 4)),
        round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        None if truth is None or labels is None else adjusted_rand_index(truth, labels),
        *(sdpbb.__version__, cpu_name()),
    )
    return dict(zip(FIELDS, values, strict=True))


def row_of_another_process(run: Run) -> dict[str, Any]:
    with ProcessPoolExecutor(1, get_context("spawn"), warm_up) as executor:
        return executor.submit(row_of, run).result()


def warm_up() -> None:
    """Compile, or load, the kernels."""
    rng = np.random.default_rng(0)
    pairs = [(i, i + 1) for i in range(12)]
    hard = Instance(rng.normal(size=(40, 3)), 3, [(20, 21)], pairs)
    soft = Instance(hard.points, 3, [(20, 21)], soft_cannot_link=[(i, j, 1.0) for i, j in pairs])
    for method in (sdpbb.heuristic("ipc-kmeans", start="sdp"), BestOf(), COPKMeans(), BHKMeans()):
        method.run(hard)
    PostProcessing().run(hard)
    PCCC().run(hard)
    KMeans().run(hard)
    PCCC(q=2).run(soft)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--datasets", help="only these, separated by commas")
    parser.add_argument("--own-process", action="store_true", help="one for each run")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmark_heuristics.csv")
    parser.add_argument("--report", type=Path, help="write the tables of all rows in --out")
    arguments = parser.parse_args(argv)
    if not SHARED.is_dir():
        print(f"{SHARED} is not there: only generated instances can be run", file=sys.stderr)
    wanted = arguments.datasets and set(arguments.datasets.split(","))
    done = {tuple(row[field] for field in FIELDS[:5]) for row in rows.read(arguments.out)}
    runs = [run for part in arguments.parts.split(",") if part for run in PARTS[part]()]
    runs = [run for run in runs if run.key not in done and (not wanted or run.dataset in wanted)]
    row_of_one = row_of_another_process if arguments.own_process else row_of
    if runs and not arguments.own_process:
        warm_up()
    for position, run in enumerate(runs, start=1):
        row = row_of_one(run)
        rows.append(arguments.out, FIELDS, row, LINE_END)
        shown = " ".join(str(row[field]) for field in (*FIELDS[:5], "sum_of_squares", "seconds"))
        print(f"{position}/{len(runs)} {shown}", flush=True)
    if arguments.report:
        known = rows.read(arguments.out)
        write_report(arguments.report, known, SHARED / "reference", ROOT / "docs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
