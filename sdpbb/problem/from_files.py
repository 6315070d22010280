"""Constructors of an instance from files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from sdpbb.problem.files.long_reading import reading_file
from sdpbb.problem.files.points import read_points
from sdpbb.problem.sources import stated_in_file
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
