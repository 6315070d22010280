"""Heuristics on the published instances, beside the figures of their papers.

table8   the public sets of PC-SOS-SDP: how often each method finds the best clustering of the
         paper's four methods, and the proven optimum (rows of the suite public), as the paper's
         Table 8 has it; and best-of
bh       Iris and Wine, standardised, with the published constraint matrices: averages of three
         seeds beside the published rows
col2     blobs of 500 to 5,000 points, 2 to 100 clusters, 0 to 20 % of constraints (PCCC, COL2)
col3     60,000 points, 100 clusters, 4.5 million constraints (like PCCC's COL3)
large    10^4 to 10^6 points, 10 clusters, without constraints and with n / 10: one start and ten,
         beside scikit-learn's ten

Seconds are those of `run`: reading, imports and the compilation of kernels (a small instance is
clustered first) are outside. The peak of the memory is that of the process, which makes the data,
too.

The constraints follow G. González-Almagro et al., DILS: constrained clustering through dual
iterative local search, Computers & Operations Research 121 (2020), as P. Baumann and D. S. Hochbaum
use them for PCCC (section 5.3). The points follow the collections COL2 and COL3 of that paper
(section 5.2): scikit-learn's make_blobs for the first; for the second, whose images are not at
hand, overlapping clouds with the numbers of objects and clusters of Cifar 100.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import fmean, median
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans as SklearnKMeans
from sklearn.datasets import load_iris, load_wine, make_blobs

import sdpbb
from heuristics.best_of import BestOf
from heuristics.ipc_kmeans import IPCKMeans
from heuristics.kmeans import COPKMeans, KMeans
from heuristics.measures import adjusted_rand_index
from heuristics.method import Heuristic, RunClock, Soft
from heuristics.penalised import PCCC, BHKMeans
from heuristics.post_processing import PostProcessing
from heuristics.result import SearchResult, Stop
from scripts.bench import rows
from scripts.bench.data import RESULTS, published_instance, published_sets, reference, standardised
from scripts.bench.measuring import own_peak
from scripts.bench.suite import Case, Options
from scripts.bench.tables import Cell, each, machines, over, table, value
from sdpbb.constraint_sets import by_kinds, by_percentage
from sdpbb.problem import Instance, SoftPairs

PERCENTAGES = ("0.05", "0.1", "0.15", "0.2")
SEEDS = (0, 1, 2)
MATRIX_DATA = ("iris", "wine")
LARGE_OBJECTS = (10_000, 100_000, 1_000_000)
KEY = "part dataset set method seed"
COLUMNS = (
    "n k n_constraints status stop sum_of_squares penalised_objective hard_violations"
    " soft_violations n_iterations seconds peak_rss_mib ari version cpu"
)
COL2_OBJECTS = (500, 1_000, 2_000, 5_000)
COL2_CLUSTERS = (2, 5, 10, 20, 50, 100)
COL2_FRACTIONS = (0.0, 0.05, 0.1, 0.15, 0.2)
COL3_OBJECTS, COL3_CLUSTERS, COL3_FRACTION = 60_000, 100, 0.05


# Rows of each class in the first part of the BH-k-means constraint sets: see `of_matrix`.
_FIRST_PART = {"iris": (45, 45, 45), "wine": (54, 63, 43)}
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


class Labelled(NamedTuple):
    """Instance, and the true labels (n,) that its constraints agree with, if they are known."""

    instance: Instance
    labels: NDArray[np.intp] | None


class ScikitLearn(Heuristic):
    """k-means of scikit-learn from ten starts, all else as it is by default."""

    name = "scikit-learn"
    soft = Soft.IGNORED

    def search(self, instance: Instance, rng: np.random.Generator, clock: RunClock) -> SearchResult:
        found = SklearnKMeans(instance.k, n_init=10, random_state=0).fit(instance.points)
        return SearchResult(found.labels_.astype(np.intp), Stop.CONVERGED, found.n_iter_)


COL2 = {"time_limit": 30.0, "assignment_time_limit": 3.0}
BEST_OF_LARGE = partial(BestOf, n_runs=1, n_starts=5, n_relocations=10, time_limit=30.0)
METHODS: dict[str, dict[str, Callable[[], Heuristic]]] = {
    # 100 starts each, as in section 4.4 of the paper; 10 from each solution of the relaxation.
    "table8": {
        "ipc-kmeans sdp": partial(sdpbb.heuristic, "ipc-kmeans", start="sdp", n_starts=10),
        "ipc-kmeans": partial(IPCKMeans, n_starts=100),
        "post-processing": partial(PostProcessing, n_starts=100),
        "cop-kmeans": partial(COPKMeans, n_starts=100),
        "best-of": BestOf,
    },
    "bh": {"bh-kmeans": BHKMeans, "pccc": PCCC},
    "col2": {
        "pccc": partial(PCCC, **COL2),
        **{f"pccc-n{q}-s": partial(PCCC, q=q, **COL2) for q in (2, 3, 5)},
    },
    "col3": {"pccc-n2-s": partial(PCCC, q=2, time_limit=1200.0, assignment_time_limit=20.0)},
    "large": {
        "scikit-learn, 10 starts": ScikitLearn,
        "kmeans, 1 start": KMeans,
        "kmeans, 10 starts": partial(KMeans, n_starts=10),
        "best-of": BEST_OF_LARGE,
        "pccc, 1 start": PCCC,
        "pccc, 10 starts": partial(PCCC, n_starts=10, time_limit=30.0),
    },
}
"""Methods of each part, by the names in its rows. A method "-s" has soft cannot-links."""


def cases(options: Options) -> Iterator[Case]:
    for part, dataset, name, seed in sets(options):
        for method in METHODS[part]:
            is_pccc = method.startswith("pccc")
            if part != "large" or method == "best-of" or is_pccc == (name != "0%"):
                yield dict(zip(KEY.split(), (part, dataset, name, method, seed), strict=True))


def sets(options: Options) -> Iterator[tuple[str, str, str, int]]:
    """Yield part, data set, constraint set and seed."""
    for one in published_sets(options.data, 5):
        yield "table8", one.dataset, one.name, 0
    has_matrices = (options.data / "bh-kmeans").is_dir()
    for dataset in MATRIX_DATA if has_matrices else ():
        for percentage, seed in product(PERCENTAGES, SEEDS):
            yield "bh", dataset, percentage, seed
    for n, k in product(COL2_OBJECTS, COL2_CLUSTERS):
        for fraction in COL2_FRACTIONS:
            yield "col2", f"n{n}-k{k}", f"{fraction:.0%}", 0
    yield "col3", f"n{COL3_OBJECTS}-k{COL3_CLUSTERS}", "4.5M", 0
    for n, fraction in product(LARGE_OBJECTS, (0.0, 0.1)):
        yield "large", f"n{n}-k10", f"{fraction:.0%}", 0


def instance_of(options: Options, part: str, dataset: str, name: str, is_soft: bool) -> Labelled:
    """Return the instance of a case, with true labels where they are known."""
    if part in ("bh", "table8"):
        if name in PERCENTAGES:
            return of_matrix(dataset, name, options.data / "bh-kmeans")
        return Labelled(published_instance(options.data, dataset, name), None)
    n, k = (int(word[1:]) for word in dataset.split("-"))
    if part == "col3":
        found = many_constraints(n, k)
    else:
        found = (clouds if part == "large" else blobs)(n, k, float(name.rstrip("%")) / 100)
    return Labelled(with_soft_cannot_links(found.instance), found.labels) if is_soft else found


def measure(options: Options, part: str, dataset: str, set: str, method: str, seed: int) -> Any:
    load_kernels(method)
    instance, truth = instance_of(options, part, dataset, set, method.endswith("-s"))
    result = METHODS[part][method]().run(instance, seed)
    labels, violations = result.labels, result.violations
    pairs = (instance.must_link, instance.cannot_link)
    soft = (instance.soft_must_link, instance.soft_cannot_link)
    row: dict[str, Any] = {
        "n": instance.n_points,
        "k": instance.k,
        "n_constraints": sum(map(len, (*pairs, *soft))),
        "status": result.status.name.lower(),
        "stop": result.stop.name.lower(),
        "sum_of_squares": result.sum_of_squares,
        "penalised_objective": result.penalised_objective,
        "n_iterations": result.n_iterations,
        "seconds": round(result.seconds, 4),
        "peak_rss_mib": round(own_peak(), 1),
    }
    if violations is not None:
        row["hard_violations"] = violations.hard
        row["soft_violations"] = violations.soft_must_link + violations.soft_cannot_link
    if truth is not None and labels is not None:
        row["ari"] = adjusted_rand_index(truth, labels)
    return row


def load_kernels(method: str) -> None:
    """Compile, or load, the kernels of a method."""
    rng = np.random.default_rng(0)
    pairs = [(i, i + 1) for i in range(12)]
    hard = Instance(rng.normal(size=(40, 3)), 3, [(20, 21)], pairs)
    soft = Instance(hard.points, 3, [(20, 21)], soft_cannot_link=[(i, j, 1.0) for i, j in pairs])
    makers = {name: make for of in METHODS.values() for name, make in of.items()}
    makers[method]().run(soft if method.endswith("-s") else hard)


def blobs(n: int, k: int, fraction: float) -> Labelled:
    """Return n points in the plane from k normal clouds, with constraints by percentage (COL2).

    The clouds have standard deviation 1 and centres uniform in [-10, 10]^2; coordinates are scaled
    to mean 0 and variance 1.
    """
    return with_percentage(make_blobs(n, 2, centers=k, random_state=0), k, fraction)


def many_constraints(n: int, k: int) -> Labelled:
    """Return an instance with as many points, clusters and constraints as Cifar 100 with 5 % CS.

    It has 4.5 million constraints, 99 in 100 of them cannot-links. The clouds have centres uniform
    in [-10, 10] in each of 100 coordinates, and a standard deviation of 20.
    """
    made = make_blobs(n, 100, centers=k, cluster_std=20.0, random_state=0)
    return with_percentage(made, k, COL3_FRACTION)


def with_percentage(
    made: tuple[NDArray[np.float64], NDArray[np.intp]], k: int, fraction: float
) -> Labelled:
    """Return labelled points, standardised, with constraints by percentage."""
    points, labels = made
    pairs = by_percentage(labels, 100 * fraction, np.random.default_rng(0))
    return Labelled(Instance(standardised(points), k, *pairs), labels)


def clouds(n: int, k: int, fraction: float) -> Labelled:
    """Return overlapping clouds, with n fraction constraints: as many must-links as cannot-links.

    The clouds have standard deviation 1 and normal centres, all in ten coordinates.
    """
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(k, 10))
    labels = rng.integers(k, size=n)
    points = centres[labels] + rng.normal(size=(n, 10))
    half = round(n * fraction / 2)
    return Labelled(Instance(points, k, *by_kinds(labels, half, half, rng)), labels)


def of_matrix(name: str, percent: str, folder: Path) -> Labelled:
    """Return Iris or Wine, standardised, with a constraint set of the BH-k-means paper.

    The constraints are hard.

    A file holds an n x n matrix: 1 (must-link) and -1 (cannot-link) below the diagonal, of which
    only the must-links are repeated above. Its rows are not in the order of scikit-learn's data:
    class by class they come first in one part, then in another, as if a cross-validation fold were
    written training part first. In that order every constraint agrees with the classes. Which rows
    of a class are in which part cannot be seen from the constraints; the last ones are taken for
    the second, so that results compare with published ones as those on another draw would.

    Parameters
    ----------
    name : "iris" or "wine"
    percent : as in the file names, "0.05", "0.1", "0.15" or "0.2"
    """
    data = {"iris": load_iris, "wine": load_wine}[name]()
    rows = [np.flatnonzero(data.target == c) for c in range(3)]
    first = _FIRST_PART[name]
    parts = [r[:a] for r, a in zip(rows, first, strict=True)]
    parts += [r[a:] for r, a in zip(rows, first, strict=True)]
    order = np.concatenate(parts)
    matrix = np.tril(np.loadtxt(folder / f"{name}_{percent}.txt"), -1)
    instance = Instance(
        standardised(data.data[order]),
        3,
        np.argwhere(matrix == 1),
        np.argwhere(matrix == -1),
    )
    return Labelled(instance, data.target[order])


def with_soft_cannot_links(instance: Instance) -> Instance:
    """Return the hard cannot-links made soft ones of weight 1 (PCCC-N2-S, section 5.5 of PCCC)."""
    pairs = instance.cannot_link
    return Instance(
        instance.points,
        instance.k,
        must_link=instance.must_link,
        soft_cannot_link=SoftPairs(pairs, np.ones(len(pairs))),
    )


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


TABLES: dict[str, Table] = {
    "heuristics machines": lambda known, options: [machines(known)],
    **{f"heuristics {one.__name__}": of_part(one) for one in (table8, bh, col2, col3, large)},
}
