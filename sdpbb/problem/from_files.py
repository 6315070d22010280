"""Constructors of an instance: from files, a data frame, or points and a file of constraints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

from numpy.typing import ArrayLike

from sdpbb.errors import InstanceError
from sdpbb.problem.cluster_constraints import ClusterConstraint
from sdpbb.problem.files.long_reading import reading_file
from sdpbb.problem.files.points import read_points
from sdpbb.problem.files.reading import Reading
from sdpbb.problem.frames import is_frame
from sdpbb.problem.preparation import table_in_memory
from sdpbb.problem.sources import stated_in_file, stated_in_memory
from sdpbb.problem.table import PointTable
from sdpbb.runtime.files import FilePath


class FromFiles:
    """Constructors from files, of a class that takes the arguments of an `Instance`."""

    @classmethod
    def from_files(
        cls,
        data: FilePath,
        k: int | None = None,
        constraints: FilePath | None = None,
        *,
        constraints_format: str | None = None,
        one_based: bool = False,
        index_column: str | None = None,
        drop: Sequence[str] = (),
        weight_column: str | None = None,
        separator: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        table: str | None = None,
        missing: str | None = None,
        standardize: bool = False,
        known_classes: str | None = None,
        as_points: bool = False,
    ) -> Self:
        """Read the points and the constraints from files; `sdpbb.read_instance` is the same.

        Parameters
        ----------
        data : text, CSV, Excel, Parquet, Feather or NumPy arrays: see `sdpbb.problem.formats`
        k : number of clusters, which takes precedence over the one that the data file states; None
            where it states it
        constraints : a file in one of the formats there
        constraints_format : "pc-sos-sdp", "cccg", "pccc", "matrix" or "csv"; None to tell by the
            file
        one_based : whether the file of constraints calls the first row 1, not 0
        index_column : the column of data that names the rows, and by which constraints call them
        drop : columns of data that are no features
        weight_column : the column of data that holds the weights of the points
        separator, decimal, table : how data is written, where it does not tell: see
            `sdpbb.problem.formats.read_points`
        encoding : of both files, where they are text and do not tell
        missing : "drop-rows", "mean" or "median": what is done about missing values. Constraints
            on rows that are left out are refused
        standardize : whether to cluster columns of mean zero and variance one. Costs, distances
            (GAMMA, DELTA) and weights of soft constraints are in these units; `origin.scaling` has
            the way back
        known_classes : a file of known classes of the rows, or the column of data that holds them,
            if there is no such file; -1 or an empty field where a class is unknown. Rows of the
            same class are must-linked, and rows of different classes cannot link
        as_points : whether a square symmetric table with a zero diagonal is a table of points; it
            is refused otherwise, as it looks like a matrix of distances

        Raises
        ------
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
        points = read_points(
            data,
            index_column=index_column,
            drop=drop,
            weight_column=weight_column,
            separator=separator,
            decimal=decimal,
            encoding=encoding,
            table=table,
            missing=missing,
            standardize=standardize,
            known_classes=known_classes,
            as_points=as_points,
        )
        return cls.from_table(
            points,
            k,
            constraints,
            constraints_format=constraints_format,
            one_based=one_based,
            encoding=encoding,
            data=data,
        )

    @classmethod
    def from_table(
        cls, table: PointTable, k: int | None = None, *arguments: Any, **options: Any
    ) -> Self:
        """Take points that `sdpbb.problem.formats.read_points` has read.

        Parameters and errors are those of `sdpbb.problem.sources.stated_in_file`.
        """
        stated = stated_in_file(table, k, *arguments, **options)
        with reading_file(options.get("data", "")):
            return cls(**stated)


class FromFrame:
    """Constructor from data frames, of a class that takes the arguments of an `Instance`."""

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        k: int,
        must_link: Iterable[Any] | None = None,
        cannot_link: Iterable[Any] | None = None,
        *,
        soft_must_link: Iterable[Any] | None = None,
        soft_cannot_link: Iterable[Any] | None = None,
        cluster_constraints: Iterable[ClusterConstraint] | None = None,
        min_size: int | None = None,
        max_size: int | None = None,
        sizes: Iterable[int] | None = None,
        min_weight: float | None = None,
        max_weight: float | None = None,
        index_column: str | None = None,
        drop: Sequence[str] = (),
        weight_column: str | None = None,
        weights: ArrayLike | None = None,
        missing: str | None = None,
        standardize: bool = False,
        known_classes: Any = None,
        as_points: bool = False,
        name: str = "",
    ) -> Self:
        """Take the points, and the names of the rows, from a data frame.

        Parameters
        ----------
        frame : of pandas or polars; a column per feature
        must_link, cannot_link : pairs of names of rows: of values of index_column; without it of
            the index of a pandas frame; and of row numbers from 0 where that merely counts
        soft_must_link, soft_cannot_link : triples (name, name, weight), weight >= 0
        cluster_constraints : as for an `Instance`, by row numbers of the frame
        min_size, max_size, sizes, min_weight, max_weight : as for an `Instance`
        index_column : the column that names the rows; it is no feature
        drop : more columns that are no features
        weights, weight_column : (n,) weights of the points, or the column that holds them
        known_classes : (n,) classes of the rows, or the column or the file that holds them, as for
            an `Instance`; a series goes by its index, and may lack rows
        missing, standardize, as_points : as for `from_files`

        Raises
        ------
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
        reading = Reading(
            index_column,
            drop,
            weight_column,
            missing=missing,
            standardize=standardize,
            as_points=as_points,
        )
        table = table_in_memory(frame, reading, weights, known_classes)
        arguments = {
            "must_link": must_link,
            "cannot_link": cannot_link,
            "soft_must_link": soft_must_link,
            "soft_cannot_link": soft_cannot_link,
            "cluster_constraints": cluster_constraints,
            "min_size": min_size,
            "max_size": max_size,
            "sizes": sizes,
            "min_weight": min_weight,
            "max_weight": max_weight,
            "name": name,
        }
        return cls(**stated_in_memory(table, k, arguments))


class FromPoints:
    """Constructor from points in memory, of a class that takes the arguments of an `Instance`."""

    @classmethod
    def from_points(
        cls,
        points: ArrayLike,
        k: int,
        constraints: FilePath | None = None,
        *,
        constraints_format: str | None = None,
        one_based: bool = False,
        index_column: str | None = None,
        drop: Sequence[str] = (),
        weight_column: str | None = None,
        weights: ArrayLike | None = None,
        encoding: str | None = None,
        missing: str | None = None,
        standardize: bool = False,
        known_classes: Any = None,
        as_points: bool = False,
        name: str = "",
    ) -> Self:
        """Take the points from memory, and read the constraints from a file.

        Points are an array (n, d) or a data frame of pandas or polars, weights (n,) their weights,
        and known_classes (n,) their classes, or the column or file that holds these. Other
        parameters and errors are as for `from_files`.

        The index of a frame names the rows for the file too, unless it merely counts from 0.
        """
        reading = Reading(
            index_column,
            drop,
            weight_column,
            missing=missing,
            standardize=standardize,
            as_points=as_points,
        )
        table = table_in_memory(points, reading, weights, known_classes)
        if constraints is not None and table.name_problem:
            raise InstanceError(table.name_problem)
        arguments = stated_in_file(
            table,
            k,
            constraints,
            constraints_format=constraints_format,
            one_based=one_based,
            encoding=encoding,
        )
        return cls(**{**arguments, "name": name})
