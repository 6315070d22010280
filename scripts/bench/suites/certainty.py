"""Points that are certain within 0.1, 1 and 5 % of the optimum, of public data.

With constraints: the first public set with as many must-links as cannot-links.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import sdpbb
from scripts.bench import rows
from scripts.bench.data import published_instance, published_sets
from scripts.bench.measuring import clocked, warm_up
from scripts.bench.suite import Case, Options
from scripts.bench.tables import markdown

KEY = "name constraints within"
COLUMNS = "n k certain uncertain open stable seconds cpu_seconds load"
OPTIONS = {"time_limit": 120.0, "workers": 2}
NAMES = ("iris", "wine", "seeds", "glass")
SHARES = (0.001, 0.01, 0.05)


def cases(options: Options) -> list[Case]:
    chosen = [
        {"name": name, "constraints": own, "within": within}
        for name, own, within in product(NAMES, ("", "pairs"), SHARES)
    ]
    return chosen if options.data.exists() else []


def measure(options: Options, name: str, constraints: str, within: float) -> dict[str, Any]:
    warm_up()
    sets = published_sets(options.data, 1, [name])
    both = next(each.name for each in sets if each.kind == "ML+CL")
    instance = published_instance(options.data, name, both if constraints else None)
    parameters = sdpbb.SolverParameters(time_limit=options.time_limit, workers=options.workers)
    report, seconds = clocked(lambda: sdpbb.certainty(instance, within, parameters))
    certain, uncertain = report.certain, report.uncertain & ~report.certain
    return {
        "n": instance.n_points,
        "k": instance.k,
        "certain": int(certain.sum()),
        "uncertain": int(uncertain.sum()),
        "open": int((~(certain | uncertain)).sum()),
        "stable": int(report.stable.sum()),
        **seconds,
    }


def table(known: list[rows.Row], options: Options) -> list[str]:
    """Return a line for each instance: the share of certain points, stable clusters, seconds."""
    lines = []
    for name, own in product(NAMES, ("", "pairs")):
        of_share = {
            float(row["within"]): row
            for row in known
            if (row["name"], row["constraints"]) == (name, own)
        }
        if len(of_share) < len(SHARES):
            continue
        first = of_share[SHARES[0]]
        cells = [f"{name}{', constrained' if own else ''}", first["n"], first["k"]]
        for share in SHARES:
            row = of_share[share]
            part = int(row["certain"]) / int(row["n"])
            left = f", {row['open']} open" if int(row["open"]) else ""
            cells.append(f"{part:.1%}{left} ({row['stable']}; {float(row['seconds']):.1f} s)")
        lines.append(cells)
    heading = ["data", "n", "k", *(f"within {share:.1%}" for share in SHARES)]
    return markdown(heading, lines)


TABLES = {"certainty": table}
