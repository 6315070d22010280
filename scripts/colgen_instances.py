"""Benchmark instances of column generation, by name and seeded.

tables          Iris and Wine of scikit-learn, unscaled, and a stand-in for Soybean (small), with
                the numbers of clusters and constraints of Tables 6 to 8 of B. Babaki, T. Guns and
                S. Nijssen, Constrained clustering using column generation (2014)
small-clusters  points in the unit square without structure and blobs in 2, 4 and 8 dimensions,
                n / 8 to n / 4 clusters, without and with n / 4 constraints
public          Iris, Seeds and Wine with the published constraint sets of PC-SOS-SDP
maps            places in the plane: the published sets of the travelling salesman library, and
                uniform points; without constraints, and with n / 10 must-links and as many
                cannot-links
engines         uniform points and blobs, 100 to 2,000 of them in 2 to 50 dimensions, 2 to n / 4
                clusters: where either bound is the better one

The constraints of the first two are drawn as in section 6 of that paper, after K. Wagstaff and
C. Cardie, Clustering with instance-level constraints (2000). Its own sets were not published, so
ours are others of the same kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from benchmark import SHARED, find_tasks
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine

from sdpbb.constraint_sets import by_kinds, by_number
from sdpbb.constraint_sets.procedures import LinkedPairs
from sdpbb.errors import ParameterError
from sdpbb.problem import Instance
from sdpbb.problem.formats import read_instance

PUBLIC = SHARED / "data" / "pc-sos-sdp"
PUBLIC_NAMES = ("iris", "seeds", "wine")
PLACES = SHARED / "data" / "planar"
SUITES = ("tables", "small-clusters", "public", "maps", "engines")
# Of the paper's Tables 6, 7 and 8: the numbers of clusters and of constraints.
TABLES = {
    "iris": ((3, 5), (2, 60, 100, 140, 200, 240, 300, 340, 400, 440, 500)),
    "wine": ((3, 5), (240, 300, 340, 380, 420, 460, 500)),
    "soybean": ((3, 4, 5), (2, 10, 20, 40, 60, 80)),
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

_SOYBEAN_CLASSES = (10, 10, 10, 17)
_SOYBEAN_SEED = 47


class Case(NamedTuple):
    """One instance.

    name : a data set, or a family and its number of points, as in "planar-100"
    constraints : how many; for public sets the file's name without the draw, as in "ml_50_cl_0"
    draw : the seed of the constraints, and of generated points
    """

    suite: str
    name: str
    k: int
    constraints: str
    draw: int


class Labelled(NamedTuple):
    """Points (n, d), and classes (n,) that constraints are drawn from."""

    points: NDArray[np.float64]
    labels: NDArray[np.intp]


def cases(suite: str, draws: int = 3) -> Iterator[Case]:
    """Return the instances of a suite, small and first draws first.

    Those of files that are missing are left out.

    Raises
    ------
    ParameterError
        If there is no such suite.
    """
    if suite not in SUITES:
        raise ParameterError(f"suite = {suite!r}: expected one of {', '.join(SUITES)}")
    if suite == "public":
        yield from _public_cases(draws)
    elif suite == "tables":
        for draw in range(draws):
            for name, (ks, numbers) in TABLES.items():
                for k in ks:
                    for number in numbers:
                        yield Case(suite, name, k, str(number), draw)
    elif suite == "maps":
        yield from _map_cases()
    elif suite == "engines":
        yield from _engine_cases()
    else:
        for draw in range(draws):
            for n in SIZES:
                for family in FAMILIES:
                    for number in (0, n // 4):
                        for per_cluster in POINTS_PER_CLUSTER:
                            yield Case(suite, f"{family}-{n}", n // per_cluster, str(number), draw)


def instance_of(case: Case) -> Instance:
    """Return the points and constraints of a case, the same whenever it is called."""
    if case.suite == "public":
        file_name = f"{case.constraints}_{case.draw}.txt"
        points = PUBLIC / "datasets" / f"{case.name}.txt"
        return read_instance(points, case.k, PUBLIC / "constraints" / case.name / file_name)
    rng = _generator(
        case.name, int(case.constraints) if case.suite == "tables" else case.k, case.draw
    )
    if case.suite == "tables":
        data = DATA[case.name]()
    elif (file := PLACES / f"{case.name}.txt").exists():
        data = _near_places(file, case.k)
    else:
        data = generated(case.name, case.k, rng)
    must_link, cannot_link = _constraints(case, data.labels, rng)
    return Instance(data.points, case.k, must_link, cannot_link, name=case.name)


def _constraints(case: Case, labels: NDArray[np.intp], rng: np.random.Generator) -> LinkedPairs:
    number = int(case.constraints)
    if case.suite == "maps":
        return by_kinds(labels, number, number, rng)
    return by_number(labels, number, rng)


def _near_places(file: Path, k: int) -> Labelled:
    """Return the places of a file, labelled by a clustering of k-means."""
    points = np.loadtxt(file, skiprows=1)
    labels = KMeans(k, n_init=1, random_state=0).fit(points).labels_
    return Labelled(points, labels.astype(np.intp))


def soybean() -> Labelled:
    """Return a synthetic stand-in for Soybean (small) of the UCI repository, which is not at hand.

    It has that set's size and look, and its results compare with published ones in kind only.

    47 points, four classes of 10, 10, 10 and 17, 35 features with integer codes 0 to 6: 14 of them
    constant, 12 with a code for each class which nine in ten of its points have, 9 of noise.
    """
    rng = np.random.default_rng(_SOYBEAN_SEED)
    labels = np.repeat(np.arange(4), _SOYBEAN_CLASSES)
    n = len(labels)
    constant = np.tile(rng.integers(3, size=14), (n, 1))
    codes = rng.integers(4, size=(4, 12))
    other = rng.integers(4, size=(n, 12))
    informative = np.where(rng.random((n, 12)) < 0.9, codes[labels], other)
    noise = rng.integers([7, 4, 3, 3, 2, 2, 2, 2, 2], size=(n, 9))
    features = np.hstack([constant, informative, noise])
    return Labelled(features.astype(np.float64), labels)


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


def _of_sklearn(load: Callable) -> Callable[[], Labelled]:
    return lambda: Labelled(*load(return_X_y=True))


DATA: dict[str, Callable[[], Labelled]] = {
    "iris": _of_sklearn(load_iris),
    "wine": _of_sklearn(load_wine),
    "soybean": soybean,
}


def _public_cases(draws: int) -> Iterator[Case]:
    if not PUBLIC.is_dir():
        print(f"SKIPPED: {PUBLIC} is not there")
        return
    for name in PUBLIC_NAMES:
        with open(PUBLIC / "datasets" / f"{name}.txt", encoding="utf-8") as file:
            k = int(file.readline().split()[2])
        for task in sorted(find_tasks(PUBLIC, [name], range(draws)), key=lambda task: task.seed):
            yield Case("public", name, k, task.set_name.rsplit("_", 1)[0], task.seed)


def _map_cases() -> Iterator[Case]:
    for name, ks in MAPS.items():
        if not (name.startswith("planar") or (PLACES / f"{name}.txt").exists()):
            print(f"SKIPPED: {name}, as {PLACES} is not there")
            continue
        for k in ks:
            for number in (0, _n_points(name) // 10):
                yield Case("maps", name, k, str(number), 0)


def _n_points(name: str) -> int:
    return int(re.search(r"\d+$", name)[0])


def _engine_cases() -> Iterator[Case]:
    for n in (100, 300, 1000, 2000):
        for d in (2, 4, 10, 50):
            for family in ("uniform", "blobs"):
                for k in sorted({2, 5, n // 20, n // 8, n // 4}):
                    yield Case("engines", f"{family}{d}-{n}", k, "0", 0)


def _generator(name: str, *numbers: int) -> np.random.Generator:
    return np.random.default_rng([crc32(name.encode()), *numbers])
