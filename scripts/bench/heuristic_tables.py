"""Tables of the heuristics: our rows beside the published ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean, median

from scripts.bench import rows
from scripts.bench.data import RESULTS, reference
from scripts.bench.suite import Options
from scripts.bench.tables import Cell, each, machines, over, table, value

SAME = 1e-6
"""Two sums of squares are of the same clustering if they differ by less than this share."""
INF = float("inf")
# Of the paper's Table 8: the names of our rows and of its columns.
COMPETITORS = {
    "ipc-kmeans sdp": "ipc_sdp",
    "ipc-kmeans": "ipc_kmeanspp",
    "post-processing": "postprocessing",
    "cop-kmeans": "cop_kmeans",
}
LEADER = "best-of"
Table = Callable[[list[rows.Row], Options], list[str]]


def optima() -> dict[tuple[str, str], float]:
    """Return the objective of every set that is proven to 1e-4 or better, by data set and set."""
    return {
        (row["dataset"], row["set"]): float(row["objective"])
        for row in rows.chosen(rows.read(RESULTS / "public.csv"), status="optimal")
    }


def cost(row: rows.Row) -> float:
    """Return the sum of squares, inf without a clustering that keeps the hard constraints."""
    keeps = row["sum_of_squares"] and row["hard_violations"] == "0"
    return float(row["sum_of_squares"]) if keeps else INF


def reaches(found: float, goal: float) -> bool:
    return found < INF and found <= goal * (1 + SAME)


def percent(found: Sequence[bool]) -> float:
    return 100.0 * fmean(found) if found else 0.0


def beside(ours: float, published: str | None, digits: int = 1) -> str:
    return f"{ours:.{digits}f} ({published})" if published else f"{ours:.{digits}f}"


def costs(own: list[rows.Row]) -> list[dict[str, float]]:
    """Return the costs of the methods, by their names, for each set."""
    sets = rows.grouped(own, "dataset", "set").values()
    return [{row["method"]: cost(row) for row in one} for one in sets]


def are_best(own: list[rows.Row], name: str) -> list[bool]:
    """Return whether a method is as good as the best of the competitors, for each set."""
    return [
        reaches(found.get(name, INF), min(found.get(other, INF) for other in COMPETITORS))
        for found in costs(own)
    ]


def are_optimal(own: list[rows.Row], name: str) -> list[bool]:
    """Return whether a method finds the proven optimum, for each set that has one."""
    optimum = optima()
    return [
        reaches(found.get(name, INF), optimum[key])
        for key, found in zip(rows.grouped(own, "dataset", "set"), costs(own), strict=True)
        if key in optimum
    ]


def table8(known: list[rows.Row], options: Options) -> list[str]:
    """Return how often the methods find the best clustering of the four, and the optimum."""
    theirs = reference(options.data, "pc_sos_sdp_heuristics.csv")
    published = {row["dataset"].lower(): row for row in theirs}

    def share(of: Callable[[list[rows.Row]], list[bool]], column: str) -> Cell:
        def cell(own: list[rows.Row]) -> str:
            paper = published.get(own[0]["dataset"].lower(), {})
            return beside(percent(of(own)), paper.get(column))

        return cell

    def have_failed(own: list[rows.Row]) -> list[bool]:
        return [found.get("cop-kmeans", INF) == INF for found in costs(own)]

    columns: dict[str, Cell] = {"data set": value("dataset"), "sets": lambda own: len(costs(own))}
    for name, prefix in COMPETITORS.items():
        columns[f"{name} best"] = share(partial(are_best, name=name), f"{prefix}_best_percent")
        optimal = share(partial(are_optimal, name=name), f"{prefix}_optimal_percent")
        columns[f"{name} opt."] = optimal
    columns["cop-kmeans failed"] = share(have_failed, "cop_kmeans_failed_percent")
    columns[f"{LEADER} opt."] = share(partial(are_optimal, name=LEADER), "")
    lines = table(rows.grouped(known, "dataset").values(), columns)
    lines += ["", "Over all sets with a proven optimum:", ""]
    for name in (*COMPETITORS, LEADER):
        seconds = median(rows.numbers(rows.chosen(known, method=name), "seconds"))
        share_of_all = percent(are_optimal(known, name))
        lines.append(f"- {name}: {share_of_all:.1f} % optimal, median {seconds:.2f} s")
    return lines


def bh(known: list[rows.Row], options: Options) -> list[str]:
    """Return averages of three seeds on Iris and Wine."""
    theirs = {
        (row["measure"], row["dataset"].lower()): row
        for row in reference(options.data, "bh_kmeans_results.csv")
    }
    pccc = {
        (row["dataset"].lower(), float(row["constraint_set_percent"])): row["value"]
        for row in reference(options.data, "pccc_results.csv")
        if row["algorithm"] == "PCCC" and row["table"] in ("14", "15", "16", "17")
    }

    def number(own: list[rows.Row]) -> int:
        return round(100 * float(own[0]["set"]))

    def ours(method: str, column: str, digits: int = 1, measure: str = "") -> Cell:
        def cell(own: list[rows.Row]) -> str:
            name, found = own[0]["dataset"], rows.chosen(own, method=method)
            published = theirs.get((measure, name), {}).get(f"BH_CS{number(own)}")
            if measure == "PCCC":
                published = pccc.get((name, float(number(own))))
            return beside(fmean(rows.numbers(found, column)), published, digits)

        return cell

    columns: dict[str, Cell] = {
        "data set": value("dataset"),
        "constraints": lambda own: f"{number(own)} %",
        "bh-kmeans ARI": ours("bh-kmeans", "ari", 3, "ARI"),
        "bh-kmeans sum of squares": ours("bh-kmeans", "sum_of_squares", 1, "WCSS"),
        "violations": ours("bh-kmeans", "hard_violations"),
        "pccc ARI": ours("pccc", "ari", 3, "PCCC"),
        "pccc sum of squares": ours("pccc", "sum_of_squares"),
    }
    return table(rows.grouped(known, "dataset", "set").values(), columns)


def plain(known: list[rows.Row], options: Options) -> list[str]:
    """Return a line on PCCC against HiGHS on the whole programme."""
    groups = rows.grouped(known, "dataset", "set").values()
    pairs = [{row["method"]: row for row in found} for found in groups]
    both = [(found["pccc"], found["plain"]) for found in pairs if len(found) == 2]
    ratios = [float(theirs["seconds"]) / float(ours["seconds"]) for ours, theirs in both]
    worse = sum(not reaches(cost(ours), cost(theirs)) for ours, theirs in both)
    return [
        f"{len(both)} instances, the same starts: {median(ratios):.1f} times faster in the median"
        f" (from {min(ratios):.1f} to {max(ratios):.1f}), a worse sum of squares on {worse}."
    ]


def col2(known: list[rows.Row], options: Options) -> list[str]:
    """Return seconds and adjusted Rand index by the number of clusters, worst and mean."""

    def outcome(method: str) -> Cell:
        def cell(own: list[rows.Row]) -> str:
            here = rows.chosen(own, method=method)
            lost = len(here) - len(rows.numbers(here, "ari"))
            slowest, index = (of(here) for of in (slowest_of, index_of))
            return f"{slowest} s, {index}, {lost}"

        return cell

    slowest_of, index_of = over("seconds", max, ".1f"), over("ari", fmean, ".3f")
    methods = dict.fromkeys(row["method"] for row in known)
    columns: dict[str, Cell] = {"k": value("k"), "runs": len}
    columns |= {method: outcome(method) for method in methods}
    groups = sorted(rows.grouped(known, "k").values(), key=lambda own: int(own[0]["k"]))
    hardest = rows.chosen(known, dataset="n5000-k100", set="20%")
    told = ["", "5,000 points, 100 clusters, 20 %:", "", *map(described, hardest)]
    return table(groups, columns, text=()) + (told if hardest else [])


def col3(known: list[rows.Row], options: Options) -> list[str]:
    return [described(row) for row in known]


def described(row: rows.Row) -> str:
    return (
        f"- {row['method']}, {int(row['n_constraints']):,} constraints:"
        f" {float(row['seconds']):.1f} s, peak {float(row['peak_rss_mib']):,.0f} MiB,"
        f" ARI {row['ari'] or '-'}, {row['stop']}"
    )


def large(known: list[rows.Row], options: Options) -> list[str]:
    columns: dict[str, Cell] = {
        "points": value("n", ",.0f"),
        "constraints": value("n_constraints", ",.0f"),
        "method": value("method"),
        "seconds": value("seconds", ".2f"),
        "peak MiB": value("peak_rss_mib", ",.0f"),
        "sum of squares / n": lambda own: f"{cost(own[0]) / int(own[0]['n']):.6f}",
        "stop": lambda own: own[0]["stop"].replace("_", " "),
    }
    return table(each(known), columns, text=(2, 6))


def of_part(part: Table) -> Table:
    """Return the table of a part, whose rows have its name."""

    def made(known: list[rows.Row], options: Options) -> list[str]:
        some = rows.chosen(known, part=part.__name__)
        return part(some, options) if some else ["No rows."]

    return made


PARTS = (table8, bh, plain, col2, col3, large)
TABLES: dict[str, Table] = {
    "heuristics machines": lambda known, options: [machines(known)],
    **{
        f"heuristics {one.__name__}": of_part(one) for one in (table8, bh, plain, col2, col3, large)
    },
}
