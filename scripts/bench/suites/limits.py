"""Limits of the engine as n, k and d grow.

Points in k normal clouds about centres uniform in the unit cube of d dimensions, whose deviation
is a third of what makes them touch; no constraints, or n / 4 that are drawn from the clouds. One
worker with one BLAS thread.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import sdpbb
from scripts.bench import rows
from scripts.bench.measuring import solved, warm_up
from scripts.bench.suite import Case, Options
from scripts.bench.tables import each, value, values
from scripts.bench.tables import table as table_of
from sdpbb.constraint_sets import by_number

KEY = "n k d constraints"
COLUMNS = "status objective gap seconds nodes peak_rss_mib time_limit version cpu"
OPTIONS = {"time_limit": 120.0}
# Of the deviation with which neighbouring clouds touch.
SPREAD = 1.0 / 3.0


def cases(options: Options) -> list[Case]:
    return [
        {"n": n, "k": k, "d": d, "constraints": constraints}
        for n in (100, 200, 500, 1000, 2000)
        for k, d, constraints in product(sorted({3, 10, n // 10}), (2, 10, 50), (0, n // 4))
    ]


def measure(options: Options, n: int, k: int, d: int, constraints: int) -> dict[str, Any]:
    warm_up()
    rng = np.random.default_rng([n, k, d, constraints])
    labels = np.arange(n) % k
    deviation = SPREAD * 0.5 * k ** (-1 / d)
    clouds = rng.random((k, d))[labels]
    points = clouds + deviation * rng.normal(size=clouds.shape)
    instance = sdpbb.Instance(points, k, *by_number(labels, constraints, rng))
    return solved(instance, sdpbb.SolverParameters(time_limit=options.time_limit))[1]


def table(known: list[rows.Row], options: Options) -> list[str]:
    def unless_solved(told: Any, otherwise: str) -> Any:
        return lambda own: otherwise.format(**numbers(own[0])) if is_open(own[0]) else told(own)

    def is_open(row: rows.Row) -> bool:
        return row["status"] != "optimal"

    def numbers(row: rows.Row) -> dict[str, float]:
        return {"limit": float(row["time_limit"]), "gap": 100 * float(row["gap"])}

    columns = {
        **values("n", "k", "d", "constraints"),
        "seconds": unless_solved(value("seconds", ".1f"), "> {limit:g}"),
        "gap": unless_solved(lambda own: "proven", "{gap:.2g} %"),
        "MiB": value("peak_rss_mib", ".0f"),
    }
    return table_of(each(known), columns, text=())


TABLES = {"limits": table}
