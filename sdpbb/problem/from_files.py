"""Constructors of an instance: from files, a data frame, or points and a file of constraints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Self, Unpack

from numpy.typing import ArrayLike

from sdpbb.errors import InstanceError
from sdpbb.problem.files.long_reading import reading_file
from sdpbb.problem.files.points import read_table
from sdpbb.problem.frames import is_frame
from sdpbb.problem.preparation import table_in_memory
from sdpbb.problem.sources import FrameArguments, InstanceArguments, arguments_of, stated_in_file
from sdpbb.problem.table import PointTable
from sdpbb.runtime.declaration import check_names
from sdpbb.runtime.files import FilePath
from sdpbb.runtime.reading import Reading, ReadingArguments, TableArguments


class Constructors:
    """Constructors of an `Instance`, which declares the arguments."""

    @classmethod
    def from_files(
        cls,
        data: FilePath,
        k: int | None = None,
        constraints: FilePath | None = None,
        **reading: Unpack[ReadingArguments],
    ) -> Self:
        """Read the points and the constraints from files; `sdpbb.read_instance` is the same.

        Parameters
        ----------
        data : text, CSV, Excel, Parquet, Feather or NumPy arrays: see `sdpbb.problem.formats`
        k : number of clusters, which takes precedence over the one that the data file states; None
            where it states it
        constraints : a file in one of the formats there
        reading : options by keyword, such as index_column, drop, missing and standardize: see
            `sdpbb.problem.formats.Reading`. `origin.scaling` has the way back to the units of the
            data

        Raises
        ------
        TypeError
            If there is no option of a name.
        InstanceError
            One line: the file, the line number where there is one, what is wrong and what would be
            right.
        ParameterError
            For a value that an option cannot have.

        Warns
        -----
        InstanceWarning
            If the constraints look as if they numbered rows from 1, or there are none; and, as an
            InstanceNote, for what was taken for granted.
        """
        options = Reading.of(reading, function="read_instance")
        return cls.from_table(read_table(data, options), k, constraints, options, data)

    @classmethod
    def from_table(
        cls,
        table: PointTable,
        k: int | None = None,
        constraints: FilePath | None = None,
        reading: Reading | None = None,
        data: FilePath = "",
        of_several_k: bool = False,
    ) -> Self:
        """Take points that `sdpbb.problem.formats.read_points` has read.

        Parameters and errors: see `sdpbb.problem.sources.stated_in_file`.
        """
        reading = Reading() if reading is None else reading
        stated = stated_in_file(table, k, constraints, reading, data, of_several_k)
        with reading_file(data):
            return cls(**stated)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        k: int,
        must_link: Iterable[Any] | None = None,
        cannot_link: Iterable[Any] | None = None,
        **arguments: Unpack[FrameArguments],
    ) -> Self:
        """Take the points, and the names of the rows, from a data frame.

        Parameters
        ----------
        frame : of pandas or polars; a column per feature
        must_link, cannot_link : pairs of names of rows: of values of index_column; without it of
            the index of a pandas frame; and of row numbers from 0 where that merely counts
        arguments : by keyword. soft_must_link, soft_cannot_link: triples (name, name, weight),
            weight >= 0. known_classes: (n,) classes of the rows, or the column or the file that
            holds them; a series goes by its index, and may lack rows. weights: (n,) of the points.
            cluster_constraints (by row numbers of the frame), min_size, max_size, sizes,
            min_weight, max_weight, name: as for an `Instance`. index_column, drop, weight_column,
            missing, standardize, one_hot, metric, shift, as_points: as for `from_files`

        Raises
        ------
        TypeError
            If there is no argument of a name.
        InstanceError
            Naming the column and row, or the argument, its position and the unknown name.
        ParameterError
            For a value that an option cannot have.
        """
        if not is_frame(frame):
            raise InstanceError(
                f"frame: is of type {type(frame).__name__}; expected a data frame of pandas or "
                "polars"
            )
        check_names(arguments, InstanceArguments.__annotations__, "Instance.from_frame")
        table = table_in_memory(frame, arguments)
        pairs = {"must_link": must_link, "cannot_link": cannot_link}
        return cls(**arguments_of(table, k, {**pairs, **arguments}))

    @classmethod
    def from_points(
        cls,
        points: ArrayLike,
        k: int,
        constraints: FilePath | None = None,
        *,
        constraints_format: str | None = None,
        one_based: bool = False,
        encoding: str | None = None,
        weights: ArrayLike | None = None,
        name: str = "",
        **reading: Unpack[TableArguments],
    ) -> Self:
        """Take the points from memory, and read the constraints from a file.

        Points are an array (n, d) or a data frame of pandas or polars, weights (n,) their weights,
        and known_classes (n,) their classes, or the column or file that holds these. Other
        parameters and errors are as for `from_files`; of these, reading takes index_column, drop,
        weight_column, missing, standardize, one_hot, metric, shift, known_classes and as_points.

        The index of a frame names the rows for the file too, unless it merely counts from 0.
        """
        check_names(reading, TableArguments.__annotations__, "Instance.from_points")
        table = table_in_memory(points, {"weights": weights, **reading})
        if constraints is not None and table.name_problem:
            raise InstanceError(table.name_problem)
        stated = {"constraints_format": constraints_format, "one_based": one_based}
        options = Reading.of({**stated, "encoding": encoding})
        return cls(**{**stated_in_file(table, k, constraints, options), "name": name})

    @classmethod
    def from_kernel(cls, kernel: ArrayLike, k: int, **arguments: Unpack[InstanceArguments]) -> Self:
        """Take the inner products of points, as kernel k-means does.

            minimise    sum_c ( sum_{i in c} K_ii - sum_{i, j in c} K_ij / |c| )

        Parameters
        ----------
        kernel : (n, n) symmetric, K_ij = <x_i, x_j>; the points are coordinates with these
        arguments : by keyword, as for `from_frame`; rows are numbered from 0. With shift=True a
            kernel that is not positive semidefinite becomes so: the least number that it takes is
            added to its (centred) diagonal, and (n - k) times that to all costs

        Raises
        ------
        InstanceError
            If the kernel is not symmetric; if no points have it, with its least eigenvalue.
        """
        return cls._from_matrix(kernel, k, "kernel", arguments)

    @classmethod
    def from_distances(
        cls, squares: ArrayLike, k: int, **arguments: Unpack[InstanceArguments]
    ) -> Self:
        """Take the squared distances of points.

            minimise    sum_c sum_{i < j in c} D_ij / |c|

        squares : (n, n) symmetric with a zero diagonal, D_ij = || x_i - x_j ||^2

        The others, and errors, are as for `from_kernel`.
        """
        return cls._from_matrix(squares, k, "squared-distances", arguments)

    @classmethod
    def _from_matrix(
        cls, matrix: ArrayLike, k: int, metric: str, arguments: Mapping[str, Any]
    ) -> Self:
        function = "Instance.from_kernel" if metric == "kernel" else "Instance.from_distances"
        check_names(arguments, InstanceArguments.__annotations__, function)
        table = table_in_memory(matrix, {**arguments, "metric": metric})
        return cls(**arguments_of(table, k, arguments))
