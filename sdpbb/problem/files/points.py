"""Files of points; `sdpbb.problem.formats` describes the formats."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, takewhile
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.checks import as_points
from sdpbb.problem.files.tables import (
    ARRAYS,
    COLUMNS,
    SHEETS,
    Row,
    filled,
    is_counts,
    opened_table,
    read_array,
    read_columns,
)
from sdpbb.problem.frames import table_of_frame
from sdpbb.problem.geometry import dense
from sdpbb.problem.preparation import prepared
from sdpbb.problem.table import ADVICE, TABLES, PointTable, Roles, check_no_columns, column_text
from sdpbb.problem.textfile import (
    file_suffix,
    is_missing_word,
    is_number,
    naming_file,
    reading_file,
    shown,
    without_comment,
)
from sdpbb.runtime.files import FilePath, replacement, shown_path
from sdpbb.runtime.reading import PointsArguments, Reading

PointReader = Callable[[FilePath, Reading], PointTable]
"""Function of a path and the options of reading: see `read_points`. Missing values may be nan."""

ROWS = 50_000
"""Number of rows that are written together."""

SAMPLE_ROWS = 1000
"""Number of rows that decide on decimal commas, and on the columns if there is no heading."""

_OF_TEXT = ("separator", "decimal", "encoding")
_MISSING_FIRST_LINE = "; is the line n d k missing?"
_COMMA_NUMBER = re.compile(r"\s*[+-]?\d*,\d+(e[+-]?\d+)?\s*", re.ASCII | re.IGNORECASE)
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*", re.ASCII)


def read_points(path: FilePath, **reading: Unpack[PointsArguments]) -> PointTable:
    """Read a file of points; the suffix and the first lines decide the format.

    reading : options by keyword, as in `sdpbb.problem.formats.Reading`, without constraints_format
        and one_based

    Options on columns need a file with names of columns. Columns of CSV without a heading are
    called 1, 2, ...

    Returns
    -------
    PointTable : points are finite, and the names of the rows are texts.

    Raises
    ------
    InstanceError
        One line: the file, the line number, what is wrong and what is expected.
    ParameterError
        For an option that does not apply to the file, or a wrong value of an option.
    BackendUnavailable
        If a package that reads the file is not installed.

    Warns
    -----
    InstanceNote
        For an assumption: an index, a sheet, or dropped rows.
    """
    return read_table(path, Reading.of(reading, PointsArguments.__annotations__, "read_points"))


def read_table(path: FilePath, reading: Reading) -> PointTable:
    """Read a file of points as `read_points` does."""
    suffix, name = file_suffix(path), shown_path(path)
    if reading.table is not None and suffix not in (".npz", *SHEETS):
        raise InstanceError(f"table: {name} has one table; expected an Excel or .npz file with it")
    for option in _OF_TEXT:
        if getattr(reading, option) is not None and suffix in (*POINT_READERS, *SHEETS):
            raise InstanceError(
                f"{option}: {name} is not text; expected CSV or another text file with it"
            )
    with reading_file(path):
        table = POINT_READERS.get(suffix, _read_text)(path, reading)
        return prepared(table, reading, f"{name}: ")


def write_points(path: FilePath, points: NDArray[np.float64], k: int | None = None) -> None:
    """Write points (n, d) in the text format; `read_points` reads the same floats back."""
    n, d = points.shape
    header = f"{n} {d}" if k is None else f"{n} {d} {k}"
    with replacement(path) as file:
        file.write(f"{header}\n".encode())
        for start in range(0, n, ROWS):
            rows = points[start : start + ROWS].tolist()
            file.writelines(f"{' '.join(map(repr, row))}\n".encode() for row in rows)


def _read_array(path: FilePath, reading: Reading) -> PointTable:
    """Return the points of a file of NumPy, or of a sparse matrix of SciPy."""
    points = read_array(path, reading.table, 2, "table (n, d), the points")
    check_no_columns(reading, f"the columns of {shown_path(path)} have no names", TABLES)
    with naming_file(path):
        return PointTable(as_points(dense(points)))


def _read_columns(path: FilePath, reading: Reading) -> PointTable:
    """Return the points of a file of Parquet or Feather."""
    columns, n_index = read_columns(path)
    with naming_file(path):
        return table_of_frame(columns, reading, n_index, f"{shown_path(path)}: ")


@dataclass(frozen=True)
class _Layout:
    """Columns of a table of text, according to its first row.

    place : place of the first row, for messages
    width : number of fields of a row
    names : (width,) names of the columns from the heading, or their numbers without one; () for
        text with a first line `n d k`
    n, k : numbers of points and of clusters from that line; None: unknown
    """

    path: FilePath
    place: str
    width: int
    roles: Roles
    names: tuple[str, ...] = ()
    n: int | None = None
    k: int | None = None


def _read_text(path: FilePath, reading: Reading) -> PointTable:
    """Return the points of a workbook, CSV, or text with a first line `n d k`."""
    with opened_table(path, reading.delimiter, reading.encoding, reading.table) as table:
        said = (row for row in table.rows if any(map(str.strip, row[1])))
        first = next(said, None)
        if first is None:
            raise InstanceError(f"{shown_path(path)}: the file is empty; expected points")
        sample = list(islice(said, SAMPLE_ROWS))
        rows: Iterator[Row] = chain(sample, said)
        if table.separator is None:
            layout = _of_counts(path, first, reading)
            split = ((line, without_comment(fields[0]).split()) for line, fields in rows)
            rows = ((line, fields) for line, fields in split if fields)
        else:
            layout, has_heading = _of_heading(path, first, sample, reading)
            rows = rows if has_heading else chain([first], rows)
        features = layout.roles.features
        # The first line of a text may state a larger width than the rows have.
        known = (row[at] for _, row in sample for at in takewhile(len(row).__gt__, features))
        decimal = reading.decimal or _decimal_of(chain.from_iterable(map(str.split, known)))
        points, lines, texts = _numbers(layout, rows, decimal)
    columns, where = layout.names, f"{shown_path(path)}: "
    with naming_file(path):
        read = PointTable.of_columns(points, columns, layout.roles, texts, reading, where)
    read = read.with_origin(separator=table.separator or "", encoding=table.encoding)
    return replace(read, k=layout.k, lines=lines)


def _of_counts(path: FilePath, first: Row, reading: Reading) -> _Layout:
    """Return the columns of text whose first line has n, d and perhaps k."""
    check_no_columns(reading, f"the columns of {shown_path(path)} have no names", TABLES)
    place, line = f"{shown_path(path)}:{first[0]}", without_comment(first[1][0]).strip()
    if not is_counts(line):
        hint = _MISSING_FIRST_LINE if all(map(is_number, line.split())) else ""
        raise InstanceError(
            f"{place}: the first line is {shown(line)}; expected the integers n d k or n d, or "
            f"commas between the numbers of a CSV file{hint}"
        )
    n, d, *k = map(int, line.split())
    if n < 1 or d < 1 or not all(1 <= each <= n for each in k):
        raise InstanceError(
            f"{place}: {shown(line)}; expected n d k with 1 <= k <= n and d >= 1"
            f"{_MISSING_FIRST_LINE}"
        )
    return _Layout(path, place, d, Roles(range(d)), n=n, k=k[0] if k else None)


def _of_heading(
    path: FilePath, first: Row, sample: Sequence[Row], reading: Reading
) -> tuple[_Layout, bool]:
    """Return the columns of a table, and whether its first row is a heading.

    A frame of pandas without names has 0, 1, ... in its heading, after the unnamed index.
    """
    place, names = f"{shown_path(path)}:{first[0]}", filled(first[1])
    is_of_pandas = names[0] == "" and names[1:] == [str(j) for j in range(len(names) - 1)]
    has_heading = is_of_pandas or not any(
        is_number(name) or _COMMA_NUMBER.fullmatch(name) for name in names
    )
    if not has_heading:
        width = max(len(filled(fields)) for _, fields in (first, *sample))
        names = [str(j) for j in range(1, min(len(first[1]), width) + 1)]
    if "" in (names[1:] or names):
        column = names.index("", min(1, len(names) - 1)) + 1
        raise InstanceError(
            f"{place}: column {column} has no name; expected one (only a first column with names "
            "or numbers of rows needs none)"
        )
    n_index = int(len(names) > 1 and not names[0])
    roles = Roles.of(names, reading, f"{place}: ", n_index)
    return _Layout(path, place, len(names), roles, tuple(names)), has_heading


def _decimal_of(fields: Iterable[str]) -> str:
    """Return the decimal separator of these fields: a point, unless a comma is certain.

    A comma is certain if no number has a point, and commas cannot separate thousands: some number
    does not have exactly three digits after the comma.
    """
    is_certain = False
    for field in fields:
        if _COMMA_NUMBER.fullmatch(field):
            is_certain |= _THOUSANDS.fullmatch(field) is None
        elif ("." in field and is_number(field)) or _THOUSANDS.fullmatch(field):
            return "."
    return "," if is_certain else "."


def _numbers(
    layout: _Layout, rows: Iterable[Row], decimal: str
) -> tuple[NDArray[np.float64], NDArray[np.int64], dict[int, list[str]]]:
    """Return the points (n, d), nan where a value is missing, their lines, and columns of text.

    Memory depends on the rows that exist, not on the sizes in the first line.
    """
    features, values, lines = layout.roles.features, array("d"), array("q")
    texts: dict[int, list[str]] = {column: [] for column in layout.roles.texts}
    are_all = len(features) == layout.width
    for line, fields in rows:
        if len(fields) != layout.width:
            fields = _of_width(layout, line, fields)
        chosen = fields if are_all else [fields[column] for column in features]
        try:
            if decimal == "," or "_" in "".join(chosen):  # Python ignores "_" in numbers
                raise ValueError
            row = list(map(float, chosen))
        except ValueError:
            row = [math.nan]
        if not math.isfinite(sum(row)):  # or a sum that overflows
            row = [
                _number(layout, line, column, field, decimal)
                for column, field in zip(features, chosen, strict=True)
            ]
        values.fromlist(row)
        for column, listed in texts.items():
            listed.append(fields[column].strip())
        lines.append(line)
    count = len(lines)
    if layout.n not in (None, count) or not count:
        expected = "one at least" if layout.n is None else f"n = {layout.n}, as the line says"
        raise InstanceError(
            f"{layout.place}: the file has {count} rows of points; expected {expected}"
        )
    # There is no feature if all columns are text.
    points = np.frombuffer(values).reshape(count, -1) if values else np.empty((count, 0))
    return points, np.frombuffer(lines, np.int64), texts


def _of_width(layout: _Layout, line: int, fields: list[str]) -> list[str]:
    """Return a row without the empty fields that spreadsheets write after the last column."""
    if len(fields) > layout.width and not any(map(str.strip, fields[layout.width :])):
        return fields[: layout.width]
    hint = _MISSING_FIRST_LINE if layout.n and len(fields) in (2, 3) else ""
    raise InstanceError(
        f"{shown_path(layout.path)}:{line}: the row has {len(fields)} fields; expected "
        f"{layout.width}, as {layout.place} says{hint}"
    )


def _number(layout: _Layout, line: int, column: int, field: str, decimal: str) -> float:
    """Return the number in a field, nan if it is missing, or raise the InstanceError."""
    text = field
    if decimal == ",":
        text = "no number" if "." in field else field.replace(",", ".")
    if is_number(text) and math.isfinite(float(text)):
        return float(text)
    if is_missing_word(field):
        return math.nan
    raise InstanceError(
        f"{shown_path(layout.path)}:{line}: {column_text(layout.names, column)} is {shown(field)}; "
        f"expected a finite number{ADVICE if layout.names else ''}"
    )


POINT_READERS: dict[str, PointReader] = {
    **dict.fromkeys(ARRAYS, _read_array),
    **dict.fromkeys(COLUMNS, _read_columns),
}
"""Readers by the suffix of the file's name, in lower case; other files are tables of text."""
