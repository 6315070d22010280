"""Arguments of an `Instance` from a table of points and a file of constraints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from sdpbb.errors import InstanceError, InstanceNote, warn_caller
from sdpbb.problem.checks import (
    OF_ONE_K,
    checked_pairs,
    checked_points,
    checked_soft_pairs,
    checked_weights,
    number_of_clusters,
)
from sdpbb.problem.class_sizes import StatedSizes, checked_sizes
from sdpbb.problem.cluster_constraints import ClusterConstraint, checked_constraints
from sdpbb.problem.files.constraint_formats import check_no_constraints_options, read_constraints
from sdpbb.problem.files.constraints import PAIRS, Constraints
from sdpbb.problem.files.kept_rows import KeptRows
from sdpbb.problem.files.long_reading import reading_file
from sdpbb.problem.frames import numbered
from sdpbb.problem.known_classes import KnownClasses
from sdpbb.problem.table import PointTable
from sdpbb.problem.textfile import naming_file
from sdpbb.runtime.files import FilePath, shown_path
from sdpbb.runtime.reading import Reading, TableArguments


class FrameArguments(TableArguments, total=False):
    """Keywords of `Instance.from_frame`, which states them, but must_link and cannot_link."""

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


class InstanceArguments(FrameArguments, total=False):
    """Keywords that make an `Instance` of points, besides k; see `Instance.from_frame`."""

    must_link: Iterable[Any] | None
    cannot_link: Iterable[Any] | None


def stated_in_file(
    table: PointTable,
    k: int | None,
    constraints: FilePath | None,
    reading: Reading,
    data: FilePath = "",
    of_several_k: bool = False,
) -> dict[str, Any]:
    """Return the arguments of an `Instance` of a table, whose constraints are in a file.

    Parameters: see `Instance.from_files`; data is the file of the table; "": no file.
    of_several_k says that k is one of several, for which no sizes can be listed.

    Raises
    ------
    InstanceError, ParameterError
        As there.

    Warns
    -----
    InstanceNote
        If there are limits on weights, and the points have none.
    """

    @contextmanager
    def in_file() -> Iterator[None]:
        with reading_file(data), naming_file(data) if data else nullcontext():
            yield

    k = table.k if k is None else k
    if k is None:
        raise InstanceError(
            f"{shown_path(data)}: the number of clusters is missing; give k (option -k), or a "
            "first line n d k"
        )
    k = number_of_clusters(k, len(table.points))
    with in_file():
        points = checked_points(table.points)
    if constraints is None:
        check_no_constraints_options(reading)
        stated = Constraints()
    else:
        names = table.all_names
        stated = read_constraints(
            constraints,
            table.n_data_rows,
            reading.constraints_format,
            one_based=reading.one_based,
            row_names=None if names is None else tuple(map(str, names)),
            encoding=reading.encoding,
        )
        if table.kept_rows is not None:
            stated = KeptRows(table).constraints(stated, shown_path(constraints))
    origin = table.origin(
        first_row=int(reading.one_based),
        constraints_path=str(constraints or ""),
        data_path=str(data),
    )
    with in_file():
        weights = checked_weights(table.weights, points)
    if constraints is not None and stated.sizes is not None:
        given, n = table.known_classes, len(points)
        classes = None if given is None else KnownClasses.of(given, n)
        with naming_file(constraints):
            if of_several_k:
                raise InstanceError(OF_ONE_K)
            checked_sizes(stated.sizes, n, k, classes)
    if weights is None and not (stated.min_weight is None and stated.max_weight is None):
        warn_caller(
            f"{shown_path(constraints or '')}: limits on weights count points, as points have no "
            "weights; --weight-column names the column of weights",
            InstanceNote,
        )
    arguments = stated.arguments(points, origin)
    name = Path(data).name.split(".")[0] if data else ""
    return {
        **of_table(table),
        "points": points,
        "k": k,
        "name": name,
        "weights": weights,
        **arguments,
    }


def arguments_of(table: PointTable, k: int, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of an `Instance` of a table, whose constraints are by names of rows.

    arguments : by keyword (`InstanceArguments`); options of reading are ignored

    Raises
    ------
    InstanceError
        As `stated_by_names`.
    """
    of_reading = (*TableArguments.__annotations__, "weights")
    others = {name: value for name, value in arguments.items() if name not in of_reading}
    pairs = {name: others.pop(name, None) for name in PAIRS.values()}
    stated = stated_by_names(table, pairs, others.pop("cluster_constraints", None))
    return {**of_table(table), "k": k, "origin": table.origin(), **stated, **others}


def of_table(table: PointTable) -> dict[str, Any]:
    """Return the arguments of an `Instance` that a table of points states."""
    return {
        "points": table.points,
        "weights": table.weights,
        "known_classes": table.known_classes,
        # Whether they may be a matrix of distances was asked before they were scaled.
        "as_points": True,
    }


def stated_by_names(
    table: PointTable,
    pairs: dict[str, Iterable[Any] | None],
    cluster_constraints: Iterable[ClusterConstraint] | None,
) -> dict[str, Any]:
    """Return the arguments of an `Instance` that state constraints on the rows of a table.

    pairs : by argument (must_link, ..., soft_cannot_link), of names of rows of the data, or their
        numbers where they have no names

    Raises
    ------
    InstanceError
        Naming the argument, its position and the unknown row, or the one that is left out.
    """
    by_number = {name: numbered(entries, table, name) for name, entries in pairs.items()}
    if table.kept_rows is None:
        return {**by_number, "cluster_constraints": cluster_constraints}
    n = table.n_data_rows
    checked: dict[str, Any] = {}
    for name, entries in by_number.items():
        check = checked_soft_pairs if name.startswith("soft") else checked_pairs
        checked[name] = check(entries, n, name)
    on_clusters = checked_constraints(cluster_constraints, "cluster_constraints")
    stated = Constraints(**checked, cluster_constraints=on_clusters)
    stated = KeptRows(table).constraints(stated)
    return {name: getattr(stated, name) for name in (*PAIRS.values(), "cluster_constraints")}
