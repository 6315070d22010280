"""Instances from points and keywords, as `sdpbb.solve` and the heuristics take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem.instance import Instance
from sdpbb.problem.preparation import table_in_memory
from sdpbb.problem.sources import InstanceArguments, arguments_of
from sdpbb.runtime.declaration import check_keywords


def instance_of(
    given: Any, k: int | None, arguments: Mapping[str, Any], function: Callable[..., Any]
) -> Instance:
    """Return the instance that the arguments of a function without parameters of a run state.

    Parameters
    ----------
    given, k, arguments : as for `stated_instance`
    function : whose arguments they are

    Raises
    ------
    TypeError
        If there is no argument of a name.
    InstanceError, ParameterError
        As `stated_instance`.
    """
    check_keywords(arguments, InstanceArguments.__annotations__, function)
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
    table = table_in_memory(given, arguments)
    if k is None:
        raise InstanceError("k: expected the number of clusters of the points, k=3 say")
    return Instance(**arguments_of(table, k, arguments))
