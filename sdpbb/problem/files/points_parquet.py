"""Files of points in Parquet, and in Feather (Arrow), by pyarrow."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sdpbb.errors import BackendUnavailable, InstanceError, InstanceNote, warn_caller
from sdpbb.problem.frames import table_of_frame
from sdpbb.problem.table import PointTable, check_columns, index_names
from sdpbb.problem.textfile import (
    check_file,
    errors_as_one_line,
    file_suffix,
    naming_file,
    shown,
)
from sdpbb.runtime.extras import install_command
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.reading import Reading
from sdpbb.runtime.values import is_missing

FEATHER = (".feather", ".arrow", ".ipc")
SUFFIXES = (".parquet", ".pq", *FEATHER)


def read(path: FilePath, reading: Reading) -> PointTable:
    """Return the points of a file, as `sdpbb.problem.files.points.read_points` does.

    The index of a data frame in the file is not a feature. It names the rows unless another
    column is asked to, it has several columns, or its values merely count or repeat.
    """
    table = _arrow_table(path)
    with naming_file(path):
        check_columns(table.column_names, reading.left_out)
        left = {column for _, column in reading.left_out}
        index = [column for column in _index_columns(path, table) if column not in left]
    names_rows = reading.index_column is None and len(index) == 1 and _are_names(table[index[0]])
    if index:
        warn_caller(
            f"{shown_path(path)}: the index of a data frame ({', '.join(map(shown, index))}) "
            f"{'names the rows' if names_rows else 'is not a feature'}",
            InstanceNote,
        )
    with naming_file(path):
        by = index.pop() if names_rows else reading.index_column
        found = table_of_frame(
            table, replace(reading, index_column=by, drop=(*reading.drop, *index))
        )
        return replace(found, row_names=found.shown_names)


def _are_names(column: Any) -> bool:
    """Return whether the values of an index tell the rows apart, and do not merely count them."""
    try:
        return index_names(column.to_pylist(), "the index") is not None
    except InstanceError:
        return False


def read_rows(path: FilePath) -> list[list[str]]:
    """Return the names of the columns, and the values of each row, as text; "" for none.

    Raises
    ------
    InstanceError, BackendUnavailable
        As `sdpbb.problem.files.points.read_points`.
    """
    table = _arrow_table(path)
    columns = [
        ["" if is_missing(value) else str(value) for value in column.to_pylist()]
        for column in table.columns
    ]
    return [list(table.column_names), *map(list, zip(*columns, strict=True))]


def _arrow_table(path: FilePath) -> Any:
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


def _index_columns(path: FilePath, table: Any) -> list[str]:
    """Return the columns that hold the index of the data frame of pandas, if the file has one."""
    with errors_as_one_line(path, "a file of a data frame", (ValueError,)):
        metadata = table.schema.pandas_metadata
    columns = metadata.get("index_columns") if isinstance(metadata, dict) else None
    named = columns if isinstance(columns, list) else []
    return [column for column in named if isinstance(column, str) and column in table.column_names]
