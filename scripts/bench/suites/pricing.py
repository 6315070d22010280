"""Exact pricing beside the published one, `yardsticks.paper_pricing`.

The problems are those that column generation meets at the dual values of its master programme, in
the middle and at its end. Searches are counted in nodes, which do not depend on what else the
machine does; seconds do.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

import sdpbb
from scripts.bench import rows
from scripts.bench.generation_cases import instance_of, name_of, of_tables, small
from scripts.bench.measuring import clocked, warm_up
from scripts.bench.suite import Case, Options
from scripts.bench.tables import each, geometric_mean, values
from scripts.bench.tables import table as table_of
from scripts.bench.yardsticks.paper_pricing import Priced, paper_pricing
from sdpbb.bounds.lagrangian.columns import known_columns
from sdpbb.bounds.lagrangian.generation import Generation
from sdpbb.bounds.lagrangian.sets.pricer import NODES_PER_SLICE, BranchingPricer, PricingOutcome
from sdpbb.bounds.lagrangian.sets.problem import PricingProblem
from sdpbb.bounds.lagrangian.sets.search import ClusterSearch, SoughtClusters
from sdpbb.problem import Contraction, contract

KEY = "instance k constraints draw"
COLUMNS = """problem blocks least nodes paper_nodes finished paper_finished seconds paper_seconds
    same"""
OPTIONS = {"time_limit": 60.0}
SEARCH_NODES, SEARCH_SECONDS = 30_000_000, 60.0
SAME = 1e-8
"""Two least reduced costs are the same if they differ by less, relative to the prices."""
YES = "True"
Asked = tuple[NDArray[np.float64], float]
"""Prices (m,) and the target of an exact pricing problem."""


def cases(options: Options) -> list[Case]:
    return [
        *of_tables("iris", 3, 60, 100, 240),
        *of_tables("iris", 5, 60, 100, 240),
        *of_tables("wine", 5, 240, 420),
        *of_tables("soybean", 4, 10, 40),
        *(small("planar", 100, 12, 25) + small("planar", 200, 25, 50)),
        *(small("blobs2", 100, 12, 25) + small("blobs4", 100, 12, 25)),
        *small("blobs8", 100, 12, 25),
    ]


class RecordingPricer(BranchingPricer):
    """Pricer that keeps the problems of exact pricing."""

    def attach(self, contraction: Contraction) -> Self:
        self.asked: list[Asked] = []
        return super().attach(contraction)

    def exact(self, prices: NDArray[np.float64], target: float) -> PricingOutcome:
        target = min(target, 0.0)
        last = self.asked[-1] if self.asked else (None, 0.0)
        if last[1] != target or last[0] is None or not np.array_equal(last[0], prices):
            self.asked.append((prices.copy(), target))
        return super().exact(prices, target)


def asked_problems(
    contraction: Contraction, labels: NDArray[np.intp], seconds: float
) -> list[Asked]:
    """Return the exact problems of column generation, until its master programme is solved.

    labels : (m,) of blocks, of the clustering whose columns are known
    """
    pricer = RecordingPricer.begin(contraction)
    columns = known_columns(contraction, labels)
    generation = Generation.begin(contraction, pricer, columns, integer=False)
    start, is_done = time.perf_counter(), False
    while not is_done and time.perf_counter() - start < seconds:
        is_done = generation.advance(np.inf).stalled
    return pricer.asked


def measure(options: Options, **given: Any) -> Iterator[dict[str, Any]]:
    """Measure the exact problem in the middle of column generation, and the last."""
    warm_up("colgen")
    instance = instance_of(options.data, **given)
    contraction = contract(instance)
    known = sdpbb.heuristic("best-of").run(instance).labels
    assert isinstance(contraction, Contraction)
    assert known is not None
    first = np.unique(contraction.block_of, return_index=True)[1]
    asked = asked_problems(contraction, known[first], options.time_limit)
    chosen = {"middle": asked[(len(asked) - 1) // 2], "last": asked[-1]} if len(asked) > 1 else {}
    for name, problem in (chosen or {"last": asked[-1]} if asked else {}).items():
        yield {"problem": name, "blocks": contraction.n_blocks, **compared(contraction, *problem)}


def compared(
    contraction: Contraction, prices: NDArray[np.float64], target: float
) -> dict[str, Any]:
    """Return the columns of one problem by both methods."""
    prices = np.maximum(prices, 0.0)
    ours, times = clocked(lambda: our_pricing(contraction, prices, target))
    paper_pricing(contraction, prices, target, node_limit=1)  # compiles
    # The paper's search has as many seconds, at the pace of its first few thousand nodes.
    trial, pace = clocked(lambda: paper_pricing(contraction, prices, target, 20_000))
    nodes = int(trial.n_nodes / max(pace["seconds"], 1e-3) * SEARCH_SECONDS)
    nodes = max(20_000, min(SEARCH_NODES, nodes))
    paper, paper_times = clocked(lambda: paper_pricing(contraction, prices, target, nodes))
    scale, difference = SAME * float(prices.sum()), ours.value - paper.value
    return {
        "least": ours.value if ours.finished else paper.value,
        "nodes": ours.n_nodes,
        "paper_nodes": paper.n_nodes,
        "finished": ours.finished,
        "paper_finished": paper.finished,
        "seconds": times["seconds"],
        "paper_seconds": paper_times["seconds"],
        # What is left unfinished may only be larger.
        "same": not (
            (ours.finished and difference > scale) or (paper.finished and -difference > scale)
        ),
    }


def our_pricing(contraction: Contraction, prices: NDArray[np.float64], target: float) -> Priced:
    """Return the least reduced cost by our search."""
    search = ClusterSearch.begin(PricingProblem.of(contraction), SoughtClusters(prices, target))
    start = time.perf_counter()
    while not search.is_finished and search.n_nodes < SEARCH_NODES:
        if time.perf_counter() - start > SEARCH_SECONDS:
            break
        search.run(NODES_PER_SLICE)
    return Priced(search.upper, search.n_nodes, search.is_finished)


def mark(row: rows.Row, whose: str = "") -> str:
    """Return what stands before the numbers of a search that was left unfinished."""
    return "" if row[f"{whose}finished"] == YES else ">"


def table(known: list[rows.Row], options: Options) -> list[str]:
    """Return the nodes of both methods and their ratio.

    A search at its limit has `>`, and its ratio is a bound; where neither was finished there is
    none. Where only ours was not, the ratio is not part of the mean: it may be anything below.
    """

    def ratio(row: rows.Row) -> str:
        if mark(row) and mark(row, "paper_"):
            return "-"
        sign = "<" if mark(row) else mark(row, "paper_")
        return f"{sign}{rows.ratio(row, 'paper_nodes', 'nodes'):.3g}"

    columns = {
        "instance": lambda own: name_of(own[0]),
        **values("problem", "blocks"),
        "nodes": lambda own: f"{mark(own[0])}{int(own[0]['nodes']):,}",
        "nodes (paper)": lambda own: f"{mark(own[0], 'paper_')}{int(own[0]['paper_nodes']):,}",
        "ratio": lambda own: ratio(own[0]),
        "seconds": lambda own: mark(own[0]) + f"{float(own[0]['seconds']):.3f}",
        "seconds (paper)": lambda own: (
            mark(own[0], "paper_") + f"{float(own[0]['paper_seconds']):.3f}"
        ),
        "same": lambda own: "yes" if own[0]["same"] == YES else "NO",
    }
    return table_of(each(known), columns, text=(0, 1))


def means(known: list[rows.Row], options: Options) -> list[str]:
    some = [row for row in known if not mark(row)]
    ratios = [rows.ratio(row, "paper_nodes", "nodes") for row in some]
    seconds = [rows.ratio(row, "paper_seconds", "seconds") for row in some]
    least = "at least " if any(mark(row, "paper_") for row in some) else ""
    return [
        f"Geometric mean of the ratios: {least}{geometric_mean(ratios):.3g}"
        f" ({len(ratios)} problems of {len(known)}); 10 or more:"
        f" {sum(ratio >= 10 for ratio in ratios)}; less than 1:"
        f" {sum(ratio < 1 for ratio in ratios)}. Of the seconds: {least}"
        f"{geometric_mean(seconds):.3g}."
    ]


TABLES = {"pricing": table, "pricing means": means}
