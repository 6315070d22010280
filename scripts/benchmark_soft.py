"""Soft pairs, some of them wrong: proofs, PCCC's distance from them, what violated pairs tell.

    python scripts/benchmark_soft.py --data ../shared/data/pc-sos-sdp/datasets --out docs/soft.csv
    python scripts/benchmark_soft.py --table docs/soft.csv
    python scripts/benchmark_soft.py iris wine seeds --prices --seconds 900 --data ... --out ...
    python scripts/benchmark_soft.py --prices --table docs/soft_prices.csv

The right pairs are drawn at random and agree with the optimal clustering without constraints; a
share of the must-links is stated as cannot-links, and the other way round. The weight of a pair is
a factor times the mean squared distance of a point to the mean of its cluster in that clustering.
PCCC minimises the same cost: squared distances and P = 1, the best of ten starts.

With --prices the same 50 pairs are hard, and ranked by their prices: of the q dearest, where q are
wrong, so many are. A pair that costs nothing is in no rank.
"""

from __future__ import annotations

import argparse
import itertools
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import rows

import sdpbb
from heuristics.pccc import PCCC
from sdpbb.constraint_sets.procedures import by_number, with_noise
from sdpbb.problem import Instance, Partition

NAMES = ("iris", "wine", "seeds", "glass")
PAIRS, NOISES, FACTORS = (50, 100), (0.1, 0.2), (0.1, 1.0, 10.0)
SAME = ("name", "pairs", "noise", "factor", "seed")
FIELDS = (
    *SAME,
    *("status", "objective", "lower_bound", "gap", "seconds", "n_nodes", "root_gap"),
    *("n_violated", "n_wrong", "n_both", "penalty", "pccc", "pccc_seconds"),
)


PRICED = (
    *("name", "pairs", "noise", "seed", "status", "n_wrong", "n_dear", "n_both"),
    *("n_priced", "seconds"),
)


class Case(NamedTuple):
    """Instance with soft pairs, and the pairs of it that are wrong, as (i, j)."""

    instance: Instance
    wrong: set[tuple[int, int]]


@cache
def without_pairs(folder: Path, name: str) -> tuple[Instance, Partition, float]:
    """Return points, their optimal clustering without constraints, and its cost."""
    instance = Instance.from_files(folder / f"{name}.txt")
    result = sdpbb.solve(instance, sdpbb.SolverParameters(workers=1))
    assert result.status is sdpbb.SolutionStatus.OPTIMAL
    assert result.partition is not None
    assert result.objective is not None
    return instance, result.partition, result.objective


def case(folder: Path, name: str, pairs: int, noise: float, factor: float, seed: int) -> Case:
    """Return a case; those that differ in the factor alone have the same pairs."""
    points, partition, cost = without_pairs(folder, name)
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
    return Case(instance, wrong)


def measured(drawn: Case, seconds: float) -> dict[str, Any]:
    """Solve, run PCCC, and compare."""
    instance, wrong = drawn
    parameters = sdpbb.SolverParameters(workers=1, time_limit=seconds)
    result = sdpbb.solve(instance, parameters)
    assert result.soft is not None
    violated = {(i, j) for i, j, _ in (*result.soft.must_link, *result.soft.cannot_link)}
    found = PCCC(distance="squared", penalty=1.0, n_starts=10).run(instance)
    assert found.labels is not None
    return {
        "status": result.status.value,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "seconds": round(result.statistics.wall_seconds, 2),
        "n_nodes": result.statistics.n_nodes,
        "root_gap": result.statistics.root_gap,
        "n_violated": len(violated),
        "n_wrong": len(wrong),
        "n_both": len(violated & wrong),
        "penalty": result.soft.penalty,
        "pccc": Partition(found.labels).cost(instance),
        "pccc_seconds": round(found.seconds, 2),
    }


def priced(drawn: Case, seconds: float) -> dict[str, Any]:
    """State all pairs as hard, and rank them by their prices."""
    points, wrong = drawn
    soft = points.soft_must_link.pairs, points.soft_cannot_link.pairs
    instance = Instance(points.points, points.k, *soft)
    parameters = sdpbb.SolverParameters(workers=1, time_limit=seconds)
    report = sdpbb.constraint_prices(instance, parameters=parameters)
    dear = [price.statement.rows for price in report.prices if price.difference > 0.0]
    first = dear[: len(wrong)]
    return {
        "status": report.result.status.value,
        "n_wrong": len(wrong),
        "n_dear": len(first),
        "n_both": sum(rows in wrong for rows in first),
        "n_priced": len(report.prices),
        "seconds": round(report.seconds, 2),
    }


def table_of_prices(measurements: list[rows.Row]) -> list[str]:
    """Return the table of the documentation: one line for each set."""
    lines = []
    for name in NAMES:
        some = [r for r in measurements if r["name"] == name]
        ranked = [r for r in some if r["status"] != "infeasible"]
        if not some:
            continue
        sums = {key: sum(int(r[key]) for r in ranked) for key in ("n_wrong", "n_dear", "n_both")}
        precision, recall = (
            f"{100 * sums['n_both'] / sums[key]:.0f} %" if sums[key] else ""
            for key in ("n_dear", "n_wrong")
        )
        lines.append([name, str(len(some)), str(len(some) - len(ranked)), precision, recall])
    return rows.markdown(["set", "runs", "infeasible", "precision", "recall"], lines)


def table(measurements: list[rows.Row]) -> list[str]:
    """Return the table of the documentation: one line for each set and weight."""
    lines = []
    for name, factor in itertools.product(NAMES, FACTORS):
        some = [r for r in measurements if r["name"] == name and float(r["factor"]) == factor]
        if not some:
            continue
        proven = sum(r["status"] == "optimal" for r in some)
        distance = [float(r["pccc"]) / float(r["objective"]) - 1.0 for r in some]
        sums = {
            key: sum(int(r[key]) for r in some)
            for key in ("n_violated", "n_wrong", "n_both", "n_nodes")
        }
        precision = sums["n_both"] / sums["n_violated"] if sums["n_violated"] else float("nan")
        seconds = np.array([float(r["seconds"]) for r in some])
        lines.append(
            [
                name,
                f"{factor:g}",
                f"{proven} of {len(some)}",
                f"{np.median(seconds):.1f}",
                f"{seconds.max():.1f}",
                f"{sums['n_nodes'] / len(some):.1f}",
                f"{100 * np.mean(distance):.2f} %",
                f"{100 * np.max(distance):.2f} %",
                f"{100 * precision:.0f} %",
                f"{100 * sums['n_both'] / sums['n_wrong']:.0f} %",
            ]
        )
    head = ["set", "weight", "proven", "median s", "longest s", "nodes", "PCCC", "at most"]
    return rows.markdown([*head, "precision", "recall"], lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=list(NAMES), help=f"of {', '.join(NAMES)}")
    parser.add_argument("--data", type=Path, help="folder of NAME.txt, lines n d k and rows")
    parser.add_argument("--out", type=Path, help="file of rows, which are added")
    parser.add_argument("--table", type=Path, help="file of rows: print their table, run nothing")
    parser.add_argument("--seeds", type=int, default=2, help="draws of pairs for each case")
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit of a run")
    parser.add_argument("--prices", action="store_true", help="rank the pairs, hard, by prices")
    arguments = parser.parse_args()
    if arguments.table is not None:
        of = table_of_prices if arguments.prices else table
        print("\n".join(of(rows.read(arguments.table))))
        return
    if arguments.data is None or arguments.out is None:
        parser.error("expected --data and --out")
    if arguments.prices:
        measure_prices(arguments)
        return
    product = itertools.product(arguments.names, PAIRS, NOISES, FACTORS, range(arguments.seeds))
    for chosen in product:
        row = dict(zip(SAME, chosen, strict=True))
        row |= measured(case(arguments.data, *chosen), arguments.seconds)
        rows.append(arguments.out, FIELDS, row)
        print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)


def measure_prices(arguments: argparse.Namespace) -> None:
    """Rank the pairs of each case with fewest pairs by their prices, and add the rows."""
    product = itertools.product(arguments.names, NOISES, range(arguments.seeds))
    for name, noise, seed in product:
        row: dict[str, Any] = {"name": name, "pairs": PAIRS[0], "noise": noise, "seed": seed}
        drawn = case(arguments.data, name, PAIRS[0], noise, 1.0, seed)
        row |= priced(drawn, arguments.seconds)
        rows.append(arguments.out, PRICED, row)
        print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
