"""Instances from points and keywords, as `sdpbb.solve` and the heuristics take them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypedDict

from numpy.typing import ArrayLike

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem.cluster_constraints import ClusterConstraint
from sdpbb.problem.files.reading import Reading
from sdpbb.problem.frames import is_frame
from sdpbb.problem.instance import Instance
from sdpbb.problem.preparation import table_in_memory
from sdpbb.problem.sources import stated_by_names

PAIRS = ("must_link", "cannot_link", "soft_must_link", "soft_cannot_link")

_FIRST = "expected points (n, d), a data frame, or an sdpbb.Instance"


class InstanceArguments(TypedDict, total=False):
    """Keywords that make an `Instance` of points, besides k; see `Instance.from_frame`."""

    must_link: Iterable[Any] | None
    cannot_link: Iterable[Any] | None
    soft_must_link: Iterable[Any] | None
    soft_cannot_link: Iterable[Any] | None
    cluster_constraints: Iterable[ClusterConstraint] | None
    min_size: int | None
    max_size: int | None
    sizes: Iterable[int] | None
    min_weight: float | None
    max_weight: float | None
    weights: ArrayLike | None
    index_column: str | None
    drop: Sequence[str]
    weight_column: str | None
    missing: str | None
    scale: str | None
    name: str


def stated_instance(given: Any, k: int | None, arguments: Mapping[str, Any]) -> Instance:
    """Return the instance that is given, or made of points.

    Parameters
    ----------
    given : an instance, an array of points (n, d), or a data frame
    k : number of clusters, of points
    arguments : the others of points by keyword (`InstanceArguments`)

    Raises
    ------
    InstanceError
        On the points, k and the constraints, or if the points are a path.
    ParameterError
        If an instance is given together with what it states itself.
    """
    if isinstance(given, Instance):
        for name, value in ({"k": k} | dict(arguments)).items():
            if value is not None:
                raise ParameterError(f"{name}: expected None, as the Instance states it")
        return given
    if isinstance(given, (str, os.PathLike)):
        path = os.fspath(given)
        raise InstanceError(
            f"instance = {path!r}: {_FIRST}, as sdpbb.read_instance makes one of files"
        )
    if k is None:
        raise InstanceError("k: expected the number of clusters of the points, k=3 say")
    if is_frame(given):
        return Instance.from_frame(given, k, **arguments)
    return _of_array(given, k, dict(arguments))


def _of_array(given: Any, k: int, arguments: dict[str, Any]) -> Instance:
    """Return the instance of an array, or of what NumPy makes one of."""
    missing, scale = arguments.pop("missing", None), arguments.pop("scale", None)
    of_arrays = inspect.signature(Instance).parameters
    for name in arguments:
        if name not in of_arrays:
            raise InstanceError(
                f"{name}: an array has no columns with names; expected a data frame"
            )
    if missing is None and scale is None:
        return Instance(given, k, **arguments)
    reading = Reading(missing=missing, scale=scale)
    table = table_in_memory(given, reading, arguments.pop("weights", None))
    pairs = {name: arguments.pop(name, None) for name in PAIRS}
    on_clusters = arguments.pop("cluster_constraints", None)
    stated = stated_by_names(table, pairs, on_clusters)
    return Instance(
        table.points, k, weights=table.weights, origin=table.origin(), **stated, **arguments
    )
