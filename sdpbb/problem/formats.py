"""Files of points, of constraints and of labels: each format stated once, nothing guessed.

Points
    CSV, if the file's name ends in `.csv` or its first line holds a comma: one row of numbers
    per point, separated by commas. The first line is a heading if none of its fields is a number.
    A CSV file does not state k.

    Text otherwise: a first line `n d k` or `n d`, then n rows of d numbers separated by blanks
    (the format of SOS-SDP and PC-SOS-SDP). Text after `#` is a comment.

Constraints
    One per line: `ML i j` (must-link) and `CL i j` (cannot-link) with row numbers from 0,
    `GAMMA x` (no cluster has a diameter above x: points farther apart cannot link) and `DELTA x`
    (clusters are at least x apart: points closer together must link). Text after `#` is a
    comment. This is the format of PC-SOS-SDP. In addition, `SML i j w` and `SCL i j w` are soft
    constraints, which may be violated at a price; their weights are 0 < w <= 1, and 1 if left out.

    These are on single clusters, which column generation keeps; each may be given several times:
    `MAXSIZE n` (a cluster has at most n points), `OVERLAP l i j ...` (at most l of the points i, j,
    ...), `DIFFERENCE l i j ...` (at most l points besides these), and `SOFTCL l i j i j ...` (a
    cluster holds at most l of the pairs i j).

Labels
    One per line, in the order of the points: integers as written, any words without blanks as read.

Blank lines are skipped; files are UTF-8.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.files import shown_path, write_atomically
from sdpbb.problem.constraints_file import Constraints, read_constraints, write_constraints
from sdpbb.problem.instance import Instance, checked_points, number_of_clusters
from sdpbb.problem.origin import Origin, PairLines
from sdpbb.problem.pairs import distinct_pairs, pairs_closer_than, pairs_farther_than
from sdpbb.problem.points_file import PointsFile, read_points, write_points
from sdpbb.problem.textfile import FilePath, open_text, shown

__all__ = [
    "Constraints",
    "FilePath",
    "PointsFile",
    "labels_text",
    "read_constraints",
    "read_instance",
    "read_labels",
    "read_points",
    "write_constraints",
    "write_labels",
    "write_points",
]


def read_instance(
    data_path: FilePath, k: int | None = None, constraints_path: FilePath | None = None
) -> Instance:
    """Read an instance; k takes precedence over the one that the data file states.

    Raises
    ------
    InstanceError
        One line: the file, the line number where there is one, what is wrong and what would be
        right.
    """
    file = read_points(data_path)
    data_name = shown_path(data_path)
    if k is None:
        k = file.k
    if k is None:
        raise InstanceError(
            f"{data_name}: the number of clusters is not stated; give k (option -k), "
            "or a first line n d k"
        )
    k = number_of_clusters(k, len(file.points))
    try:
        points = checked_points(file.points)
    except InstanceError as error:
        raise InstanceError(f"{data_name}: {error}") from None
    constraints, origin = Constraints(), Origin()
    if constraints_path is not None:
        constraints = read_constraints(constraints_path, len(points))
        origin = Origin(
            constraints_path=str(constraints_path),
            must_link=_lines(constraints.must_link, constraints.must_link_lines),
            cannot_link=_lines(constraints.cannot_link, constraints.cannot_link_lines),
        )
    must_link, cannot_link = constraints.must_link, constraints.cannot_link
    try:
        if constraints.max_diameter is not None:
            far = pairs_farther_than(points, constraints.max_diameter)
            cannot_link = distinct_pairs(np.concatenate([cannot_link, far]), len(points))
        if constraints.min_separation is not None:
            near = pairs_closer_than(points, constraints.min_separation)
            must_link = distinct_pairs(np.concatenate([must_link, near]), len(points))
    except InstanceError as error:
        raise InstanceError(f"{shown_path(constraints_path or '')}: {error}") from None
    return Instance(
        points,
        k,
        must_link,
        cannot_link,
        Path(data_path).stem,
        constraints.soft_must_link,
        constraints.soft_cannot_link,
        constraints.cluster_constraints,
        origin,
    )


def _lines(pairs: NDArray[np.intp], lines: NDArray[np.intp]) -> PairLines:
    return PairLines(np.sort(pairs, axis=1), lines)


def read_labels(path: FilePath, n_points: int) -> NDArray[np.intp]:
    """Read the labels (n,) of n points: numbers 0, 1, ... by the first point of each.

    Raises
    ------
    InstanceError
        One line: the file, the line number where there is one, what is wrong and what would be
        right.
    """
    numbers: dict[str, int] = {}
    labels = []
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            fields = line.split()
            if not fields:
                continue
            if len(fields) > 1:
                raise InstanceError(
                    f"{shown_path(path)}:{number}: {shown(line.strip())}; expected one label, "
                    "without blanks"
                )
            labels.append(numbers.setdefault(fields[0], len(numbers)))
    if len(labels) != n_points:
        raise InstanceError(
            f"{shown_path(path)}: {len(labels)} labels for {n_points} points; expected one per "
            "line and point, without a heading"
        )
    return np.array(labels, np.intp)


def write_labels(path: FilePath, labels: NDArray[np.intp]) -> None:
    """Write labels (n,), one per line, in the order of the points."""
    write_atomically(path, labels_text(labels))


def labels_text(labels: NDArray[np.intp]) -> str:
    """What a file of labels (n,) holds."""
    return "".join(f"{label}\n" for label in labels.tolist())
