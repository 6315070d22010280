"""Pairs, some of them wrong, that are hard and ranked by their prices.

They are the cases of `soft` with 50 pairs. Of the q dearest, where q are wrong, so many are. A pair
that costs nothing is in no rank.
"""

from __future__ import annotations

from typing import Any

import sdpbb
from scripts.bench import rows
from scripts.bench.suite import Case, Options
from scripts.bench.suites import soft
from scripts.bench.tables import Cell, count, value
from scripts.bench.tables import table as table_of
from sdpbb.problem import Instance

KEY = "name pairs noise seed"
COLUMNS = "status n_wrong n_dear n_both n_priced seconds"
OPTIONS = {"time_limit": 900.0, "draws": 2}
ONLY = ("iris", "wine", "seeds")


def cases(options: Options) -> list[Case]:
    """Return the cases with fewest pairs, of one factor, which hard pairs do not have."""
    some = (c for c in soft.cases(options) if (c["pairs"], c["factor"]) == (soft.PAIRS[0], 1.0))
    return [{name: one[name] for name in KEY.split()} for one in some]


def measure(options: Options, **key: Any) -> dict[str, Any]:
    """State all pairs as hard, and rank them by their prices."""
    points, wrong = soft.noisy_pairs(options.data, factor=1.0, **key)
    stated = points.soft_must_link.pairs, points.soft_cannot_link.pairs
    instance = Instance(points.points, points.k, *stated)
    parameters = sdpbb.SolverParameters(workers=1, time_limit=options.time_limit)
    report = sdpbb.constraint_prices(instance, parameters=parameters)
    dear = [price.statement.rows for price in report.prices if price.difference > 0.0]
    first = dear[: len(wrong)]
    return {
        "status": report.result.status.value,
        "n_wrong": len(wrong),
        "n_dear": len(first),
        "n_both": sum(pair in wrong for pair in first),
        "n_priced": len(report.prices),
        "seconds": round(report.seconds, 2),
    }


def table(known: list[rows.Row], options: Options) -> list[str]:
    """Return a line for each set; infeasible ones have no ranks."""

    def ranked(cell: Cell) -> Cell:
        return lambda own: cell([row for row in own if row["status"] != "infeasible"])

    columns: dict[str, Cell] = {
        "set": value("name"),
        "runs": len,
        "infeasible": count(status="infeasible"),
        "precision": ranked(soft.share("n_both", "n_dear")),
        "recall": ranked(soft.share("n_both", "n_wrong")),
    }
    return table_of(rows.grouped(known, "name").values(), columns)


TABLES = {"soft_prices": table}
