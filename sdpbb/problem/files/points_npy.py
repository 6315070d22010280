"""Files of points, and other arrays, that `numpy.save` writes."""

from __future__ import annotations

from collections.abc import Sequence
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.files import FilePath
from sdpbb.problem.checks import checked_points
from sdpbb.problem.table import PointTable, without_columns
from sdpbb.problem.textfile import errors_as_one_line, naming_file

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


def read(path: FilePath, index_column: str | None, drop: Sequence[str]) -> PointTable:
    """Return the points of a file, as `sdpbb.problem.files.points.read_points` does."""
    if index_column is not None or len(drop):
        raise without_columns(path, index_column)
    array = read_array(path)
    with naming_file(path):
        return PointTable(checked_points(array))


def read_array(path: FilePath) -> NDArray[Any]:
    """Return the array of a file, of whatever shape and type; nothing in the file is run.

    Raises
    ------
    InstanceError
        One line: the file, what is wrong and what would be right.
    """
    with errors_as_one_line(path, "an array that numpy.save wrote", _HEADER_ERRORS):
        _check_header(path)
        # A map: a header that claims more than the file holds is found out before any memory is
        # taken.
        return np.array(np.lib.format.open_memmap(path, mode="r"))


def _check_header(path: FilePath) -> None:
    """Raise a ValueError for a header that `numpy.save` never writes.

    A negative shape of items without size would end the process in a division by zero.
    """
    with open(path, "rb") as file:
        version = np.lib.format.read_magic(file)
        if version not in _HEADERS:  # later ones are of tables with names
            raise ValueError(f"version {version}")
        shape, _, dtype = _HEADERS[version](file)
    if min(shape, default=0) < 0 or not dtype.itemsize:
        raise ValueError(f"shape {shape} of {dtype}")
