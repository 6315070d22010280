"""Points of data frames of pandas and polars, with the names of their rows and columns."""

from __future__ import annotations

import numbers
from collections.abc import Hashable, Iterable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.table import (
    ADVICE,
    DROPPED,
    PointTable,
    Roles,
    check_columns,
    checked_names,
    hint_at_similar,
    quoted,
)
from sdpbb.runtime.reading import Reading
from sdpbb.runtime.values import is_missing

_WEIGHTS = "numbers above 0, as these are the weights"


def table_of_frame(frame: Any, reading: Reading) -> PointTable:
    """Return the points of a data frame; missing values are nan.

    Parameters
    ----------
    frame : of pandas or polars (see `is_frame`)
    reading : its columns. Without an index_column a pandas frame's own index names the rows,
        unless it merely counts from 0. The column of weights is one of the features here

    Raises
    ------
    InstanceError
        Naming the column and row at fault.
    """
    columns = columns_of(frame)
    row_names, name_problem, index_name = _row_names(frame, reading.index_column, columns)
    roles = Roles.of(columns, reading, "")
    names = tuple(str(columns[at]) for at in roles.features)
    points = np.empty((len(frame), len(names)))
    for j, at in enumerate(roles.features):
        expected = _WEIGHTS
        if names[j] != reading.weight_column:
            expected = f"numbers{ADVICE}"
        points[:, j] = _floats(column_of(frame, at), columns[at], expected)
    classes = None if roles.classes is None else _values(column_of(frame, roles.classes))
    categories = {
        str(columns[at]): [
            "" if is_missing(value) else str(value) for value in _values(column_of(frame, at))
        ]
        for at in roles.categories
    }
    return PointTable(
        points,
        row_names=row_names,
        name_problem=name_problem,
        feature_names=names,
        index_name=index_name,
        known_classes=classes,
        categories=categories,
    )


def is_frame(values: object) -> bool:
    """Return whether values are a data frame of pandas or polars.

    Neither of these is imported for it.
    """
    kind = type(values)
    return kind.__name__ == "DataFrame" and kind.__module__.split(".")[0] in ("pandas", "polars")


def check_numbers(frame: Any, positions: Iterable[int], remedy: str) -> None:
    """Raise the InstanceError for the first value that is there and no number.

    positions : of the columns that are looked at
    remedy : what is expected, besides numbers
    """
    columns = columns_of(frame)
    for at in positions:
        _floats(column_of(frame, at), columns[at], f"numbers, or {remedy}")


def numbered(entries: Iterable[Any] | None, table: PointTable, argument: str) -> Any:
    """Return constraints on the rows of a table by numbers, from 0, among these rows.

    Parameters
    ----------
    entries : pairs (name, name), or triples (name, name, weight), whose third entry is kept; where
        the rows of the table have no names, whatever it is, which is returned as it is
    argument : what messages call entries, such as "must_link"

    Raises
    ------
    InstanceError
        Naming the argument, the position in it, and the name that is unknown, or of a dropped row;
        or if there are any entries, and the index of the frame does not name its rows.
    """
    if table.name_problem and isinstance(entries, Iterable):
        for _ in _rows_of(entries):
            raise InstanceError(table.name_problem)
    names = table.names
    if names is None or entries is None:
        return entries
    number_of = {name: row for row, name in enumerate(names)}
    expected = "expected pairs of names of rows"
    if isinstance(entries, (str, bytes)) or not isinstance(entries, Iterable):
        raise InstanceError(f"{argument}: {expected}")
    result = []
    for position, given in enumerate(_rows_of(entries)):
        if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            raise InstanceError(f"{argument}[{position}] is {quoted(given)}; {expected}")
        entry = tuple(given)
        if len(entry) not in (2, 3):
            raise InstanceError(f"{argument}[{position}]: {len(entry)} entries; {expected}")
        for name in entry[:2]:
            if not isinstance(name, Hashable) or name not in number_of:
                dropped = isinstance(name, Hashable) and name in table.dropped_names
                unknown = f"no row has the name {quoted(name)}{hint_at_similar(name, number_of)}"
                says = DROPPED.format(quoted(name)) if dropped else unknown
                raise InstanceError(f"{argument}[{position}]: {says}")
        result.append((*(number_of[name] for name in entry[:2]), *entry[2:]))
    return result


def with_present_rows(entries: Iterable[Any] | None, frame: Any, index_column: str | None) -> Any:
    """Return the pairs, or triples with a weight, both of whose rows a frame has.

    entries : by names of rows, as for `numbered`, or by row numbers where the index merely counts
    """
    if entries is None or isinstance(entries, (str, bytes)) or not isinstance(entries, Iterable):
        return entries  # which `numbered` refuses
    names, _, _ = _row_names(frame, index_column, columns_of(frame))
    known = set(range(len(frame)) if names is None else names)
    return [entry for entry in _rows_of(entries) if known.issuperset(tuple(entry)[:2])]


def _rows_of(entries: Iterable[Any]) -> Iterator[Any]:
    if is_frame(entries):
        columns: Any = entries
        return iter(zip(*(columns[column] for column in columns.columns), strict=True))
    return iter(entries.tolist() if isinstance(entries, np.ndarray) else entries)


def columns_of(frame: Any) -> list[Hashable]:
    """Return the names of the columns; several may have the same one."""
    return list(frame.columns)


def column_of(frame: Any, at: int) -> Any:
    """Return the column at a position."""
    return frame.iloc[:, at] if hasattr(frame, "iloc") else frame.to_series(at)


def _row_names(
    frame: Any, index_column: str | None, columns: list[Hashable]
) -> tuple[tuple[Hashable, ...] | None, str, str]:
    """Return the names of the rows, why the index does not give them, and what it is called."""
    if index_column is not None:
        check_columns(columns, [("index_column", index_column)])
        names = _values(frame[index_column])
        return checked_names(names, f"index_column = {index_column!r}"), "", index_column
    index = getattr(frame, "index", None)
    if index is None or merely_counts(index):
        return None, "", ""
    called = "" if index.name is None else str(index.name)
    try:
        return checked_names(index.tolist(), "points: the index of the frame"), "", called
    except InstanceError as error:
        return None, f"{error}, or to number the rows: reset_index(drop=True)", ""


def merely_counts(index: Any) -> bool:
    """Return whether an index of pandas is the one of data without names: 0, 1, ..."""
    is_range = type(index).__name__ == "RangeIndex"
    return is_range and index.start == 0 and (index.step == 1 or len(index) < 2)


def _values(series: Any) -> list[Any]:
    """Return a column of pandas or polars as a list."""
    values: list[Any] = series.to_list()
    return values


def _floats(
    series: Any,
    column: Hashable,
    expected: str,
) -> NDArray[np.float64]:
    """Return a column as floats (n,); missing values are nan.

    expected : what messages say would be right
    """
    array = np.asarray(series.to_numpy())
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    result = np.empty(len(array))
    for row, value in enumerate(_values(series)):
        if is_missing(value):
            result[row] = np.nan
        elif isinstance(value, (numbers.Real, Decimal)):
            result[row] = float(value)
        else:
            raise InstanceError(
                f"points: column {column!r} holds {quoted(value)} in row {row}; expected {expected}"
            )
    return result
