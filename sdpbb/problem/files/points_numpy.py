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


def read_arrays(path: FilePath, reading: Reading) -> PointTable:
    """Return the points of a file, as `sdpbb.problem.files.points.read_points` does.

    The file may also be a sparse matrix that `scipy.sparse.save_npz` wrote.
    """
    array = read_array(path, reading.table, 2, "table (n, d), the points")
    if reading.chosen:
        raise without_columns(path, reading.chosen)
    with naming_file(path):
        return PointTable(as_points(dense(array)))


def read_array(path: FilePath, name: str | None, n_dimensions: int, expected: str) -> NDArray[Any]:
    """Return the array of a file, or one of several; nothing in the file is run.

    A matrix of SciPy is returned as it is.

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
        errors_as_one_line(path, "a file of plain arrays that numpy.save or numpy.savez wrote"),
        open(path, "rb") as file,
    ):
        content: Any = np.load(file, allow_pickle=False)
        if isinstance(content, np.ndarray):
            return content
        if name in content.files:
            return np.asarray(content[name])
        if name is None and {"format", "shape", "data"} <= set(content.files):
            from scipy.sparse import load_npz  # few files are sparse

            matrix: Any = load_npz(file)
            matrix.check_format() if hasattr(matrix, "check_format") else None
            return matrix  # type: ignore[no-any-return]
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
