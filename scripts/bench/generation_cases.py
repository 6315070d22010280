"""Instances of column generation, by name and seeded; `suites.engines` says which there are.

The constraints of the paper's tables and of small clusters are drawn as in section 6 of B. Babaki,
T. Guns and S. Nijssen (2014), after K. Wagstaff and C. Cardie, Clustering with instance-level
constraints (2000). Its own sets were not published, so ours are others of the same kind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine

from scripts.bench.data import published_instance, published_sets
from scripts.bench.suite import Case
from sdpbb.constraint_sets import by_kinds, by_number
from sdpbb.errors import ParameterError
from sdpbb.problem import Instance

PUBLIC = {"iris": 3, "seeds": 3, "wine": 3}
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


class Labelled(NamedTuple):
    """Points (n, d), and classes (n,) that constraints are drawn from."""

    points: NDArray[np.float64]
    labels: NDArray[np.intp]


def cases(data: Path, draws: int) -> Iterator[Case]:
    """Return the instances of all suites, small and first draws first.

    instance : a data set, or a family and its number of points, as in "planar-100"
    constraints : how many; for public sets the file's name without the draw, as in "ml_50_cl_0"
    draw : the seed of the constraints, and of generated points

    Those of files that are missing are left out.
    """
    for draw in range(draws):
        for name, (ks, numbers) in TABLES.items():
            for k, number in product(ks, numbers):
                yield case("tables", name, k, number, draw)
    for draw, n, family in product(range(draws), SIZES, FAMILIES):
        for number, per_cluster in product((0, n // 4), POINTS_PER_CLUSTER):
            yield case("small-clusters", f"{family}-{n}", n // per_cluster, number, draw)
    for name, k in PUBLIC.items():
        sets = published_sets(data, draws, [name])
        for one in sorted(sets, key=lambda one: one.seed):
            yield case("public", name, k, one.name.rsplit("_", 1)[0], one.seed)
    for name, ks in MAPS.items():
        if name.startswith("planar") or (data / "planar" / f"{name}.txt").exists():
            for k, number in product(ks, (0, n_points(name) // 10)):
                yield case("maps", name, k, number)
    for n, d, family in product((100, 300, 1000, 2000), (2, 4, 10, 50), ("uniform", "blobs")):
        for k in sorted({2, 5, n // 20, n // 8, n // 4}):
            yield case("engines", f"{family}{d}-{n}", k)


def case(suite: str, instance: str, k: int, constraints: object = 0, draw: int = 0) -> Case:
    """Return a case by its values."""
    return {
        "suite": suite,
        "instance": instance,
        "k": k,
        "constraints": str(constraints),
        "draw": draw,
    }


def of_tables(name: str, k: int, *numbers: int) -> list[Case]:
    """Return cases of the paper's tables by their numbers of constraints."""
    return [case("tables", name, k, number) for number in numbers]


def small(family: str, n: int, *ks: int, constraints: int = 0) -> list[Case]:
    """Return cases of small clusters by k."""
    return [case("small-clusters", f"{family}-{n}", k, constraints) for k in ks]


def name_of(row: Mapping[str, str]) -> str:
    """Return the name of the instance of a row in tables."""
    constraints = f", {row['constraints']}" if row["constraints"] != "0" else ""
    draw = f" #{row['draw']}" if row["draw"] != "0" else ""
    return f"{row['instance']}{draw}, k={row['k']}{constraints}"


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


LOADERS: dict[str, Callable[[], Labelled]] = {
    "iris": lambda: Labelled(*load_iris(return_X_y=True)),
    "wine": lambda: Labelled(*load_wine(return_X_y=True)),
    "soybean": soybean,
}
