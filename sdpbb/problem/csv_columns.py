"""Points from some of the columns of a CSV file; `sdpbb.problem.formats` states the format."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.files import shown_path
from sdpbb.problem.array_files import without_columns
from sdpbb.problem.csv_lines import check_heading, csv_fields, first_line
from sdpbb.problem.frames import checked_columns, checked_names
from sdpbb.problem.integers import complaint, inexact_integer
from sdpbb.problem.textfile import FilePath, is_number, open_text, shown


@dataclass(frozen=True)
class _Heading:
    """What the columns of a file are called.

    where : the file and line that says so, or that is the first row
    line : the number of the line
    names : (c,) those of the heading; "1", "2", ... without one
    """

    where: str
    line: int
    is_row: bool
    names: list[str]


def read_columns(
    path: FilePath, index_column: str | None, drop: Sequence[str]
) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    """The points (n, d), and the names of the rows (n,) if a column names them.

    index_column, drop : see `sdpbb.problem.points_file.read_points`

    Raises
    ------
    InstanceError
        One line: the file, the line number, what is wrong and what would be right.
    """
    values, row_names = array("d"), []
    with open_text(path) as file:
        heading = _heading(path, file)
        if heading is None:
            raise without_columns(path, index_column)
        features, index = _chosen(heading, index_column, drop)
        for where, fields in _rows(path, file, heading):
            for column in features:
                values.append(_number(where, heading, column, fields[column]))
            if index is not None:
                row_names.append(fields[index].strip())
    points = np.array(values).reshape(-1, len(features))
    if not len(points):
        raise InstanceError(f"{heading.where}: no rows after the heading; expected points")
    if index is None:
        return points, None
    where = f"{shown_path(path)}: index_column = {index_column!r}"
    return points, tuple(map(str, checked_names(row_names, where)))


def read_column(path: FilePath, column: str) -> list[str]:
    """The fields (n,) of a column, without blanks around them.

    Raises
    ------
    InstanceError
        One line: the file, the line number, what is wrong and what would be right.
    """
    with open_text(path) as file:
        heading = _heading(path, file)
        if heading is None:
            raise InstanceError(
                f"column: {shown_path(path)} has no columns; expected a CSV or Parquet file with it"
            )
        index = _checked(heading, column, (), "column")
        return [fields[index].strip() for _, fields in _rows(path, file, heading)]


def _heading(path: FilePath, file: TextIO) -> _Heading | None:
    """Read the heading, or go back to the first row; None if the file is no CSV."""
    first = first_line(path, file)
    if not first.is_csv:
        return None
    where = f"{shown_path(path)}:{first.number}"
    names = [field.strip() for field in csv_fields(first.line)]
    is_row = any(map(is_number, names))
    if is_row:
        names = [str(j) for j in range(1, len(names) + 1)]
        file.seek(0)
        for _ in range(first.number - 1):
            file.readline()
    check_heading(where, names)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InstanceError(
            f"{where}: two columns are called {shown(twice)}; expected names that differ"
        )
    return _Heading(where, first.number, is_row, names)


def _chosen(
    heading: _Heading, index_column: str | None, drop: Sequence[str]
) -> tuple[list[int], int | None]:
    """The positions of the features, and of the column that names the rows."""
    index = _checked(heading, index_column, drop, "index_column")
    left_out = {*drop, index_column}
    features = [j for j, name in enumerate(heading.names) if name not in left_out]
    if not features:
        raise InstanceError(
            f"{heading.where}: no columns are left as features; expected at least one"
        )
    return features, None if index_column is None else index


def _checked(heading: _Heading, column: str | None, drop: Sequence[str], argument: str) -> int:
    """The position of a column, 0 for none."""
    try:
        checked_columns(heading.names, column, drop, argument)
    except InstanceError as error:
        raise InstanceError(f"{heading.where}: {error}") from None
    return 0 if column is None else heading.names.index(column)


def _rows(path: FilePath, file: TextIO, heading: _Heading) -> Iterator[tuple[str, list[str]]]:
    """The rows that follow, each with the file and line where it is."""
    first = heading.line + (not heading.is_row)
    for number, line in enumerate(file, start=first):
        if not line.strip("\r\n"):
            continue
        fields = csv_fields(line)
        where = f"{shown_path(path)}:{number}"
        if len(fields) != len(heading.names):
            raise InstanceError(
                f"{where}: the row has {len(fields)} fields; line {heading.line} has "
                f"{len(heading.names)}"
            )
        yield where, fields


def _number(where: str, heading: _Heading, column: int, field: str) -> float:
    if (integer := inexact_integer(field)) is not None:
        raise InstanceError(f"{where}: column {column + 1} {complaint(integer)}")
    if is_number(field) and np.isfinite(float(field)):
        return float(field)
    raise InstanceError(
        f"{where}: column {column + 1} is {shown(field)}; expected a finite number, or to leave "
        f"the column out (--drop {shown(heading.names[column])})"
    )
