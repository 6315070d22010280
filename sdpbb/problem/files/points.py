"""Files of points of every kind; `sdpbb.problem.formats` states the formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.files.points_numpy import read_arrays
from sdpbb.problem.files.points_table import points_of_table
from sdpbb.problem.files.tables import ARRAYS, SHEETS, is_table, opened_table
from sdpbb.problem.preparation import prepared
from sdpbb.problem.table import PointTable
from sdpbb.problem.textfile import file_suffix, reading_file
from sdpbb.runtime.files import FilePath, replacement, shown_path
from sdpbb.runtime.reading import PointsArguments, Reading

PointReader = Callable[[FilePath, Reading], PointTable]
"""Of a path and the options of reading it: see `read_points`. Missing values may be nan."""


def _read_table(path: FilePath, reading: Reading) -> PointTable:
    with opened_table(path, reading.delimiter, reading.encoding, reading.table) as table:
        return points_of_table(table, reading)


# By the suffix of the file's name, in lower case; other files are tables.
POINT_READERS: dict[str, PointReader] = dict.fromkeys(ARRAYS, read_arrays)

ROWS = 50_000
"""Rows that are written together."""

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
        return prepared(POINT_READERS.get(suffix, _read_table)(path, reading), reading, where)


def _check_options(path: FilePath, suffix: str, reading: Reading) -> None:
    """Raise the InstanceError if an option is given that no file of this kind has."""
    has_tables = suffix == ".npz" or suffix in SHEETS
    if reading.table is not None and not has_tables:
        raise InstanceError(
            f"table: {shown_path(path)} has one table; expected an Excel or .npz file with it"
        )
    for name in _OF_TEXT:
        if getattr(reading, name) is not None and (suffix in POINT_READERS or is_table(path)):
            raise InstanceError(
                f"{name}: {shown_path(path)} is not text; expected CSV or another text file with it"
            )


def write_points(path: FilePath, points: NDArray[np.float64], k: int | None = None) -> None:
    """Write points (n, d) in the text format; `read_points` reads the same floats back."""
    n, d = points.shape
    header = f"{n} {d}" if k is None else f"{n} {d} {k}"
    with replacement(path) as file:
        file.write(f"{header}\n".encode())
        for start in range(0, n, ROWS):
            rows = points[start : start + ROWS].tolist()
            file.writelines(f"{' '.join(map(repr, row))}\n".encode() for row in rows)
