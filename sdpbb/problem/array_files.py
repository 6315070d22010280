"""Files of points that are not text: NumPy arrays, and Parquet."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import BackendUnavailable, InstanceError
from sdpbb.files import shown_path
from sdpbb.problem.checks import checked_points
from sdpbb.problem.frames import FrameTable, checked_columns
from sdpbb.problem.textfile import FilePath, check_file, shown

# What NumPy raises when it reads a header, which is a Python literal.
_HEADER_ERRORS = (
    KeyError,
    OverflowError,
    RecursionError,
    SyntaxError,
    TokenError,
    TypeError,
    ValueError,
)

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_npy(path: FilePath) -> NDArray[np.float64]:
    """The points (n, d) of an array that `numpy.save` wrote; nothing in the file is run.

    Raises
    ------
    InstanceError
        One line: the file, what is wrong and what would be right.
    """
    return _checked(path, read_array(path))


def read_array(path: FilePath) -> NDArray:
    """The array of a file that `numpy.save` wrote, of whatever shape and type; no objects.

    Raises
    ------
    InstanceError
        As `read_npy`.
    """
    with _told_in_one_line(path, "an array that numpy.save wrote", _HEADER_ERRORS):
        _check_header(path)
        # A map: a header that claims more than the file holds is found out before any memory is
        # taken.
        return np.array(np.lib.format.open_memmap(path, mode="r"))


def _check_header(path: FilePath) -> None:
    """ValueError for a header that `numpy.save` never writes; a negative shape of items without
    size would end the process in a division by zero."""
    with open(path, "rb") as file:
        version = np.lib.format.read_magic(file)
        if version not in _HEADERS:  # later ones are of tables with names
            raise ValueError(f"version {version}")
        shape, _, dtype = _HEADERS[version](file)
    if min(shape, default=0) < 0 or not dtype.itemsize:
        raise ValueError(f"shape {shape} of {dtype}")


def read_parquet(
    path: FilePath, index_column: str | None, drop: Sequence[str]
) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    """The points (n, d), and the names of the rows (n,) if a column names them.

    index_column, drop : see `sdpbb.problem.points_file.read_points`

    Raises
    ------
    InstanceError
        One line: the file, what is wrong and what would be right.
    BackendUnavailable
        If pyarrow is not installed.
    """
    table = _parquet_table(path)
    try:
        _check_index(_index_columns(path, table), index_column, drop)
        frame = FrameTable.of(table, index_column, drop)
    except InstanceError as error:
        raise InstanceError(f"{shown_path(path)}: {error}") from None
    return _checked(path, frame.points), frame.shown_names


def read_parquet_column(path: FilePath, column: str) -> list[str]:
    """The values (n,) of a column as text.

    Raises
    ------
    InstanceError, BackendUnavailable
        As `read_parquet`.
    """
    table = _parquet_table(path)
    try:
        checked_columns(table.column_names, column, (), "column")
    except InstanceError as error:
        raise InstanceError(f"{shown_path(path)}: {error}") from None
    return [str(value) for value in table[column].to_pylist()]


def _parquet_table(path: FilePath) -> Any:
    check_file(path)
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise BackendUnavailable(
            f"{shown_path(path)}: Parquet is read by pyarrow, which is not installed; "
            "pip install 'sdpbb[parquet]', or write the file as CSV"
        ) from None
    with _told_in_one_line(path, "a Parquet file", (pyarrow.ArrowException, ValueError)):
        table = parquet.ParquetFile(path).read(use_threads=False)
        table.validate(full=True)  # text that is not UTF-8 would be found out too late
        return table


def without_columns(path: FilePath, index_column: str | None) -> InstanceError:
    """What is wrong with choosing columns of a file that has none."""
    argument = "drop" if index_column is None else "index_column"
    return InstanceError(
        f"{argument}: the columns of {shown_path(path)} have no names; expected a CSV or Parquet "
        "file with it"
    )


def _checked(path: FilePath, points: NDArray) -> NDArray[np.float64]:
    try:
        return checked_points(points)
    except InstanceError as error:
        raise InstanceError(f"{shown_path(path)}: {error}") from None


def _index_columns(path: FilePath, table: Any) -> list[str]:
    """The columns that hold the index of the data frame of pandas that was written, if it was."""
    with _told_in_one_line(path, "a Parquet file", (ValueError,)):
        metadata = table.schema.pandas_metadata
    columns = metadata.get("index_columns") if isinstance(metadata, dict) else None
    named = columns if isinstance(columns, list) else []
    return [column for column in named if isinstance(column, str) and column in table.column_names]


def _check_index(columns: list[str], index_column: str | None, drop: Sequence[str]) -> None:
    """Raise the InstanceError if the index of a data frame would be taken for a feature."""
    for column in columns:
        if column != index_column and column not in drop:
            raise InstanceError(
                f"column {shown(column)} is the index of a data frame; expected index_column = "
                f"{shown(column)} (--index-column), if rows are to be called so, or to leave it "
                f"out (--drop {shown(column)})"
            )


@contextmanager
def _told_in_one_line(
    path: FilePath, expected: str, errors: tuple[type[Exception], ...]
) -> Iterator[None]:
    check_file(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of old formats
            yield
    except OSError as error:
        # Of pyarrow too, for what is wrong inside the file.
        reason = error.strerror or shown(_one_line(error))
        raise InstanceError(f"{shown_path(path)}: cannot be read ({reason})") from None
    except errors as error:
        detail = _one_line(error)
        raise InstanceError(f"{shown_path(path)}: is not {expected} ({shown(detail)})") from None


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
