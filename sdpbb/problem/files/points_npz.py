"""Files of several arrays that `numpy.savez` writes, one of which holds the points."""

from __future__ import annotations

import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.files.points_npy import (
    HEADER_ERRORS,
    Header,
    check_fits,
    points_of_array,
    read_header,
)
from sdpbb.problem.table import PointTable
from sdpbb.problem.textfile import errors_as_one_line, shown
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.reading import Reading

_ERRORS = (*HEADER_ERRORS, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)


def read(path: FilePath, reading: Reading) -> PointTable:
    """Return the points of a file, as `sdpbb.problem.files.points.read_points` does."""
    array = read_array(path, reading.table, 2, "table (n, d), the points")
    return points_of_array(path, array, reading)


def read_array(path: FilePath, name: str | None, n_dimensions: int, expected: str) -> NDArray[Any]:
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
    with errors_as_one_line(path, "a file of arrays that numpy.savez wrote", _ERRORS):
        headers = _headers(path)
    if name is None:
        name = _only_one(path, headers, n_dimensions, expected)
    elif name not in headers:
        raise InstanceError(
            f"{shown_path(path)}: table = {shown(name)}: there is no such array; expected one "
            f"of {_names(headers)}"
        )
    check_fits(path, headers[name])
    with (
        errors_as_one_line(path, "a file of arrays that numpy.savez wrote", _ERRORS),
        np.load(path, allow_pickle=False) as content,
    ):
        return np.asarray(content[name])


def _only_one(path: FilePath, headers: dict[str, Header], n_dimensions: int, expected: str) -> str:
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


def _headers(path: FilePath) -> dict[str, Header]:
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
                headers[name] = read_header(file, info.file_size)
        return headers


def _names(headers: dict[str, Header]) -> str:
    names = [f"{shown(name)} {header.shape}" for name, header in headers.items()]
    return f"{', '.join(names[:10])}{', ...' if len(names) > 10 else ''}" or "(none)"
