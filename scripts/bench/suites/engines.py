"""Engines beside each other: column generation, the semidefinite bound, and both together.

tables          Iris and Wine of scikit-learn, unscaled, and a stand-in for Soybean (small), with
                the numbers of clusters and constraints of Tables 6 to 8 of B. Babaki, T. Guns and
                S. Nijssen, Constrained clustering using column generation (2014)
small-clusters  points in the unit square without structure and blobs in 2, 4 and 8 dimensions,
                n / 8 to n / 4 clusters, without and with n / 4 constraints
public          Iris, Seeds and Wine with the published constraint sets of PC-SOS-SDP
maps            places in the plane: the published sets of the travelling salesman library, and
                uniform points; without constraints, and with n / 10 of each kind
engines         uniform points and blobs, 100 to 2,000 of them in 2 to 50 dimensions, 2 to n / 4
                clusters: where either bound is the better one

Every instance is solved with every engine (`SolverParameters.bounding`) by one worker.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import fmean, median
from typing import Any

import sdpbb
from scripts.bench import generation_cases
from scripts.bench.data import reference
from scripts.bench.measuring import solved, warm_up
from scripts.bench.rows import Row, chosen, grouped, numbers
from scripts.bench.suite import SOLVED, Case, Options
from scripts.bench.tables import Cell, machines, markdown, over, values

KEY = "suite instance k constraints draw engine"
COLUMNS = """n blocks status termination objective lower_bound gap root_gap root_seconds seconds
    nodes peak_rss_mib gap_tolerance time_limit version cpu date"""
OPTIONS = {"time_limit": 600.0, "draws": 3}
ENGINES = ("sdp", "colgen", "hybrid")
INSTANCE = ("suite", "instance", "k", "constraints", "draw")
SAME_OPTIMUM = 1e-8
"""Objectives of the public sets, solved to a gap of 1e-9, agree if they differ by less than this
share."""
SLOWER, SLACK = 1.3, 1.0
"""The default is slow if it takes more than this many times the seconds of the better engine, and
so many seconds more."""
ROUNDING = 1e-9
"""Share by which a lower bound may be above an objective that another engine has summed up in
another order."""
Engines = dict[str, Row]
"""The rows of one instance by engine."""


def cases(options: Options) -> Iterator[Case]:
    for case in generation_cases.cases(options.data, options.draws):
        for engine in ENGINES:
            yield case | {"engine": engine}


def measure(options: Options, engine: str, **case: Any) -> dict[str, Any]:
    warm_up(engine)
    # Optima of the public sets are compared to 1e-8.
    gap = 1e-9 if case["suite"] == "public" else 1e-4
    parameters = sdpbb.SolverParameters(bounding=engine, gap=gap, time_limit=options.time_limit)
    return solved(generation_cases.instance_of(options.data, **case), parameters)[1]


def by_instance(known: list[Row], suite: str | None = None) -> dict[tuple[str, ...], Engines]:
    """Return rows by `INSTANCE` and engine, of one suite or of all."""
    some = known if suite is None else chosen(known, suite=suite)
    return {key: {r["engine"]: r for r in own} for key, own in grouped(some, *INSTANCE).items()}


def of_suite(suite: str) -> Any:
    """Return the function that makes the tables of a suite, one for each data set.

    Lines are numbers of clusters and constraints. Published results stand beside those of the
    paper's tables.
    """

    def tables(known: list[Row], options: Options) -> list[str]:
        some = chosen(known, suite=suite)
        theirs = reference(options.data, "column_generation_results.csv")
        paper = {(r["dataset"].lower(), r["k"], r["n_constraints"]): r for r in theirs}
        engines = engines_of(some)
        lines: list[str] = []
        for (name,), own in grouped(some, "instance").items():
            columns = {**values("k", "constraints"), "blocks": over("blocks", median, "g")}
            if suite == "tables" and any(key[0] == name for key in paper):
                columns |= published(paper)
            head, cells = list(columns), list(columns.values())
            for engine in engines:
                head += [f"{engine} solved", "value", "seconds", "nodes"]
                cells += outcome(engine)
            groups = grouped(own, "k", "constraints").values()
            body = [[cell(members) for cell in cells] for members in groups]
            lines += ["", f"### {name}", "", *markdown(head, body, text=())]
        return lines[1:]

    return tables


def published(paper: dict[tuple[str, str, str], Row]) -> dict[str, Cell]:
    """Return the cells of the paper's value, and whether it was proven."""

    def found(own: list[Row]) -> Row:
        return paper.get((own[0]["instance"], own[0]["k"], own[0]["constraints"]), {})

    proven = {"True": "yes", "False": "no"}
    return {
        "paper": lambda own: found(own).get("cg_best", "-"),
        "proven": lambda own: proven.get(found(own).get("cg_proved_optimal", ""), "-"),
    }


def outcome(engine: str) -> list[Cell]:
    """Return the cells of an engine: number solved, mean objective, median seconds and nodes."""

    def share(own: list[Row]) -> str:
        if not own:
            return "-"
        infeasible = len(chosen(own, status="infeasible"))
        told = f"{sum(row['status'] in SOLVED for row in own)}/{len(own)}"
        return f"{told} ({infeasible} infeasible)" if infeasible else told

    cells: list[Cell] = [share, over("objective", fmean, ".6g")]
    cells += [over("seconds", median, ".2f"), over("nodes", median, "g")]

    def of_engine(cell: Cell) -> Cell:
        return lambda own: cell(chosen(own, engine=engine))

    return [of_engine(cell) for cell in cells]


def engines_of(known: list[Row]) -> list[str]:
    """Return the engines, the semidefinite bound first."""
    return sorted({row["engine"] for row in known}, key=lambda engine: (engine != "sdp", engine))


def spreads(known: list[Row], suite: str | None = None) -> dict[tuple[str, ...], float]:
    """Return relative differences of the largest and the least optimum, of two or more."""
    found = {}
    for key, runs in by_instance(known, suite).items():
        optima = numbers(chosen(runs.values(), status="optimal"), "objective")
        if len(optima) >= 2:
            found[key] = (max(optima) - min(optima)) / max(optima) if max(optima) > 0 else 0.0
    return found


def public_optima(known: list[Row], options: Options) -> list[str]:
    found = spreads(known, "public").values()
    return [
        f"{len(found)} instances solved by several engines; their optima differ by at most"
        f" {max(found, default=0.0):.1e} (relative; {SAME_OPTIMUM:g} is asked for)."
    ]


def choices(known: list[Row], options: Options) -> list[str]:
    """Return the seconds of each engine, and how far the default is from the better of the two."""
    lines, ratios, late = [], [], []
    for (_, name, k, _, _), runs in by_instance(known, "engines").items():
        found = [runs.get(engine) for engine in ("sdp", "colgen", "hybrid")]
        solved = [float(r["seconds"]) for r in found[:2] if r and r["status"] in SOLVED]
        default, cell = found[2], "-"
        if solved and default and default["seconds"]:
            ratios.append(float(default["seconds"]) / min(solved))
            is_late = float(default["seconds"]) > SLOWER * min(solved) + SLACK
            if is_late or default["status"] not in SOLVED:
                late.append(f"{name} k = {k}")
            cell = f"{ratios[-1]:.2f}"
        lines.append([name, k, *map(shown, found), cell])
    head = ["instance", "k", "sdp s", "colgen s", "hybrid s", "hybrid / better"]
    told = [
        f"Of {len(ratios)} instances that either engine solves alone, the default takes more"
        f" than {SLOWER:g} times the seconds of the better one and {SLACK:g} more on"
        f" {len(late)}{': ' + ', '.join(late) if late else ''}. Median ratio"
        f" {median(ratios or [0.0]):.2f}.",
        "",
    ]
    return [*told, *markdown(head, lines)]


def small_clusters(known: list[Row], options: Options) -> list[str]:
    """Seconds of every instance, their ratios to those of the semidefinite bound, and medians."""
    some = chosen(known, suite="small-clusters")
    engines = engines_of(some)
    others = [engine for engine in engines if engine != "sdp"]
    lines = []
    ratios: dict[str, dict[str, list[float]]] = {engine: defaultdict(list) for engine in others}
    for (_, name, k, constraints, draw), runs in by_instance(some).items():
        cells = [name, k, constraints, draw, *(shown(runs.get(engine)) for engine in engines)]
        family, n = name.split("-")
        for engine in others:
            sign, found = compared(runs.get("sdp"), runs.get(engine))
            cells.append("-" if found is None else f"{sign}{found:.2f}")
            per_cluster = f"k = n / {round(float(n) / int(k))}"
            for group in ("all", family, f"n = {n}", per_cluster):
                ratios[engine][group] += [] if found is None else [found]
        lines.append(cells)
    head = ["instance", "k", "constraints", "draw", *(f"{engine} s" for engine in engines)]
    head += [f"sdp / {engine}" for engine in others]
    told = []
    for engine, groups in ratios.items():
        each = [f"{g} {median(found):.2f} ({len(found)})" for g, found in groups.items() if found]
        told.append(f"- *{engine}*: {'; '.join(each) or 'no instance solved'}")
    return [*told, "", *markdown(head, lines)]


def compared(slow: Row | None, fast: Row | None) -> tuple[str, float | None]:
    """Return a sign, and the seconds of one run over those of another.

    The sign is that of a bound, if one of them is not solved. There is no number if a row is
    missing or has no seconds, or if neither is solved.
    """
    if slow is None or fast is None or not (slow["seconds"] and fast["seconds"]):
        return "", None
    is_solved = [row["status"] in SOLVED for row in (slow, fast)]
    sign = {(True, True): "", (True, False): "<", (False, True): ">"}.get((*is_solved,))
    return sign or "", None if sign is None else float(slow["seconds"]) / float(fast["seconds"])


def shown(row: Row | None) -> str:
    """Return the seconds of a run, with the gap if it is not solved."""
    if row is None:
        return "-"
    if not row["seconds"]:
        return row["status"]
    if row["status"] in SOLVED:
        return f"{float(row['seconds']):.2f}"
    return f">{float(row['seconds']):.0f} ({float(row['gap'] or 'nan'):.1e})"


def agreement(known: list[Row], options: Options) -> list[str]:
    """Return the largest difference of the engines' optima, and contradictions of their proofs."""
    found = spreads(known)
    lines = []
    for suite in dict.fromkeys(key[0] for key in found):
        of_this = [spread for key, spread in found.items() if key[0] == suite]
        lines.append(
            f"- {suite}: {len(of_this)} instances solved by several engines, largest relative"
            f" difference of their sums of squares {max(of_this):.1e}"
        )
    wrong = [text for key, runs in by_instance(known).items() for text in contradictions(key, runs)]
    for key, spread in found.items():
        asked = max(numbers(by_instance(known)[key].values(), "gap_tolerance"))
        if spread > max(asked, SAME_OPTIMUM):
            wrong.append(f"{' '.join(key)}: optima differ by {spread:.1e}")
    told = (
        "Contradictions (a proven lower bound above another engine's clustering, an infeasible"
        " instance with a clustering, optima that differ by more than was asked for):"
        f" {len(wrong) or 'none'}."
    )
    return [*lines, "", told, *([""] if wrong else []), *(f"- {text}" for text in wrong)]


def contradictions(key: tuple[str, ...], runs: Engines) -> Iterator[str]:
    """Yield the claims of two engines on one instance that cannot both be true."""
    for engine, row in runs.items():
        for other, its in runs.items():
            if not its["objective"]:
                continue
            claim = f"{' '.join(key)}: {{}} for {engine}, {its['objective']} for {other}"
            if row["status"] == "infeasible":
                yield claim.format("infeasible")
            elif float(row["lower_bound"] or 0.0) > float(its["objective"]) * (1 + ROUNDING):
                yield claim.format(f"at least {row['lower_bound']}")


TABLES = {
    "engines machines": lambda known, options: [machines(known)],
    "engines tables": of_suite("tables"),
    "engines small-clusters": small_clusters,
    "engines optima": public_optima,
    "engines public": of_suite("public"),
    "engines maps": of_suite("maps"),
    "engines": choices,
    "engines agreement": agreement,
}
