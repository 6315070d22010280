"""Heuristics on the published instances, beside the figures of their papers.

table8   the public sets of PC-SOS-SDP: how often each method finds the best clustering of the
         paper's four methods, and the proven optimum (rows of the suite public), as the paper's
         Table 8 has it; and best-of
bh       Iris and Wine, standardised, with the published constraint matrices: averages of three
         seeds beside the published rows
plain    PCCC against its full programme in HiGHS, on these and the public sets of the same data
col2     blobs of 500 to 5,000 points, 2 to 100 clusters, 0 to 20 % of constraints (PCCC, COL2)
col3     60,000 points, 100 clusters, 4.5 million constraints (like PCCC's COL3)
large    10^4 to 10^6 points, 10 clusters, without constraints and with n / 10: one start and ten,
         beside scikit-learn's ten

Seconds are those of `run`: reading, imports and the compilation of kernels (a small instance is
clustered first) are outside. The peak of the memory is that of the process, which makes the data,
too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.cluster import KMeans as SklearnKMeans

import sdpbb
from heuristics.best_of import BestOf
from heuristics.cop_kmeans import COPKMeans
from heuristics.ipc_kmeans import IPCKMeans
from heuristics.kmeans import KMeans
from heuristics.measures import adjusted_rand_index
from heuristics.method import Heuristic, RunClock, SearchResult, Soft
from heuristics.penalised import PCCC, BHKMeans
from heuristics.post_processing import PostProcessing
from heuristics.result import Stop
from scripts.bench import heuristic_cases, heuristic_tables
from scripts.bench.data import published_instance, published_sets
from scripts.bench.heuristic_cases import Labelled
from scripts.bench.measuring import own_peak
from scripts.bench.suite import Case, Options
from scripts.bench.yardsticks.plain_pccc import PlainPCCC
from sdpbb.problem import Instance

PERCENTAGES = ("0.05", "0.1", "0.15", "0.2")
SEEDS = (0, 1, 2)
MATRIX_DATA = ("iris", "wine")
LARGE_OBJECTS = (10_000, 100_000, 1_000_000)
KEY = "part dataset set method seed"
COLUMNS = (
    "n k n_constraints status stop sum_of_squares penalised_objective hard_violations"
    " soft_violations n_iterations seconds peak_rss_mib ari version cpu"
)


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
    "plain": {"pccc": PCCC, "plain": PlainPCCC},
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
        for name in (*PERCENTAGES, *(o.name for o in published_sets(options.data, 3, [dataset]))):
            yield "plain", dataset, name, 0
    for n, k in product(heuristic_cases.COL2_OBJECTS, heuristic_cases.COL2_CLUSTERS):
        for fraction in heuristic_cases.COL2_FRACTIONS:
            yield "col2", f"n{n}-k{k}", f"{fraction:.0%}", 0
    yield "col3", "n60000-k100", "4.5M", 0
    for n, fraction in product(LARGE_OBJECTS, (0.0, 0.1)):
        yield "large", f"n{n}-k10", f"{fraction:.0%}", 0


def instance_of(options: Options, part: str, dataset: str, name: str, is_soft: bool) -> Labelled:
    """Return the instance of a case, with true labels where they are known."""
    if part in ("bh", "plain", "table8"):
        if name in PERCENTAGES:
            return heuristic_cases.bh_kmeans(dataset, name, options.data / "bh-kmeans")
        return Labelled(published_instance(options.data, dataset, name), None)
    n, k = (int(word[1:]) for word in dataset.split("-"))
    if part == "col3":
        found = heuristic_cases.col3(seed=0)
    else:
        fraction = float(name.rstrip("%")) / 100
        made = heuristic_cases.clouds(n, fraction, 0) if part == "large" else None
        found = made or heuristic_cases.col2(n, k, fraction, seed=0)
    soft = heuristic_cases.with_soft_cannot_links
    return Labelled(soft(found.instance), found.labels) if is_soft else found


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


TABLES = heuristic_tables.TABLES
