"""Preparation of points for clustering: missing values, weights, classes, metrics and scaling."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpbb.errors import InstanceError, InstanceNote, warn_caller
from sdpbb.problem.checks import (
    as_points,
    check_no_distances,
    checked_points,
    checked_weights,
)
from sdpbb.problem.files.labels import read_classes
from sdpbb.problem.frames import in_row_order, is_frame, table_of_frame
from sdpbb.problem.geometry import MATRICES, dense, on_the_sphere, points_of_matrix
from sdpbb.problem.known_classes import KnownClasses
from sdpbb.problem.origin import Scaling, dominant_column
from sdpbb.problem.table import REMEDY, PointTable, check_no_columns, quoted
from sdpbb.problem.textfile import first_of, is_missing_word, shown
from sdpbb.runtime.declaration import wrong
from sdpbb.runtime.reading import Reading, TableArguments
from sdpbb.runtime.values import counted

STANDARDIZED = (
    "columns are standardized to mean zero and variance one: costs and distances are in these "
    "units, means of clusters in units of the data"
)
"""Step of a preparation with standardized columns."""

NAMED = 10
"""Number of rows and columns that messages name."""


def table_in_memory(points: Any, arguments: Mapping[str, Any] | None = None) -> PointTable:
    """Return the table of points in memory, prepared according to keyword arguments.

    Parameters
    ----------
    points : a data frame, a sparse matrix, or anything that NumPy converts to an array (n, d)
    arguments : options of reading (`sdpbb.runtime.reading.TableArguments`), and weights (n,) of the
        points unless a column holds them; others are ignored. known_classes are (n,), or the
        column or the file that holds them. A series is matched by its index
        (`sdpbb.problem.frames`); a series of classes may lack rows

    Raises
    ------
    InstanceError
        If the points are a path, and for the first value that is not a finite number; see
        `sdpbb.problem.frames.table_of_frame`.
    ParameterError
        For a wrong value of an argument.
    """
    if isinstance(points, (str, os.PathLike)):
        raise InstanceError(
            f"instance = {os.fspath(points)!r}: expected points (n, d), a data frame, or an "
            "sdpbb.Instance, as sdpbb.read_instance makes one of files"
        )
    arguments = arguments or {}
    asked = {name: arguments[name] for name in TableArguments.__annotations__ if name in arguments}
    weights, known_classes = arguments.get("weights"), asked.pop("known_classes", None)
    if isinstance(known_classes, (str, os.PathLike)):
        asked["known_classes"], known_classes = os.fspath(known_classes), None
    reading = Reading(**asked)
    if weights is not None and reading.weight_column is not None:
        raise InstanceError(
            f"weights: given together with weight_column = {reading.weight_column!r}; expected "
            "one of the two"
        )
    if is_frame(points):
        return prepared(table_of_frame(points, reading), reading, "", weights, known_classes)
    check_no_columns(reading, "an array has no columns with names", "a data frame")
    points = dense(points)
    points = checked_points(points) if reading.missing is None else as_points(points)
    return prepared(PointTable(points), reading, "", weights, known_classes)


def prepared(
    table: PointTable,
    reading: Reading,
    where: str = "",
    weights: ArrayLike | None = None,
    known_classes: Any = None,
) -> PointTable:
    """Return a table prepared for clustering according to the options of reading.

    Parameters
    ----------
    table : missing values are nan
    where : beginning of messages
    weights, known_classes : (n,) weights and classes of the rows, unless options name them

    Raises
    ------
    InstanceError
        For a value that is missing or not finite, for wrong weights or classes, and for points that
        look like a matrix of distances.

    Warns
    -----
    InstanceNote
        On dropped rows, filled columns, and a column with nearly all of the variance.
    """
    table = table.with_step(*_columns_that_are_no_features(table, reading))
    # Categories of dropped rows have columns, too.
    categories = {
        column: sorted(text for text in set(texts) if not is_missing_word(text))
        for column, texts in table.categories.items()
    }
    table = _completed(table, reading, where)
    bad = np.argwhere(~np.isfinite(table.points))
    if len(bad):
        i, j = bad[0]
        raise InstanceError(
            f"{where}points: column {table.column_name(j)} is {table.points[i, j]} in "
            f"{table.place(i)}; expected a finite number"
        )
    table = table.with_weights(reading.weight_column, where)
    if weights is not None:
        given = in_row_order(weights, len(table.points), table.origin, "weights")
        table = replace(table, weights=checked_weights(given, table.points))
    if reading.class_file is not None:
        origin = replace(table.origin, first_row=int(reading.one_based))
        known_classes = read_classes(
            reading.class_file, len(table.points), origin=origin, encoding=reading.encoding
        )
    if known_classes is not None:
        n = len(table.points)
        given = in_row_order(known_classes, n, table.origin, "known_classes", partial=True)
        table = replace(table, known_classes=given)
    for option, name in (("known_weight", "weight"), ("classes_may", "may")):
        if (value := getattr(reading, option)) is not None:
            if table.known_classes is None:
                raise wrong(option, value, "known classes with it")
            classes = KnownClasses.of(table.known_classes, len(table.points))
            table = replace(table, known_classes=replace(classes, **{name: value}))
    if categories:
        return _with_categories(table, categories, reading)
    try:
        if reading.metric != "euclidean":
            return _in_metric(table, reading)
        check_no_distances(table.points, reading.as_points)
        if reading.standardize:
            return table.standardized().with_step(STANDARDIZED)
    except InstanceError as error:
        raise InstanceError(f"{where}{error}") from None
    found = dominant_column(table.points, table.weights)
    if found is None:
        return table
    j, share = found
    per_mille = min(999, math.floor(1000 * share))
    note = (
        f"column {table.column_name(j)} has {per_mille / 10:g}% of the variance, so that "
        "other columns hardly count; --standardize (standardize=True in Python) makes columns "
        "comparable"
    )
    warn_caller(f"{where}{note}", InstanceNote)
    return table.with_step(note)


def _with_categories(
    table: PointTable, categories: Mapping[str, Sequence[str]], reading: Reading
) -> PointTable:
    """Return a table with scaled columns of 0 and 1 for categories.

    If the options say so, columns of numbers are standardized. In the user's units, centers have
    the share of each category.

    categories : names of the categories by column
    """
    if reading.metric != "euclidean":
        raise InstanceError(f"metric = {reading.metric!r}: expected no one_hot with it")
    if reading.standardize and table.points.shape[1]:
        table = table.standardized().with_step(STANDARDIZED)
    d = table.points.shape[1]
    scaling = table.origin.scaling or Scaling(np.zeros(d), np.ones(d))
    blocks, names, scales = [table.points], list(table.origin.feature_names), [scaling.scales]
    for column, texts in table.categories.items():
        weight, n_categories = reading.category_weights[column], len(categories[column])
        number_of = {name: number for number, name in enumerate(categories[column])}
        numbers = np.array([number_of[text] for text in texts])
        is_in = numbers[:, None] == np.arange(n_categories)
        # Two rows of different categories differ in two columns.
        length = math.sqrt(weight / 2.0)
        blocks.append(np.where(is_in, length, 0.0))
        names += [f"{column}={name}" for name in categories[column]]
        scales.append(np.full(n_categories, 1.0 / length))
        table = table.with_step(
            f"column {quoted(column)} became {counted(n_categories, 'column')} of 0 and 1; "
            f"rows of different categories are {weight:g} farther apart in squared distance"
        )
    means = np.concatenate([scaling.means, np.zeros(len(names) - d)])
    scaling = Scaling(means, np.concatenate(scales))
    table = table.with_origin(feature_names=tuple(names), scaling=scaling)
    return replace(table, points=np.concatenate(blocks, axis=1), categories={})


def _in_metric(table: PointTable, reading: Reading) -> PointTable:
    """Return a table whose squared Euclidean distances are the distances of a metric."""
    metric = f"metric = {reading.metric!r}"
    if reading.standardize:
        raise InstanceError(f"{metric}: expected no standardize with it")
    if reading.metric == "cosine":
        step = "rows are divided by their length (cosine): costs, and means of clusters, are theirs"
        points = on_the_sphere(checked_points(table.points))
        return replace(table, points=points).with_step(step)
    if reading.missing is not None and reading.metric in MATRICES:
        raise InstanceError(f"{metric}: expected no treatment of missing values with it")
    step = f"points are coordinates of a matrix of {reading.metric}"
    points = points_of_matrix(table.points, reading.metric)
    return replace(table.with_origin(feature_names=()), points=points).with_step(step)


def _columns_that_are_no_features(table: PointTable, reading: Reading) -> Iterator[str]:
    if table.origin.index_name:
        yield f"column {quoted(table.origin.index_name)} names the rows"
    if reading.weight_column is not None:
        yield f"column {quoted(reading.weight_column)} holds the weights of the rows"
    if reading.class_column is not None:
        yield f"column {quoted(reading.class_column)} holds known classes of the rows"
    if len(reading.drop):
        columns = "column" if len(reading.drop) == 1 else "columns"
        yield f"{columns} left out: {', '.join(map(quoted, reading.drop))}"


def _completed(table: PointTable, reading: Reading, where: str = "") -> PointTable:
    """Return a table without missing values, which are nan, according to the options.

    Weights are never filled in.

    where : beginning of messages

    Raises
    ------
    InstanceError
        For the first missing value without a treatment; for the first missing category unless rows
        are dropped; for a column without values; and if no row remains.

    Warns
    -----
    InstanceNote
        On dropped rows or filled columns.
    """
    lacks: NDArray[np.bool_] = np.isnan(table.points)
    lacking = np.asarray(lacks.any(axis=1))
    unknown = {
        column: np.array([is_missing_word(text) for text in texts], bool)
        for column, texts in table.categories.items()
    }
    if reading.missing == "drop-rows":
        lacking = np.logical_or.reduce([lacking, *unknown.values()])
        return _without_rows(table, lacking, where) if lacking.any() else table
    for column, rows in unknown.items():
        if rows.any():
            raise InstanceError(
                f"{where}points: column {quoted(column)} has no category in "
                f"{table.place(int(rows.argmax()))}; expected one in every row, or --missing "
                "drop-rows (missing='drop-rows')"
            )
    if not lacking.any():
        return table
    if reading.missing is not None:
        return _filled_in(table, lacks, reading, where)
    row, at = np.argwhere(lacks)[0].tolist()
    n_rows = counted(number := int(lacking.sum()), "row")
    raise InstanceError(
        f"{where}points: column {table.column_name(at)} has no value in {table.place(row)}, and "
        f"{n_rows} of {len(lacks)} {'lacks' if number == 1 else 'lack'} one; expected {REMEDY}"
    )


def _without_rows(table: PointTable, lacking: NDArray[np.bool_], where: str) -> PointTable:
    dropped, kept = np.flatnonzero(lacking).tolist(), np.flatnonzero(~lacking)
    if not len(kept):
        raise InstanceError(
            f"{where}missing = 'drop-rows': every row lacks a value, so no row remains; expected "
            "--missing mean or median, or to ignore columns (--drop)"
        )

    def of_kept(values: Sequence[Any] | None) -> Any:
        return None if values is None else tuple(values[i] for i in kept.tolist())

    names = first_of(map(table.row_name, dropped), NAMED)
    step = (
        f"{counted(len(dropped), 'row')} of {len(lacking)} dropped, as values are missing: {names}"
    )
    warn_caller(f"{where}{step}", InstanceNote)
    origin = table.origin
    table = table.with_step(step).with_origin(
        row_names=of_kept(origin.row_names),
        kept_rows=kept,
        dropped_rows=tuple(origin.rows(dropped)),
    )
    return replace(
        table,
        points=table.points[kept],
        lines=None if table.lines is None else table.lines[kept],
        known_classes=of_kept(table.known_classes),
        categories={column: of_kept(texts) for column, texts in table.categories.items()},
    )


def _filled_in(
    table: PointTable, lacks: NDArray[np.bool_], reading: Reading, where: str
) -> PointTable:
    points, columns = table.points.copy(), np.flatnonzero(lacks.any(axis=0)).tolist()
    for j in columns:
        if reading.weight_column in table.origin.feature_names[j : j + 1]:
            place = table.place(int(np.argmax(lacks[:, j])))
            raise InstanceError(
                f"{where}weight_column = {shown(reading.weight_column)}: {place} has no weight; "
                "expected one for every row, or --missing drop-rows"
            )
        if lacks[:, j].all():
            raise InstanceError(
                f"{where}column {table.column_name(j)} has no value at all; ignore it with --drop"
            )
        known = points[~lacks[:, j], j]
        mean = math.fsum(known.tolist()) / len(known)  # the same on every machine
        points[lacks[:, j], j] = mean if reading.missing == "mean" else np.median(known)
    step = (
        f"{counted(int(lacks.sum()), 'missing value')} filled in by the {reading.missing} of "
        f"{counted(len(columns), 'column')}: {first_of(map(table.column_name, columns), NAMED)}"
    )
    warn_caller(f"{where}{step}", InstanceNote)
    return replace(table.with_step(step), points=points)
