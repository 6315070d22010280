"""Files of points; `sdpbb.problem.formats` states the formats."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TextIO

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.files import shown_path, write_atomically
from sdpbb.problem.array_files import read_npy, read_parquet, without_columns
from sdpbb.problem.csv_columns import read_columns
from sdpbb.problem.csv_lines import FirstLine, check_heading, csv_fields, first_line
from sdpbb.problem.integers import complaint, inexact_integer, may_be_inexact
from sdpbb.problem.textfile import (
    FilePath,
    is_integer,
    is_number,
    open_text,
    shown,
    without_comment,
)

MISSING_FIRST_LINE = "; is the line n d k missing?"


@dataclass(frozen=True)
class PointsFile:
    """What a file of points holds.

    points : (n, d), finite
    k : the number of clusters, where the file states one
    row_names : (n,) different names of the rows, where a column names them
    """

    points: NDArray[np.float64]
    k: int | None = None
    row_names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class _Layout:
    """What the first line, at line number `line` and with so many fields, says of the rows that
    follow `skip` lines; names (d,) are those of a heading."""

    is_csv: bool
    line: int
    n_fields: int
    skip: int
    d: int
    n: int | None = None
    k: int | None = None
    names: list[str] | None = None


def read_points(
    path: FilePath, *, index_column: str | None = None, drop: Sequence[str] = ()
) -> PointsFile:
    """Read a file of points; the format is told by the suffix and the first line.

    Parameters
    ----------
    index_column : the column that names the rows
    drop : columns that are no features, such as a class

    Both are for Parquet and CSV. The columns of a CSV file without a heading are called 1, 2, ...

    Raises
    ------
    InstanceError
        One line: the file, the line number, what is wrong and what would be right.
    BackendUnavailable
        If pyarrow, which reads Parquet, is not installed.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".parquet":
        points, row_names = read_parquet(path, index_column, drop)
        return PointsFile(points, None, row_names)
    selects = index_column is not None or len(drop) > 0
    if suffix == ".npy":
        if selects:
            raise without_columns(path, index_column)
        return PointsFile(read_npy(path))
    if selects:
        points, row_names = read_columns(path, index_column, drop)
        return PointsFile(points, None, row_names)
    with open_text(path) as file:
        layout = _layout(path, file)
        table = _load(file, layout)
    if (
        table is None
        or table.shape[1] != layout.d
        or len(table) == 0
        or len(table) != (layout.n or len(table))
        or not np.isfinite(table).all()
    ):
        _explain(path, layout)
    if may_be_inexact(table):
        _check_integers(path, layout)
    return PointsFile(table, layout.k)


def write_points(path: FilePath, points: NDArray[np.float64], k: int | None = None) -> None:
    """Write points (n, d) in the text format; `read_points` reads the same floats back."""
    n, d = points.shape
    header = f"{n} {d}" if k is None else f"{n} {d} {k}"
    rows = (" ".join(map(repr, row)) for row in points.tolist())
    write_atomically(path, "\n".join([header, *rows]) + "\n")


def _layout(path: FilePath, file: TextIO) -> _Layout:
    """Read the first line that is not blank, and go to the first row."""
    first = first_line(path, file)
    where = f"{shown_path(path)}:{first.number}"
    layout = _csv_layout(where, first) if first.is_csv else _text_layout(where, first)
    if layout.skip < first.number:
        file.seek(0)
        for _ in range(layout.skip):
            file.readline()
    return layout


def _csv_layout(where: str, first: FirstLine) -> _Layout:
    fields = csv_fields(first.line)
    numeric = [is_number(field) for field in fields]
    if any(numeric) and not all(numeric):
        column = numeric.index(False)
        raise InstanceError(
            f"{where}: column {column + 1} is {shown(fields[column])} beside numbers; "
            "expected a row of numbers, or a heading without any, or to leave the column out "
            f"(--drop {column + 1})"
        )
    check_heading(where, [] if all(numeric) else fields)
    skip = first.number - 1 if all(numeric) else first.number
    names = None if all(numeric) else fields
    return _Layout(True, first.number, len(fields), skip, len(fields), names=names)


def _text_layout(where: str, first: FirstLine) -> _Layout:
    fields = first.line.split()
    if len(fields) not in (2, 3) or not all(is_integer(field) for field in fields):
        hint = MISSING_FIRST_LINE if all(is_number(field) for field in fields) else ""
        raise InstanceError(
            f"{where}: the first line is {shown(first.line.strip())}; expected the integers n d k "
            f"or n d, or commas between the numbers of a CSV file{hint}"
        )
    n, d, *k = (int(field) for field in fields)
    if n < 1 or d < 1:
        raise InstanceError(
            f"{where}: n = {n}, d = {d}; expected n >= 1 and d >= 1{MISSING_FIRST_LINE}"
        )
    if k and not 1 <= k[0] <= n:
        raise InstanceError(f"{where}: k = {k[0]}; expected 1 <= k <= n = {n}{MISSING_FIRST_LINE}")
    number = first.number
    return _Layout(False, number, len(fields), number, d, n, k[0] if k else None)


def _load(file: TextIO, layout: _Layout) -> NDArray[np.float64] | None:
    """The rows as an array, or None if they are not a rectangular table of numbers.

    Memory follows the rows that are there, not the sizes that the first line claims.
    """
    delimiter, quote, comment = (",", '"', None) if layout.is_csv else (None, None, "#")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # no rows at all: _explain tells that
        try:
            return np.loadtxt(file, comments=comment, delimiter=delimiter, quotechar=quote, ndmin=2)
        except UnicodeDecodeError:
            raise
        except ValueError:
            return None


def _explain(path: FilePath, layout: _Layout) -> NoReturn:
    """Raise the InstanceError for the first row at fault: a slow second reading."""
    name = shown_path(path)
    says = f"line {layout.line} " + (f"has {layout.d}" if layout.is_csv else f"says d = {layout.d}")
    count = 0
    with open_text(path) as file:
        for number, fields in _rows(file, layout):
            where = f"{name}:{number}"
            if count == layout.n:
                raise InstanceError(
                    f"{where}: one row too many; line {layout.line} says n = {layout.n}"
                )
            for column, field in enumerate(fields, start=1):
                if not (is_number(field) and np.isfinite(float(field))):
                    raise InstanceError(
                        f"{where}: column {column} is {shown(field)}; expected a finite number"
                        f"{_way_out(layout, column, field)}"
                    )
            if len(fields) != layout.d:
                looks_like_rows = not layout.is_csv and len(fields) == layout.n_fields
                hint = MISSING_FIRST_LINE if looks_like_rows else ""
                raise InstanceError(f"{where}: the row has {len(fields)} numbers; {says}{hint}")
            count += 1
    if layout.n is not None:
        raise InstanceError(
            f"{name}:{layout.line}: says n = {layout.n}, but the file has {count} rows of points"
        )
    raise InstanceError(f"{name}:{layout.line}: no rows after the heading; expected points")


def _check_integers(path: FilePath, layout: _Layout) -> None:
    """Raise the InstanceError for the first integer that no float is: a slow second reading."""
    with open_text(path) as file:
        for number, fields in _rows(file, layout):
            for column, field in enumerate(fields, start=1):
                if (integer := inexact_integer(field)) is not None:
                    where = f"{shown_path(path)}:{number}: column {column}"
                    raise InstanceError(f"{where} {complaint(integer)}")


def _rows(file: TextIO, layout: _Layout) -> Iterator[tuple[int, list[str]]]:
    """The rows that NumPy's reader sees, with their line numbers."""
    for number, line in enumerate(file, start=1):
        if number <= layout.skip:
            continue
        content = line if layout.is_csv else without_comment(line)
        if content.strip("\n" if layout.is_csv else None):
            yield number, csv_fields(content) if layout.is_csv else content.split()


def _way_out(layout: _Layout, column: int, field: str) -> str:
    """What a message says of a column of words under a heading."""
    if layout.names is None or not field.strip() or is_number(field) or column > layout.d:
        return ""
    return f", or to leave the column out (--drop {shown(layout.names[column - 1].strip())})"
