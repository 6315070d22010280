"""Engines beside each other: column generation, the semidefinite bound, and both together.

tables          Iris and Wine of scikit-learn, unscaled, with the numbers of clusters and of
                constraints of Tables 6 and 7 of B. Babaki, T. Guns and S. Nijssen, Constrained
                clustering using column generation (2014)
small-clusters  points in the unit square without structure and blobs in 2, 4 and 8 dimensions,
                n / 8 to n / 4 clusters, without and with n / 4 constraints
public          Iris, Seeds and Wine with the published constraint sets of PC-SOS-SDP
maps            places in the plane: the published sets of the travelling salesman library, and
                uniform points; without constraints, and with n / 10 of each kind
engines         uniform points and blobs, 100 to 2,000 of them in 2 to 50 dimensions, 2 to n / 4
                clusters: where either bound is the better one

Every instance is solved with every engine (`SolverParameters.bounding`) by one worker. Those of
files that are missing are left out. Constraints of the first two groups are drawn as in section 6
of that paper, after K. Wagstaff and C. Cardie, Clustering with instance-level constraints (2000).
Its own sets were not published, so ours are others of the same kind.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine

import sdpbb
from scripts.bench.data import published_instance, published_sets, reference
from scripts.bench.measuring import solved, warm_up
from scripts.bench.rows import Row, chosen, grouped, numbers
from scripts.bench.suite import SOLVED, Case, Options
from scripts.bench.tables import Cell, machines, markdown, over, values
from sdpbb.constraint_sets import by_kinds, by_number
from sdpbb.errors import ParameterError
from sdpbb.problem import Instance

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
PUBLIC = {"iris": 3, "seeds": 3, "wine": 3}
# Of the paper's Tables 6 and 7: the numbers of clusters and of constraints.
PAPER = {
    "iris": ((3, 5), (2, 60, 100, 140, 200, 240, 300, 340, 400, 440, 500)),
    "wine": ((3, 5), (240, 300, 340, 380, 420, 460, 500)),
}
FAMILIES = ("planar", "blobs2", "blobs4", "blobs8")
SIZES = (100, 200, 300, 500)
POINTS_PER_CLUSTER = (8, 5, 4)
MAPS = {
    "pr299": (10, 30, 60),
    "ali535": (10, 50, 100),
    "gr666": (10, 50, 100),
    "planar-1000": (100,),
    "u1060": (10, 20, 50, 100, 200),
    "u2152": (50, 100, 200, 400),
    "rl5934": (200, 500, 1000),
}


class Labelled(NamedTuple):
    """Points (n, d), and classes (n,) that constraints are drawn from."""

    points: NDArray[np.float64]
    labels: NDArray[np.intp]


def cases(options: Options) -> Iterator[Case]:
    for suite, instance, k, constraints, draw in instances(options.data, options.draws):
        same = {"suite": suite, "instance": instance, "k": k}
        for engine in ENGINES:
            yield {**same, "constraints": str(constraints), "draw": draw, "engine": engine}


def instances(data: Path, draws: int) -> Iterator[tuple[str, str, int, object, int]]:
    """Yield suite, instance, k, constraints and draw, small and first draws first.

    instance : a data set, or a family and its number of points, as in "planar-100"
    constraints : how many; for public sets the file's name without the draw, as in "ml_50_cl_0"
    draw : the seed of the constraints, and of generated points
    """
    for draw in range(draws):
        for name, (ks, counts) in PAPER.items():
            for k, number in product(ks, counts):
                yield ("tables", name, k, number, draw)
    for draw, n, family in product(range(draws), SIZES, FAMILIES):
        for number, per_cluster in product((0, n // 4), POINTS_PER_CLUSTER):
            yield ("small-clusters", f"{family}-{n}", n // per_cluster, number, draw)
    for name, k in PUBLIC.items():
        sets = published_sets(data, draws, [name])
        for one in sorted(sets, key=lambda one: one.seed):
            yield ("public", name, k, one.name.rsplit("_", 1)[0], one.seed)
    for name, ks in MAPS.items():
        if name.startswith("planar") or (data / "planar" / f"{name}.txt").exists():
            for k, number in product(ks, (0, n_points(name) // 10)):
                yield ("maps", name, k, number, 0)
    for n, d, family in product((100, 300, 1000, 2000), (2, 4, 10, 50), ("uniform", "blobs")):
        for k in sorted({2, 5, n // 20, n // 8, n // 4}):
            yield ("engines", f"{family}{d}-{n}", k, 0, 0)


def measure(options: Options, engine: str, **case: Any) -> dict[str, Any]:
    warm_up(engine)
    # Optima of the public sets are compared to 1e-8.
    gap = 1e-9 if case["suite"] == "public" else 1e-4
    parameters = sdpbb.SolverParameters(bounding=engine, gap=gap, time_limit=options.time_limit)
    return solved(instance_of(options.data, **case), parameters)[1]


def n_points(name: str) -> int:
    """Return the number of points that ends the name of a map."""
    found = re.search(r"\d+$", name)
    assert found is not None
    return int(found[0])


def instance_of(
    data: Path, suite: str, instance: str, k: int, constraints: str, draw: int
) -> Instance:
    """Return the points and constraints of a case, the same whenever it is called."""
    if suite == "public":
        return published_instance(data, instance, f"{constraints}_{draw}")
    number = int(constraints)
    seeds = [crc32(instance.encode()), number if suite == "tables" else k, draw]
    rng = np.random.default_rng(seeds)
    if suite == "tables":
        labelled = LOADERS[instance]()
    elif (file := data / "planar" / f"{instance}.txt").exists():
        labelled = _near_places(file, k)
    else:
        labelled = generated(instance, k, rng)
    is_map = suite == "maps"
    numbers = (number, number) if is_map else (number,)
    pairs = (by_kinds if is_map else by_number)(labelled.labels, *numbers, rng)
    return Instance(labelled.points, k, *pairs, name=instance)


def _near_places(file: Path, k: int) -> Labelled:
    """Return the places of a file, labelled by a clustering of k-means."""
    points = np.loadtxt(file, skiprows=1)
    labels = KMeans(k, n_init=1, random_state=0).fit(points).labels_
    return Labelled(points, labels.astype(np.intp))


def generated(name: str, k: int, rng: np.random.Generator) -> Labelled:
    """Return the points of a family in the number that the name says.

    "planar-n": uniform in the unit square, labelled by the nearest of k centres that are too.
    "uniformd-n": the same in the unit cube in d dimensions.
    "blobsd-n": normal clouds of equal size about k centres uniform in the unit cube in d
    dimensions, with a deviation of k^(-1/d) / 4 in each coordinate: the clouds touch.

    Raises
    ------
    ParameterError
        If the name is not like that.
    """
    match = re.fullmatch(r"(?:planar|(uniform|blobs)([1-9]\d*))-(\d+)", name)
    if match is None:
        raise ParameterError(f"name = {name!r}: expected planar-n, uniformd-n or blobsd-n")
    n, d = int(match[3]), int(match[2] or 2)
    if match[1] != "blobs":
        points, centres = rng.random((n, d)), rng.random((k, d))
        distances = ((points[:, None, :] - centres) ** 2).sum(axis=2)
        return Labelled(points, distances.argmin(axis=1))
    labels = np.arange(n) % k
    deviation = 0.25 * k ** (-1 / d)
    return Labelled(rng.random((k, d))[labels] + deviation * rng.normal(size=(n, d)), labels)


LOADERS: dict[str, Callable[[], Labelled]] = {
    "iris": lambda: Labelled(*load_iris(return_X_y=True)),
    "wine": lambda: Labelled(*load_wine(return_X_y=True)),
}


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


def engines_of(known: Iterable[Row]) -> list[str]:
    """Return the engines, the semidefinite bound first."""
    return sorted({row["engine"] for row in known}, key=lambda engine: (engine != "sdp", engine))


def spreads(known: list[Row]) -> dict[tuple[str, ...], float]:
    """Return relative differences of the largest and the least optimum, of two or more."""
    found = {}
    for key, runs in by_instance(known).items():
        optima = numbers(chosen(runs.values(), status="optimal"), "objective")
        if len(optima) >= 2:
            found[key] = (max(optima) - min(optima)) / max(optima) if max(optima) > 0 else 0.0
    return found


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
    """Return medians of the seconds of the semidefinite bound over those of each other engine.

    Instances that one of the two has not solved count with the seconds until it stopped.
    """
    some = chosen(known, suite="small-clusters")
    ratios: dict[str, dict[str, list[float]]] = {}
    for (_, name, k, _, _), runs in by_instance(some).items():
        family, n = name.split("-")
        per_cluster = f"k = n / {round(float(n) / int(k))}"
        for engine in engines_of(runs.values())[1:]:
            pair = [runs["sdp"], runs[engine]]
            if any(row["status"] in SOLVED for row in pair) and all(row["seconds"] for row in pair):
                ratio = float(pair[0]["seconds"]) / float(pair[1]["seconds"])
                for group in ("all", family, f"n = {n}", per_cluster):
                    ratios.setdefault(engine, defaultdict(list))[group].append(ratio)
    return [
        f"- *{engine}*: " + "; ".join(f"{g} {median(r):.2f} ({len(r)})" for g, r in groups.items())
        for engine, groups in ratios.items()
    ]


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
    "engines public": of_suite("public"),
    "engines maps": of_suite("maps"),
    "engines": choices,
    "engines agreement": agreement,
}
