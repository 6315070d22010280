"""Files of arrays that `numpy.save` and `numpy.savez` write, and the points in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import InstanceError
from sdpbb.problem.checks import as_points
from sdpbb.problem.geometry import dense
from sdpbb.problem.table import PointTable, without_columns
from sdpbb.problem.textfile import errors_as_one_line, first_of, naming_file, shown
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.reading import Reading

_NPZ = "a file of plain arrays that numpy.savez wrote, of which --table selects one"


def read_npy(path: FilePath, reading: Reading) -> PointTable:
    """Return the points of a file, as `sdpbb.problem.files.points.read_points` does."""
    return _points_of_array(path, read_array(path), reading)


def read_npz(path: FilePath, reading: Reading) -> PointTable:
    """Return the points of a file, as `sdpbb.problem.files.points.read_points` does.

    The file may also be a sparse matrix that `scipy.sparse.save_npz` wrote.
    """
    if reading.table is None and (sparse := _sparse_matrix(path)) is not None:
        return _points_of_array(path, dense(sparse), reading)
    array = read_one_array(path, reading.table, 2, "table (n, d), the points")
    return _points_of_array(path, array, reading)


def _points_of_array(path: FilePath, array: NDArray[Any], reading: Reading) -> PointTable:
    """Return the points that an array of a file holds, or raise the InstanceError."""
    if reading.chosen:
        raise without_columns(path, reading.chosen)
    with naming_file(path):
        return PointTable(as_points(array))


def read_array(path: FilePath) -> NDArray[Any]:
    """Return the array of a file, of whatever shape and type; nothing in the file is run.

    Raises
    ------
    InstanceError
        One line: the file, what is wrong and what would be right.
    """
    with (
        errors_as_one_line(path, "an array that numpy.save wrote"),
        open(path, "rb") as file,
    ):
        return np.lib.format.read_array(file, allow_pickle=False)


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
    with (
        errors_as_one_line(path, _NPZ),
        open(path, "rb") as file,
        np.load(file, allow_pickle=False) as content,
    ):
        if name in content.files:
            return np.asarray(content[name])
        arrays = {each: np.asarray(content[each]) for each in content.files}
    shapes = (f"{shown(each)} {array.shape}" for each, array in arrays.items())
    names = first_of(shapes, 10) or "(none)"
    if name is not None:
        raise InstanceError(
            f"{shown_path(path)}: table = {shown(name)}: there is no such array; expected one "
            f"of {names}"
        )
    fitting = [
        array
        for array in arrays.values()
        if array.dtype.kind in "biufU" and array.ndim == n_dimensions
    ]
    if len(fitting) == 1:
        return fitting[0]
    raise InstanceError(
        f"{shown_path(path)}: {len(fitting) or 'none'} of the arrays {names} may be the "
        f"{expected}; expected one, or its name (--table, or --column for labels)"
    )


def _sparse_matrix(path: FilePath) -> Any:
    """Return the matrix of a file that `scipy.sparse.save_npz` wrote; None of another."""
    with errors_as_one_line(path, _NPZ), open(path, "rb") as file:
        with np.load(file, allow_pickle=False) as content:
            if not {"format", "shape", "data"} <= set(content.files):
                return None
        from scipy.sparse import load_npz  # few files are sparse

        matrix = load_npz(file)
        matrix.check_format() if hasattr(matrix, "check_format") else None
        return matrix
