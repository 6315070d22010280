"""Columns and rows of a file of points in text, as its first lines state them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TextIO

from sdpbb.errors import InstanceError
from sdpbb.problem.files.separated import (
    FirstLine,
    decimal_of,
    first_line,
    is_comma_number,
    is_counts,
    number_in,
    rows_of,
)
from sdpbb.problem.table import Roles, checked_names, names_by_index, without_columns
from sdpbb.problem.textfile import is_number, shown
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.reading import Reading

MISSING_FIRST_LINE = "; is the line n d k missing?"

SAMPLE_ROWS = 1000
"""Number of rows that are asked for decimal commas, and for columns without a heading."""


@dataclass(frozen=True)
class FileLayout:
    """Columns and rows of a file, as its first lines state them.

    path : of the file
    line : the number of its first line that is not blank, from 1
    width : the number of fields of a row
    roles : of the columns
    separator : of the fields of CSV; None for text
    has_heading : whether the first line is not a row
    names : (width,) of the columns of CSV: from the heading, or their numbers without one
    decimal : what decimals begin with
    n, k : the numbers of points and of clusters, where text states them
    """

    path: FilePath
    line: int
    width: int
    roles: Roles
    separator: str | None = None
    has_heading: bool = True
    names: tuple[str, ...] = ()
    decimal: str = "."
    n: int | None = None
    k: int | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features: of a heading, or the numbers of columns without one."""
        return tuple(self.names[column] for column in self.roles.features) if self.names else ()

    @property
    def index_name(self) -> str:
        """Name of the column that names the rows; "" for a first column without a name."""
        return "" if self.roles.index is None else self.names[self.roles.index]

    def rows(self, file: TextIO) -> Iterator[tuple[int, list[str]]]:
        """Return the number of the line and the fields of each row."""
        rows = rows_of(self.path, file, self.separator, self.line - 1)
        return islice(rows, int(self.has_heading), None)

    def called(self, column: int) -> str:
        """Return the number of a column, and its name in parentheses if it has one."""
        has_name = self.names and self.has_heading and self.names[column] != str(column + 1)
        return f"column {column + 1}" + (f" ({shown(self.names[column])})" if has_name else "")

    def of_width(self, where: str, fields: list[str]) -> list[str]:
        """Return a row without empty fields after the last column, as spreadsheets write them.

        Raises
        ------
        InstanceError
            If it has too many fields, or too few.
        """
        if len(fields) >= self.width and not any(map(str.strip, fields[self.width :])):
            return fields[: self.width]
        kind = "numbers" if len(self.roles.features) == self.width else "fields"
        says, hint = f"has {self.width}", ""
        if self.separator is None:
            says = f"says d = {self.width}"
            n_integers = 2 if self.k is None else 3  # of the first line
            hint = MISSING_FIRST_LINE if len(fields) == n_integers else ""
        raise InstanceError(
            f"{where}: the row has {len(fields)} {kind}; line {self.line} {says}{hint}"
        )


def layout_of(path: FilePath, file: TextIO, reading: Reading) -> FileLayout:
    """Return the columns of a file of points.

    Raises
    ------
    InstanceError
        If the first line states no columns, or not the chosen ones.
    """
    first = first_line(path, file, reading.delimiter, "points")
    where = f"{shown_path(path)}:{first.number}"
    if first.separator is None and reading.left_out:
        raise without_columns(path, reading.left_out)
    rows = rows_of(path, file, first.separator, first.number - 1)
    _, heading = next(rows)
    sample = [fields for _, fields in islice(rows, SAMPLE_ROWS)]
    names, has_heading, n, k = tuple[str, ...](), True, None, None
    if first.separator is None:
        width, n, k = _counts(where, first)
        roles = Roles(range(width))
    else:
        names = _filled(heading)
        has_heading = not _is_row(names)
        if not has_heading:
            widest = max(len(_filled(fields)) for fields in (heading, *sample))
            width = min(len(heading), widest)
            names, sample = tuple(str(j) for j in range(1, width + 1)), [heading, *sample]
        width = len(names)
        _check_named(where, names)
        roles = Roles.of(names, reading, f"{where}: ", has_index=width > 1 and not names[0])
    # A text may claim any width.
    known = (row[j] for row in sample for j in takewhile(len(row).__gt__, roles.features))
    decimal = reading.decimal or decimal_of(known)
    return FileLayout(
        path, first.number, width, roles, first.separator, has_heading, names, decimal, n, k
    )


def _counts(where: str, first: FirstLine) -> tuple[int, int, int | None]:
    """Return d, n and k as the first line of text states them."""
    line = first.line
    fields = line.split()
    if not is_counts(line):
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
    return d, n, k[0] if k else None


def _filled(fields: Sequence[str]) -> tuple[str, ...]:
    """Return the fields of a row of CSV but the empty ones at its end; the first one stays."""
    stripped = [field.strip() for field in fields]
    while len(stripped) > 1 and not stripped[-1]:
        stripped.pop()
    return tuple(stripped)


def _is_row(fields: Sequence[str]) -> bool:
    """Return whether a first line is a point, and not a heading.

    A frame of pandas without names has 0, 1, ... in its heading, after the unnamed index.
    """
    if fields[0] == "" and list(fields[1:]) == [str(j) for j in range(len(fields) - 1)]:
        return False
    return any(number_in(field, ".") is not None or is_comma_number(field) for field in fields)


def _check_named(where: str, names: Sequence[str]) -> None:
    """Raise the InstanceError if a column has no name.

    The first one may have none: it is the index that pandas writes.
    """
    if "" in (names[1:] or names):
        column = names.index("", min(1, len(names) - 1)) + 1
        raise InstanceError(
            f"{where}: column {column} has no name; expected one (only a first column with "
            "names or numbers of rows needs none)"
        )


def names_of_rows(layout: FileLayout, labels: list[str]) -> tuple[str, ...] | None:
    """Return the names of the rows from the fields of a column; None where they are numbered.

    Raises
    ------
    InstanceError
        If the column was asked for, and its fields are missing or repeat.

    Warns
    -----
    InstanceNote
        If the column has no name, and is taken as an index.
    """
    name = shown_path(layout.path)
    if layout.index_name:
        where = f"{name}: index_column = {layout.index_name!r}"
        return tuple(map(str, checked_names(labels, where)))
    if not any(labels):
        return None  # a spreadsheet whose first column is empty
    says = f"{name}: column 1 has no name and is used as an index"
    names = names_by_index([label or None for label in labels], says)
    return None if names is None else tuple(labels)
