"""Files of points in workbooks of Excel, by pandas and openpyxl.

A sheet becomes CSV of the same lines, and is read as such: messages name its rows.
"""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

from sdpbb.errors import BackendUnavailable, InstanceError, InstanceNote, warn_caller
from sdpbb.problem.files.points_text import read_opened
from sdpbb.problem.table import PointTable
from sdpbb.problem.textfile import check_file, errors_as_one_line, first_of, shown
from sdpbb.runtime.extras import install_command
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.reading import Reading
from sdpbb.runtime.values import is_missing

SUFFIXES = (".xlsx", ".xlsm")


def read(path: FilePath, reading: Reading) -> PointTable:
    """Return the points of a file, as `sdpbb.problem.files.points.read_points` does."""
    text = _text(path, reading.table)
    as_csv = replace(reading, separator=",", encoding=None, table=None)
    return read_opened(path, lambda: io.StringIO(text), as_csv)


def opened(path: FilePath, table: str | None) -> io.StringIO:
    """Open a sheet as CSV with commas, whose lines have the numbers of its rows.

    Raises
    ------
    InstanceError
        If the file is not a workbook, or has no such sheet.
    BackendUnavailable
        If pandas or openpyxl is not installed.
    """
    return io.StringIO(_text(path, table))


def _text(path: FilePath, table: str | None) -> str:
    sheet = _sheet(path, table)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for row in sheet.itertuples(index=False, name=None):
        writer.writerow([_field(value) for value in row])
    return stream.getvalue()


def _sheet(path: FilePath, table: str | None) -> Any:
    """Return the cells of a sheet as a frame of objects, nan where they are empty."""
    check_file(path)
    try:
        import openpyxl  # noqa: F401
        import pandas
    except ImportError:
        raise BackendUnavailable(
            f"{shown_path(path)}: workbooks are read by pandas and openpyxl, which are not both "
            f"installed; {install_command('excel')}, or save the sheet as CSV",
            extra="excel",
        ) from None
    # Of a damaged archive, or one of something else, openpyxl raises whatever comes.
    with errors_as_one_line(path, "a workbook of Excel", (Exception,)):
        sheets = pandas.read_excel(
            path,
            sheet_name=None,
            header=None,
            dtype=object,
            keep_default_na=False,
            na_values=[""],
            engine="openpyxl",
        )
    filled = {str(name): sheet for name, sheet in sheets.items() if sheet.size}
    names = first_of(map(shown, filled), 10)
    if table is not None:
        if table not in filled:
            raise InstanceError(
                f"{shown_path(path)}: table = {shown(table)}: there is no such sheet with cells; "
                f"expected one of {names}"
            )
        return filled[table]
    if not filled:
        raise InstanceError(f"{shown_path(path)}: the workbook is empty; expected points")
    name, sheet = next(iter(filled.items()))
    if len(filled) > 1:
        warn_caller(
            f"{shown_path(path)}: the sheet {shown(name)} is read, the first one of "
            f"{names}; --table selects another",
            InstanceNote,
        )
    return sheet


def _field(value: Any) -> str:
    """Return a cell as a field of CSV: floats to the last bit, and all of it on one line."""
    if is_missing(value):
        return ""
    if isinstance(value, float):
        return repr(float(value))
    return " ".join(str(value).split())
