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
from scripts.bench.tables import Cell, over, values
from scripts.bench.tables import table as table_of
from sdpbb.constraint_sets import by_number

KEY = "n k d constraints"
COLUMNS = "status objective gap seconds nodes peak_rss_mib time_limit version cpu"
OPTIONS = {"time_limit": 120.0}
# Of the deviation with which neighbouring clouds touch.
SPREAD = 1.0 / 3.0
DIMENSIONS = (2, 10, 50)


def cases(options: Options) -> list[Case]:
    return [
        {"n": n, "k": k, "d": d, "constraints": constraints}
        for n in (100, 200, 500, 1000, 2000)
        for k, d, constraints in product(sorted({3, 10, n // 10}), DIMENSIONS, (0, n // 4))
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
    """Return a line for each n and k: seconds without and with constraints, by dimensions."""

    def outcome(row: rows.Row) -> str:
        if row["status"] == "optimal":
            return f"{float(row['seconds']):.1f}"
        return f"> {float(row['time_limit']):g} ({100 * float(row['gap']):.2g} %)"

    def of_dimensions(d: int) -> Cell:
        return lambda own: "; ".join(map(outcome, rows.chosen(own, d=str(d))))

    columns: dict[str, Cell] = {
        **values("n", "k"),
        **{f"s, d = {d}": of_dimensions(d) for d in DIMENSIONS},
        "MiB": over("peak_rss_mib", max, ".0f"),
    }
    return table_of(rows.grouped(known, "n", "k").values(), columns, text=())


TABLES = {"limits": table}
