"""Files of points, and other arrays, that `numpy.save` writes."""

from __future__ import annotations

import math
import os
from tokenize import TokenError
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.problem.checks import as_points
from sdpbb.problem.files.long_reading import check_memory
from sdpbb.problem.table import PointTable, without_columns
from sdpbb.problem.textfile import errors_as_one_line, naming_file
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.reading import Reading

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

# Copies as floats of an array that exist at once, at the most, until its instance is made.
COPIES = 3

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
        with open(path, "rb") as file:
            header = read_header(file, os.stat(path).st_size)
        check_fits(path, header)
        return np.array(np.lib.format.open_memmap(path, mode="r"))


class Header(NamedTuple):
    """Shape and type of an array that a file holds."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def check_fits(path: FilePath, header: Header) -> None:
    """Raise the InstanceError if an array of a file, and its copies, exceed the free memory."""
    check_memory(
        f"{shown_path(path)}: an array of shape {header.shape} and type {header.dtype}",
        math.prod(header.shape) * (header.dtype.itemsize + COPIES * np.dtype(float).itemsize),
    )


def read_header(file: IO[bytes], size: int) -> Header:
    """Return the header of an array, which is where the file begins.

    size : bytes of the file

    Raises
    ------
    ValueError
        If `numpy.save` never writes such a header, or the array would be longer than the file. A
        negative shape of items without size would end the process in a division by zero.
    """
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:  # later ones are of tables with names
        raise ValueError(f"version {version}")
    shape, _, dtype = _HEADERS[version](file)
    if min(shape, default=0) < 0 or not dtype.itemsize:
        raise ValueError(f"shape {shape} of {dtype}")
    if math.prod(shape) * dtype.itemsize > size:
        raise ValueError(f"shape {shape} of {dtype} in {size} bytes")
    return Header(shape, dtype)
