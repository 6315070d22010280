"""Tables as records of text, from CSV, workbooks, Parquet and Feather alike.

Openpyxl reads workbooks, pyarrow Parquet and Feather. A sheet becomes CSV of the same lines.
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
        If openpyxl is not installed.
    """
    check_file(path)
    where = shown_path(path)
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise BackendUnavailable(
            f"{where}: workbooks are read by openpyxl, which is not installed; "
            f"{install_command('excel')}, or save the sheet as CSV",
            extra="excel",
        ) from None
    # Of a damaged archive, or one of something else, openpyxl raises whatever comes.
    with errors_as_one_line(path, "a workbook of Excel", (Exception,)):
        book = load_workbook(path, read_only=True, data_only=True)
        texts = {sheet.title: _csv(sheet) for sheet in book.worksheets}
        book.close()
    filled = [name for name, text in texts.items() if text.strip()]
    names = first_of(map(shown, filled), 10)
    if table is not None and table not in filled:
        raise InstanceError(
            f"{where}: table = {shown(table)}: there is no such sheet with cells; expected one of "
            f"{names}"
        )
    if not filled:
        raise InstanceError(f"{where}: the workbook is empty; expected points")
    if table is None and len(filled) > 1:
        warn_caller(
            f"{where}: the sheet {shown(filled[0])} is read, the first one of {names}; --table "
            "selects another",
            InstanceNote,
        )
    return texts[table or filled[0]]


def _csv(sheet: Any) -> str:
    """Return the cells of a sheet as CSV, each row on its line."""
    sheet.reset_dimensions()  # which may be wrong
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    for row in sheet.iter_rows(values_only=True):
        fields = list(map(_field, row))
        while fields and not fields[-1]:
            fields.pop()
        writer.writerow(fields)
    return stream.getvalue()


def _field(value: Any) -> str:
    """Return a cell as a field of CSV: floats to the last bit, and all of it on one line."""
    if isinstance(value, float):
        return repr(value)
    return "" if value is None else " ".join(str(value).split())


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
