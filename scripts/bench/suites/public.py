"""Constraint sets of PC-SOS-SDP beside the published averages.

The seconds are those of `sdpbb.solve`: imports and the compilation of kernels (a small instance is
solved first) are outside, reading the result is outside too. The published times were measured with
16 cores on another machine, and are averages over five sets.
"""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import sdpbb
from scripts.bench import data, rows
from scripts.bench.measuring import solved, warm_up
from scripts.bench.suite import Case, Options
from scripts.bench.tables import Cell, draw, geometric_mean, markdown, span, table, value

KEY = "dataset set"
COLUMNS = """kind n blocks k status termination objective lower_bound gap root_gap root_seconds
    nodes seconds peak_rss_mib gap_tolerance version cpu cores workers seed python numpy date"""
OPTIONS = {"time_limit": math.inf, "workers": 2, "draws": 3}
GAP = 1e-4
SETTINGS = {
    "cpu": "processor",
    "cores": "its cores",
    "workers": "processes for one set, at most",
    "python": "Python",
    "numpy": "NumPy",
    "version": "sdpbb",
    "seed": "seed",
    "gap_tolerance": "relative gap asked for",
    "date": "date",
}
Reference = dict[tuple[str, str, int], rows.Row]
SECONDS = "wall_seconds_16_cores"


def cases(options: Options) -> list[Case]:
    return [one.case for one in data.published_sets(options.data, options.draws)]


def measure(options: Options, dataset: str, set: str) -> dict[str, Any]:
    warm_up()
    instance = data.published_instance(options.data, dataset, set)
    limits = {"time_limit": options.time_limit, "workers": options.workers}
    parameters = sdpbb.SolverParameters(gap=GAP, **limits)
    return solved(instance, parameters)[1] | {"kind": data.published_set(dataset, set).kind}


def configuration(row: rows.Row) -> tuple[str, str, int]:
    return data.published_set(row["dataset"], row["set"]).configuration


def by_configuration(known: list[rows.Row]) -> dict[tuple[str, str, int], list[rows.Row]]:
    """Return the rows by the key of the published averages, those of small data first."""
    found: dict[tuple[str, str, int], list[rows.Row]] = {}
    for row in sorted(
        known, key=lambda r: (float(r["n"] or "inf"), r["dataset"], configuration(r))
    ):
        found.setdefault(configuration(row), []).append(row)
    return found


def ratios(known: list[rows.Row], reference: Reference) -> dict[tuple[str, str], float]:
    """Return published / our seconds of each set that has both."""
    return {
        (row["dataset"], row["set"]): float(reference[configuration(row)][SECONDS])
        / float(row["seconds"])
        for row in known
        if row["seconds"] and configuration(row) in reference
    }


def settings(known: list[rows.Row], options: Options) -> list[str]:
    """Return what the rows were measured with."""
    lines = []
    for column, name in SETTINGS.items():
        found = sorted({row[column] for row in known if row[column]})
        if column == "date":
            told = " to ".join(dict.fromkeys((*found[:1], *found[-1:])))
        elif column in ("cores", "workers", "seed", "gap_tolerance"):
            told = span(map(float, found))
        else:
            told = ", ".join(found)
        lines.append((name, told or "not recorded"))
    return markdown(("", ""), lines, text=(0, 1))


def averages(known: list[rows.Row], options: Options, kind: str) -> list[str]:
    """Return our averages beside the published ones (in brackets), a line per configuration."""
    reference = data.published_averages(options.data)

    def beside(column: str, published: str, digits: int, scale: float = 1.0) -> Cell:
        def cell(own: list[rows.Row]) -> str:
            found = rows.numbers(own, column)
            theirs = reference.get(configuration(own[0]), {}).get(published)
            right = "-" if theirs is None else f"{float(theirs):.{digits}f}"
            return f"{scale * fmean(found):.{digits}f} ({right})" if found else f"- ({right})"

        return cell

    def share(own: list[rows.Row]) -> str:
        theirs = reference.get(configuration(own[0]), {}).get("solved_percent")
        solved = 100.0 * len(rows.chosen(own, status="optimal")) / len(own)
        return f"{solved:.0f} ({'-' if theirs is None else f'{float(theirs):.0f}'})"

    columns: dict[str, Cell] = {
        "data set": value("dataset"),
        "constraints": lambda own: configuration(own[0])[2],
        "sets": len,
        "blocks": beside("blocks", "mean_size", 1),
        "root gap %": beside("root_gap", "root_gap_percent", 3, 100.0),
        "nodes": beside("nodes", "nodes", 1),
        "seconds": beside("seconds", SECONDS, 2),
        "ratio": lambda own: f"{geometric_mean(ratios(own, reference).values()):.2f}",
        "solved %": share,
    }
    return table(by_configuration(rows.chosen(known, kind=kind)).values(), columns)


def summary(known: list[rows.Row], options: Options) -> list[str]:
    """Return geometric means over sets, the number that was solved, and the worst ratio."""
    found = ratios(known, data.published_averages(options.data))
    told = "Published seconds / our seconds, geometric mean over sets (unsolved sets count too):"
    lines = ["```", told]
    for name in dict.fromkeys(own[0]["dataset"] for own in by_configuration(known).values()):
        of_data = [ratio for (dataset, _), ratio in found.items() if dataset == name]
        lines.append(f"  {name:<14} {geometric_mean(of_data):8.2f}")
    lines.append(f"  {'all':<14} {geometric_mean(found.values()):8.2f}")
    lines.append(f"Solved {len(rows.chosen(known, status='optimal'))} of {len(known)}")
    (dataset, name), least = min(found.items(), key=lambda item: item[1])
    lines.append(f"Slowest ratio {least:.2f}: {dataset} {name}")
    memory = max(rows.numbers(known, "peak_rss_mib"))
    return [*lines, f"Largest peak memory {memory:.0f} MiB", "```"]


TABLES = {
    "public settings": settings,
    **{f"public {kind}": partial(averages, kind=kind) for kind in ("ML", "CL", "ML+CL")},
    "public summary": summary,
}


def picture(known: list[rows.Row], path: Path, options: Options) -> None:
    """Draw the share of the sets solved within t seconds."""
    reference = data.published_averages(options.data)
    published = [reference[key] for key in by_configuration(known) if key in reference]
    theirs = [(float(one[SECONDS]), float(one["solved_percent"]) / 100) for one in published]
    ours = [(float(row["seconds"]), 1.0) for row in rows.chosen(known, status="optimal")]
    curves = {
        "sdpbb, 1 core: sets": (*steps(ours, len(known)), {}),
        "PC-SOS-SDP, 16 cores, published: averages of five sets": (
            *steps(theirs, len(theirs)),
            {"linestyle": "--"},
        ),
    }
    axes = {"xscale": "log", "ylim": (0, 1.02), "xlabel": "seconds", "ylabel": "share solved"}
    draw(path, [(curves, axes)], (7, 4.5), is_step=True, columns=1)


def steps(times: list[tuple[float, float]], total: float) -> tuple[list[float], list[float]]:
    """Return times in order, and the share of the total weight by then, of (time, weight)."""
    share, shares = 0.0, []
    for _, weight in sorted(times):
        share += weight / total
        shares.append(share)
    return [second for second, _ in sorted(times)], shares
