"""Measure the parts of column generation on instances of `colgen_instances`, one command each.

    pricing        our exact pricing beside the published one, on the problems that column
                   generation meets at the dual values of its master programme
    enumeration    whether enumeration takes the place of the tree: column generation with it and
                   without, and the semidefinite bound beside the hybrid one

Each row is appended to the CSV file at once, and rows that are there already are not made again.
The table of all rows is printed at the end. Searches are counted in nodes, which do not depend on
what else the machine does; seconds do.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import benchmark_trees
import numpy as np
import rows
from benchmark import ROOT
from colgen_instances import Case, instance_of
from measured_generation import GAP, generated, root_of
from measurement_tables import TABLES
from numpy.typing import NDArray
from paper_pricing import Priced, PricingProblem, compare_pricing, paper_pricing

import sdpbb
from sdpbb.bounds.colgen import enumeration as colgen_enumeration
from sdpbb.bounds.colgen.pricing.branching_pricer import NODES_PER_SLICE
from sdpbb.bounds.colgen.pricing.problem import PricingProblem as BlockProblem
from sdpbb.bounds.colgen.pricing.search import ClusterSearch
from sdpbb.bounds.colgen.pricing.sought import SoughtClusters
from sdpbb.bounds.registry import BOUNDING_METHODS
from sdpbb.problem import Contraction

NAMES = ("instance", "k", "constraints", "draw")
FIELDS = {
    "pricing": (
        *(*NAMES, "problem", "blocks", "least", "nodes", "paper_nodes", "finished"),
        *("paper_finished", "seconds", "paper_seconds", "same"),
    ),
    "enumeration": (
        *(*NAMES, "setting", "status", "objective", "gap", "root_gap", "nodes", "seconds"),
    ),
}


class Settings(NamedTuple):
    """Limits of a measurement.

    They are seconds of column generation or of a run, and nodes and seconds of one search by either
    pricing.
    """

    seconds: float
    search_nodes: int
    search_seconds: float


def pricing(case: Case, settings: Settings) -> Iterator[dict[str, Any]]:
    """Measure the exact problem in the middle of column generation, and the last."""
    root = root_of(case)
    asked = generated(root, settings.seconds).pricer.asked
    chosen = {"middle": asked[(len(asked) - 1) // 2], "last": asked[-1]} if asked else {}
    if len(asked) == 1:
        del chosen["middle"]
    for name, (prices, target) in chosen.items():
        problem = PricingProblem(name, root.contraction, np.maximum(prices, 0.0), target)
        ours = our_pricing(settings)
        [row] = compare_pricing([problem], ours, paper_limit(problem, settings))
        yield {
            "problem": name,
            "blocks": root.contraction.n_blocks,
            "least": row.ours.value if row.ours.finished else row.paper.value,
            "nodes": row.ours.n_nodes,
            "paper_nodes": row.paper.n_nodes,
            "finished": row.ours.finished,
            "paper_finished": row.paper.finished,
            "seconds": round(row.our_seconds, 4),
            "paper_seconds": round(row.paper_seconds, 4),
            "same": row.agrees,
        }


def our_pricing(settings: Settings) -> Callable[..., Priced]:
    """Search for the least value only."""

    def priced(contraction: Contraction, prices: NDArray[np.float64], target: float) -> Priced:
        search = ClusterSearch(BlockProblem.of(contraction), SoughtClusters(prices, target))
        start = time.perf_counter()
        while not search.is_finished and search.n_nodes < settings.search_nodes:
            if time.perf_counter() - start > settings.search_seconds:
                break
            search.run(NODES_PER_SLICE)
        return Priced(search.upper, search.n_nodes, search.is_finished)

    return priced


def paper_limit(problem: PricingProblem, settings: Settings) -> int:
    """Return nodes for about so many seconds, from the pace of the first few thousand."""
    arguments = (problem.contraction, problem.prices, problem.target)
    paper_pricing(*arguments, node_limit=1)
    start = time.perf_counter()
    trial = paper_pricing(*arguments, node_limit=20_000)
    pace = trial.n_nodes / (time.perf_counter() - start)
    return max(20_000, min(settings.search_nodes, int(pace * settings.search_seconds)))


def enumeration(case: Case, settings: Settings) -> Iterator[dict[str, Any]]:
    """Solve with and without enumeration.

    That is by column generation, and by the semidefinite and the hybrid bound; trees of
    `benchmark_trees` and public sets by the second two only, and those that leave no tree by the
    first two only.
    """
    limited = sdpbb.SolverParameters(gap=GAP, time_limit=settings.seconds)
    without = "colgen, no enumeration"
    compared: dict[str, sdpbb.SolverParameters] = {}
    if case.suite not in ("trees", "public"):
        compared[without] = replace(limited, bounding="colgen")
        compared["colgen"] = replace(limited, bounding="colgen")
    if case.suite in ("trees", "public", "grids"):
        compared["sdp"] = replace(limited, bounding="sdp")
        compared["hybrid"] = replace(limited, bounding="hybrid")
    instance = points_of(case) if case.suite in ("trees", "grids") else instance_of(case)
    max_gap = colgen_enumeration.MAX_GAP
    for name, parameters in compared.items():
        colgen_enumeration.MAX_GAP = 0.0 if name == without else max_gap
        start = time.perf_counter()
        result = sdpbb.solve(instance, parameters)
        yield {
            "setting": name,
            "status": result.status.value,
            "objective": result.objective,
            "gap": result.gap,
            "root_gap": result.statistics.root_gap,
            "nodes": result.statistics.n_nodes,
            "seconds": round(time.perf_counter() - start, 3),
        }


def points_of(case: Case) -> sdpbb.Instance:
    """Return the points of a name: "normal-n-d" or "grid-r-s".

    "normal-n-d" is an instance of `benchmark_trees`, "grid-r-s" the points of a grid of r by s: its
    clusterings of equal cost leave gaps to the linear relaxation.
    """
    kind, first, second = case.name.split("-")
    if kind == "normal":
        return benchmark_trees.instance(int(first), int(second), case.k, case.draw)
    return sdpbb.Instance(np.argwhere(np.ones((int(first), int(second)))), case.k)


def _tables(name: str, k: int, *numbers: int) -> list[Case]:
    return [Case("tables", name, k, str(number), 0) for number in numbers]


def _small(family: str, n: int, *ks: int, constraints: int = 0, draw: int = 0) -> list[Case]:
    return [Case("small-clusters", f"{family}-{n}", k, str(constraints), draw) for k in ks]


def _trees(n: int, d: int, k: int, *seeds: int) -> list[Case]:
    return [Case("trees", f"normal-{n}-{d}", k, "0", seed) for seed in seeds]


def _grid(side: int, *ks: int) -> list[Case]:
    return [Case("grids", f"grid-{side}-{side}", k, "0", 0) for k in ks]


CASES: dict[str, list[Case]] = {
    "pricing": [
        *_tables("iris", 3, 60, 100, 240),
        *_tables("iris", 5, 60, 100, 240),
        *_tables("wine", 5, 240, 420),
        *_tables("soybean", 4, 10, 40),
        *(_small("planar", 100, 12, 25) + _small("planar", 200, 25, 50)),
        *(_small("blobs2", 100, 12, 25) + _small("blobs4", 100, 12, 25)),
        *_small("blobs8", 100, 12, 25),
    ],
    "enumeration": [
        *(_grid(7, 6, 8) + _grid(8, 7, 10) + _grid(9, 11)),
        *(_trees(80, 10, 8, 4) + _trees(90, 9, 7, 1)),
        Case("public", "glass", 6, "ml_50_cl_50", 2),
        Case("public", "accent", 6, "ml_75_cl_75", 0),
        *(_small("planar", 100, 12, constraints=25) + _small("blobs4", 100, 12)),
        *_tables("iris", 5, 240),
    ],
}
MEASURED = {"pricing": pricing, "enumeration": enumeration}


def warm_up() -> None:
    """Compile, or load, the kernels."""
    for bounding in BOUNDING_METHODS:
        parameters = sdpbb.SolverParameters(bounding=bounding, node_limit=3, time_limit=60.0)
        sdpbb.solve(benchmark_trees.instance(40, 3, 8, 0), parameters)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=sorted(MEASURED))
    parser.add_argument("--names", help="only instances whose name begins with this")
    parser.add_argument("--out", type=Path, help="default: docs/colgen_PART.csv")
    parser.add_argument("--seconds", type=float, default=60.0, help="of generation, or of a run")
    parser.add_argument("--search-nodes", type=int, default=30_000_000, help="of one search")
    parser.add_argument("--search-seconds", type=float, default=60.0, help="of one search, about")
    parser.add_argument("--table-only", action="store_true", help="measure nothing")
    arguments = parser.parse_args(argv)
    part = arguments.part
    out = arguments.out or ROOT / "docs" / f"colgen_{part}.csv"
    settings = Settings(arguments.seconds, arguments.search_nodes, arguments.search_seconds)
    chosen = [case for case in CASES[part] if case.name.startswith(arguments.names or "")]
    done = {key_of(row) for row in rows.read(out)}
    cases = [case for case in chosen if not arguments.table_only]
    if cases:
        warm_up()
    for case in cases:
        name = (case.name, str(case.k), case.constraints, str(case.draw))
        if name in done:
            continue
        # All of an instance or nothing: what is left out is made again as a whole.
        made = [dict(zip(NAMES, name, strict=True)) | row for row in MEASURED[part](case, settings)]
        for row in made:
            rows.append(out, FIELDS[part], row)
            print(*row.values(), flush=True)
    print("\n".join(TABLES[part](rows.read(out))))
    return 0


def key_of(row: rows.Row) -> tuple[str, ...]:
    """Return the instance that a row is of."""
    return tuple(row[name] for name in NAMES)


if __name__ == "__main__":
    sys.exit(main())
