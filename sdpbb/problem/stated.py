"""Instances from points and keywords, as `sdpbb.solve` and the heuristics take them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem.instance import Instance
from sdpbb.problem.preparation import table_in_memory
from sdpbb.problem.sources import InstanceArguments, arguments_of
from sdpbb.problem.table import PointTable
from sdpbb.runtime.declaration import check_names

_FIRST = "expected points (n, d), a data frame, or an sdpbb.Instance"


def instance_of(
    given: Any, k: int | None, arguments: Mapping[str, Any], own: Iterable[str], function: str
) -> Instance:
    """Return the instance that the arguments of a function without parameters of a run state.

    Parameters
    ----------
    given, k, arguments : as for `stated_instance`
    own : names of the function's own arguments, one of which a wrong one may be meant for
    function : whose arguments they are

    Raises
    ------
    TypeError
        If there is no argument of a name.
    InstanceError, ParameterError
        As `stated_instance`.
    """
    check_names(arguments, [*own, *InstanceArguments.__annotations__], function)
    return stated_instance(given, k, arguments)


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
    table = stated_table(given, arguments)
    if k is None:
        raise InstanceError("k: expected the number of clusters of the points, k=3 say")
    return instance_of_table(table, k, arguments)


def stated_table(given: Any, arguments: Mapping[str, Any]) -> PointTable:
    """Return points in memory, read as the keywords among these say that do.

    Raises
    ------
    InstanceError
        On the points, or if they are a path.
    ParameterError
        For a value that one of the keywords cannot have.
    """
    if isinstance(given, (str, os.PathLike)):
        path = os.fspath(given)
        raise InstanceError(
            f"instance = {path!r}: {_FIRST}, as sdpbb.read_instance makes one of files"
        )
    return table_in_memory(given, arguments)


def instance_of_table(table: PointTable, k: int, arguments: Mapping[str, Any]) -> Instance:
    """Return the instance of points that were read, with the keywords that say no more of these.

    Raises
    ------
    InstanceError
        On k and the constraints.
    """
    return Instance(**arguments_of(table, k, arguments))
