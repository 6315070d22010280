"""Soft pairs, some of them wrong: proofs, PCCC's distance from them, what violated pairs say.

The right pairs are drawn at random and agree with the optimal clustering without constraints; a
share of the must-links is stated as cannot-links, and the other way round. The weight of a pair is
a factor times the mean squared distance of a point to the mean of its cluster in that clustering.
PCCC minimises the same cost: squared distances and P = 1, the best of ten starts.

With the factor "hard" all pairs are hard and ranked by their prices. `n_violated` are then the q
dearest, where q are wrong; a pair that costs nothing is in no rank.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np

import sdpbb
from heuristics.penalised import PCCC
from scripts.bench import rows
from scripts.bench.data import published_instance
from scripts.bench.measuring import solved, warm_up
from scripts.bench.suite import Case, Options
from scripts.bench.tables import Cell, over, value
from scripts.bench.tables import table as table_of
from sdpbb.constraint_sets import by_number, with_noise
from sdpbb.problem import Instance, Partition

NAMES = ("iris", "wine", "seeds", "glass")
PAIRS, NOISES, FACTORS = (50, 100), (0.1, 0.2), (0.1, 1.0, 10.0)
HARD = "hard"
KEY = "name pairs noise factor seed"
COLUMNS = """status objective lower_bound gap seconds nodes root_gap n_violated n_wrong n_both
    penalty pccc pccc_seconds"""
OPTIONS = {"time_limit": None, "draws": 2}
SOFT_SECONDS, HARD_SECONDS = 60.0, 900.0


class NoisyPairs(NamedTuple):
    """Instance with soft pairs, and the pairs of it that are wrong, as (i, j)."""

    instance: Instance
    wrong: set[tuple[int, int]]


def without_pairs(data: Path, name: str) -> tuple[Instance, Partition, float]:
    """Return points, their optimal clustering without constraints, and its cost."""
    instance = published_instance(data, name)
    result = sdpbb.solve(instance, sdpbb.SolverParameters(workers=1))
    assert result.status is sdpbb.SolutionStatus.OPTIMAL
    assert result.partition is not None
    assert result.objective is not None
    return instance, result.partition, result.objective


def noisy_pairs(
    data: Path, name: str, pairs: int, noise: float, factor: float, seed: int
) -> NoisyPairs:
    """Return a case; those that differ in the factor alone have the same pairs."""
    points, partition, cost = without_pairs(data, name)
    rng = np.random.default_rng([pairs, round(100 * noise), seed])
    right = by_number(partition.labels, pairs, rng)
    stated = with_noise(right, noise, rng)
    weight = factor * cost / points.n_points
    soft = [[(i, j, weight) for i, j in kind.tolist()] for kind in stated]
    instance = Instance(points.points, points.k, None, None, name, *soft)
    known = [{tuple(pair) for pair in kind.tolist()} for kind in right]
    wrong = {
        tuple(pair)
        for kind, agreed in zip(stated, known, strict=True)
        for pair in kind.tolist()
        if tuple(pair) not in agreed
    }
    return NoisyPairs(instance, wrong)


def cases(options: Options) -> list[Case]:
    chosen = [*product(NAMES, PAIRS, NOISES, FACTORS, range(options.draws))]
    chosen += product(NAMES, PAIRS[:1], NOISES, (HARD,), range(options.draws))
    has_data = (options.data / "pc-sos-sdp").is_dir()
    return [dict(zip(KEY.split(), one, strict=True)) for one in chosen if has_data]


def measure(options: Options, factor: float | str, **key: Any) -> dict[str, Any]:
    """Solve, run PCCC, and compare; or rank hard pairs."""
    warm_up()
    if factor == HARD:
        return ranked(*noisy_pairs(options.data, factor=1.0, **key), options)
    instance, wrong = noisy_pairs(options.data, factor=float(factor), **key)
    limit = options.time_limit or SOFT_SECONDS
    result, row = solved(instance, sdpbb.SolverParameters(workers=1, time_limit=limit))
    assert result.soft is not None
    violated = {(i, j) for i, j, _ in (*result.soft.must_link, *result.soft.cannot_link)}
    found = PCCC(distance="squared", penalty=1.0, n_starts=10).run(instance)
    assert found.labels is not None
    return row | {
        "seconds": round(result.statistics.wall_seconds, 2),
        "n_violated": len(violated),
        "n_wrong": len(wrong),
        "n_both": len(violated & wrong),
        "penalty": result.soft.penalty,
        "pccc": Partition(found.labels).cost(instance),
        "pccc_seconds": round(found.seconds, 2),
    }


def ranked(soft: Instance, wrong: set[tuple[int, int]], options: Options) -> dict[str, Any]:
    """State all pairs as hard, and rank them by their prices."""
    pairs = soft.soft_must_link.pairs, soft.soft_cannot_link.pairs
    limit = options.time_limit or HARD_SECONDS
    report = sdpbb.constraint_prices(
        Instance(soft.points, soft.k, *pairs),
        parameters=sdpbb.SolverParameters(workers=1, time_limit=limit),
    )
    dear = [price.statement.rows for price in report.prices if price.difference > 0.0]
    first = dear[: len(wrong)]
    return {
        "status": report.result.status.value,
        "n_violated": len(first),
        "n_wrong": len(wrong),
        "n_both": sum(pair in wrong for pair in first),
        "seconds": round(report.seconds, 2),
    }


def share(above: str, below: str) -> Cell:
    """Return the cell of a sum over another, in per cent."""

    def cell(own: list[rows.Row]) -> str:
        whole = sum(rows.numbers(own, below))
        return f"{100 * sum(rows.numbers(own, above)) / whole:.0f} %" if whole else ""

    return cell


def table(known: list[rows.Row], options: Options) -> list[str]:
    """Return a line for each set and weight."""

    def distance(what: Callable[[list[float]], float]) -> Cell:
        return lambda own: (
            f"{100 * what([rows.ratio(r, 'pccc', 'objective') - 1 for r in own]):.2f} %"
        )

    columns: dict[str, Cell] = {
        "set": value("name"),
        "weight": value("factor", "g"),
        "proven": lambda own: f"{len(rows.chosen(own, status='optimal'))} of {len(own)}",
        "median s": over("seconds", median, ".1f"),
        "longest s": over("seconds", max, ".1f"),
        "nodes": over("nodes", fmean, ".1f"),
        "PCCC": distance(fmean),
        "at most": distance(max),
        "precision": share("n_both", "n_violated"),
        "recall": share("n_both", "n_wrong"),
    }
    some = [row for row in known if row["factor"] != HARD]
    return table_of(rows.grouped(some, "name", "factor").values(), columns)


def prices(known: list[rows.Row], options: Options) -> list[str]:
    """Return a line for each set: hard pairs by their prices, and soft ones by their weights."""

    def of(factor: str, cell: Cell) -> Cell:
        return lambda own: cell(rows.chosen(own, factor=factor))

    columns: dict[str, Cell] = {"set": value("name")}
    for factor in (HARD, *map(str, FACTORS)):
        name = "dearest, hard" if factor == HARD else f"weight {float(factor):g}"
        columns[f"{name}: precision"] = of(factor, share("n_both", "n_violated"))
        columns[f"{name}: recall"] = of(factor, share("n_both", "n_wrong"))
    some = rows.chosen(known, pairs=str(PAIRS[0]))
    return table_of(rows.grouped(some, "name").values(), columns)


TABLES = {"soft": table, "soft prices": prices}
