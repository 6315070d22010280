"""Tables of text from every kind of file: CSV, plain lines, workbooks, Parquet and Feather.

Openpyxl reads workbooks, pyarrow Parquet and Feather. A row is its line and its fields as text.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TextIO

from sdpbb.errors import BackendUnavailable, InstanceError, InstanceNote, warn_caller
from sdpbb.problem.textfile import (
    check_file,
    errors_as_one_line,
    file_suffix,
    first_of,
    is_integer,
    open_text,
    shown,
    without_comment,
)
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.version import install_command

ARRAYS = (".npy", ".npz")
SHEETS = (".xlsx", ".xlsm")
FEATHER = (".feather", ".arrow", ".ipc")
TABLES_OF_COLUMNS = (".parquet", ".pq", *FEATHER)
"""Suffixes of arrays, of workbooks, and of Parquet and Feather files."""

CSV_SUFFIXES = (".csv", ".tsv", ".tab")
SEPARATORS = "\t;|,"
"""Characters that separate fields, the ones first that hardly appear in these."""

SAMPLE = 20
"""Number of lines that are looked at for the separator."""

BATCH = 10_000
"""Rows of Parquet and Feather that become text together."""

Row = tuple[int, list[str]]
"""The line of a row, from 1, and its fields."""


@dataclass(frozen=True)
class TextTable:
    """Rows of a file, the heading among them if it has one.

    rows : to be read once, empty ones among them
    separator : of the fields, a comma for a workbook; "" for columns without lines; None if each
        line is one field
    encoding : of the file, as Python calls it
    n_index : number of the first columns that hold the index of a data frame
    """

    path: FilePath
    rows: Iterator[Row]
    separator: str | None = ","
    encoding: str = "utf-8"
    n_index: int = 0


def is_table(path: FilePath) -> bool:
    """Return whether a file's name says that it is a workbook, Parquet or Feather."""
    return file_suffix(path) in (*SHEETS, *TABLES_OF_COLUMNS)


@contextmanager
def opened_table(
    path: FilePath,
    separator: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
) -> Iterator[TextTable]:
    """Open a file as a table.

    Parameters
    ----------
    separator : of the fields; None to tell by the first lines
    encoding : of text without a byte order mark; None for UTF-8
    sheet : of a workbook; None for the first one with cells

    Raises
    ------
    InstanceError
        On opening, or for what is read within the block: one line.
    BackendUnavailable
        If a package that reads the file is not installed.
    """
    suffix = file_suffix(path)
    if suffix in SHEETS:
        yield TextTable(path, iter(_sheet(path, sheet)))
    elif suffix in TABLES_OF_COLUMNS:
        columns, n_index, table = _arrow_table(path)
        yield TextTable(path, chain([(1, columns)], _arrow_rows(table)), "", n_index=n_index)
    else:
        with open_text(path, encoding) as file:
            chosen, start, lines = _separated(path, file, separator)
            yield TextTable(path, _rows(path, lines, start, chosen), chosen, file.encoding)


def read_rows(path: FilePath, encoding: str | None = None) -> list[Row]:
    """Return all rows of a table that are not empty, their fields without blanks around them.

    Rows are as wide as the first one. Errors are those of `opened_table`, and for a row that is
    wider.
    """
    with opened_table(path, encoding=encoding) as table:
        stripped = ((line, [field.strip() for field in fields]) for line, fields in table.rows)
        rows = [(line, fields) for line, fields in stripped if any(fields)]
    width = len(filled(rows[0][1])) if rows else 0
    for line, fields in rows:
        if len(filled(fields)) > width:
            raise InstanceError(
                f"{shown_path(path)}:{line}: the row has {len(fields)} fields; line {rows[0][0]} "
                f"has {width}"
            )
        fields[width:] = [""] * (width - len(fields))
    return rows


def filled(fields: Sequence[str]) -> list[str]:
    """Return the fields of a row but the empty ones at its end; the first one stays."""
    stripped = [field.strip() for field in fields]
    while len(stripped) > 1 and not stripped[-1]:
        stripped.pop()
    return stripped


def fields_of(line: str, separator: str) -> list[str]:
    """Return the fields of a line of CSV."""
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:  # an unreasonably long field: not a number in any case
        return line.split(separator)


def is_counts(line: str) -> bool:
    """Return whether a line may be the first one, `n d k` or `n d`, of text."""
    fields = line.split()
    return len(fields) in (2, 3) and all(map(is_integer, fields))


def _separated(
    path: FilePath, file: TextIO, separator: str | None
) -> tuple[str | None, int, Iterator[str]]:
    """Return what separates the fields of text, its first line that says something, and its lines.

    Comments before that line are left out unless the file is CSV.
    """
    is_csv = separator is not None or file_suffix(path) in CSV_SUFFIXES
    start, line, content = 0, "", ""
    while not content.strip():
        start, line = start + 1, file.readline()
        if not line:
            return separator, start, iter(())
        content = line if is_csv else without_comment(line)
    sample = list(islice(file, SAMPLE))
    lines = chain([line, *sample], file)
    if separator is not None:
        return None if separator == " " else separator, start, lines
    if not is_csv and is_counts(content):
        return None, start, lines
    said = [content, *filter(str.strip, sample)]
    widths = {one: [len(fields_of(line, one)) for line in said] for one in SEPARATORS}
    possible = [one for one in SEPARATORS if widths[one][0] > 1]
    even = [one for one in possible if len(set(widths[one])) == 1]
    return next(iter([*even, *possible]), "," if is_csv else None), start, lines


def _rows(path: FilePath, lines: Iterator[str], start: int, separator: str | None) -> Iterator[Row]:
    """Yield the rows of text, or raise an InstanceError for a quote that is not closed."""
    if separator is None:  # lines before the first one say nothing, as that of an unknown class
        yield from ((number, [""]) for number in range(1, start))
        yield from ((number, [line]) for number, line in enumerate(lines, start))
        return
    reader, number = csv.reader(lines, delimiter=separator, strict=True), start
    try:
        for fields in reader:
            yield number, fields
            number = start + reader.line_num
    except csv.Error:
        raise InstanceError(
            f"{shown_path(path)}:{number}: a field begins with a quote, and does not end with one; "
            "expected both"
        ) from None


def _package(path: FilePath, kind: str, package: str, extra: str) -> BackendUnavailable:
    return BackendUnavailable(
        f"{shown_path(path)}: {kind} is read by {package}, which is not installed; "
        f"{install_command(extra)}, or write the file as CSV",
        extra=extra,
    )


def _sheet(path: FilePath, sheet: str | None) -> list[Row]:
    """Return the rows of a sheet of a workbook: floats to the last bit, each cell on one line."""
    check_file(path)
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise _package(path, "a workbook", "openpyxl", "excel") from None
    with errors_as_one_line(path, "a workbook of Excel"):
        book = load_workbook(path, read_only=True, data_only=True)
        sheets = {each.title: _cells(each) for each in book.worksheets}
        book.close()
    with_cells = [name for name, rows in sheets.items() if rows]
    names = first_of(map(shown, with_cells), 10)
    if sheet is not None and sheet not in with_cells:
        raise InstanceError(
            f"{shown_path(path)}: table = {shown(sheet)}: there is no such sheet with cells; "
            f"expected one of {names}"
        )
    if sheet is None and len(with_cells) > 1:
        warn_caller(
            f"{shown_path(path)}: the sheet {shown(with_cells[0])} is read, the first one of "
            f"{names}; --table selects another",
            InstanceNote,
        )
    return sheets[sheet or with_cells[0]] if with_cells else []


def _cells(sheet: Any) -> list[Row]:
    sheet.reset_dimensions()  # which may be wrong
    cells = enumerate(sheet.iter_rows(values_only=True), 1)
    rows = ((number, filled(list(map(_text, row)))) for number, row in cells)
    return [(number, fields) for number, fields in rows if any(fields)]


def _text(value: Any) -> str:
    if isinstance(value, float):
        return repr(value)
    return "" if value is None else " ".join(str(value).split())


def _arrow_table(path: FilePath) -> tuple[list[str], int, Any]:
    """Return the names of the columns of a table of pyarrow, those of an index first, and it."""
    check_file(path)
    is_feather = file_suffix(path) in FEATHER
    kind = "a Feather file" if is_feather else "a Parquet file"
    try:
        import pyarrow
        from pyarrow import feather, parquet
    except ImportError:
        raise _package(path, kind, "pyarrow", "parquet") from None
    with errors_as_one_line(path, kind):
        if is_feather:
            table = feather.read_table(path, use_threads=False, memory_map=False)
        else:
            file = parquet.ParquetFile(path)  # Ctrl-C is heard between two row groups
            groups = (file.read_row_group(i, use_threads=False) for i in range(file.num_row_groups))
            table = pyarrow.concat_tables([file.schema_arrow.empty_table(), *groups])
        table.validate(full=True)  # text that is not UTF-8 would be detected too late
        metadata = table.schema.pandas_metadata
    columns = metadata.get("index_columns") if isinstance(metadata, dict) else None
    named = columns if isinstance(columns, list) else []
    index = [name for name in named if isinstance(name, str) and name in table.column_names]
    order = sorted(range(table.num_columns), key=lambda at: table.column_names[at] not in index)
    table = table.select(order)
    return table.column_names, len(index), table


def _arrow_rows(table: Any) -> Iterator[Row]:
    number = 1
    for batch in table.to_batches(max_chunksize=BATCH):
        columns = [
            ["" if value is None else str(value) for value in column.to_pylist()]
            for column in batch.columns
        ]
        for fields in zip(*columns, strict=True):
            number += 1
            yield number, list(fields)
