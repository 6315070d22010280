"""Constructors of an instance: from files, or from points in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, Unpack

from numpy.typing import ArrayLike

from sdpbb.errors import InstanceError, InstanceNote, ParameterError, warn_caller
from sdpbb.problem.checks import (
    OF_ONE_K,
    StatedSizes,
    checked_points,
    checked_sizes,
    checked_weights,
    number_of_clusters,
)
from sdpbb.problem.cluster_constraints import (
    BuiltInConstraint,
    ClusterConstraint,
    checked_constraints,
    leaves,
)
from sdpbb.problem.files.constraint_formats import read_constraints
from sdpbb.problem.files.constraints import PAIRS, Constraints
from sdpbb.problem.files.points import read_table
from sdpbb.problem.frames import numbered
from sdpbb.problem.known_classes import KnownClasses
from sdpbb.problem.preparation import table_in_memory
from sdpbb.problem.table import PointTable
from sdpbb.problem.textfile import naming_file, reading_file
from sdpbb.runtime.declaration import check_names
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.reading import (
    OF_CONSTRAINTS,
    Reading,
    ReadingArguments,
    TableArguments,
)


class InstanceArguments(TableArguments, total=False):
    """Keywords that make an `Instance` of points, besides k; see `Instance.from_points`."""

    must_link: Iterable[Any] | None
    cannot_link: Iterable[Any] | None
    soft_must_link: Iterable[Any] | None
    soft_cannot_link: Iterable[Any] | None
    cluster_constraints: Iterable[ClusterConstraint] | None
    min_size: int | None
    max_size: int | None
    sizes: StatedSizes
    min_weight: float | None
    max_weight: float | None
    weights: ArrayLike | None
    name: str


BESIDE_A_FILE = (*TableArguments.__annotations__, "weights", "name")
"""Keywords that may be given together with a file of constraints."""


class Constructors:
    """Constructors of an `Instance` from files and from points in memory."""

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
        k : number of clusters, which overrides the number in the data file; None: use that number
        constraints : a file in one of the formats there
        reading : options by keyword, such as index_column, drop, missing and standardize: see
            `sdpbb.problem.formats.Reading`. `origin.scaling` converts back to the units of the data

        Raises
        ------
        TypeError
            If an option is unknown.
        InstanceError
            One line: the file, the line number if it is known, what is wrong and what is expected.
        ParameterError
            For a wrong value of an option.

        Warns
        -----
        InstanceWarning
            If the file has no constraints, or seems to number rows from 1. Assumptions are reported
            as an InstanceNote.
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
        name: str = "",
    ) -> Self:
        """Make an instance of points that `sdpbb.problem.formats.read_points` has read.

        data : the file of the table; "": points in memory
        of_several_k : whether k is one of several; then the constraints may not list sizes
        name : name of the instance, for points in memory

        Other parameters, errors and warnings: see `from_files`.
        """
        reading = Reading() if reading is None else reading
        k = table.k if k is None else k
        if k is None:
            raise InstanceError(
                f"{shown_path(data)}: the number of clusters is missing; give k (option -k), or a "
                "first line n d k"
            )
        n, form, encoding = len(table.points), reading.constraints_format, reading.encoding
        k = number_of_clusters(k, n)
        with reading_file(data):
            with naming_file(data):
                points = checked_points(table.points)
                weights = checked_weights(table.weights, points)
            first, dropped = int(reading.one_based), table.origin.dropped_rows
            if table.names is None:
                dropped = tuple(str(int(number) + first) for number in dropped)
            origin = replace(
                table.origin,
                first_row=first,
                dropped_rows=dropped,
                constraints_path=str(constraints or ""),
                data_path=str(data),
            )
            stated = Constraints()
            if constraints is None:
                _check_no_constraints_options(reading)
            else:
                stated = read_constraints(constraints, n, form, encoding=encoding, origin=origin)
            if constraints is not None and stated.sizes is not None:
                with naming_file(constraints):
                    if of_several_k:
                        raise InstanceError(OF_ONE_K)
                    given = table.known_classes
                    names = None if given is None else KnownClasses.of(given, n).certain_names
                    checked_sizes(stated.sizes, n, k, names)
            limits = (stated.min_weight, stated.max_weight)
            if weights is None and limits != (None, None):
                warn_caller(
                    f"{shown_path(constraints or '')}: limits on weights count points, as points "
                    "have no weights; --weight-column names the column of weights",
                    InstanceNote,
                )
            name = Path(data).name.split(".")[0] or name
            own = {"points": points, "k": k, "name": name, "weights": weights}
            return cls(**{**_of_table(table), **own, **stated.arguments(points, origin)})

    @classmethod
    def from_points(
        cls,
        points: Any,
        k: int | None,
        constraints: FilePath | None = None,
        *,
        constraints_format: str | None = None,
        one_based: bool = False,
        encoding: str | None = None,
        **arguments: Unpack[InstanceArguments],
    ) -> Self:
        """Make an instance of points in memory, perhaps with a file of constraints.

        Parameters
        ----------
        points : an array or a sparse matrix (n, d); a data frame of pandas or polars with a column
            per feature; or, with metric="kernel" or "squared-distances", a symmetric matrix (n, n)
            of inner products K or squared distances D. In these metrics the cost is the sum over
            clusters c of sum_{i in c} K_ii - sum_{i, j in c} K_ij / |c|, or of
            sum_{i < j in c} D_ij / |c|
        constraints : a file, with the names of rows that pairs here have
        constraints_format, one_based, encoding : options on this file, as for `from_files`
        arguments : by keyword. must_link, cannot_link: pairs of names of rows. Names are values of
            index_column; without it, labels of the index of a pandas frame; and row numbers from 0
            if the index merely counts. soft_must_link, soft_cannot_link: triples (name, name,
            weight), weight >= 0. known_classes: (n,) classes of the rows, or the column or the
            file that holds them; a series is matched by its index, and may lack rows. weights:
            (n,) weights of the points. cluster_constraints (by row numbers), min_size, max_size,
            sizes, min_weight, max_weight, name: as for an `Instance`. index_column, drop,
            weight_column, missing, standardize, one_hot, metric, as_points: as for `from_files`

        Raises
        ------
        TypeError
            If an argument is unknown.
        InstanceError
            Naming the column and row, or the argument, its position and the unknown name; and for
            constraints together with a file of constraints.
        ParameterError
            For a wrong value of an option.
        """
        check_names(arguments, InstanceArguments.__annotations__, "Instance.from_points")
        table = table_in_memory(points, arguments)
        reading = Reading(constraints_format, one_based, encoding=encoding)  # type: ignore[arg-type]
        if constraints is None:
            _check_no_constraints_options(reading)
            return cls(**arguments_of(table, k, arguments))
        for argument, value in arguments.items():
            if value is not None and argument not in BESIDE_A_FILE:
                raise InstanceError(f"{argument}: expected None beside a file of constraints")
        if table.name_problem:
            raise InstanceError(table.name_problem)
        return cls.from_table(table, k, constraints, reading, name=arguments.get("name", ""))


def _check_no_constraints_options(reading: Reading) -> None:
    """Raise the ParameterError for options on a file of constraints if there is no such file."""
    for name in OF_CONSTRAINTS:
        # A file of classes may have row numbers, too.
        is_of_use = name == "one_based" and reading.class_file is not None
        if (value := getattr(reading, name)) and not is_of_use:
            raise ParameterError(f"{name} = {value}: expected a file of constraints with it")


def arguments_of(table: PointTable, k: int | None, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of an `Instance` of a table; constraints in it are by row numbers.

    arguments : by keyword (`InstanceArguments`), with names of rows; options of reading are ignored

    Raises
    ------
    InstanceError
        Naming the argument, its position and the unknown or dropped row.
    """
    if k is None:
        raise InstanceError("k: expected the number of clusters of the points, k=3 say")
    of_table = (*TableArguments.__annotations__, "weights")
    others = {name: value for name, value in arguments.items() if name not in of_table}
    stated = {name: numbered(others.pop(name, None), table, name) for name in PAIRS.values()}
    name = "cluster_constraints"
    on_clusters = checked_constraints(others.pop(name, None), name)
    if table.origin.kept_rows is not None:
        _check_no_rows(on_clusters)
    own = {"k": k, "origin": table.origin, "cluster_constraints": on_clusters}
    return {**_of_table(table), **own, **stated, **others}


def _of_table(table: PointTable) -> dict[str, Any]:
    """Return the arguments of an `Instance` that a table of points states."""
    return {
        "points": table.points,
        "weights": table.weights,
        "known_classes": table.known_classes,
        # `prepared` has already checked that points, before scaling, are not a matrix of distances.
        "as_points": True,
    }


def _check_no_rows(on_clusters: Iterable[ClusterConstraint]) -> None:
    """Raise the InstanceError for the first constraint that names rows, as rows were dropped."""
    for position, constraint in enumerate(on_clusters):
        for leaf in leaves(constraint):
            if isinstance(leaf, BuiltInConstraint) and any(True for _ in leaf.rows()):
                raise InstanceError(
                    f"cluster_constraints[{position}]: names rows by number, and rows are dropped, "
                    "as values are missing; expected data without these rows, or --missing mean or "
                    "median"
                )
