"""Files of points in text: CSV, and rows of numbers under a first line `n d k`.

Rows of finite numbers are read fast, without a look at what each field is. At the first other row
the whole file is asked for decimal commas and for columns that are not empty, and is read again.
Then rows that are not plain are read field by field: for values that are missing, or the first
field at fault.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.files.columns import (
    FileLayout,
    advice_on_text,
    layout_of,
    names_of_rows,
)
from sdpbb.problem.files.separated import decimal_of, is_comma_number, number_hint, number_in
from sdpbb.problem.integers import inexact_integer, inexact_integer_message, may_be_inexact
from sdpbb.problem.table import REMEDY, PointTable, check_columns
from sdpbb.problem.textfile import is_missing_word, open_text, shown
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.reading import Reading
from sdpbb.runtime.values import counted

Opened = Callable[[], AbstractContextManager[TextIO]]
"""The text of a file, opened."""


def read_text(path: FilePath, reading: Reading) -> PointTable:
    """Return the points of a file, as `sdpbb.problem.files.points.read_points` does."""
    return read_opened(path, lambda: open_text(path, reading.encoding), reading)


def read_opened(path: FilePath, opened: Opened, reading: Reading) -> PointTable:
    """Return the points of text; missing values are nan, where the reading knows what to do.

    path : of the file, for messages
    """
    with opened() as file:
        encoding = file.encoding or "utf-8"  # a sheet that became text has none
        layout = layout_of(path, file, reading)
        reader = _RowReader(path, layout, reading)
        points, texts = reader.load(file)
        layout = reader.layout
    if may_be_inexact(points):
        with opened() as file:
            _check_integers(path, file, layout)
    return PointTable(
        points,
        layout.k,
        None if layout.index is None else names_of_rows(layout, texts[layout.index]),
        feature_names=layout.feature_names,
        index_name=layout.index_name,
        known_classes=None if layout.classes is None else texts[layout.classes],
        categories={layout.name_of(column): texts[column] for column in layout.categories},
        separator=layout.separator or "",
        encoding=encoding,
    )


Texts = dict[int, list[str]]
"""Fields of the columns of text, by the positions of these."""


def _add(texts: Texts, fields: Sequence[str]) -> None:
    """Add the fields of a row; what a row lacks is empty."""
    for column, own in texts.items():
        own.append(fields[column].strip() if column < len(fields) else "")


def _plain(layout: FileLayout, line: str, fields: Sequence[str]) -> list[float] | None:
    """Return the features of a row of finite numbers in all columns; None of another row."""
    if len(fields) != layout.width:
        return None
    if layout.blank and any(fields[column].strip() for column in layout.blank):
        return None
    if len(layout.features) < layout.width:
        fields = [fields[column] for column in layout.features]
    if layout.decimal == ",":
        if any("." in field for field in fields):
            return None
        fields = [field.replace(",", ".") for field in fields]
    # Python's float() makes numbers of digits of all alphabets, and of underscores, too.
    is_plain = line.isascii() and "_" not in line
    if not is_plain and any(number_in(field, ".") is None for field in fields):
        return None
    try:
        row = list(map(float, fields))
    except ValueError:
        return None
    return row if math.isfinite(sum(row)) else None  # a sum that overflows is for the other way


class _RowReader:
    """Reading of the rows of a file, which finds missing values, or raises what is wrong.

    layout : as it turns out to be: whether decimals have commas, which columns are empty
    """

    def __init__(self, path: FilePath, layout: FileLayout, reading: Reading) -> None:
        self.path, self.layout, self.reading = path, layout, reading
        self.name = shown_path(path)
        self._is_settled = False
        self._first_missing: tuple[int, int, str] | None = None

    def load(self, file: TextIO) -> tuple[NDArray[np.float64], Texts]:
        """Return the points (n, d), nan where a value is missing, and the columns of text.

        Memory follows the rows that are there, not the sizes that the first line claims.

        Raises
        ------
        InstanceError
            For the first row at fault, and for missing values that are to be refused.
        """
        layout, values, count = self.layout, array("d"), 0
        texts: Texts = {column: [] for column in layout.texts}
        for number, line, fields in layout.rows(file):
            row = None if count == layout.n else _plain(layout, line, fields)
            if row is None and not self._is_settled:
                self._settle(file)
                return self.load(file)
            if row is None and not any(map(str.strip, fields)):
                continue  # spreadsheets write what was once filled
            if count == layout.n:
                raise InstanceError(
                    f"{self.name}:{number}: one row too many; line {layout.line} says "
                    f"n = {layout.n}"
                )
            values.extend(self._row(file, number, fields) if row is None else row)
            _add(texts, fields)
            count += 1
        if layout.n is not None and count != layout.n:
            raise InstanceError(
                f"{self.name}:{layout.line}: says n = {layout.n}, but the file has {count} rows of "
                "points"
            )
        if not count:
            self._settle(file)
            raise InstanceError(
                f"{self.name}:{layout.line}: no rows after the heading; expected points"
            )
        # Without any feature where all columns are text.
        points = np.frombuffer(values).reshape(count, -1) if values else np.empty((count, 0))
        if self._first_missing is not None and self.reading.missing is None:
            at, column, field = self._first_missing
            n_rows = int(np.isnan(points).any(axis=1).sum())
            raise InstanceError(
                f"{self.name}:{at}: column {column + 1}{layout.called(column)} is "
                f"{shown(field)}, and {counted(n_rows, 'row')} of {count} "
                f"{'lacks' if n_rows == 1 else 'lack'} a value; expected {REMEDY}"
            )
        return points, texts

    def _settle(self, file: TextIO) -> None:
        """Ask all rows for decimal commas and empty columns, and check the chosen column."""
        self._is_settled = True
        if self._has_decimal_commas(file):
            self.layout = replace(self.layout, decimal=",")
        self._check_blank(file)
        if self.layout.is_csv:
            chosen = [("weight_column", self.reading.weight_column)]
            check_columns(self.layout.feature_names, chosen, f"{self.name}: ")

    def _row(self, file: TextIO, number: int, fields: Sequence[str]) -> list[float]:
        """Return the features of a row, nan where a value is missing."""
        layout, where, row = self.layout, f"{self.name}:{number}", list[float]()
        layout.check_width(where, fields)
        for column, field in layout.chosen(fields):
            value = number_in(field, layout.decimal)
            if value is not None and math.isfinite(value):
                row.append(value)
            elif is_missing_word(field):
                self._first_missing = self._first_missing or (number, column, field)
                row.append(math.nan)
            else:
                raise self._no_number(file, where, column, field)
        return row

    def _has_decimal_commas(self, file: TextIO) -> bool:
        if self.layout.decimal != "." or self.reading.decimal is not None:
            return False
        fields = (
            field for _, _, row in self.layout.rows(file) for _, field in self.layout.chosen(row)
        )
        return decimal_of(fields) == ","

    def _check_blank(self, file: TextIO) -> None:
        """Make features of columns at the end that looked empty, and are not."""
        layout = self.layout
        for number, _, fields in layout.rows(file):
            for column in layout.blank:
                if column < len(fields) and fields[column].strip():
                    if layout.names is not None:
                        raise InstanceError(
                            f"{self.name}:{number}: column {column + 1} is "
                            f"{shown(fields[column])}, and has no name in line {layout.line}; "
                            "expected one"
                        )
                    features = sorted([*layout.features, *layout.blank])
                    self.layout = replace(layout, blank=(), features=features)
                    return

    def _no_number(self, file: TextIO, where: str, column: int, field: str) -> InstanceError:
        layout = self.layout
        hint = number_hint(field, layout.decimal)
        if layout.decimal == "." and is_comma_number(field) and self.reading.decimal is None:
            hint = f"{hint}; the file does not say which" if layout.is_csv else hint
        if layout.is_csv and layout.name_of(column) == self.reading.weight_column:
            return InstanceError(
                f"{where}: weight_column = {shown(layout.name_of(column))} is {shown(field)}; "
                f"expected a finite number above 0{hint}"
            )
        is_nearly = any(map(str.isdigit, field)) and ("," in field or "separators" in hint)
        also = "" if is_nearly and hint else advice_on_text(file, layout, column)
        return InstanceError(
            f"{where}: column {column + 1}{layout.called(column)} is {shown(field)}; "
            f"expected a finite number{hint}{also}"
        )


def _check_integers(path: FilePath, file: TextIO, layout: FileLayout) -> None:
    """Raise the InstanceError for the first integer that no float is."""
    for number, _, fields in layout.rows(file):
        for column, field in layout.chosen(fields):
            if (integer := inexact_integer(field)) is not None:
                where = f"{shown_path(path)}:{number}: column {column + 1}"
                raise InstanceError(f"{where} {inexact_integer_message(integer)}")
