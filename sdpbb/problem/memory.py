"""Instances of points that are in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sdpbb.errors import InstanceError
from sdpbb.problem.checks import checked_points, number_of_clusters
from sdpbb.problem.cluster_constraints import ClusterConstraint
from sdpbb.problem.constrained import constrained_instance
from sdpbb.problem.constraints_file import read_constraints
from sdpbb.problem.frames import FrameTable, is_frame
from sdpbb.problem.instance import Instance
from sdpbb.problem.origin import Origin
from sdpbb.problem.textfile import FilePath


def instance_of_points(
    points: ArrayLike,
    k: int,
    constraints: FilePath,
    *,
    constraints_format: str | None,
    one_based: bool,
    index_column: str | None,
    drop: Sequence[str],
    name: str,
) -> Instance:
    """See `Instance.from_points`."""
    row_names = None
    if is_frame(points):
        table = finite_table(points, index_column, drop)
        if table.name_problem:
            raise InstanceError(table.name_problem)
        points, row_names = table.points, table.shown_names
    elif index_column is not None or drop:
        argument = "drop" if index_column is None else "index_column"
        raise InstanceError(f"{argument}: an array has no columns with names; expected a frame")
    points = checked_points(points)
    k = number_of_clusters(k, len(points))
    read = read_constraints(
        constraints, len(points), constraints_format, one_based=one_based, row_names=row_names
    )
    return constrained_instance(
        points, k, read, name, Origin(int(one_based), row_names, str(constraints))
    )


def instance_of_frame(
    frame: Any,
    k: int,
    pairs: Mapping[str, Iterable[Any] | None],
    cluster_constraints: Iterable[ClusterConstraint] | None,
    index_column: str | None,
    drop: Sequence[str],
    name: str,
) -> Instance:
    """See `Instance.from_frame`; pairs are its arguments on pairs, by name."""
    if not is_frame(frame):
        raise InstanceError(
            f"frame: is of type {type(frame).__name__}; expected a data frame of pandas or polars"
        )
    table = finite_table(frame, index_column, drop)
    constraints: dict[str, Any] = {
        argument: table.numbered(entries, argument) for argument, entries in pairs.items()
    }
    return Instance(
        table.points,
        k,
        **constraints,
        cluster_constraints=cluster_constraints,  # type: ignore[arg-type]
        name=name,
        origin=Origin(row_names=table.shown_names),
    )


def finite_table(frame: Any, index_column: str | None, drop: Sequence[str]) -> FrameTable:
    """What a frame holds, or the InstanceError for the first value that is no finite number."""
    table = FrameTable.of(frame, index_column, drop)
    bad = np.argwhere(~np.isfinite(table.points))
    if len(bad):
        i, j = bad[0]
        row = i if table.row_names is None else repr(table.row_names[i])
        raise InstanceError(
            f"points: column {table.feature_names[j]!r} is {table.points[i, j]} in row {row}; "
            "expected a finite number"
        )
    return table
