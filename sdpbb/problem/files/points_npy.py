"""Files of points, and other arrays, that `numpy.save` writes."""

from __future__ import annotations

import math
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.files import FilePath
from sdpbb.problem.checks import as_points
from sdpbb.problem.files.reading import Reading
from sdpbb.problem.table import PointTable, without_columns
from sdpbb.problem.textfile import errors_as_one_line, naming_file

# What NumPy raises when it reads a header, which is a Python literal.
HEADER_ERRORS = (
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


def read(path: FilePath, reading: Reading) -> PointTable:
    """Return the points of a file, as `sdpbb.problem.files.points.read_points` does."""
    return points_of_array(path, read_array(path), reading)


def points_of_array(path: FilePath, array: NDArray[Any], reading: Reading) -> PointTable:
    """Return the points that an array of a file holds, or raise the InstanceError."""
    if reading.left_out:
        raise without_columns(path, reading.left_out)
    with naming_file(path):
        return PointTable(as_points(array))


def read_array(path: FilePath) -> NDArray[Any]:
    """Return the array of a file, of whatever shape and type; nothing in the file is run.

    Raises
    ------
    InstanceError
        One line: the file, what is wrong and what would be right.
    """
    with errors_as_one_line(path, "an array that numpy.save wrote", HEADER_ERRORS):
        _check_header(path)
        # A map: a header that claims more than the file holds is found out before any memory is
        # taken.
        return np.array(np.lib.format.open_memmap(path, mode="r"))


def _check_header(path: FilePath) -> None:
    """Raise a ValueError for a header that `numpy.save` never writes."""
    with open(path, "rb") as file:
        check_header(file, None)


def check_header(file: IO[bytes], size: int | None) -> None:
    """Raise a ValueError for a header that `numpy.save` never writes.

    A negative shape of items without size would end the process in a division by zero.

    size : bytes of the file, which the array must not claim to be longer than; None if that is
        found out elsewhere
    """
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:  # later ones are of tables with names
        raise ValueError(f"version {version}")
    shape, _, dtype = _HEADERS[version](file)
    if min(shape, default=0) < 0 or not dtype.itemsize:
        raise ValueError(f"shape {shape} of {dtype}")
    if size is not None and math.prod(shape) * dtype.itemsize > size:
        raise ValueError(f"shape {shape} of {dtype} in {size} bytes")
