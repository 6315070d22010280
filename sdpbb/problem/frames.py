"""Data frames of pandas and polars: their numbers, and what their rows are called."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.integers import complaint, inexact_entries
from sdpbb.problem.textfile import shown


@dataclass(frozen=True, eq=False)
class FrameTable:
    """What a data frame holds.

    Attributes
    ----------
    points : (n, d) floats, one column per feature; whether they are finite is for `Instance` to
        check
    feature_names : (d,)
    row_names : (n,) different hashable values; None where the rows are merely numbered from 0
    name_problem : why the index of the frame, whose labels repeat or are missing, names no rows;
        "" if it does, or has not to
    """

    points: NDArray[np.float64]
    feature_names: tuple[str, ...]
    row_names: tuple[Hashable, ...] | None
    name_problem: str = ""

    @classmethod
    def of(
        cls, frame: Any, index_column: str | None = None, drop: Sequence[str] = ()
    ) -> FrameTable:
        """Read a data frame.

        Parameters
        ----------
        frame : of pandas or polars (see `is_frame`), or a table of pyarrow
        index_column : the column whose values name the rows. Without it a pandas frame's own index
            does, unless it merely counts from 0
        drop : columns that are no features

        Raises
        ------
        InstanceError
            Naming the column and row at fault.
        """
        columns = distinct_columns(frame)
        row_names, name_problem = _row_names(frame, index_column, columns)
        left_out = checked_columns(columns, index_column, drop)
        features = [column for column in columns if column not in left_out]
        if not features:
            raise InstanceError("points: no columns are left as features; expected at least one")
        points = np.empty((len(frame), len(features)))
        for j, column in enumerate(features):
            points[:, j] = _floats(frame[column], column)
        return cls(points, tuple(map(str, features)), row_names, name_problem)

    @property
    def shown_names(self) -> tuple[str, ...] | None:
        """The names as messages show them: for `Origin.row_names`."""
        return None if self.row_names is None else tuple(map(str, self.row_names))

    def numbered(self, entries: Iterable[Any] | None, argument: str) -> Any:
        """Constraints on rows of the frame as constraints on row numbers: see `numbered`.

        Raises
        ------
        InstanceError
            Also if there are any, and the index of the frame does not name its rows.
        """
        if self.name_problem and isinstance(entries, Iterable):
            for _ in _rows_of(entries):
                raise InstanceError(self.name_problem)
        return numbered(entries, self.row_names, argument)


def finite_table(frame: Any, index_column: str | None, drop: Sequence[str]) -> FrameTable:
    """Return the points of a data frame, or raise the InstanceError for the first value that is no
    finite number; parameters as for `FrameTable.of`."""
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


def is_frame(values: object) -> bool:
    """Whether values are a data frame of pandas or polars, neither of which is imported for it."""
    kind = type(values)
    return kind.__name__ == "DataFrame" and kind.__module__.split(".")[0] in ("pandas", "polars")


def check_numbers(frame: Any, columns: Iterable[Hashable], remedy: str) -> None:
    """Raise the InstanceError for the first value that is there and no number.

    remedy : what would be right, besides numbers
    """
    for column in columns:
        _floats(frame[column], column, remedy)


def checked_columns(
    columns: Sequence[Hashable],
    index_column: str | None,
    drop: Sequence[str],
    argument: str = "index_column",
) -> set[Hashable]:
    """The columns that are no features, or an InstanceError if one of them is not there.

    argument : what messages call index_column
    """
    if isinstance(drop, str):
        raise InstanceError(f"drop = {drop!r}: expected a list of columns")
    for name, column in [(argument, index_column), *(("drop", column) for column in drop)]:
        if column is not None and column not in columns:
            names = ", ".join(shown(str(other)) for other in columns[:10])
            raise InstanceError(
                f"{name} = {shown(str(column))}: there is no such column; expected one of {names}"
                f"{', ...' if len(columns) > 10 else ''}"
            )
    return {*drop, *(() if index_column is None else (index_column,))}


def numbered(
    entries: Iterable[Any] | None, row_names: Sequence[Hashable] | None, argument: str
) -> list[tuple[Any, ...]] | Any:
    """Constraints on named rows as constraints on row numbers from 0.

    Parameters
    ----------
    entries : pairs (name, name), or triples (name, name, weight), whose third entry is kept
    row_names : (n,) different names; None where rows are numbered: entries are then returned as
        they are
    argument : what messages call entries, such as "must_link"

    Raises
    ------
    InstanceError
        Naming the argument, the position in it, the unknown name and one that is close to it.
    """
    if row_names is None or entries is None:
        return entries
    number_of = {name: row for row, name in enumerate(row_names)}
    expected = "expected pairs of names of rows"
    if isinstance(entries, (str, bytes)) or not isinstance(entries, Iterable):
        raise InstanceError(f"{argument}: {expected}")
    result = []
    for position, given in enumerate(_rows_of(entries)):
        if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            raise InstanceError(f"{argument}[{position}] is {_quoted(given)}; {expected}")
        entry = tuple(given)
        if len(entry) not in (2, 3):
            raise InstanceError(f"{argument}[{position}]: {len(entry)} entries; {expected}")
        rows = (_number(name, number_of, f"{argument}[{position}]") for name in entry[:2])
        result.append((*rows, *entry[2:]))
    return result


def _rows_of(entries: Iterable[Any]) -> Iterator[Any]:
    if is_frame(entries):
        columns: Any = entries
        return iter(zip(*(columns[column] for column in columns.columns), strict=True))
    return iter(entries.tolist() if isinstance(entries, np.ndarray) else entries)


def _number(name: Any, number_of: Mapping[Hashable, int], where: str) -> int:
    try:
        number = number_of.get(name)
    except TypeError:  # of a value that is not hashable
        number = None
    if number is None:
        raise InstanceError(f"{where}: no row is called {_quoted(name)}{close_to(name, number_of)}")
    return number


def close_to(name: object, names: Iterable[Hashable]) -> str:
    """What a message says of the name that is most like an unknown one; "" if none is."""
    by_text = {str(other): other for other in names}
    close = difflib.get_close_matches(str(name), by_text, 1)
    return f"; is {_quoted(by_text[close[0]])} meant?" if close else ""


def checked_names(names: Sequence[Hashable], where: str) -> tuple[Hashable, ...]:
    """Names of rows, none of them missing, all of them different, or an InstanceError.

    where : what messages call them, such as "index_column = 'id'"
    """
    first: dict[Hashable, int] = {}
    for row, name in enumerate(names):
        if _is_missing(name):
            raise InstanceError(f"{where}: row {row} has no name; expected one for every row")
        if name in first:
            raise InstanceError(
                f"{where}: rows {first[name]} and {row} are both called {_quoted(name)}; expected "
                "names that differ"
            )
        first[name] = row
    return tuple(names)


def distinct_columns(frame: Any) -> list[Hashable]:
    """The names of the columns, all of them different, or an InstanceError."""
    columns = list(getattr(frame, "column_names", frame.columns))
    for position, column in enumerate(columns):
        if column in columns[:position]:
            raise InstanceError(f"points: two columns are called {column!r}; expected different")
    return columns


def _row_names(
    frame: Any, index_column: str | None, columns: list[Hashable]
) -> tuple[tuple[Hashable, ...] | None, str]:
    """What the rows are called, and why the index does not say so."""
    if index_column is not None:
        checked_columns(columns, index_column, ())
        names = _values(frame[index_column])
        return checked_names(names, f"index_column = {index_column!r}"), ""
    index = getattr(frame, "index", None)
    if index is None or _merely_counts(index):
        return None, ""
    try:
        return checked_names(index.tolist(), "points: the index of the frame"), ""
    except InstanceError as error:
        return None, f"{error}, or to number the rows: reset_index(drop=True)"


def _merely_counts(index: Any) -> bool:
    is_range = type(index).__name__ == "RangeIndex"
    return is_range and index.start == 0 and (index.step == 1 or len(index) < 2)


def _values(series: Any) -> list[Any]:
    """A column of pandas, polars or pyarrow as a list."""
    for method in ("tolist", "to_list"):
        if hasattr(series, method):
            return getattr(series, method)()
    return series.to_pylist()


def _floats(
    series: Any, column: Hashable, remedy: str = "to leave the column out (drop)"
) -> NDArray[np.float64]:
    """A column as floats (n,); missing values are nan."""
    array = np.asarray(series.to_numpy())
    for (row, *_), value in inexact_entries(array):
        raise InstanceError(f"points: column {column!r}, row {row}: {complaint(value)}")
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    result = np.empty(len(array))
    for row, value in enumerate(_values(series)):
        if _is_missing(value):
            result[row] = np.nan
        elif isinstance(value, (numbers.Real, Decimal)):
            result[row] = float(value)
        else:
            raise InstanceError(
                f"points: column {column!r} holds {_quoted(value)} in row {row}; expected numbers, "
                f"or {remedy}"
            )
    return result


def _is_missing(value: Any) -> bool:
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float) and value != value)
    )


def _quoted(value: object) -> str:
    return shown(value) if isinstance(value, str) else repr(value)
