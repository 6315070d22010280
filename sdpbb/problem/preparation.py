"""Points as they are clustered: without missing values, with their weights, and scaled."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sdpbb.errors import InstanceError
from sdpbb.problem.checks import as_points, checked_points, checked_weights
from sdpbb.problem.files.reading import Reading
from sdpbb.problem.frames import is_frame, table_of_frame
from sdpbb.problem.missing import completed
from sdpbb.problem.row_values import in_row_order
from sdpbb.problem.table import PointTable, check_weight_column


def table_in_memory(points: Any, reading: Reading, weights: ArrayLike | None = None) -> PointTable:
    """Return points in memory, all of them finite, as a reading says.

    Parameters
    ----------
    points : a data frame, or what NumPy makes an array (n, d) of
    weights : (n,) of the points, where the reading has no column of them; a series goes by its
        index (`sdpbb.problem.row_values`)

    Raises
    ------
    InstanceError
        For the first value that is no finite number; see `sdpbb.problem.frames.table_of_frame`, and
        `sdpbb.problem.missing.completed`.
    """
    if weights is not None and reading.weight_column is not None:
        raise InstanceError(
            f"weights: given together with weight_column = {reading.weight_column!r}; expected "
            "one of the two"
        )
    if is_frame(points):
        table = table_of_frame(points, reading.index_column, reading.drop, reading.weight_column)
        table = replace(table, index=getattr(points, "index", None))
        return prepared(table, reading, weights=weights)
    for argument in ("index_column", "drop", "weight_column"):
        if getattr(reading, argument):
            raise InstanceError(
                f"{argument}: an array has no columns with names; expected a data frame"
            )
    if reading.missing is None:
        return prepared(PointTable(checked_points(points)), reading, weights=weights)
    table = prepared(PointTable(as_points(points)), reading, weights=weights)
    return replace(table, points=checked_points(table.points))


def prepared(
    table: PointTable, reading: Reading, where: str = "", weights: ArrayLike | None = None
) -> PointTable:
    """Return a table whose missing values are nan as a reading says that it is clustered.

    Parameters
    ----------
    where : what messages begin with
    weights : as for `table_in_memory`

    Raises
    ------
    InstanceError
        For a value that is missing or not finite, and for weights that are none.
    """
    check_weight_column(table.feature_names, reading.weight_column, where)
    table = completed(table, reading.missing, reading.weight_column, where)
    bad = np.argwhere(~np.isfinite(table.points))
    if len(bad):
        i, j = bad[0]
        row = i if table.row_names is None else repr(table.row_names[i])
        name = repr(table.feature_names[j]) if table.feature_names else str(j + 1)
        raise InstanceError(
            f"{where}points: column {name} is {table.points[i, j]} in row {row}; expected a finite "
            "number"
        )
    table = table.with_weights(reading.weight_column, where)
    if weights is not None:
        given = in_row_order(weights, len(table.points), table.origin(), "weights")
        table = replace(table, weights=checked_weights(given, table.points))
    return table if reading.scale is None else table.standardized()
