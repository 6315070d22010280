"""Tables of text, of columns and of numbers in files of all formats.

Openpyxl reads workbooks, pyarrow Parquet and Feather. A row of text has a line and fields.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

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
COLUMNS = (".parquet", ".pq", *FEATHER)
"""Suffixes of arrays, of workbooks, and of Parquet and Feather files."""

CSV_SUFFIXES = (".csv", ".tsv", ".tab")
SEPARATORS = "\t;|,"
"""Characters that separate fields; the first ones rarely appear inside fields."""

SAMPLE = 20
"""Number of lines that decide on the separator."""

Row = tuple[int, list[str]]
"""The line of a row, from 1, and its fields."""


@dataclass(frozen=True)
class TextTable:
    """Rows of a file, including the heading if it has one.

    rows : iterator, including empty rows
    separator : separator of the fields, a comma for a workbook; None: each line is one field
    encoding : encoding of the file, by its name in Python
    """

    rows: Iterator[Row]
    separator: str | None = ","
    encoding: str = "utf-8"


def is_table(path: FilePath) -> bool:
    """Return whether a file's name says that it is a workbook, Parquet or Feather."""
    return file_suffix(path) in (*SHEETS, *COLUMNS)


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
    separator : separator of the fields; None: detect it by the first lines
    encoding : encoding of text without a byte order mark; None: UTF-8
    sheet : sheet of a workbook; None: the first sheet with cells

    Raises
    ------
    InstanceError
        One line, on opening or on reading within the block.
    BackendUnavailable
        If a package that reads the file is not installed.
    """
    suffix = file_suffix(path)
    if suffix in SHEETS:
        yield TextTable(iter(_sheet(path, sheet)))
    elif suffix in COLUMNS:
        yield TextTable(_rows_of_columns(read_columns(path)[0]))
    else:
        with open_text(path, encoding) as file:
            chosen, start, lines = _separated(path, file, separator)
            yield TextTable(_rows(path, lines, start, chosen), chosen, file.encoding)


def filled(fields: Sequence[str]) -> list[str]:
    """Return the fields of a row without empty fields at its end; the first field stays."""
    stripped = [field.strip() for field in fields]
    while len(stripped) > 1 and not stripped[-1]:
        stripped.pop()
    return stripped


def fields_of(line: str, separator: str) -> list[str]:
    """Return the fields of a line of CSV."""
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:  # the field is too long for a number
        return line.split(separator)


def is_counts(line: str) -> bool:
    """Return whether a line may be the first one, `n d k` or `n d`, of text."""
    fields = line.split()
    return len(fields) in (2, 3) and all(map(is_integer, fields))


def _separated(
    path: FilePath, file: TextIO, separator: str | None
) -> tuple[str | None, int, Iterator[str]]:
    """Return the separator of text, the number of its first line that is not blank, and its lines.

    The lines start there. Unless the file is CSV, lines of comments before it are skipped, too.
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
    if separator is None:  # in a file of classes a blank first line is an unknown class
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
    sheet.reset_dimensions()  # they may be wrong
    cells = enumerate(sheet.iter_rows(values_only=True), 1)
    rows = ((number, filled(list(map(_text, row)))) for number, row in cells)
    return [(number, fields) for number, fields in rows if any(fields)]


def _text(value: Any) -> str:
    if isinstance(value, float):
        return repr(value)
    return "" if value is None else " ".join(str(value).split())


def read_columns(path: FilePath) -> tuple[Any, int]:
    """Return a table of pyarrow, and the number of first columns that are an index of pandas.

    Raises
    ------
    InstanceError
        One line: the file, and what is wrong.
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
        raise _package(path, kind, "pyarrow", "parquet") from None
    with errors_as_one_line(path, kind):
        if is_feather:
            table = feather.read_table(path, use_threads=False, memory_map=False)
        else:
            file = parquet.ParquetFile(path)  # Ctrl-C has an effect between two row groups
            groups = (file.read_row_group(i, use_threads=False) for i in range(file.num_row_groups))
            table = pyarrow.concat_tables([file.schema_arrow.empty_table(), *groups])
        table.validate(full=True)  # text that is not UTF-8 would be detected too late
        metadata = table.schema.pandas_metadata
    columns = metadata.get("index_columns") if isinstance(metadata, dict) else None
    named = columns if isinstance(columns, list) else []
    index = [name for name in named if isinstance(name, str) and name in table.column_names]
    order = sorted(range(table.num_columns), key=lambda at: table.column_names[at] not in index)
    return table.select(order), len(index)


def _rows_of_columns(table: Any) -> Iterator[Row]:
    columns = [
        ["" if value is None else str(value) for value in column.to_pylist()]
        for column in table.columns
    ]
    rows = map(list, zip(*columns, strict=True))
    return enumerate(chain([table.column_names], rows), 1)


def read_array(path: FilePath, name: str | None, n_dimensions: int, expected: str) -> NDArray[Any]:
    """Return the array of a file, or one of several; no code in the file is run.

    A sparse matrix of SciPy is not converted.

    Parameters
    ----------
    name : name of the array; None: the only array with this number of dimensions
    expected : description of such an array, for messages

    Raises
    ------
    InstanceError
        One line: the file, what is wrong and what is expected.
    """
    with (
        errors_as_one_line(path, "a file of plain arrays that numpy.save or numpy.savez wrote"),
        open(path, "rb") as file,
    ):
        content: Any = np.load(file, allow_pickle=False)
        if isinstance(content, np.ndarray):
            return content
        if name in content.files:
            return np.asarray(content[name])
        if name is None and {"format", "shape", "data"} <= set(content.files):
            from scipy.sparse import load_npz  # few files are sparse

            matrix: Any = load_npz(file)
            matrix.check_format() if hasattr(matrix, "check_format") else None
            return matrix  # type: ignore[no-any-return]
        arrays = {each: np.asarray(content[each]) for each in content.files}
    shapes = (f"{shown(each)} {array.shape}" for each, array in arrays.items())
    names = first_of(shapes, 10) or "(none)"
    if name is not None:
        raise InstanceError(
            f"{shown_path(path)}: table = {shown(name)}: there is no such array; expected one "
            f"of {names}"
        )
    fitting = [
        array
        for array in arrays.values()
        if array.dtype.kind in "biufU" and array.ndim == n_dimensions
    ]
    if len(fitting) == 1:
        return fitting[0]
    raise InstanceError(
        f"{shown_path(path)}: {len(fitting) or 'none'} of the arrays {names} may be the "
        f"{expected}; expected one, or its name (--table, or --column for labels)"
    )
