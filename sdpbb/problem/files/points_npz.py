"""Files of several arrays that `numpy.savez` writes, one of which holds the points."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.files import FilePath, shown_path
from sdpbb.problem.files.points_npy import HEADER_ERRORS, check_header, points_of_array
from sdpbb.problem.files.reading import Reading
from sdpbb.problem.table import PointTable
from sdpbb.problem.textfile import errors_as_one_line, shown

_ERRORS = (*HEADER_ERRORS, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)


def read(path: FilePath, reading: Reading) -> PointTable:
    """Return the points of a file, as `sdpbb.problem.files.points.read_points` does."""
    array = read_array(path, reading.table, lambda one: one.ndim == 2, "table (n, d), the points")
    return points_of_array(path, array, reading)


def read_array(
    path: FilePath, name: str | None, fits: Callable[[NDArray[Any]], bool], expected: str
) -> NDArray[Any]:
    """Return one of the arrays of a file; nothing in the file is run.

    Parameters
    ----------
    name : of the array; None for the only one that fits
    expected : what messages say of an array that fits

    Raises
    ------
    InstanceError
        One line: the file, what is wrong and what would be right.
    """
    with errors_as_one_line(path, "a file of arrays that numpy.savez wrote", _ERRORS):
        arrays = _arrays(path, name)
    if name is not None:
        if name not in arrays:
            raise InstanceError(
                f"{shown_path(path)}: table = {shown(name)}: there is no such array; expected one "
                f"of {_names(arrays)}"
            )
        return arrays[name]
    fitting = [array for array in arrays.values() if array.dtype.kind in "biufU" and fits(array)]
    if len(fitting) == 1:
        return fitting[0]
    how_many = len(fitting) or "none"
    raise InstanceError(
        f"{shown_path(path)}: {how_many} of the arrays {_names(arrays)} may be the {expected}; "
        "expected one, or its name (--table, or --column for labels)"
    )


def _arrays(path: FilePath, name: str | None) -> dict[str, NDArray[Any]]:
    """Return the arrays by name: all, or the one of this name, if it is there.

    Their sizes are checked before any memory is taken.
    """
    with zipfile.ZipFile(path) as archive:
        members = {
            info.filename.removesuffix(".npy"): info
            for info in archive.infolist()
            if info.filename.endswith(".npy")
        }
        for info in members.values():
            with archive.open(info) as file:
                check_header(file, info.file_size)
    with np.load(path, allow_pickle=False) as content:
        wanted = members if name is None else [one for one in members if one == name]
        return {one: content[one] for one in wanted}


def _names(arrays: dict[str, NDArray[Any]]) -> str:
    names = [f"{shown(name)} {array.shape}" for name, array in arrays.items()]
    return f"{', '.join(names[:10])}{', ...' if len(names) > 10 else ''}" or "(none)"
