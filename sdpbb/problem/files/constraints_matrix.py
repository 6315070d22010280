"""Constraints as a matrix of 1 (must-link), -1 (cannot-link) and 0 (neither)."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem.files.constraints import ConstraintFormat, Constraints, check_pairs_only
from sdpbb.problem.files.rows import Rows
from sdpbb.problem.textfile import is_number, open_text, shown, without_comment
from sdpbb.runtime.files import FilePath, shown_path

# For which a matrix is written: 200 MB of text.
MAX_POINTS = 10_000


class _Entries(NamedTuple):
    """Entries off the diagonal that are not 0, in the order of the file.

    rows, columns : (p,) from 0
    values : (p,) 1 or -1
    lines : (n,) the line of each row of the matrix, from 1
    """

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    values: NDArray[np.int8]
    lines: NDArray[np.intp]


def begins(fields: Sequence[str], rows: Rows) -> bool:
    """Return whether a line has an entry for each row of the data, or several of 1, -1 and 0."""
    is_row = len(fields) == rows.n or (len(fields) > 3 and {"1", "-1", "0"}.issuperset(fields))
    return is_row and is_number(fields[0])


def read(path: FilePath, rows: Rows, encoding: str | None = None) -> Constraints:
    """Return the constraints of a file, as `read_constraints` does.

    A pair has two entries, which must not contradict each other. One of them may be 0: the
    published matrices of BH-k-means state cannot-links below the diagonal only.
    """
    entries = _entries(path, rows.n, encoding)
    low = np.minimum(entries.rows, entries.columns)
    high = np.maximum(entries.rows, entries.columns)
    # Stable, so that the first of equal pairs is the one that the file states first.
    keys = low * rows.n + high
    order = np.argsort(keys, kind="stable")
    is_second = np.diff(keys[order], prepend=-1) == 0
    clash = is_second & (np.diff(entries.values[order], prepend=0) != 0)
    if clash.any():
        raise _contradiction(path, entries, int(order[np.argmax(clash)]))
    first = np.sort(order[~is_second])
    pairs = np.column_stack([low[first], high[first]])
    lines, is_ml = entries.lines[entries.rows[first]], entries.values[first] == 1
    return Constraints(
        pairs[is_ml],
        pairs[~is_ml],
        lines={"must_link": lines[is_ml], "cannot_link": lines[~is_ml]},
    )


def lines(constraints: Constraints, n_points: int | None = None) -> list[str]:
    """Return the lines of a file that holds the constraints on n_points points.

    Raises
    ------
    InstanceError
        For what is not a hard constraint on a pair, a pair that is constrained both ways, and more
        than MAX_POINTS.
    ParameterError
        If n_points is None.
    """
    if n_points is None:
        raise ParameterError("n_points = None: a matrix needs the number of points")
    check_pairs_only(constraints, "matrix", soft=False)
    if n_points > MAX_POINTS:
        raise InstanceError(
            f"a matrix for {n_points} points has {n_points**2} entries; expected at most "
            f"{MAX_POINTS} points, or another format"
        )
    matrix = np.eye(n_points, dtype=np.int8)
    for keyword, i, j, _ in constraints.each_pair():  # must-links first
        if keyword == "CL" and matrix[i, j] == 1:
            raise InstanceError(
                f"cannot_link: ({i}, {j}) is a must-link too, and the matrix has one entry for "
                "both; expected one of them, or another format"
            )
        matrix[i, j] = matrix[j, i] = 1 if keyword == "ML" else -1
    return [" ".join(map(str, row.tolist())) for row in matrix]


def _entries(path: FilePath, n: int, encoding: str | None) -> _Entries:
    value_of = {"0": 0, "1": 1, "-1": -1}
    rows, columns, values, lines = array("q"), array("q"), array("b"), array("q")
    with open_text(path, encoding) as file:
        for number, text in enumerate(file, start=1):
            fields = without_comment(text).split()
            if not fields:
                continue
            row, where = len(lines), f"{shown_path(path)}:{number}"
            if row == n:
                raise InstanceError(
                    f"{where}: one row too many; expected {n}, one per point of the data"
                )
            if len(fields) != n:
                raise InstanceError(
                    f"{where}: the row has {len(fields)} entries; expected {n}, one per point of "
                    "the data"
                )
            for column, field in enumerate(fields):
                value = value_of[field] if field in value_of else _value(field, where, column)
                if column == row:
                    _check_diagonal(value, field, where, column)
                elif value:
                    rows.append(row)
                    columns.append(column)
                    values.append(value)
            lines.append(number)
    if len(lines) != n:
        raise InstanceError(
            f"{shown_path(path)}: the matrix has {len(lines)} rows; expected {n}, one per point of "
            "the data"
        )
    return _Entries(
        np.array(rows, np.intp),
        np.array(columns, np.intp),
        np.array(values, np.int8),
        np.array(lines, np.intp),
    )


def _value(field: str, where: str, column: int) -> int:
    """Return the value of an entry in another spelling, such as 1.0e+00."""
    if is_number(field) and float(field) in (-1.0, 0.0, 1.0):
        return int(float(field))
    raise InstanceError(
        f"{where}: column {column + 1} is {shown(field)}; expected 1 (must-link), -1 (cannot-link) "
        "or 0 (neither)"
    )


def _check_diagonal(value: int, field: str, where: str, column: int) -> None:
    if value != 1:
        raise InstanceError(
            f"{where}: column {column + 1}, on the diagonal, is {shown(field)}; expected 1, as a "
            "point is in its own cluster"
        )


def _contradiction(path: FilePath, entries: _Entries, position: int) -> InstanceError:
    row, column = int(entries.rows[position]), int(entries.columns[position])
    value = int(entries.values[position])
    return InstanceError(
        f"{shown_path(path)}:{entries.lines[row]}: column {column + 1} is {value}, but column "
        f"{row + 1} of line {entries.lines[column]}, which is for the same pair, is {-value}; "
        "expected a symmetric matrix"
    )


FORMAT = ConstraintFormat("matrix", "{n} entries 1, -1 or 0", begins, read, lines, names_rows=False)
