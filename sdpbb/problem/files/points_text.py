"""Files of points in text: CSV, and rows of numbers under a first line `n d k`.

All rows are read fast, without a look at what each field is. Where that fails, or the numbers are
not finite, the file is read again, slowly, for the first field at fault.
"""

from __future__ import annotations

import csv
import math
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn, TextIO

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.files import FilePath, shown_path
from sdpbb.problem.integers import inexact_integer, inexact_integer_message, may_be_inexact
from sdpbb.problem.table import PointTable, checked_names, left_out_columns, without_columns
from sdpbb.problem.textfile import (
    is_integer,
    is_number,
    open_text,
    shown,
    without_comment,
)

MISSING_FIRST_LINE = "; is the line n d k missing?"


@dataclass(frozen=True)
class _Layout:
    """Columns and rows of a file, as its first line that is not blank states them.

    line : the number of that line, from 1
    skip : the number of lines before the first row
    width : the number of fields of a row
    n, k : the numbers of points and of clusters, where text states them
    n_integers : how many integers the first line of text has
    names : (width,) of the columns: those of a heading or, if columns are chosen, their numbers
    features : the positions of the features, if columns are chosen; None for all
    index : the position of the column that names the rows, if one does
    """

    is_csv: bool
    line: int
    skip: int
    width: int
    n: int | None = None
    k: int | None = None
    n_integers: int = 0
    names: list[str] | None = None
    features: list[int] | None = None
    index: int | None = None

    def rows(self, file: TextIO) -> Iterator[tuple[int, str, list[str]]]:
        """Yield the rows: the number of the line, the line without a comment, and its fields."""
        file.seek(0)
        for number, line in enumerate(file, start=1):
            content = line if self.is_csv else without_comment(line)
            if number > self.skip and content.strip("\n" if self.is_csv else None):
                yield number, content, _csv_fields(content) if self.is_csv else content.split()


def read(path: FilePath, index_column: str | None, drop: Sequence[str]) -> PointTable:
    """Return the points of a file, as `sdpbb.problem.files.points.read_points` does."""
    with open_text(path) as file:
        layout = _layout(path, file, index_column, drop)
        points, row_names = _load(file, layout)
    if points is None:
        _explain(path, layout)
    if may_be_inexact(points):
        _check_integers(path, layout)
    names = _feature_names(layout)
    if layout.index is None:
        return PointTable(points, layout.k, names)
    where = f"{shown_path(path)}: index_column = {index_column!r}"
    return PointTable(points, None, names, checked_names(row_names, where))


def _feature_names(layout: _Layout) -> tuple[str, ...]:
    """Return the names of the features: of a heading, or the numbers of columns without one."""
    if not layout.is_csv:
        return ()
    names = layout.names or [str(j) for j in range(1, layout.width + 1)]
    return tuple(names[j] for j in layout.features or range(layout.width))


def read_column(path: FilePath, column: str) -> list[str]:
    """Return the fields (n,) of a column of a CSV file, without blanks around them.

    Raises
    ------
    InstanceError
        One line: the file, the line number, what is wrong and what would be right.
    """
    name = shown_path(path)
    with open_text(path) as file:
        number, line, is_csv = _first_line(path, file)
        if not is_csv:
            raise InstanceError(
                f"column: {name} has no columns; expected a CSV or Parquet file with it"
            )
        layout = _chosen_columns(f"{name}:{number}", number, line, column, (), "column")
        assert layout.index is not None
        found = []
        for row, _, fields in layout.rows(file):
            _check_width(f"{name}:{row}", layout, fields)
            found.append(fields[layout.index].strip())
    return found


def _csv_fields(line: str) -> list[str]:
    if '"' in line:
        try:
            return next(csv.reader([line]))
        except csv.Error:  # an unreasonably long field: not a number in any case
            pass
    return line.rstrip("\n").split(",")


def _layout(path: FilePath, file: TextIO, index_column: str | None, drop: Sequence[str]) -> _Layout:
    number, line, is_csv = _first_line(path, file)
    where = f"{shown_path(path)}:{number}"
    is_chosen = index_column is not None or len(drop) > 0
    if is_chosen and not is_csv:
        raise without_columns(path, index_column)
    if not is_csv:
        return _text_columns(where, number, line)
    if not is_chosen:
        return _all_columns(where, number, line)
    layout = _chosen_columns(where, number, line, index_column, drop, "index_column")
    if not layout.features:
        raise InstanceError(f"{where}: no columns are left as features; expected at least one")
    return layout


def _first_line(path: FilePath, file: TextIO) -> tuple[int, str, bool]:
    """Return the first line that is not blank: its number, the line, and whether it is of CSV."""
    has_csv_name = str(path).lower().endswith(".csv")
    for number, line in enumerate(file, start=1):
        content = line if has_csv_name else without_comment(line)
        if not content.strip():
            continue
        if separator := _other_separator(content, has_csv_name):
            raise InstanceError(
                f"{shown_path(path)}:{number}: the separator is {separator!r}; expected ','"
            )
        return number, content, has_csv_name or "," in content
    raise InstanceError(f"{shown_path(path)}: the file is empty; expected points")


def _other_separator(line: str, has_csv_name: bool) -> str | None:
    """Return the separator of spreadsheets between the fields of this line, if it is no comma."""
    if ";" in line and ("," not in line or _is_decimal_comma_row(line)):
        return ";"
    # In text, tabs are blanks.
    return "\t" if has_csv_name and "\t" in line.strip() and "," not in line else None


def _is_decimal_comma_row(line: str) -> bool:
    return all(is_number(field.replace(",", ".")) for field in line.split(";"))


def _text_columns(where: str, number: int, line: str) -> _Layout:
    fields = line.split()
    if len(fields) not in (2, 3) or not all(is_integer(field) for field in fields):
        hint = MISSING_FIRST_LINE if all(is_number(field) for field in fields) else ""
        raise InstanceError(
            f"{where}: the first line is {shown(line.strip())}; expected the integers n d k "
            f"or n d, or commas between the numbers of a CSV file{hint}"
        )
    n, d, *k = (int(field) for field in fields)
    if n < 1 or d < 1:
        raise InstanceError(
            f"{where}: n = {n}, d = {d}; expected n >= 1 and d >= 1{MISSING_FIRST_LINE}"
        )
    if k and not 1 <= k[0] <= n:
        raise InstanceError(f"{where}: k = {k[0]}; expected 1 <= k <= n = {n}{MISSING_FIRST_LINE}")
    return _Layout(False, number, number, d, n, k[0] if k else None, len(fields))


def _all_columns(where: str, number: int, line: str) -> _Layout:
    fields = _csv_fields(line)
    numeric = [is_number(field) for field in fields]
    if all(numeric):
        return _Layout(True, number, number - 1, len(fields))
    if any(numeric):
        column = numeric.index(False)
        raise InstanceError(
            f"{where}: column {column + 1} is {shown(fields[column])} beside numbers; "
            "expected a row of numbers, or a heading without any, or to leave the column out "
            f"(--drop {column + 1})"
        )
    _check_heading(where, fields)
    names = [field.strip() for field in fields]
    return _Layout(True, number, number, len(fields), names=names)


def _chosen_columns(
    where: str,
    number: int,
    line: str,
    index_column: str | None,
    drop: Sequence[str],
    argument: str,
) -> _Layout:
    """Return the columns of CSV that are chosen by name.

    argument : what messages call index_column
    """
    names = [field.strip() for field in _csv_fields(line)]
    is_row = any(map(is_number, names))
    if is_row:
        names = [str(j) for j in range(1, len(names) + 1)]
    _check_heading(where, names)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InstanceError(
            f"{where}: two columns are called {shown(twice)}; expected names that differ"
        )
    try:
        left_out = left_out_columns(names, index_column, drop, argument)
    except InstanceError as error:
        raise InstanceError(f"{where}: {error}") from None
    return _Layout(
        True,
        number,
        number - is_row,
        len(names),
        names=names,
        features=[column for column, name in enumerate(names) if name not in left_out],
        index=None if index_column is None else names.index(index_column),
    )


def _check_heading(where: str, names: Sequence[str]) -> None:
    """Raise the InstanceError if a column has no name."""
    nameless = [column for column, name in enumerate(names, start=1) if not name.strip()]
    if nameless:
        raise InstanceError(
            f"{where}: column {nameless[0]} has no name; expected one, or a file without that "
            "column if it holds row numbers (pandas: to_csv(..., index=False))"
        )


def _load(file: TextIO, layout: _Layout) -> tuple[NDArray[np.float64] | None, list[str]]:
    """Return the points (n, d), or None if the rows are no table of finite numbers.

    The names of the rows are returned, too, if a column names them.

    Memory follows the rows that are there, not the sizes that the first line claims.
    """
    values, n = array("d"), 0
    row_names: list[str] = []
    for _, line, fields in layout.rows(file):
        if len(fields) != layout.width:
            return None, row_names
        if layout.index is not None:
            row_names.append(fields[layout.index].strip())
        if layout.features is not None:
            fields = [fields[column] for column in layout.features]
        # Python's float() makes numbers of digits of all alphabets, and of underscores, too.
        is_plain = line.isascii() and "_" not in line
        if not is_plain and not all(map(_is_number, fields)):
            return None, row_names
        try:
            values.extend(map(float, fields))
        except ValueError:
            return None, row_names
        n += 1
    if n == 0 or n != (layout.n or n):
        return None, row_names
    points = np.frombuffer(values).reshape(n, -1)
    return points if np.isfinite(points).all() else None, row_names


def _explain(path: FilePath, layout: _Layout) -> NoReturn:
    """Raise the InstanceError for the first row at fault."""
    name, count = shown_path(path), 0
    with open_text(path) as file:
        for number, _, fields in layout.rows(file):
            where = f"{name}:{number}"
            if count == layout.n:
                raise InstanceError(
                    f"{where}: one row too many; line {layout.line} says n = {layout.n}"
                )
            if layout.features is not None:
                _check_width(where, layout, fields)
            for column, field in _features(layout, fields):
                if not (_is_number(field) and math.isfinite(float(field))):
                    raise InstanceError(
                        f"{where}: column {column + 1} is {shown(field)}; expected a finite number"
                        f"{_drop_hint(layout, column)}"
                    )
            _check_width(where, layout, fields)
            count += 1
    if layout.n is not None:
        raise InstanceError(
            f"{name}:{layout.line}: says n = {layout.n}, but the file has {count} rows of points"
        )
    raise InstanceError(f"{name}:{layout.line}: no rows after the heading; expected points")


def _check_integers(path: FilePath, layout: _Layout) -> None:
    """Raise the InstanceError for the first integer that no float is."""
    with open_text(path) as file:
        for number, _, fields in layout.rows(file):
            for column, field in _features(layout, fields):
                if (integer := inexact_integer(field)) is not None:
                    where = f"{shown_path(path)}:{number}: column {column + 1}"
                    raise InstanceError(f"{where} {inexact_integer_message(integer)}")


def _features(layout: _Layout, fields: list[str]) -> list[tuple[int, str]]:
    """Return the positions and fields of the features in a row: all, unless columns are chosen."""
    chosen = range(len(fields)) if layout.features is None else layout.features
    return [(column, fields[column]) for column in chosen]


def _is_number(field: str) -> bool:
    """Return whether a field is a number, with or without blanks around it."""
    # Of a field with other letters than ASCII, float() takes off the blanks of all alphabets.
    return is_number(field if field.isascii() else field.strip())


def _check_width(where: str, layout: _Layout, fields: list[str]) -> None:
    if len(fields) == layout.width:
        return
    if layout.is_csv:
        kind = "numbers" if layout.features is None else "fields"
        says, hint = f"has {layout.width}", ""
    else:
        kind, says = "numbers", f"says d = {layout.width}"
        hint = MISSING_FIRST_LINE if len(fields) == layout.n_integers else ""
    raise InstanceError(
        f"{where}: the row has {len(fields)} {kind}; line {layout.line} {says}{hint}"
    )


def _drop_hint(layout: _Layout, column: int) -> str:
    """Return the end of a message on a field that is no number, where the column has a name."""
    if layout.names is None or column >= layout.width:
        return ""
    return f", or to leave the column out (--drop {shown(layout.names[column])})"
