"""Tables of `benchmark_colgen.py`: engines beside each other, and beside the published rows."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

from rows import Row

Engines = dict[str, Row]
"""The rows of one instance by engine."""

SOLVED = ("optimal", "infeasible")
SAME_OPTIMUM = 1e-8
"""Objectives of the public sets, solved to a gap of 1e-9, agree if they differ by less than this
share."""
SLOWER, SLACK = 1.3, 1.0
"""The default is slow if it takes more than this many times the seconds of the better engine, and
so many seconds more."""
ROUNDING = 1e-9
"""Share by which a lower bound may be above an objective that another engine has summed up in
another order."""


class Ratio(NamedTuple):
    """Seconds of one engine over those of another; where one did not finish, a bound on it."""

    value: float
    sign: str

    def __str__(self) -> str:
        return f"{self.sign}{self.value:.2f}"


def write_report(path: Path, rows: list[Row], reference: Path) -> None:
    """Write the tables of all suites that there are rows for."""
    by_suite: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_suite[row["suite"]].append(row)
    sections: dict[str, Callable[[list[Row]], list[str]]] = {
        "tables": lambda part: published_grid(part, published(reference)),
        "small-clusters": small_clusters,
        "public": public,
        "maps": maps,
        "engines": choices,
    }
    machines = sorted({row["machine"] for row in rows})
    versions = sorted({row["version"] for row in rows if row["version"]})
    lines = [
        "# Column generation beside the semidefinite bound",
        "",
        "Made by `scripts/benchmark_colgen.py`; the rows are in"
        f" [{path.stem}.csv]({path.stem}.csv). One worker, one BLAS thread."
        f" Processors: {', '.join(machines)}. Versions: {', '.join(versions)}.",
        "",
        "Engines: *sdp* bounds nodes by the semidefinite relaxation, *colgen* by column generation,"
        " *hybrid* by both. Solved: proven to the gap asked for (1e-4, public sets 1e-9), or proven"
        " infeasible. Runs that were not solved count with the seconds that they took.",
    ]
    for suite, section in sections.items():
        if by_suite[suite]:
            lines += section(by_suite[suite])
    lines += agreement(rows)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def published(reference: Path) -> dict[tuple[str, str, str], Row]:
    """Return the rows of the paper's Tables 6 and 7 by data set, clusters and constraints."""
    with open(reference / "column_generation_results.csv", newline="", encoding="utf-8") as file:
        return {
            (row["dataset"].lower(), row["k"], row["n_constraints"]): row
            for row in csv.DictReader(file)
        }


def published_grid(rows: list[Row], paper: dict[tuple[str, str, str], Row]) -> list[str]:
    """Return Tables 6 to 8: the published value and whether it was proven beside ours."""
    lines = [
        "",
        "## The instances of the paper (Tables 6 to 8)",
        "",
        "B. Babaki, T. Guns and S. Nijssen: Constrained clustering using column generation (2014);"
        " 30 minutes each, on a quad-core Intel of its time. The constraint sets were drawn in the"
        " same way but are not the same, so sums of squares compare in their order of magnitude,"
        " and proofs in their number. Soybean is a synthetic stand-in. Ours: solved of the draws,"
        " mean sum of squares, median seconds, median nodes.",
    ]
    return lines + grouped(rows, paper)


def public(rows: list[Row]) -> list[str]:
    """Return the published constraint sets of PC-SOS-SDP."""
    lines = ["", "## Published constraint sets (PC-SOS-SDP), gap 1e-9"]
    found = [spread(runs) for runs in by_instance(rows).values()]
    compared = [value for value in found if value is not None]
    if compared:
        lines += [
            "",
            f"{len(compared)} instances solved by several engines; their optima differ by at most"
            f" {max(compared):.1e} (relative; {SAME_OPTIMUM:g} is asked for).",
        ]
    return lines + grouped(rows, {})


def maps(rows: list[Row]) -> list[str]:
    """Return the places in the plane."""
    return ["", "## Places in the plane, gap 1e-4", *grouped(rows, {})]


def choices(rows: list[Row]) -> list[str]:
    """Return the seconds of each engine, and how far the default is from the better of the two."""
    lines = ["", "## The default engine beside the better of the two, gap 1e-4", ""]
    head = ["instance", "k", "sdp s", "colgen s", "hybrid s", "hybrid / better"]
    table = [f"| {' | '.join(head)} |", "| --- |" + " ---: |" * (len(head) - 1)]
    ratios, late = [], []
    for key, runs in by_instance(rows).items():
        _, name, k, _, _ = key
        found = {engine: runs.get(engine) for engine in ("sdp", "colgen", "hybrid")}
        solved = [
            float(row["seconds"])
            for engine, row in found.items()
            if engine != "hybrid" and row is not None and row["status"] in SOLVED
        ]
        default, cell = found["hybrid"], "-"
        if solved and default is not None and default["seconds"]:
            ratio = float(default["seconds"]) / min(solved)
            ratios.append(ratio)
            is_late = float(default["seconds"]) > SLOWER * min(solved) + SLACK
            if is_late or default["status"] not in SOLVED:
                late.append(f"{name} k = {k}")
            cell = f"{ratio:.2f}"
        table.append(f"| {' | '.join([name, k, *(shown(row) for row in found.values()), cell])} |")
    if ratios:
        lines += [
            f"Of {len(ratios)} instances that either engine solves alone, the default takes more"
            f" than {SLOWER:g} times the seconds of the better one and {SLACK:g} more on"
            f" {len(late)}{': ' + ', '.join(late) if late else ''}. Median ratio"
            f" {median(ratios):.2f}.",
            "",
        ]
    return lines + table


def grouped(rows: list[Row], paper: dict[tuple[str, str, str], Row]) -> list[str]:
    """Return a table for each data set, a line for each number of clusters and constraints."""
    engines = engines_of(rows)
    of_data: dict[str, dict[tuple[str, str], list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        of_data[row["instance"]][row["k"], row["constraints"]].append(row)
    lines: list[str] = []
    for name, lines_of in of_data.items():
        has_paper = any((name, *key) in paper for key in lines_of)
        head = ["k", "constraints", "blocks"] + has_paper * ["paper", "proven"]
        for engine in engines:
            head += [f"{engine} solved", "value", "seconds", "nodes"]
        lines += ["", f"### {name}", "", f"| {' | '.join(head)} |", "|" + " ---: |" * len(head)]
        for key, members in lines_of.items():
            cells = [*key, f"{median(numbers(members, 'blocks') or [0]):g}"]
            if has_paper:
                theirs = paper.get((name, *key), {})
                proven = {"True": "yes", "False": "no"}.get(theirs.get("cg_proved_optimal", ""))
                cells += [theirs.get("cg_best", "-"), proven or "-"]
            for engine in engines:
                cells += summary([row for row in members if row["engine"] == engine])
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def summary(rows: list[Row]) -> list[str]:
    """Return the number solved of how many, mean objective, median seconds, median nodes."""
    if not rows:
        return ["-"] * 4
    infeasible = sum(row["status"] == "infeasible" for row in rows)
    solved = f"{sum(row['status'] in SOLVED for row in rows)}/{len(rows)}"
    if infeasible:
        solved += f" ({infeasible} infeasible)"
    objectives, seconds = numbers(rows, "objective"), numbers(rows, "seconds")
    return [
        solved,
        f"{fmean(objectives):.6g}" if objectives else "-",
        f"{median(seconds):.2f}" if seconds else "-",
        f"{median(numbers(rows, 'nodes')):g}" if seconds else "-",
    ]


def small_clusters(rows: list[Row]) -> list[str]:
    """Seconds of every instance, their ratios to those of the semidefinite bound, and medians."""
    engines = engines_of(rows)
    others = [engine for engine in engines if engine != "sdp"]
    head = ["instance", "k", "constraints", "draw", *(f"{engine} s" for engine in engines)]
    head += [f"sdp / {engine}" for engine in others]
    table = [f"| {' | '.join(head)} |", "| --- |" + " ---: |" * (len(head) - 1)]
    ratios: dict[str, dict[str, list[float]]] = {e: defaultdict(list) for e in others}
    for key, runs in by_instance(rows).items():
        _, name, k, constraints, draw = key
        cells = [name, k, constraints, draw, *(shown(runs.get(e)) for e in engines)]
        per_cluster = f"k = n / {round(float(name.split('-')[1]) / int(k))}"
        for engine in others:
            found = ratio(runs.get("sdp"), runs.get(engine))
            cells.append("-" if found is None else str(found))
            if found is not None:
                family, n = name.split("-")
                for group in ("all", family, f"n = {n}", per_cluster):
                    ratios[engine][group].append(found.value)
        table.append(f"| {' | '.join(cells)} |")
    lines = [
        "",
        "## Small clusters",
        "",
        "Uniform points in the square and blobs in 2, 4 and 8 dimensions with 4 to 8 points for a"
        " cluster on average. `>`: not solved by then, and the gap. A ratio with `>` or `<` is a"
        " bound, as one of the two was not solved; it counts with its value. Where neither was"
        " solved there is none.",
    ]
    if others:
        lines += [
            "",
            "Median of the seconds of *sdp* over those of the other; in brackets the instances:",
            "",
        ]
    for engine, groups in ratios.items():
        told = [f"{g} {median(found):.2f} ({len(found)})" for g, found in groups.items()]
        lines.append(f"- *{engine}*: {'; '.join(told) or 'no instance solved'}")
    return [*lines, "", *table]


def ratio(slow: Row | None, fast: Row | None) -> Ratio | None:
    """Return the seconds of one run over those of another.

    None if a row is missing or has no seconds, or if neither is solved.
    """
    if slow is None or fast is None or not (slow["seconds"] and fast["seconds"]):
        return None
    first, second = slow["status"] in SOLVED, fast["status"] in SOLVED
    if not (first or second):
        return None
    sign = "" if first and second else ("<" if first else ">")
    return Ratio(float(slow["seconds"]) / float(fast["seconds"]), sign)


def shown(row: Row | None) -> str:
    """Return the seconds of a run, with the gap if it is not solved."""
    if row is None:
        return "-"
    if not row["seconds"]:
        return row["status"]
    if row["status"] in SOLVED:
        return f"{float(row['seconds']):.2f}"
    return f">{float(row['seconds']):.0f} ({float(row['gap'] or 'nan'):.1e})"


def agreement(rows: list[Row]) -> list[str]:
    """Return the largest difference of the engines' optima, and contradictions of their proofs."""
    instances = by_instance(rows)
    found = {key: spread(runs) for key, runs in instances.items()}
    compared = {key: value for key, value in found.items() if value is not None}
    lines = ["", "## Do the engines agree?", ""]
    if not compared:
        lines.append("No instance is solved by several engines.")
    for suite in dict.fromkeys(key[0] for key in compared):
        values = [value for key, value in compared.items() if key[0] == suite]
        lines.append(
            f"- {suite}: {len(values)} instances solved by several engines, largest relative"
            f" difference of their sums of squares {max(values):.1e}"
        )
    wrong = [text for key, runs in instances.items() for text in contradictions(key, runs)]
    lines += [
        "",
        "Contradictions (a proven lower bound above another engine's clustering, an infeasible"
        " instance with a clustering, optima that differ by more than was asked for):"
        f" {len(wrong) or 'none'}.",
        *([""] if wrong else []),
        *(f"- {text}" for text in wrong),
    ]
    return lines


def contradictions(key: tuple[str, ...], runs: Engines) -> list[str]:
    """Return the claims of two engines on one instance that cannot both be true.

    Among them are those that no run should leave.
    """
    name = " ".join(key)
    claims = []
    for engine, row in runs.items():
        for other, its in runs.items():
            if not its["objective"]:
                continue
            objective = float(its["objective"])
            if row["status"] == "infeasible":
                claims.append(f"{name}: infeasible for {engine}, {objective!r} for {other}")
            elif row["lower"] and float(row["lower"]) > objective * (1 + ROUNDING):
                claims.append(
                    f"{name}: at least {row['lower']} for {engine}, {its['objective']} for {other}"
                )
    difference = spread(runs)
    asked = max(float(row["gap_tolerance"]) for row in runs.values())
    if difference is not None and difference > max(asked, SAME_OPTIMUM):
        claims.append(f"{name}: optima differ by {difference:.1e}")
    return claims


def spread(runs: Engines) -> float | None:
    """The relative difference of the largest and the least optimum; None of fewer than two."""
    optima = [float(row["objective"]) for row in runs.values() if row["status"] == "optimal"]
    if len(optima) < 2:
        return None
    return (max(optima) - min(optima)) / max(optima) if max(optima) > 0 else 0.0


def by_instance(rows: Iterable[Row]) -> dict[tuple[str, ...], Engines]:
    """Return the rows by suite, instance, k, constraints and draw."""
    instances: dict[tuple[str, ...], Engines] = defaultdict(dict)
    for row in rows:
        key = tuple(row[f] for f in ("suite", "instance", "k", "constraints", "draw"))
        instances[key][row["engine"]] = row
    return instances


def engines_of(rows: Iterable[Row]) -> list[str]:
    """Return the engines, the semidefinite bound first."""
    return sorted({row["engine"] for row in rows}, key=lambda engine: (engine != "sdp", engine))


def numbers(rows: Iterable[Row], field: str) -> list[float]:
    """Return the values of a column where there are any."""
    return [float(row[field]) for row in rows if row[field]]
