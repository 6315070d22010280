"""Names that the user gives to rows, columns and constraints, and the units of columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem.checks import checked_points
from sdpbb.problem.known_classes import KnownClasses
from sdpbb.runtime.archive import stored
from sdpbb.runtime.files import shown_path

DOMINANT, LEAST_ROWS = 0.99, 5
"""Minimum share of the variance of a dominating column, and minimum rows for a note on it."""

DISTANCE_OF = {"must_link": "min_separation", "cannot_link": "max_diameter"}
"""Hard pairs: the list of an instance, and the distance (DELTA, GAMMA) that implies such pairs."""


@stored
@dataclass(frozen=True, eq=False)
class Scaling:
    """Linear map of each column: the clustered value of the user's x is (x - mean) / scale.

    means, scales : (d,) in the units of the user; scales are positive
    """

    means: NDArray[np.float64]
    scales: NDArray[np.float64]

    def applied(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return points (n, d), given in the user's units, in the units of clustering."""
        return (points - self.means) / self.scales

    def undone(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scaled points (m, d), such as centres, in the user's units."""
        return points * self.scales + self.means


def standardization(
    points: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> Scaling:
    """Return the scaling of columns to mean zero and variance one.

    points (n, d) are finite, and no coordinate exceeds 1e100, or an InstanceError is raised. Mean
    and variance are weighted if points have weights. The variance is the sum of squares over n, as
    in scikit-learn's StandardScaler. A column of one value is not scaled. Sums are rounded once
    (`math.fsum`): certificates need points that are the same, to the last bit, on every machine.
    """
    points = checked_points(points)
    masses = np.ones(len(points)) if weights is None else np.asarray(weights, np.float64)
    total = math.fsum(masses.tolist())
    means, scales = points[0].copy(), np.ones(points.shape[1])
    for j, column in enumerate(np.ascontiguousarray(points.T)):
        if column.min() < column.max():
            means[j] = math.fsum((masses * column).tolist()) / total
            squares = np.square(column - means[j])
            scales[j] = math.sqrt(math.fsum((masses * squares).tolist()) / total) or 1.0
    return Scaling(means, scales)


def dominant_column(
    points: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> tuple[int, float] | None:
    """Return the column with nearly all of the variance of finite points (n, d), and its share.

    None if no column dominates, only one column varies, or there are fewer than `LEAST_ROWS` rows.
    """
    n_varying = np.count_nonzero(points.min(axis=0) < points.max(axis=0))
    if len(points) < LEAST_ROWS or n_varying < 2:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.average(points, axis=0, weights=weights)
        variances = np.average(np.square(points - means), axis=0, weights=weights)
        share = float(variances.max() / variances.sum())
    return (int(variances.argmax()), share) if share >= DOMINANT else None


def place_in_file(line: int, key: str) -> str:
    """Return the place of a statement in its file: ":17", or ": ml[3]" under a key of JSON."""
    return f": {key}[{line}]" if key else f":{line}"


@stored
@dataclass(frozen=True, eq=False)
class PairLines:
    """Places of pairs in a file of constraints.

    pairs : (p, 2) int32 row numbers i < j from 0. If several places state a pair, the first counts
    lines : (p,) int32 lines of the file, from 1; with a key, positions in its list, from 0
    key : of the list of pairs in a file, such as "ml"; "" for a file of lines
    """

    pairs: NDArray[np.integer] = field(default_factory=lambda: np.empty((0, 2), np.int32))
    lines: NDArray[np.integer] = field(default_factory=lambda: np.empty(0, np.int32))
    key: str = ""

    def place_of(self, i: int, j: int) -> str:
        """Return the place in the file that states the pair; "" if none does.

        Examples: ":17", ": ml[3]".
        """
        base, keys, order = self._sorted
        key = min(i, j) * base + max(i, j)
        at = int(np.searchsorted(keys, key))
        found = at < len(keys) and max(i, j) < base and int(keys[at]) == key
        return self.place_at(int(order[at])) if found else ""

    def place_at(self, position: int) -> str:
        """Return the place in the file that states the pair at a position here."""
        return place_in_file(int(self.lines[position]), self.key)

    @cached_property
    def _sorted(self) -> tuple[int, NDArray[np.int64], NDArray[np.intp]]:
        """Base above all rows, the pairs as sorted numbers i * base + j, and their positions.

        A distance may imply millions of pairs, and labels may violate most of them.
        """
        pairs = self.pairs.astype(np.int64)
        base = int(pairs.max(initial=0)) + 1
        keys = pairs[:, 0] * base + pairs[:, 1]
        order = np.argsort(keys, kind="stable")  # of equal pairs, the first one comes first
        return base, keys[order], order


@stored
@dataclass(frozen=True)
class StatedLine:
    """Place in a file of a constraint on clusters, a limit on clusters, or a distance.

    argument : of `Constraints`, such as "cluster_constraints" or "max_weight"
    value : the constraint, the limit or the distance
    line : of the file, from 1
    """

    argument: str
    value: Any
    line: int


@stored
@dataclass(frozen=True, eq=False)
class Origin:
    """Names of rows and constraints for messages, and places of constraints in files.

    The instance itself counts rows from 0, even if its files do not.

    Parameters
    ----------
    first_row : the number that the user gives to row 0
    row_names : (n,) names of the rows, such as the index of a data frame; None: rows are numbered
    constraints_path : the file of constraints; "": no file
    must_link, cannot_link : the places in it that state pairs one by one
    data_path : the file of points; "": no file
    feature_names : (d,) names of the columns; (): columns do not have names
    index_name : name of the column that names the rows; "": no such column
    scaling : from the user's units to the units of the points; None: these are the same
    kept_rows : (n,) positions of the points among the rows of the data, ascending from 0, if rows
        with missing values were dropped; None: no row was dropped
    dropped_rows : the user's names of the dropped rows, in their order
    soft_must_link, soft_cannot_link : the places that state soft pairs
    on_clusters : the places that state constraints and limits on clusters
    known_classes : classes of rows, which imply pairs, too; None: no known classes
    frame_index : index of all rows of a pandas data frame, also of dropped rows. It is not a
        field: archives leave it out, as its values may be of any type, and `replace` finds it
    separator : separator of the fields of the file of points, a comma for a workbook; "": others
    encoding : encoding of the file of points, by its name in Python
    preparation : steps from the data to the points, and notes on these steps
    min_separation, max_diameter : the places of distances (DELTA, GAMMA), once for each pair that
        the distance must-links or cannot-links
    """

    first_row: int = 0
    row_names: tuple[str, ...] | None = None
    constraints_path: str = ""
    must_link: PairLines = field(default_factory=PairLines)
    cannot_link: PairLines = field(default_factory=PairLines)
    data_path: str = ""
    feature_names: tuple[str, ...] = ()
    index_name: str = ""
    scaling: Scaling | None = None
    kept_rows: NDArray[np.intp] | None = None
    dropped_rows: tuple[str, ...] = ()
    soft_must_link: PairLines = field(default_factory=PairLines)
    soft_cannot_link: PairLines = field(default_factory=PairLines)
    on_clusters: tuple[StatedLine, ...] = ()
    known_classes: KnownClasses | None = None
    separator: str = ""
    encoding: str = "utf-8"
    preparation: tuple[str, ...] = ()
    frame_index: InitVar[Any] = None
    min_separation: PairLines = field(default_factory=PairLines)
    max_diameter: PairLines = field(default_factory=PairLines)

    def __post_init__(self, frame_index: Any) -> None:
        object.__setattr__(self, "frame_index", frame_index)  # `replace` reads this attribute

    @property
    def index(self) -> Any:
        """Index (n,) of the points in their pandas data frame; None: not from such a frame.

        Its entries are Python objects, such as dates, not texts.
        """
        index = self.data_index
        return index if index is None or self.kept_rows is None else index[self.kept_rows]

    @property
    def data_index(self) -> Any:
        """Index of all rows of that data frame, also of dropped rows."""
        return self.__dict__["frame_index"]

    def row(self, i: int) -> str:
        """Return the user's name of row i."""
        if self.row_names is not None:
            return self.row_names[i]
        position = i if self.kept_rows is None else int(self.kept_rows[i])
        return str(position + self.first_row)

    def in_user_units(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return clustered points (m, d), such as centres, in the user's units."""
        return points if self.scaling is None else self.scaling.undone(points)

    def n_data_rows(self, n_points: int) -> int:
        """Return the number of rows of the data, dropped rows included."""
        return n_points + len(self.dropped_rows)

    def counted(self, n_points: int, first: int) -> list[str]:
        """Return the number of each point's row in the data; rows count from `first`."""
        kept = range(n_points) if self.kept_rows is None else self.kept_rows.tolist()
        return [str(position + first) for position in kept]

    def data_rows(self, n_points: int) -> list[str]:
        """Return the user's names of all rows of the data, dropped rows included."""
        n, names = self.n_data_rows(n_points), self.row_names
        if names is None:
            return [str(i + self.first_row) for i in range(n)]
        kept = range(n) if self.kept_rows is None else self.kept_rows.tolist()
        own = dict(zip(kept, names, strict=True))
        dropped = iter(self.dropped_rows)
        return [own[i] if i in own else next(dropped) for i in range(n)]

    def of_points(self, values: Sequence[Any], n_points: int) -> Sequence[Any]:
        """Return the values of the points, from values of the points or of all rows of the data."""
        if self.kept_rows is None or len(values) != self.n_data_rows(n_points):
            return values
        return [values[row] for row in self.kept_rows.tolist()]

    def rows(self, numbers: Iterable[int]) -> list[str]:
        """Return the user's names of these rows."""
        return [self.row(i) for i in numbers]

    def place(self, kind: str, i: int, j: int) -> str:
        """Return the place that states the pair; "" if none does.

        Examples: "constraints.txt:17", "constraints.json: ml[3]", "known_classes: setosa".

        kind : "must_link", "cannot_link", "soft_must_link" or "soft_cannot_link"
        """
        # A soft pair of weight inf is hard.
        for name in (kind, DISTANCE_OF.get(kind, ""), f"soft_{kind}"):
            stated: PairLines | None = getattr(self, name, None)
            if stated is not None and (place := stated.place_of(i, j)):
                return f"{shown_path(self.constraints_path)}{place}"
        return "" if self.known_classes is None else self.known_classes.place(kind, i, j)

    def place_on_clusters(self, argument: str, value: Any) -> str:
        """Return the place that states a constraint or a limit on clusters; "" if none does.

        argument, value : as in a `StatedLine`
        """
        for stated in self.on_clusters:
            is_same = (stated.argument, type(stated.value)) == (argument, type(value))
            if is_same and stated.value == value:
                return f"{shown_path(self.constraints_path)}:{stated.line}"
        return ""
