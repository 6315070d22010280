"""Proofs with limits on the sizes of clusters, the instances of `scripts.bench.size_cases`.

Those of iris, series and pairs are run, and others if they are named (`--only equal hundreds
balanced plane`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sdpbb
from scripts.bench import rows
from scripts.bench.data import reference
from scripts.bench.measuring import solved, warm_up
from scripts.bench.size_cases import PAGE_SDP, instance_of, size_cases
from scripts.bench.suite import SOLVED, Case, Options
from scripts.bench.tables import Cell, each, value, values
from scripts.bench.tables import table as table_of

KEY = "suite name set workers"
COLUMNS = """n k least most sizes status objective lower_bound gap root_gap nodes seconds
    cpu_seconds load"""
OPTIONS = {"time_limit": None, "workers": 1}
ONLY = ("iris", "series", "pairs")
LIMITS = {
    "iris": 60.0,
    "series": 120.0,
    "pairs": 60.0,
    "equal": 300.0,
    "hundreds": 20.0,
    "balanced": 60.0,
    "plane": 120.0,
    "clouds": 600.0,
    "page": 30.0,
    "page sdp": 30.0,
    "large": 600.0,
}
"""Seconds of a run of each group."""
GAPS = {"large": 1e-2}
"""Gaps of the groups that are not proven to that of the parameters."""


def cases(options: Options) -> list[Case]:
    found = size_cases(options.data)
    return [dict(zip(KEY.split(), (*one, options.workers), strict=True)) for one in found]


def measure(options: Options, suite: str, name: str, set: str, workers: int) -> dict[str, Any]:
    warm_up(min_size=3, max_size=6)
    instance = instance_of(options.data, (suite, name, set))
    limit = options.time_limit or LIMITS[suite]
    parameters = sdpbb.SolverParameters(workers=workers, time_limit=limit)
    if suite in GAPS:
        parameters = replace(parameters, gap=GAPS[suite])
    if suite == PAGE_SDP:
        parameters = replace(parameters, bounding="sdp")
    limits = instance.size_limits
    assert limits is not None
    return {
        "least": limits.least,
        "most": limits.most,
        "sizes": "/".join(map(str, limits.listed or ())),
        **solved(instance, parameters)[1],
    }


def table(known: list[rows.Row], options: Options) -> list[str]:
    """Return the proofs, time series beside published values (halved, as here) and seconds."""
    published = {row["instance"]: row for row in reference(options.data, "ccmssc_reference.csv")}

    def sizes(own: list[rows.Row]) -> str:
        return own[0]["sizes"] or f"{own[0]['least']} to {own[0]['most']}"

    def proven(own: list[rows.Row]) -> str:
        row = own[0]
        is_solved = row["status"] in SOLVED and row["suite"] not in GAPS
        return row["status"] if is_solved else f"gap {float(row['gap']):.1e}"

    def theirs(column: str) -> Cell:
        def cell(own: list[rows.Row]) -> str:
            found = published.get(own[0]["name"]) if own[0]["suite"] == "series" else None
            return f"{float(found[column]):.8g}" if found else ""

        return cell

    columns: dict[str, Cell] = {
        "set": lambda own: f"{own[0]['name']} {own[0]['set']}".strip(),
        **values("n", "k"),
        "sizes": sizes,
        "cost": value("objective", ".8g"),
        "proven": proven,
        **values("workers", "nodes"),
        "s": lambda own: round(float(own[0]["seconds"]), 2),
        "CPU s": lambda own: round(float(own[0]["cpu_seconds"]), 2),
        "RiNNAL+": theirs("rinnal_objective_half"),
        "its s": theirs("rinnal_seconds"),
    }
    return table_of(each(known), columns)


TABLES = {"proofs": table}
