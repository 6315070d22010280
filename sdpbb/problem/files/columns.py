"""Columns and rows of a file of points in text, as its first line states them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TextIO

from sdpbb.errors import InstanceError, InstanceNote, warn_caller
from sdpbb.problem.files.separated import (
    FirstLine,
    fields_of,
    first_line,
    is_comma_number,
    is_counts,
    number_in,
    rows_of,
)
from sdpbb.problem.table import (
    CORRECTION,
    check_columns,
    checked_names,
    index_names,
    without_columns,
)
from sdpbb.problem.textfile import (
    first_of,
    is_missing_word,
    is_number,
    shown,
)
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.reading import Reading

MISSING_FIRST_LINE = "; is the line n d k missing?"

MOST_NAMED = 6
"""Number of columns of text that a message names."""


@dataclass(frozen=True)
class FileLayout:
    """Columns and rows of a file, as its first line that is not blank states them.

    path : of the file
    line : the number of that line, from 1
    skip : the number of lines before the first row
    width : the number of fields of a row
    separator : of the fields of CSV; None for text
    decimal : what decimals begin with
    n, k : the numbers of points and of clusters, where text states them
    features : the positions of the features, ascending
    names : (width,) of the columns: from a heading or, if columns are chosen, their numbers
    index : the position of the column that names the rows, if one does
    classes : the position of the column that holds known classes of the rows, if one does
    categories : the positions of the columns that hold categories of the rows
    blank : the positions of columns at the end that have no name and hold nothing
    """

    path: FilePath
    line: int
    skip: int
    width: int
    features: Sequence[int]
    separator: str | None = None
    decimal: str = "."
    n: int | None = None
    k: int | None = None
    names: list[str] | None = None
    index: int | None = None
    classes: int | None = None
    categories: tuple[int, ...] = ()
    blank: tuple[int, ...] = ()

    @property
    def is_csv(self) -> bool:
        return self.separator is not None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features: of a heading, or the numbers of columns without one."""
        if not self.is_csv:
            return ()
        return tuple(map(self.name_of, self.features))

    def name_of(self, column: int) -> str:
        """Return the name of a column of CSV: from the heading, or its number without a heading."""
        has_name = self.names is not None and column < len(self.names)  # a row may be too long
        return self.names[column] if has_name and self.names else str(column + 1)

    @property
    def texts(self) -> tuple[int, ...]:
        """Positions of the columns whose fields are texts."""
        named = (self.index, self.classes, *self.categories)
        return tuple(column for column in named if column is not None)

    @property
    def index_name(self) -> str:
        """Name of the column that names the rows; "" for a first column without a name."""
        return "" if self.index is None or self.names is None else self.names[self.index]

    def rows(self, file: TextIO) -> Iterator[tuple[int, str, list[str]]]:
        """Return the rows, as `rows_of` yields them."""
        return rows_of(self.path, file, self.separator, self.skip)

    def chosen(self, fields: Sequence[str]) -> list[tuple[int, str]]:
        """Return the positions and fields of the features in a row, as far as it has them."""
        there = takewhile(len(fields).__gt__, self.features)  # a text may claim any width
        return [(column, fields[column]) for column in there]

    def called(self, column: int) -> str:
        """Return the name of a column in parentheses, after a blank; "" if it has none."""
        has_name = self.names is not None and self.names[column] != str(column + 1)
        return f" ({shown(self.names[column])})" if has_name and self.names else ""

    def check_width(self, where: str, fields: Sequence[str]) -> None:
        """Raise the InstanceError if a row has too many fields, or too few."""
        if self.width - len(self.blank) <= len(fields) <= self.width:
            return
        hint, kind, says = "", "fields", f"has {self.width}"
        if not self.is_csv:
            kind, says = "numbers", f"says d = {self.width}"
            n_integers = 2 if self.k is None else 3  # of the first line
            hint = MISSING_FIRST_LINE if len(fields) == n_integers else ""
        elif len(self.features) == self.width:
            kind = "numbers"
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
    if first.separator is None:
        if reading.left_out:
            raise without_columns(path, reading.left_out)
        return _text_columns(path, where, first)
    layout = _csv_columns(path, first, reading)
    if not layout.features and not layout.categories:
        raise InstanceError(f"{where}: no feature columns remain; expected at least one")
    return layout


def _text_columns(path: FilePath, where: str, first: FirstLine) -> FileLayout:
    number, line = first.number, first.line
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
    return FileLayout(path, number, number, d, range(d), n=n, k=k[0] if k else None)


def _csv_columns(path: FilePath, first: FirstLine, reading: Reading) -> FileLayout:
    """Return the columns of CSV."""
    assert first.separator is not None
    where = f"{shown_path(path)}:{first.number}"
    names = [field.strip() for field in fields_of(first.line, first.separator)]
    width, n_named = len(names), len(names)
    while n_named > 1 and not names[n_named - 1]:
        n_named -= 1
    is_row = _is_row(names[:n_named])
    if is_row and not reading.left_out:
        _check_row(where, names[:n_named])
    if is_row:
        names = [str(j) for j in range(1, width + 1)]
    layout = FileLayout(
        path,
        first.number,
        first.number - 1 if is_row else first.last,
        width,
        range(width),
        first.separator,
        reading.decimal or ".",
        names=None if is_row and not reading.left_out else names,
        blank=tuple(range(n_named, width)),
    )
    return _with_chosen(layout, where, names, reading)


def _with_chosen(layout: FileLayout, where: str, names: list[str], reading: Reading) -> FileLayout:
    """Return a layout with the columns that are no features left out."""
    named = names[: layout.width - len(layout.blank)]
    unnamed = 0 if len(named) > 1 and not named[0] else None
    _check_names(where, named)
    check_columns(named, reading.left_out, f"{where}: ")
    left_out = {*layout.blank, *(named.index(column) for _, column in reading.left_out)}
    index = None if reading.index_column is None else named.index(reading.index_column)
    classes = None if reading.class_column is None else named.index(reading.class_column)
    if unnamed is not None and unnamed not in left_out:
        left_out.add(unnamed)
        index = unnamed if index is None else index
    features = [column for column in range(layout.width) if column not in left_out]
    return replace(
        layout,
        features=features,
        index=index,
        classes=classes,
        categories=tuple(named.index(column) for column in reading.category_weights),
    )


def _is_row(fields: Sequence[str]) -> bool:
    """Return whether a first line is a point, and not a heading.

    A frame of pandas without names has 0, 1, ... in its heading, after the unnamed index.
    """
    if fields[0] == "" and list(fields[1:]) == [str(j) for j in range(len(fields) - 1)]:
        return False
    return any(map(_is_any_number, fields))


def _is_any_number(field: str) -> bool:
    return number_in(field, ".") is not None or is_comma_number(field)


def _check_row(where: str, fields: Sequence[str]) -> None:
    """Raise the InstanceError if a first line has numbers and something else."""
    for column, field in enumerate(fields):
        if not _is_any_number(field) and not is_missing_word(field):
            raise InstanceError(
                f"{where}: column {column + 1} is {shown(field)} beside numbers; expected a row "
                f"of numbers, or a heading without numbers, or --drop {column + 1} to ignore the "
                "column"
            )


def _check_names(where: str, names: Sequence[str]) -> None:
    """Raise the InstanceError if a column has no name.

    The first one may have none: it is the index that pandas writes.
    """
    nameless = [column for column, name in enumerate(names, start=1) if not name]
    if nameless and (nameless[-1] > 1 or len(names) == 1):
        raise InstanceError(
            f"{where}: column {nameless[-1]} has no name; expected one (only a first column with "
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
    if layout.index is None:
        return None
    name = shown_path(layout.path)
    if layout.index_name:
        where = f"{name}: index_column = {layout.index_name!r}"
        return tuple(map(str, checked_names(labels, where)))
    if not any(labels):
        return None  # a spreadsheet whose first column is empty
    says = f"{name}: column 1 has no name and is used as an index"
    try:
        names = index_names([label or None for label in labels], name)
    except InstanceError:
        _note(f"{says} that is not a feature; its values repeat, so rows are numbered from 0")
        return None
    if names is None:
        _note(f"{says}, which counts the rows from 0; it is not a feature")
        return None
    _note(f"{says}, whose values name the rows: {first_of(map(shown, labels), 3)}")
    return tuple(labels)


def advice_on_text(file: TextIO, layout: FileLayout, column: int) -> str:
    """Return the end of a message on a cell of text.

    It is to be corrected if most cells of its column are numbers. Otherwise the column is to be
    left out, with others like it.
    """
    if not layout.is_csv or column >= layout.width:
        return ""
    n_numbers, n_texts = Counter[int](), Counter[int]()
    values: list[str] = []
    for _, _, fields in layout.rows(file):
        for j, field in layout.chosen(fields):
            number = number_in(field, ".")
            is_finite = is_comma_number(field) if number is None else math.isfinite(number)
            n_numbers[j] += is_finite
            n_texts[j] += not is_finite and not is_missing_word(field)
            if j == column:
                values.append(field.strip())
    n = len(values)
    if 2 * n_numbers[column] > n:
        rows = f"{n_numbers[column]:,} of {n:,} rows"
        return f", as in {rows}: {CORRECTION}"
    if layout.names is None:
        return ""
    like_it = {j for j in n_texts if n_texts[j] > n_numbers[j] and j < layout.width}
    dropped = sorted({column, *like_it})
    options = " ".join(f"--drop {shown(layout.names[j])}" for j in dropped[:MOST_NAMED])
    more = " ..." if len(dropped) > MOST_NAMED else ""
    what = "the column" if len(dropped) == 1 else "such columns"
    hint = f", or to leave {what} out ({options}{more})"
    name = shown(layout.names[column])
    if n > 2 and len(set(values)) == n and layout.index is None:
        hint += f", or to take {name} as names of rows (--index-column {name})"
    elif 2 * len(set(values)) <= n:
        hint += f", or to make columns of 0 and 1 of its categories (--one-hot {name})"
    return hint


def _note(message: str) -> None:
    warn_caller(message, InstanceNote)
