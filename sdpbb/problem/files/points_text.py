"""Files of points in text: CSV, and rows of numbers under a first line `n d k`.

Rows of finite numbers are read fast. Other rows are read field by field: for values that are
missing, or the first field at fault.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.files.columns import FileLayout, layout_of, names_of_rows
from sdpbb.problem.files.separated import number_hint, number_in
from sdpbb.problem.integers import inexact_integer, inexact_integer_message, may_be_inexact
from sdpbb.problem.table import REMEDY, PointTable, advice_on_text
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
        reader = _RowReader(layout, reading)
        points = reader.load(file)
        if may_be_inexact(points):
            _check_integers(file, layout)
    roles, texts = layout.roles, reader.texts
    return PointTable(
        points,
        layout.k,
        None if roles.index is None else names_of_rows(layout, texts[roles.index]),
        feature_names=layout.feature_names,
        index_name=layout.index_name,
        known_classes=None if roles.classes is None else texts[roles.classes],
        categories={layout.names[column]: texts[column] for column in roles.categories},
        separator=layout.separator or "",
        encoding=encoding,
    )


class _RowReader:
    """Reading of the rows of a file, which finds missing values, or raises what is wrong.

    texts : the fields of the columns of text, by the positions of these
    """

    def __init__(self, layout: FileLayout, reading: Reading) -> None:
        self.layout, self.reading = layout, reading
        self.name = shown_path(layout.path)
        self.texts: dict[int, list[str]] = {column: [] for column in layout.roles.texts}
        self._first_missing = ""

    def load(self, file: TextIO) -> NDArray[np.float64]:
        """Return the points (n, d), nan where a value is missing.

        Memory follows the rows that are there, not the sizes that the first line claims.

        Raises
        ------
        InstanceError
            For the first row at fault, and for missing values that are to be refused.
        """
        layout, values, count = self.layout, array("d"), 0
        for number, fields in layout.rows(file):
            row = self._plain(fields) if len(fields) == layout.width else None
            if row is None and not any(map(str.strip, fields)):
                continue  # spreadsheets write what was once filled
            if count == layout.n:
                raise InstanceError(
                    f"{self.name}:{number}: one row too many; line {layout.line} says "
                    f"n = {layout.n}"
                )
            values.fromlist(self._checked(number, fields) if row is None else row)
            for column, texts in self.texts.items():
                texts.append(fields[column].strip())
            count += 1
        if layout.n not in (None, count):
            raise InstanceError(
                f"{self.name}:{layout.line}: says n = {layout.n}, but the file has {count} rows of "
                "points"
            )
        if not count:
            raise InstanceError(
                f"{self.name}:{layout.line}: no rows after the heading; expected points"
            )
        # Without any feature where all columns are text.
        points = np.frombuffer(values).reshape(count, -1) if values else np.empty((count, 0))
        if self._first_missing and self.reading.missing is None:
            n_rows = int(np.isnan(points).any(axis=1).sum())
            raise InstanceError(
                f"{self._first_missing}, and {counted(n_rows, 'row')} of {count} "
                f"{'lacks' if n_rows == 1 else 'lack'} a value; expected {REMEDY}"
            )
        return points

    def _plain(self, fields: Sequence[str]) -> list[float] | None:
        """Return the features of a row if all of them are finite numbers; None of another row."""
        layout = self.layout
        if len(layout.roles.features) < layout.width:
            fields = [fields[column] for column in layout.roles.features]
        text = "".join(fields)
        # Python's float() makes numbers of digits of all alphabets, and of underscores, too.
        if not text.isascii() or "_" in text:
            return None
        if layout.decimal == ",":
            if "." in text:
                return None
            fields = [field.replace(",", ".") for field in fields]
        try:
            row = list(map(float, fields))
        except ValueError:
            return None
        return row if math.isfinite(sum(row)) else None  # or a sum that overflows

    def _checked(self, number: int, fields: list[str]) -> list[float]:
        """Return the features of a row, nan where a value is missing."""
        layout, where, row = self.layout, f"{self.name}:{number}", list[float]()
        fields = layout.of_width(where, fields)
        for column in layout.roles.features:
            field = fields[column]
            value = number_in(field, layout.decimal)
            if value is not None and math.isfinite(value):
                row.append(value)
            elif is_missing_word(field):
                says = f"{where}: {layout.called(column)} is {shown(field)}"
                self._first_missing = self._first_missing or says
                row.append(math.nan)
            else:
                raise self._no_number(where, column, field)
        return row

    def _no_number(self, where: str, column: int, field: str) -> InstanceError:
        layout = self.layout
        name = layout.names[column] if layout.names else ""
        hint = number_hint(field, layout.decimal)
        if name and name == self.reading.weight_column:
            return InstanceError(
                f"{where}: weight_column = {shown(name)} is {shown(field)}; expected a finite "
                f"number above 0{hint}"
            )
        more = advice_on_text(name) if name and not hint else ""
        if not layout.has_heading and where == f"{self.name}:{layout.line}":
            more += "; a heading has no numbers"
        return InstanceError(
            f"{where}: {layout.called(column)} is {shown(field)}; expected a finite "
            f"number{hint}{more}"
        )


def _check_integers(file: TextIO, layout: FileLayout) -> None:
    """Raise the InstanceError for the first integer that no float is."""
    for number, fields in layout.rows(file):
        for column in layout.roles.features if any(map(str.strip, fields)) else ():
            if (integer := inexact_integer(fields[column])) is not None:
                where = f"{shown_path(layout.path)}:{number}: column {column + 1}"
                raise InstanceError(f"{where} {inexact_integer_message(integer)}")
