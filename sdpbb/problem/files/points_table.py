"""Points of a table of text: a heading and rows, or rows of numbers under a first line `n d k`."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, takewhile

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.files.tables import Row, TextTable, filled, is_counts
from sdpbb.problem.table import (
    ADVICE,
    PointTable,
    Roles,
    checked_names,
    names_by_index,
    without_columns,
)
from sdpbb.problem.textfile import is_missing_word, is_number, shown, without_comment
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.reading import Reading

_MISSING_FIRST_LINE = "; is the line n d k missing?"

SAMPLE_ROWS = 1000
"""Number of rows that are asked for decimal commas, and for columns without a heading."""

_COMMA_NUMBER = re.compile(r"\s*[+-]?\d*,\d+(e[+-]?\d+)?\s*", re.ASCII | re.IGNORECASE)
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*", re.ASCII)


@dataclass(frozen=True)
class _Layout:
    """Columns of a table, as its first row states them.

    place : of the first row, for messages
    width : the number of fields of a row
    names : (width,) of the columns: from the heading, or their numbers without one; () for text
    n, k : the numbers of points and of clusters, where text states them
    """

    path: FilePath
    place: str
    width: int
    roles: Roles
    names: tuple[str, ...] = ()
    n: int | None = None
    k: int | None = None

    def called(self, column: int) -> str:
        """Return the number of a column, and its name in parentheses if it has one."""
        name = self.names[column] if self.names else ""
        return f"column {column + 1}" + (
            f" ({shown(name)})" if name not in ("", str(column + 1)) else ""
        )


def points_of_table(table: TextTable, reading: Reading) -> PointTable:
    """Return the points of a table; missing values are nan.

    Raises
    ------
    InstanceError
        One line: the file, the line, the column, what is there and what would be right.
    """
    has_lines = table.separator != ""  # some of which spreadsheets leave empty
    said = (row for row in table.rows if not has_lines or any(map(str.strip, row[1])))
    first = next(said, None)
    if first is None:
        raise InstanceError(f"{shown_path(table.path)}: the file is empty; expected points")
    sample = list(islice(said, SAMPLE_ROWS))
    rows: Iterator[Row] = chain(sample, said)
    if table.separator is None:
        layout = _of_counts(table, first, reading)
        rows = ((line, without_comment(fields[0]).split()) for line, fields in rows)
        rows = ((line, fields) for line, fields in rows if fields)
    else:
        layout, has_heading = _of_heading(table, first, [fields for _, fields in sample], reading)
        rows = rows if has_heading else chain([first], rows)
    roles = layout.roles
    # A text may claim any width.
    known = (row[at] for _, row in sample for at in takewhile(len(row).__gt__, roles.features))
    decimal = reading.decimal or _decimal_of(chain.from_iterable(map(str.split, known)))
    points, lines, texts = _read(layout, rows, decimal)
    names = None
    if roles.index is not None:
        names = _names_of_rows(layout, texts[roles.index], reading.index_column is not None)
    features = tuple(layout.names[at] for at in roles.features) if layout.names else ()
    return PointTable(
        points,
        layout.k,
        names,
        feature_names=features,
        index_name="" if roles.index is None else layout.names[roles.index],
        known_classes=None if roles.classes is None else texts[roles.classes],
        categories={layout.names[at]: texts[at] for at in roles.categories},
        separator=table.separator or "",
        encoding=table.encoding,
        lines=lines,
    )


def _of_counts(table: TextTable, first: Row, reading: Reading) -> _Layout:
    """Return the columns of text whose first line states n, d and perhaps k."""
    if reading.chosen:
        raise without_columns(table.path, reading.chosen)
    place, line = f"{shown_path(table.path)}:{first[0]}", without_comment(first[1][0]).strip()
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
    return _Layout(table.path, place, d, Roles(range(d)), n=n, k=k[0] if k else None)


def _of_heading(
    table: TextTable, first: Row, sample: Sequence[list[str]], reading: Reading
) -> tuple[_Layout, bool]:
    """Return the columns of a table, and whether its first row is a heading.

    A frame of pandas without names has 0, 1, ... in its heading, after the unnamed index.
    """
    place, names = f"{shown_path(table.path)}:{first[0]}", filled(first[1])
    is_of_pandas = names[0] == "" and names[1:] == [str(j) for j in range(len(names) - 1)]
    has_heading = is_of_pandas or not any(
        is_number(name) or _COMMA_NUMBER.fullmatch(name) for name in names
    )
    if not has_heading:
        width = max(len(filled(fields)) for fields in (first[1], *sample))
        names = [str(j) for j in range(1, min(len(first[1]), width) + 1)]
    if "" in (names[1:] or names):
        column = names.index("", min(1, len(names) - 1)) + 1
        raise InstanceError(
            f"{place}: column {column} has no name; expected one (only a first column with names "
            "or numbers of rows needs none)"
        )
    n_index = table.n_index or int(len(names) > 1 and not names[0])
    roles = Roles.of(names, reading, f"{place}: ", n_index)
    return _Layout(table.path, place, len(names), roles, tuple(names)), has_heading


def _decimal_of(fields: Iterable[str]) -> str:
    """Return what decimals begin with in all these fields: a point, unless a comma is certain.

    A comma is certain where some number with a comma has not three digits after it, which may be
    thousands, and no number has a point.
    """
    is_certain = False
    for field in fields:
        if _COMMA_NUMBER.fullmatch(field):
            is_certain |= _THOUSANDS.fullmatch(field) is None
        elif ("." in field and is_number(field)) or _THOUSANDS.fullmatch(field):
            return "."
    return "," if is_certain else "."


def _read(
    layout: _Layout, rows: Iterable[Row], decimal: str
) -> tuple[NDArray[np.float64], NDArray[np.int64], dict[int, list[str]]]:
    """Return the points (n, d), nan where a value is missing, their lines, and columns of text.

    Memory follows the rows that are there, not the sizes that the first line claims.
    """
    features, values, lines = layout.roles.features, array("d"), array("q")
    texts: dict[int, list[str]] = {column: [] for column in layout.roles.texts}
    are_all = len(features) == layout.width
    for line, fields in rows:
        if len(fields) != layout.width:
            fields = _of_width(layout, line, fields)
        chosen = fields if are_all else [fields[column] for column in features]
        try:
            if decimal == "," or any("_" in field for field in chosen):
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
    # Without any feature where all columns are text.
    points = np.frombuffer(values).reshape(count, -1) if values else np.empty((count, 0))
    return points, np.frombuffer(lines, np.int64), texts


def _of_width(layout: _Layout, line: int, fields: list[str]) -> list[str]:
    """Return a row without empty fields after the last column, as spreadsheets write them."""
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
        f"{shown_path(layout.path)}:{line}: {layout.called(column)} is {shown(field)}; expected a "
        f"finite number{ADVICE if layout.names else ''}"
    )


def _names_of_rows(layout: _Layout, labels: list[str], is_chosen: bool) -> tuple[str, ...] | None:
    """Return the names of the rows from the fields of a column; None where they are numbered."""
    column = layout.roles.index or 0
    name = shown_path(layout.path)
    if is_chosen:
        where = f"{name}: index_column = {layout.names[column]!r}"
        return tuple(map(str, checked_names([label or None for label in labels], where)))
    if not any(labels):
        return None  # a spreadsheet whose first column is empty
    says = f"{name}: {layout.called(column)} is an index"
    names = names_by_index([label or None for label in labels], says)
    return None if names is None else tuple(labels)
