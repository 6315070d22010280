"""Data frames of pandas, polars and pyarrow: their points, values and names of rows."""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError, InstanceNote, warn_caller
from sdpbb.problem.origin import Origin
from sdpbb.problem.table import ADVICE, PointTable, Roles, checked_names, quoted
from sdpbb.problem.textfile import first_of
from sdpbb.runtime.reading import Reading
from sdpbb.runtime.values import counted, is_missing

# Number of names that a message lists.
SHOWN_NAMES = 3


def is_frame(values: object) -> bool:
    """Return whether values are a data frame of pandas or polars, without importing them."""
    kind = type(values)
    return kind.__name__ == "DataFrame" and kind.__module__.split(".")[0] in ("pandas", "polars")


def table_of_frame(frame: Any, reading: Reading, n_index: int = 0, where: str = "") -> PointTable:
    """Return the points of a data frame; missing values are nan.

    Parameters
    ----------
    frame : data frame of pandas or polars (see `is_frame`), or table of pyarrow
    reading : options that name columns. Without an index_column the index of a pandas frame names
        the rows, unless it merely counts from 0. The column of weights is among the features here
    n_index : number of first columns that are an index, not features; a single one names the rows
    where : beginning of notes

    Raises
    ------
    InstanceError
        Naming the wrong column and row.
    """
    columns = columns_of(frame)
    roles = Roles.of(columns, reading, "", n_index)
    points = np.empty((len(frame), len(roles.features)))
    for j, at in enumerate(roles.features):
        is_weight = str(columns[at]) == reading.weight_column
        use = "numbers above 0, as these are the weights" if is_weight else f"numbers{ADVICE}"
        points[:, j] = _floats(column_of(frame, at), columns[at], use)
    texts = {at: _values(column_of(frame, at)) for at in roles.texts}
    table = PointTable.of_columns(points, columns, roles, texts, reading, where)
    index = getattr(frame, "index", None)
    table = table.with_origin(frame_index=index)
    if roles.index is not None or index is None or merely_counts(index):
        return table
    try:
        names = checked_names(index.tolist(), "points: the index of the frame")
    except InstanceError as error:
        problem = f"{error}, or to number the rows: reset_index(drop=True)"
        return replace(table, name_problem=problem)
    table = table.with_origin(
        row_names=tuple(map(str, names)), index_name="" if index.name is None else str(index.name)
    )
    return replace(table, names=names)


def check_numbers(frame: Any, positions: Iterable[int], remedy: str) -> None:
    """Raise the InstanceError for the first value that is neither missing nor a number.

    positions : the columns to check
    remedy : end of the message, an alternative to numbers
    """
    columns = columns_of(frame)
    for at in positions:
        _floats(column_of(frame, at), columns[at], f"numbers, or {remedy}")


def numbered(entries: Iterable[Any] | None, table: PointTable, argument: str) -> Any:
    """Return constraints on the rows of a table by row numbers from 0.

    Parameters
    ----------
    entries : pairs (name, name), or triples (name, name, weight), whose weight stays. If the rows
        of the table have no names, any value is returned unchanged
    argument : name of the argument in messages, such as "must_link"

    Raises
    ------
    InstanceError
        Naming the argument, the position in it, and the unknown or dropped row; or if there are
        entries, but the index of the frame does not name its rows.
    """
    are_numbers = table.names is None and table.origin.kept_rows is None
    if entries is None or (are_numbers and not table.name_problem):
        return entries
    expected, rows, result = "expected pairs of names of rows", table.rows, []
    if not _is_list(entries):
        raise InstanceError(f"{argument}: {expected}")
    for position, entry in enumerate(_rows_of(entries)):
        if table.name_problem:
            raise InstanceError(table.name_problem)
        where = f"{argument}[{position}]"
        stated = tuple(entry) if _is_list(entry) else ()
        if len(stated) not in (2, 3):
            raise InstanceError(f"{where} is {quoted(entry)}; {expected}")
        try:
            result.append((*map(rows.number, stated[:2]), *stated[2:]))
        except InstanceError as error:
            raise InstanceError(f"{where}: {error}") from None
    return result


def with_present_rows(entries: Iterable[Any] | None, frame: Any, index_column: str | None) -> Any:
    """Return the pairs, or triples with a weight, whose rows are both in a frame.

    entries : by names of rows, as for `numbered`, or by row numbers if the index merely counts
    """
    if entries is None or not _is_list(entries):
        return entries  # `numbered` refuses them later
    columns, index = columns_of(frame), getattr(frame, "index", None)
    names: Any = range(len(frame))
    if index_column is not None:
        names = _values(column_of(frame, columns.index(index_column)))
    elif index is not None and not merely_counts(index):
        names = index.tolist()
    known = set(names)
    return [entry for entry in _rows_of(entries) if known.issuperset(tuple(entry)[:2])]


def _is_list(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes))


def _rows_of(entries: Iterable[Any]) -> Iterator[Any]:
    if is_frame(entries):
        columns: Any = entries
        return iter(zip(*(columns[column] for column in columns.columns), strict=True))
    return iter(entries.tolist() if isinstance(entries, np.ndarray) else entries)


def columns_of(frame: Any) -> list[Hashable]:
    """Return the names of the columns, which may repeat."""
    return list(frame.columns if is_frame(frame) else frame.column_names)


def column_of(frame: Any, at: int) -> Any:
    """Return the column at a position."""
    if hasattr(frame, "iloc"):
        return frame.iloc[:, at]
    return frame.to_series(at) if hasattr(frame, "to_series") else frame.column(at)


def merely_counts(index: Any) -> bool:
    """Return whether an index of pandas is 0, 1, ..., the default for rows without names."""
    is_range = type(index).__name__ == "RangeIndex"
    return is_range and index.start == 0 and (index.step == 1 or len(index) < 2)


def _values(series: Any) -> list[Any]:
    """Return a column as a list."""
    values: list[Any] = (getattr(series, "to_list", None) or series.to_pylist)()
    return values


def _floats(series: Any, column: Hashable, expected: str) -> NDArray[np.float64]:
    """Return a column as floats (n,); missing values are nan.

    expected : end of messages
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


def in_row_order(
    values: Any, n_points: int, origin: Origin, argument: str = "labels", partial: bool = False
) -> Any:
    """Return values of the rows, such as labels, in the order of the points.

    A pandas series is matched by its index, which has the names of the rows in any order, unless
    the points have the same index. Other values are matched by position; so is a series whose index
    merely counts, if the points are not a data frame. If rows were dropped, values may be of all
    rows of the data.

    Parameters
    ----------
    values : values of any type, not checked further
    n_points : the number of points
    origin : names of the rows
    argument : name of the values in messages
    partial : whether a series may lack rows, whose values are None then

    Raises
    ------
    InstanceError
        If the index of a series repeats names, or does not have the names of the points.
    """
    if type(values).__name__ == "Series" and hasattr(values, "iloc"):
        index, own = values.index, origin.data_index
        is_same = own is not None and (index.equals(own) or index.equals(origin.index))
        has_no_names = own is None and (origin.row_names is None or merely_counts(index))
        if own is not None and not is_same and merely_counts(index):
            # It has no names, and may or may not be row numbers.
            raise InstanceError(
                f"{argument}: their index only counts, and differs from the index of the points; "
                f"expected the index of the points, or {argument}.to_numpy(), which goes by "
                "position"
            )
        if not is_same and not has_no_names:
            wanted, known = origin.rows(range(n_points)), set(origin.data_rows(n_points))
            advice = f", or {argument}.to_numpy(), which goes by position"
            order = positions(list(map(str, index)), wanted, known, argument, partial, advice)
            if -1 not in order:
                return values.iloc[order]
            return [None if at < 0 else values.iloc[at] for at in order]
        values = values.array
    return origin.of_points(values, n_points) if hasattr(values, "__len__") else values


def note_noise(n_noise: int, n: int, where: str) -> None:
    """Warn that labels -1, which other tools give to noise and to unknown rows, are a cluster.

    Warns
    -----
    InstanceNote
        If n_noise > 0 of the n labels are -1.
    """
    if n_noise:
        warn_caller(
            f"{where}: {n_noise} of {n} labels are -1, and these rows are one cluster; leave the "
            "rows out if they are in no cluster",
            InstanceNote,
        )


def positions(
    found: Sequence[Any],
    wanted: Sequence[Any],
    known: Collection[Any],
    argument: str,
    partial: bool = False,
    advice: str = "",
) -> list[int]:
    """Return the position of each wanted name among the found names; -1: not found.

    found : names in the values
    wanted : names of the points
    known : names of all rows of the data, dropped rows included
    argument : name of the values in messages
    partial : whether wanted names may be missing
    advice : end of messages

    Raises
    ------
    InstanceError
        If a name repeats or is unknown, or a wanted name is missing and partial is false.
    """
    at = {name: position for position, name in enumerate(found)}
    lacking = [name for name in wanted if name not in at]
    others = [name for name in found if name not in known]
    for names in (found, wanted):
        name, times = Counter(names).most_common(1)[0] if names else ("", 0)
        if times > 1:
            raise InstanceError(
                f"{argument}: {times} rows are called {quoted(name)}; expected different names"
                f"{advice}"
            )
    if others or (lacking and not partial):
        says = "none for" if not others else "the points do not have"
        names = others or lacking
        raise InstanceError(
            f"{argument}: {says} {len(names)} ({first_of(map(quoted, names), SHOWN_NAMES)}) of "
            f"{counted(len(found if others else wanted), 'row')}; expected one for each row, by "
            f"the names of the points{advice}"
        )
    return [at.get(name, -1) for name in wanted]
