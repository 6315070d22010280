"""Files of points; `sdpbb.problem.formats` states the formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.files import FilePath, replacement, shown_path
from sdpbb.problem.files import points_npy, points_parquet, points_text
from sdpbb.problem.table import PointTable
from sdpbb.problem.textfile import CHUNK

PointReader = Callable[[FilePath, str | None, Sequence[str]], PointTable]
"""Of a path, an index_column and columns to drop: see `read_points`."""

# By the suffix of the file's name, in lower case; other files are text.
POINT_READERS: dict[str, PointReader] = {
    ".npy": points_npy.read,
    ".parquet": points_parquet.read,
}


def read_points(
    path: FilePath,
    *,
    index_column: str | None = None,
    drop: Sequence[str] = (),
    weight_column: str | None = None,
) -> PointTable:
    """Read a file of points; the format is told by the suffix and the first line.

    Parameters
    ----------
    index_column : the column that names the rows
    drop : columns that are no features, such as a class
    weight_column : the column that holds the weights of the points, positive numbers

    All are for Parquet and CSV. The columns of a CSV file without a heading are called 1, 2, ...

    Returns
    -------
    PointTable : points are finite, and the names of the rows are texts.

    Raises
    ------
    InstanceError
        One line: the file, the line number, what is wrong and what would be right.
    BackendUnavailable
        If pyarrow, which reads Parquet, is not installed.
    """
    read = POINT_READERS.get(Path(path).suffix.lower(), points_text.read)
    table = read(path, index_column, drop)
    if weight_column is not None and not table.feature_names:
        raise InstanceError(
            f"weight_column: the columns of {shown_path(path)} have no names; expected a CSV or "
            "Parquet file with it"
        )
    return table.with_weights(weight_column, f"{shown_path(path)}: ")


def write_points(path: FilePath, points: NDArray[np.float64], k: int | None = None) -> None:
    """Write points (n, d) in the text format; `read_points` reads the same floats back."""
    n, d = points.shape
    header = f"{n} {d}" if k is None else f"{n} {d} {k}"
    with replacement(path) as file:
        file.write(f"{header}\n".encode())
        for start in range(0, n, CHUNK):
            rows = points[start : start + CHUNK].tolist()
            file.writelines(f"{' '.join(map(repr, row))}\n".encode() for row in rows)
