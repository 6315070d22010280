"""Files of points of every kind; `sdpbb.problem.formats` states the formats."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError, InstanceNote, warn_caller
from sdpbb.problem.files.points_numpy import read_npy, read_npz
from sdpbb.problem.files.points_text import read_opened, read_text
from sdpbb.problem.files.records import SHEETS, TABLES_OF_COLUMNS, arrow_table, sheet_text
from sdpbb.problem.frames import table_of_frame
from sdpbb.problem.preparation import prepared
from sdpbb.problem.table import TABLES, PointTable, check_columns, names_by_index
from sdpbb.problem.textfile import (
    CHUNK,
    errors_as_one_line,
    file_suffix,
    naming_file,
    reading_file,
    shown,
)
from sdpbb.runtime.files import FilePath, replacement, shown_path
from sdpbb.runtime.reading import PointsArguments, Reading

PointReader = Callable[[FilePath, Reading], PointTable]
"""Of a path and the options of reading it: see `read_points`. Missing values may be nan."""


def _read_sheet(path: FilePath, reading: Reading) -> PointTable:
    """Return the points of a workbook, whose sheet is read as CSV: messages name its rows."""
    text = sheet_text(path, reading.table)
    as_csv = replace(reading, separator=",", encoding=None, table=None)
    return read_opened(path, lambda: io.StringIO(text), as_csv)


def _read_columns(path: FilePath, reading: Reading) -> PointTable:
    """Return the points of a Parquet or Feather file.

    The index of a data frame in the file is not a feature. It names the rows unless another
    column is asked to, it has several columns, or its values merely count or repeat.
    """
    table = arrow_table(path)
    with naming_file(path):
        check_columns(table.column_names, reading.left_out)
        left = {column for _, column in reading.left_out}
        index = [column for column in _index_columns(path, table) if column not in left]
    by, says = reading.index_column, f"{shown_path(path)}: the index of a data frame"
    if by is None and len(index) == 1:
        if names_by_index(table[index[0]].to_pylist(), f"{says} ({shown(index[0])})") is not None:
            by = index.pop()
    elif index:
        warn_caller(f"{says} ({', '.join(map(shown, index))}) is not a feature", InstanceNote)
    with naming_file(path):
        chosen = replace(reading, index_column=by, drop=(*reading.drop, *index))
        found = table_of_frame(table, chosen)
        return replace(found, row_names=found.shown_names)


def _index_columns(path: FilePath, table: Any) -> list[str]:
    """Return the columns that hold the index of the data frame of pandas, if the file has one."""
    with errors_as_one_line(path, "a file of a data frame", (ValueError,)):
        metadata = table.schema.pandas_metadata
    columns = metadata.get("index_columns") if isinstance(metadata, dict) else None
    named = columns if isinstance(columns, list) else []
    return [column for column in named if isinstance(column, str) and column in table.column_names]


# By the suffix of the file's name, in lower case; other files are text.
POINT_READERS: dict[str, PointReader] = {
    ".npy": read_npy,
    ".npz": read_npz,
    **dict.fromkeys(TABLES_OF_COLUMNS, _read_columns),
    **dict.fromkeys(SHEETS, _read_sheet),
}

_OF_TEXT = ("separator", "decimal", "encoding")


def read_points(path: FilePath, **reading: Unpack[PointsArguments]) -> PointTable:
    """Read a file of points; the suffix and the first lines decide the format.

    reading : options by keyword, as in `sdpbb.problem.formats.Reading`, but constraints_format
        and one_based

    Columns are chosen of files that name them; those of CSV without a heading are called 1, 2, ...

    Returns
    -------
    PointTable : points are finite, and the names of the rows are texts.

    Raises
    ------
    InstanceError
        One line: the file, the line number, what is wrong and what would be right.
    ParameterError
        For an option that no file of this kind has, or a value that an option cannot have.
    BackendUnavailable
        If a package that reads the file is not installed.

    Warns
    -----
    InstanceNote
        What was taken for granted: an index, a sheet, rows that are left out.
    """
    return read_table(path, Reading.of(reading, PointsArguments.__annotations__, "read_points"))


def read_table(path: FilePath, reading: Reading) -> PointTable:
    """Read a file of points as `read_points` does."""
    suffix, where = file_suffix(path), f"{shown_path(path)}: "
    _check_options(path, suffix, reading)
    with reading_file(path):
        found = POINT_READERS.get(suffix, read_text)(path, reading)
        if reading.weight_column is not None and not found.feature_names:
            raise InstanceError(
                f"weight_column: the columns of {shown_path(path)} have no names; expected "
                f"{TABLES} with it"
            )
        for note in _notes_on(found, reading.weight_column):
            warn_caller(f"{where}{note}", InstanceNote)
        return prepared(found, reading, where)


def _check_options(path: FilePath, suffix: str, reading: Reading) -> None:
    """Raise the InstanceError if an option is given that no file of this kind has."""
    has_tables = suffix == ".npz" or suffix in SHEETS
    if reading.table is not None and not has_tables:
        raise InstanceError(
            f"table: {shown_path(path)} has one table; expected an Excel or .npz file with it"
        )
    for name in _OF_TEXT:
        if getattr(reading, name) is not None and suffix in POINT_READERS:
            raise InstanceError(
                f"{name}: {shown_path(path)} is not text; expected CSV or another text file with it"
            )


LEAST_ROWS = 5
"""With fewer rows, nothing is odd about numbers that differ."""

# Names of columns that number rows: customer_id, Nr., rowId, Unnamed: 0.
_NAME = re.compile(
    r"(.*[ _.\-])?(ids?|idx|index|rows?|row ?names?|nr\.?|no\.?|number|key|#)|unnamed: ?0",
    re.IGNORECASE,
)
_CAMEL_CASE = re.compile(r".*[a-z](ID|Id)")


def _notes_on(table: PointTable, weight_column: str | None) -> Iterator[str]:
    """Yield a line on each feature that looks as if it named the rows.

    It does if it is called so, and holds whole numbers that all differ.
    """
    n = len(table.points)
    for j, name in enumerate(table.feature_names):
        is_called_so = _NAME.fullmatch(name) or _CAMEL_CASE.fullmatch(name)
        if n < LEAST_ROWS or name == weight_column or not is_called_so:
            continue
        if _tells_rows_apart(table.points[:, j]):
            yield (
                f"column {shown(name)} has a different whole number in every row, and is used as "
                f"a feature; to name the rows by it, use --index-column {shown(name)}; to ignore "
                f"it, --drop {shown(name)}"
            )


def _tells_rows_apart(column: NDArray[np.float64]) -> bool:
    known = column[np.isfinite(column)]
    return bool((known == np.trunc(known)).all()) and len(np.unique(known)) == len(column)


def write_points(path: FilePath, points: NDArray[np.float64], k: int | None = None) -> None:
    """Write points (n, d) in the text format; `read_points` reads the same floats back."""
    n, d = points.shape
    header = f"{n} {d}" if k is None else f"{n} {d} {k}"
    with replacement(path) as file:
        file.write(f"{header}\n".encode())
        for start in range(0, n, CHUNK):
            rows = points[start : start + CHUNK].tolist()
            file.writelines(f"{' '.join(map(repr, row))}\n".encode() for row in rows)
