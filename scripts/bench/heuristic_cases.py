"""Benchmark instances of the heuristics: constraints by percentage, and clouds of points.

The constraint sets follow G. González-Almagro et al., DILS: constrained clustering through dual
iterative local search, Computers & Operations Research 121 (2020), as P. Baumann and D. S. Hochbaum
use them for PCCC (section 5.3). The points follow the collections COL2 and COL3 of that paper
(section 5.2): scikit-learn's make_blobs for the first; for the second, whose images are not at
hand, overlapping clouds with the numbers of objects and clusters of Cifar 100.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_iris, load_wine, make_blobs

from sdpbb.constraint_sets import by_kinds, by_percentage
from sdpbb.problem import Instance, SoftPairs

COL2_OBJECTS = (500, 1_000, 2_000, 5_000)
COL2_CLUSTERS = (2, 5, 10, 20, 50, 100)
COL2_FRACTIONS = (0.0, 0.05, 0.1, 0.15, 0.2)
COL3_OBJECTS, COL3_CLUSTERS, COL3_FRACTION = 60_000, 100, 0.05


# Rows of each class in the first part of the BH-k-means constraint sets: see `bh_kmeans`.
_FIRST_PART = {"iris": (45, 45, 45), "wine": (54, 63, 43)}


class Labelled(NamedTuple):
    """Instance, and the true labels (n,) that its constraints agree with, if they are known."""

    instance: Instance
    labels: NDArray[np.intp] | None


def col2(n: int, k: int, fraction: float, seed: int) -> Labelled:
    """Return n points in the plane from k normal clouds, with constraints by percentage.

    The clouds have standard deviation 1 and centres uniform in [-10, 10]^2; coordinates are scaled
    to mean 0 and variance 1.
    """
    points, labels = make_blobs(n_samples=n, n_features=2, centers=k, random_state=seed)
    return _instance(standardised(points), labels, k, fraction, seed, f"n{n}-k{k}")


def col3(
    seed: int,
    n: int = COL3_OBJECTS,
    k: int = COL3_CLUSTERS,
    fraction: float = COL3_FRACTION,
    n_features: int = 100,
    deviation: float = 20.0,
) -> Labelled:
    """Return an instance with as many points, clusters and constraints as Cifar 100 with 5 % CS.

    It has 4.5 million constraints, 99 in 100 of them cannot-links. The clouds have centres uniform
    in [-10, 10] in each coordinate.

    Parameters
    ----------
    deviation : standard deviation of the clouds in each coordinate
    """
    points, labels = make_blobs(
        n_samples=n, n_features=n_features, centers=k, cluster_std=deviation, random_state=seed
    )
    return _instance(standardised(points), labels, k, fraction, seed, f"clouds-n{n}-k{k}")


def clouds(n: int, fraction: float, seed: int, n_features: int = 10, k: int = 10) -> Labelled:
    """Return overlapping clouds, with n fraction constraints: as many must-links as cannot-links.

    The clouds have standard deviation 1 and normal centres, all in n_features coordinates.
    """
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(k, n_features))
    labels = rng.integers(k, size=n)
    points = centres[labels] + rng.normal(size=(n, n_features))
    half = round(n * fraction / 2)
    pairs = by_kinds(labels, half, half, rng)
    return Labelled(Instance(points, k, *pairs, f"clouds-n{n}"), labels)


def bh_kmeans(name: str, percent: str, folder: Path) -> Labelled:
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
        f"{name}-{percent}",
    )
    return Labelled(instance, data.target[order])


def with_soft_cannot_links(instance: Instance) -> Instance:
    """Return the hard cannot-links made soft ones of weight 1 (PCCC-N2-S, section 5.5 of PCCC)."""
    pairs = instance.cannot_link
    return Instance(
        instance.points,
        instance.k,
        must_link=instance.must_link,
        name=instance.name,
        soft_cannot_link=SoftPairs(pairs, np.ones(len(pairs))),
    )


def standardised(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each coordinate less its mean, over its standard deviation; constant ones are 0."""
    centred = points - points.mean(axis=0)
    deviation = centred.std(axis=0)
    return centred / np.where(deviation > 0, deviation, 1.0)


def _instance(
    points: NDArray[np.float64],
    labels: NDArray[np.intp],
    k: int,
    fraction: float,
    seed: int,
    name: str,
) -> Labelled:
    rng = np.random.default_rng(seed)
    must_link, cannot_link = by_percentage(labels, 100 * fraction, rng)
    return Labelled(Instance(points, k, must_link, cannot_link, name), labels)
