"""Files of points; `sdpbb.problem.formats` states the formats."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn, TextIO

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.files import shown_path, write_atomically
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
    """points (n, d), finite, and the number of clusters k where the file states one."""

    points: NDArray[np.float64]
    k: int | None


@dataclass(frozen=True)
class _Layout:
    """What the first line, at line number `line` and with so many fields, says of the rows that
    follow `skip` lines."""

    is_csv: bool
    line: int
    n_fields: int
    skip: int
    d: int
    n: int | None = None
    k: int | None = None


def read_points(path: FilePath) -> PointsFile:
    """Read a file of points.

    Raises
    ------
    InstanceError
        One line: the file, the line number, what is wrong and what would be right.
    """
    with open_text(path) as file:
        layout = _layout(path, file)
        points = _load(file, layout)
    if (
        points is None
        or points.shape[1] != layout.d
        or len(points) == 0
        or len(points) != (layout.n or len(points))
        or not np.isfinite(points).all()
    ):
        _explain(path, layout)
    return PointsFile(points, layout.k)


def write_points(path: FilePath, points: NDArray[np.float64], k: int | None = None) -> None:
    """Write points (n, d) in the text format; `read_points` reads the same floats back."""
    n, d = points.shape
    header = f"{n} {d}" if k is None else f"{n} {d} {k}"
    rows = (" ".join(map(repr, row)) for row in points.tolist())
    write_atomically(path, "\n".join([header, *rows]) + "\n")


def _layout(path: FilePath, file: TextIO) -> _Layout:
    """Read the first line that is not blank, and go to the first row."""
    has_csv_name = str(path).lower().endswith(".csv")
    number, line = _first_line(path, file, has_csv_name)
    where = f"{shown_path(path)}:{number}"
    separator = _other_separator(line, has_csv_name)
    if separator:
        raise InstanceError(f"{where}: the separator is {separator!r}; expected ','")
    is_csv = has_csv_name or "," in line
    layout = _csv_layout(where, number, line) if is_csv else _text_layout(where, number, line)
    if layout.skip < number:
        file.seek(0)
        for _ in range(layout.skip):
            file.readline()
    return layout


def _first_line(path: FilePath, file: TextIO, has_csv_name: bool) -> tuple[int, str]:
    # readline, not iteration: that would take back the right to seek.
    for number, line in enumerate(iter(file.readline, ""), start=1):
        content = line if has_csv_name else without_comment(line)
        if content.strip():
            return number, content
    raise InstanceError(f"{shown_path(path)}: the file is empty; expected points")


def _other_separator(line: str, has_csv_name: bool) -> str | None:
    """What spreadsheets separate the fields of this line by, if it is not a comma."""
    if ";" in line and ("," not in line or _is_decimal_comma_row(line)):
        return ";"
    # In text, tabs are blanks.
    return "\t" if has_csv_name and "\t" in line.strip() and "," not in line else None


def _is_decimal_comma_row(line: str) -> bool:
    return all(is_number(field.replace(",", ".")) for field in line.split(";"))


def _csv_layout(where: str, number: int, line: str) -> _Layout:
    fields = _fields(line, is_csv=True)
    numeric = [is_number(field) for field in fields]
    if any(numeric) and not all(numeric):
        column = numeric.index(False)
        raise InstanceError(
            f"{where}: column {column + 1} is {shown(fields[column])} beside numbers; "
            "expected a row of numbers, or a heading without any"
        )
    nameless = [column for column, field in enumerate(fields, start=1) if not field.strip()]
    if nameless:
        raise InstanceError(
            f"{where}: column {nameless[0]} has no name; expected one, or a file without that "
            "column if it holds row numbers (pandas: to_csv(..., index=False))"
        )
    skip = number - 1 if all(numeric) else number
    return _Layout(True, number, len(fields), skip, len(fields))


def _text_layout(where: str, number: int, line: str) -> _Layout:
    fields = line.split()
    if len(fields) not in (2, 3) or not all(is_integer(field) for field in fields):
        hint = MISSING_FIRST_LINE if all(is_number(field) for field in fields) else ""
        raise InstanceError(
            f"{where}: the first line is {shown(line.strip())}; expected the integers n d k or "
            f"n d, or commas between the numbers of a CSV file{hint}"
        )
    n, d, *k = (int(field) for field in fields)
    if n < 1 or d < 1:
        raise InstanceError(
            f"{where}: n = {n}, d = {d}; expected n >= 1 and d >= 1{MISSING_FIRST_LINE}"
        )
    if k and not 1 <= k[0] <= n:
        raise InstanceError(f"{where}: k = {k[0]}; expected 1 <= k <= n = {n}{MISSING_FIRST_LINE}")
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


def _rows(file: TextIO, layout: _Layout) -> Iterator[tuple[int, list[str]]]:
    """The rows that NumPy's reader sees, with their line numbers."""
    for number, line in enumerate(file, start=1):
        if number <= layout.skip:
            continue
        content = line if layout.is_csv else without_comment(line)
        if content.strip("\n" if layout.is_csv else None):
            yield number, _fields(content, layout.is_csv)


def _fields(line: str, is_csv: bool) -> list[str]:
    if not is_csv:
        return line.split()
    try:
        return next(csv.reader([line]))
    except csv.Error:  # an unreasonably long field, or a zero byte: not a number in any case
        return line.rstrip("\n").split(",")
