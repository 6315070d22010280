"""Missing values: they are refused, unless it is said what becomes of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError, InstanceNote, warn_caller
from sdpbb.problem.table import PointTable, quoted
from sdpbb.problem.textfile import is_missing_word, shown
from sdpbb.runtime.values import counted

REMEDY = (
    "numbers, or a treatment of missing values (--missing drop-rows, mean or median; missing= in "
    "Python; or scikit-learn's imputers)"
)
"""End of messages on missing values, after "expected"."""

CORRECTION = (
    "correct this cell, or empty it if the value is missing, and choose what to do about missing "
    "values (--missing drop-rows, mean or median; missing= in Python)"
)
"""Advice on a cell that is not a number, in a column of numbers."""

SHOWN = 10
"""Number of rows and columns that messages name."""


def completed(
    table: PointTable, missing: str | None, weight_column: str | None = None, where: str = ""
) -> PointTable:
    """Return a table without missing values, which are nan.

    Parameters
    ----------
    missing : "drop-rows" leaves out the rows that lack a value; "mean" and "median" fill in those
        of the column's other values; None refuses them
    weight_column : the column of weights, which are never filled in
    where : what messages begin with

    Raises
    ------
    InstanceError
        For the first value that is missing if it is to be refused, or the first category unless
        its row is to be left out; for a column without values, and if no row remains.

    Warns
    -----
    InstanceNote
        Which rows are left out, or which columns are filled in.
    """
    lacks: NDArray[np.bool_] = np.isnan(table.points)
    lacking = np.asarray(lacks.any(axis=1))
    for column, texts in table.categories.items():
        unknown = np.array([is_missing_word(text) for text in texts], bool)
        if unknown.any() and missing != "drop-rows":
            raise InstanceError(
                f"{where}points: column {quoted(column)} has no category in row "
                f"{table.row_name(int(unknown.argmax()))}; expected one in every row, or --missing "
                "drop-rows (missing='drop-rows')"
            )
        lacking |= unknown
    if not lacking.any():
        return table
    if missing is None:
        raise InstanceError(f"{where}{_refusal(table, lacks)}")
    if missing == "drop-rows":
        return _without_rows(table, lacking, where)
    return _filled_in(table, lacks, missing, weight_column, where)


def _refusal(table: PointTable, lacks: NDArray[np.bool_]) -> str:
    row, column = np.argwhere(lacks)[0].tolist()
    number = int(lacks.any(axis=1).sum())
    n_rows, lack = counted(number, "row"), "lacks" if number == 1 else "lack"
    return (
        f"points: column {table.column_name(column)} has no value in row {table.row_name(row)}, "
        f"and {n_rows} of {len(lacks)} {lack} one; expected {REMEDY}"
    )


def _without_rows(table: PointTable, lacking: NDArray[np.bool_], where: str) -> PointTable:
    dropped, kept = np.flatnonzero(lacking), np.flatnonzero(~lacking)
    if not len(kept):
        raise InstanceError(
            f"{where}missing = 'drop-rows': every row lacks a value, so no row remains; expected "
            "--missing mean or median, or to ignore columns (--drop)"
        )
    names = [table.row_name(row) for row in dropped[:SHOWN].tolist()]
    more = f" and {len(dropped) - SHOWN} more" if len(dropped) > SHOWN else ""
    step = (
        f"{counted(len(dropped), 'row')} of {len(lacking)} dropped, as values are missing: "
        f"{', '.join(names)}{more}"
    )
    warn_caller(f"{where}{step}", InstanceNote)
    row_names, classes = table.row_names, table.known_classes
    return replace(
        table.with_step(step),
        points=table.points[kept],
        row_names=None if row_names is None else _kept(row_names, kept),
        kept_rows=kept,
        known_classes=None if classes is None else _kept(classes, kept),
        categories={column: _kept(texts, kept) for column, texts in table.categories.items()},
        dropped_names=tuple(i if row_names is None else row_names[i] for i in dropped.tolist()),
    )


def _kept(values: Sequence[Any], rows: NDArray[np.intp]) -> tuple[Any, ...]:
    """Return the values of these rows."""
    return tuple(values[i] for i in rows.tolist())


def _filled_in(
    table: PointTable,
    lacks: NDArray[np.bool_],
    missing: str,
    weight_column: str | None,
    where: str,
) -> PointTable:
    points = table.points.copy()
    columns = np.flatnonzero(lacks.any(axis=0)).tolist()
    for j in columns:
        if table.feature_names and table.feature_names[j] == weight_column:
            row = table.row_name(int(np.argmax(lacks[:, j])))
            raise InstanceError(
                f"{where}weight_column = {shown(weight_column)}: row {row} has no weight; expected "
                "one for every row, or --missing drop-rows"
            )
        if lacks[:, j].all():
            raise InstanceError(
                f"{where}column {table.column_name(j)} has no value at all; ignore it with --drop"
            )
        known = points[~lacks[:, j], j]
        mean = math.fsum(known.tolist()) / len(known)  # the same one on every machine
        points[lacks[:, j], j] = mean if missing == "mean" else np.median(known)
    names = [table.column_name(j) for j in columns[:SHOWN]]
    more = f" and {len(columns) - SHOWN} more" if len(columns) > SHOWN else ""
    step = (
        f"{counted(int(lacks.sum()), 'missing value')} filled in by the {missing} of "
        f"{counted(len(columns), 'column')}: {', '.join(names)}{more}"
    )
    warn_caller(f"{where}{step}", InstanceNote)
    return replace(table.with_step(step), points=points)
