"""Files of arrays that `numpy.save` and `numpy.savez` write, and the points in them."""

from __future__ import annotations

import math
import os
import zipfile
import zlib
from tokenize import TokenError
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.checks import as_points
from sdpbb.problem.geometry import dense
from sdpbb.problem.table import PointTable, without_columns
from sdpbb.problem.textfile import (
    errors_as_one_line,
    first_of,
    naming_file,
    shown,
)
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.reading import Reading

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

_ZIP_ERRORS = (*_HEADER_ERRORS, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_npy(path: FilePath, reading: Reading) -> PointTable:
    """Return the points of a file, as `sdpbb.problem.files.points.read_points` does."""
    return _points_of_array(path, read_array(path), reading)


def _points_of_array(path: FilePath, array: NDArray[Any], reading: Reading) -> PointTable:
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
    with errors_as_one_line(path, "an array that numpy.save wrote", _HEADER_ERRORS):
        with open(path, "rb") as file:
            _read_header(file, os.stat(path).st_size)
        return np.array(np.lib.format.open_memmap(path, mode="r"))


class _Header(NamedTuple):
    """Shape and type of an array that a file holds."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def _read_header(file: IO[bytes], size: int) -> _Header:
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
    return _Header(shape, dtype)


def read_npz(path: FilePath, reading: Reading) -> PointTable:
    """Return the points of a file, as `sdpbb.problem.files.points.read_points` does.

    The file may also be a sparse matrix that `scipy.sparse.save_npz` wrote.
    """
    if reading.table is None and (sparse := _sparse_matrix(path)) is not None:
        return _points_of_array(path, dense(sparse), reading)
    array = read_one_array(path, reading.table, 2, "table (n, d), the points")
    return _points_of_array(path, array, reading)


def _sparse_matrix(path: FilePath) -> Any:
    """Return the matrix of a file that `scipy.sparse.save_npz` wrote; None of another."""
    with errors_as_one_line(path, "a file of arrays that numpy.savez wrote", _ZIP_ERRORS):
        headers = _headers(path)
        if not {"format", "shape", "data"} <= headers.keys():
            return None
        from scipy.sparse import load_npz  # few files are sparse

        matrix = load_npz(path)
        matrix.check_format() if hasattr(matrix, "check_format") else None
        return matrix


def read_one_array(
    path: FilePath, name: str | None, n_dimensions: int, expected: str
) -> NDArray[Any]:
    """Return one of the arrays of a file; nothing in the file is run.

    Parameters
    ----------
    name : of the array; None: the only one with this number of dimensions
    expected : what messages say of such an array

    Raises
    ------
    InstanceError
        One line: the file, what is wrong and what would be right.
    """
    with errors_as_one_line(path, "a file of arrays that numpy.savez wrote", _ZIP_ERRORS):
        headers = _headers(path)
    if name is None:
        name = _only_one(path, headers, n_dimensions, expected)
    elif name not in headers:
        raise InstanceError(
            f"{shown_path(path)}: table = {shown(name)}: there is no such array; expected one "
            f"of {_names(headers)}"
        )
    with (
        errors_as_one_line(path, "a file of arrays that numpy.savez wrote", _ZIP_ERRORS),
        np.load(path, allow_pickle=False) as content,
    ):
        return np.asarray(content[name])


def _only_one(path: FilePath, headers: dict[str, _Header], n_dimensions: int, expected: str) -> str:
    fitting = [
        name
        for name, (shape, dtype) in headers.items()
        if dtype.kind in "biufU" and len(shape) == n_dimensions
    ]
    if len(fitting) == 1:
        return fitting[0]
    raise InstanceError(
        f"{shown_path(path)}: {len(fitting) or 'none'} of the arrays {_names(headers)} may be the "
        f"{expected}; expected one, or its name (--table, or --column for labels)"
    )


def _headers(path: FilePath) -> dict[str, _Header]:
    """Return the headers of the arrays by name."""
    with zipfile.ZipFile(path) as archive:
        members = {
            info.filename.removesuffix(".npy"): info
            for info in archive.infolist()
            if info.filename.endswith(".npy")
        }
        headers = {}
        for name, info in members.items():
            with archive.open(info) as file:
                headers[name] = _read_header(file, info.file_size)
        return headers


def _names(headers: dict[str, _Header]) -> str:
    names = (f"{shown(name)} {header.shape}" for name, header in headers.items())
    return first_of(names, 10) or "(none)"
