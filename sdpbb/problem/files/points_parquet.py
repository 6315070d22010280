"""Files of points in Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sdpbb.errors import BackendUnavailable, InstanceError
from sdpbb.extras import install_command
from sdpbb.files import FilePath, shown_path
from sdpbb.problem.checks import checked_points
from sdpbb.problem.frames import table_of_frame
from sdpbb.problem.table import PointTable, left_out_columns
from sdpbb.problem.textfile import check_file, errors_as_one_line, naming_file, shown


def read(path: FilePath, index_column: str | None, drop: Sequence[str]) -> PointTable:
    """Return the points of a file, as `sdpbb.problem.files.points.read_points` does."""
    table = _parquet_table(path)
    columns = _index_columns(path, table)
    with naming_file(path):
        _check_index(columns, index_column, drop)
        read = table_of_frame(table, index_column, drop)
        points = checked_points(read.points)
        return PointTable(points, None, read.feature_names, read.shown_names)


def read_column(path: FilePath, column: str) -> list[str]:
    """Return the values (n,) of a column as text.

    Raises
    ------
    InstanceError, BackendUnavailable
        As `sdpbb.problem.files.points.read_points`.
    """
    table = _parquet_table(path)
    with naming_file(path):
        left_out_columns(table.column_names, column, (), "column")
    return [str(value) for value in table[column].to_pylist()]


def _parquet_table(path: FilePath) -> Any:
    check_file(path)
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise BackendUnavailable(
            f"{shown_path(path)}: Parquet is read by pyarrow, which is not installed; "
            f"{install_command('parquet')}, or write the file as CSV"
        ) from None
    with errors_as_one_line(path, "a Parquet file", (pyarrow.ArrowException, ValueError)):
        table = parquet.ParquetFile(path).read(use_threads=False)
        table.validate(full=True)  # text that is not UTF-8 would be found out too late
        return table


def _index_columns(path: FilePath, table: Any) -> list[str]:
    """Return the columns that hold the index of the data frame of pandas, if the file has one."""
    with errors_as_one_line(path, "a Parquet file", (ValueError,)):
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
                f"{shown(column)} (--index-column) to name the rows by it, or to leave it out "
                f"(--drop {shown(column)})"
            )
