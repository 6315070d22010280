"""Data sets that ship with the package: Iris and Wine, with sets of constraints.

>>> from sdpbb.datasets import load_iris
>>> iris = load_iris()
>>> iris.points.shape, iris.class_names
((150, 4), ('setosa', 'versicolor', 'virginica'))
>>> iris.instance("ml_19_cl_19")
Instance(iris: n=150, d=4, k=3, 19 must-links, 19 cannot-links)
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets as classic

from sdpbb.errors import InstanceError, InstanceNote
from sdpbb.problem import Instance
from sdpbb.problem.formats import read_instance
from sdpbb.runtime.declaration import did_you_mean

__all__ = ["Dataset", "load_iris", "load_wine"]

# In a checkout it is a link to the folder of instances, in an installation that folder.
FOLDER = Path(__file__).parent / "instances"


@dataclass(frozen=True, eq=False)
class Dataset:
    """Data set with true classes, and sets of constraints that are drawn from them.

    Attributes
    ----------
    name : of the data set
    points : (n, d), features that are not scaled
    labels : (n,) the true classes 0, ..., k - 1 of the points
    feature_names, class_names : (d,) and (k,) what they are called
    """

    name: str
    points: NDArray[np.float64]
    labels: NDArray[np.intp]
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]

    @property
    def k(self) -> int:
        """The number of classes."""
        return len(self.class_names)

    @property
    def constraint_sets(self) -> tuple[str, ...]:
        """The names of the sets of constraints: "ml_19_cl_19" has 19 must- and 19 cannot-links."""
        found = FOLDER.glob(f"{self.name}_ml_*_cl_*.txt")
        return tuple(sorted(path.stem.removeprefix(f"{self.name}_") for path in found))

    def instance(self, constraint_set: str | None = None, k: int | None = None) -> Instance:
        """Return the instance of the points with a set of constraints.

        constraint_set : one of `constraint_sets`; None: no constraints
        k : number of clusters; None: the number of classes

        Raises
        ------
        InstanceError
            If there is no such set.
        """
        path = None
        if constraint_set is not None:
            if constraint_set not in self.constraint_sets:
                hint = did_you_mean(str(constraint_set), self.constraint_sets)
                raise InstanceError(
                    f"constraint_set = {constraint_set!r}: {self.name} has no such set; {hint}"
                )
            path = FOLDER / f"{self.name}_{constraint_set}.txt"
        with warnings.catch_warnings():
            # Published results are for these units, whatever a note says of them.
            warnings.simplefilter("ignore", InstanceNote)
            return read_instance(FOLDER / f"{self.name}.txt", self.k if k is None else k, path)

    def __repr__(self) -> str:
        n, d = self.points.shape
        return (
            f"<Dataset {self.name}: {n} points, {d} features, {self.k} classes, "
            f"{len(self.constraint_sets)} sets of constraints>"
        )


def load_iris() -> Dataset:
    """Return Iris: 150 flowers, 4 lengths and widths in cm, 3 species (Fisher, 1936)."""
    return _loaded("iris", classic.load_iris())


def load_wine() -> Dataset:
    """Return Wine: 178 wines, 13 chemical measurements, 3 cultivars (Forina et al., 1991)."""
    return _loaded("wine", classic.load_wine())


def _loaded(name: str, bunch: Any) -> Dataset:
    return Dataset(
        name,
        np.asarray(bunch.data, np.float64),
        np.asarray(bunch.target, np.intp),
        tuple(map(str, bunch.feature_names)),
        tuple(map(str, bunch.target_names)),
    )
