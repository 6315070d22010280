"""Tables as records of text, from CSV, workbooks, Parquet and Feather alike.

Pandas and openpyxl read workbooks, pyarrow Parquet and Feather. A sheet becomes CSV of the same
lines.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from sdpbb.errors import BackendUnavailable, InstanceError, InstanceNote, warn_caller
from sdpbb.problem.files.separated import first_line, rows_of
from sdpbb.problem.textfile import (
    check_file,
    chunks,
    errors_as_one_line,
    file_suffix,
    first_of,
    open_text,
    shown,
)
from sdpbb.runtime.extras import install_command
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.values import is_missing

SHEETS = (".xlsx", ".xlsm")
FEATHER = (".feather", ".arrow", ".ipc")
TABLES_OF_COLUMNS = (".parquet", ".pq", *FEATHER)
"""Suffixes of workbooks, and of Parquet and Feather files."""


@dataclass(frozen=True)
class Records:
    """Records of a table, a heading among them if it has one.

    lines : the line of each, from 1; rows : their fields, without blanks around them
    """

    path: FilePath
    lines: Sequence[int]
    rows: list[Sequence[str]]

    def where(self, record: int) -> str:
        """Return the place of a record, for messages."""
        return f"{shown_path(self.path)}:{self.lines[record]}"

    def column(self, position: int, start: int = 0) -> list[str]:
        """Return the fields at a position, "" where a record has none, from a record on."""
        return [row[position] if position < len(row) else "" for row in self.rows[start:]]


def is_table(path: FilePath) -> bool:
    """Return whether a file's name says that it is a workbook, Parquet or Feather."""
    return file_suffix(path) in (*SHEETS, *TABLES_OF_COLUMNS)


def read_records(
    path: FilePath,
    encoding: str | None = None,
    expected: str = "a table",
    keeps_blank_lines: bool = False,
) -> Records:
    """Return the records of a table but the empty ones.

    Fields at the end of a record that hold nothing are left out where all records have them.

    keeps_blank_lines : of text without separators, whose records are a field each

    Raises
    ------
    InstanceError
        One line: the file, the line number, what is wrong and what would be right.
    BackendUnavailable
        If a package that reads the file is not installed.
    """
    suffix = file_suffix(path)
    if suffix in TABLES_OF_COLUMNS:
        return _of_columns(path)
    is_sheet = suffix in SHEETS
    lines: list[int] = []
    rows: list[Sequence[str]] = []
    with io.StringIO(sheet_text(path)) if is_sheet else open_text(path, encoding) as file:
        first = first_line(path, file, "," if is_sheet else None, expected)
        if first.separator is None:
            return _of_lines(path, file, keeps_blank_lines)
        for number, fields in rows_of(path, file, first.separator, first.number - 1):
            row = [field.strip() for field in fields]
            if any(row):
                lines.append(number)
                rows.append(row)
    width = max(map(_filled, rows), default=0)
    is_wide = any(len(row) > width for row in rows)
    return Records(path, lines, [row[:width] for row in rows] if is_wide else rows)


def _of_columns(path: FilePath) -> Records:
    """Return the names of the columns, and the values of each row, as text; "" for none."""
    table = arrow_table(path)
    columns = [
        ["" if is_missing(value) else str(value) for value in column.to_pylist()]
        for column in table.columns
    ]
    rows: list[Sequence[str]] = [list(table.column_names), *zip(*columns, strict=True)]
    return Records(path, range(1, len(rows) + 1), rows)


def _of_lines(path: FilePath, file: TextIO, keeps_blank_lines: bool) -> Records:
    """Return the records of text without separators, a field each."""
    file.seek(0)
    # Of a million lines, few are different.
    known: dict[str, tuple[str]] = {}
    rows = list[Sequence[str]]()
    for _, chunk in chunks(file):
        for line in set(chunk) - known.keys():
            field = line.strip()
            is_quoted = len(field) > 1 and field[0] == field[-1] == '"'
            known[line] = (field[1:-1] if is_quoted else field,)
        rows += [known[line] for line in chunk]
    numbers = range(1, len(rows) + 1)
    if keeps_blank_lines or all(row[0] for row in known.values()):
        return Records(path, numbers, rows)
    lines = [number for number, row in zip(numbers, rows, strict=True) if row[0]]
    return Records(path, lines, [row for row in rows if row[0]])


def _filled(row: Sequence[str]) -> int:
    return max(column for column, field in enumerate(row, start=1) if field)


def sheet_text(path: FilePath, table: str | None = None) -> str:
    """Return a sheet as CSV with commas, whose lines have the numbers of its rows.

    table : the name of the sheet; None: the first one with cells

    Raises
    ------
    InstanceError
        If the file is not a workbook, or has no such sheet.
    BackendUnavailable
        If pandas or openpyxl is not installed.
    """
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


def arrow_table(path: FilePath) -> Any:
    """Return the table of pyarrow that a Parquet or Feather file holds.

    Raises
    ------
    InstanceError
        If the file is not one.
    BackendUnavailable
        If pyarrow is not installed.
    """
    check_file(path)
    is_feather = file_suffix(path) in FEATHER
    kind = "a Feather file" if is_feather else "a Parquet file"
    try:
        import pyarrow
        from pyarrow import feather, parquet
    except ImportError:
        raise BackendUnavailable(
            f"{shown_path(path)}: {kind.split()[1]} is read by pyarrow, which is not installed; "
            f"{install_command('parquet')}, or write the file as CSV",
            extra="parquet",
        ) from None
    with errors_as_one_line(path, kind, (pyarrow.ArrowException, ValueError)):
        if is_feather:
            table = feather.read_table(path, use_threads=False, memory_map=False)
        else:
            table = _row_groups(parquet.ParquetFile(path))
        table.validate(full=True)  # text that is not UTF-8 would be detected too late
        return table


def _row_groups(file: Any) -> Any:
    """Return the table of a Parquet file; Ctrl-C is heard between two of its row groups."""
    import pyarrow

    groups = [file.read_row_group(i, use_threads=False) for i in range(file.num_row_groups)]
    return pyarrow.concat_tables([file.schema_arrow.empty_table(), *groups])
