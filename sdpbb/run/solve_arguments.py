"""Arguments of `solve` by keyword: what they state of the instance and of the parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sdpbb.bounds.registry import Bounding
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.errors import InstanceError
from sdpbb.problem import Instance
from sdpbb.problem.instance import stated_instance
from sdpbb.problem.sources import InstanceArguments
from sdpbb.run.parameters import DecompositionParameters, SearchParameters, SolverParameters
from sdpbb.runtime.declaration import check_keywords, own_declarations


class SolveArguments(InstanceArguments, total=False):
    """Keywords of `solve` beside its own: those of an `Instance`, and `SolverParameters`."""

    gap: float
    time_limit: float
    node_limit: int | None
    memory_limit: float
    seed: int
    workers: int
    dask: str | None
    mpi: bool
    bounding: Bounding
    certify: bool
    sdp: SdpParameters
    decomposition: DecompositionParameters
    search: SearchParameters


def stated_run(
    given: Any,
    k: Any,
    parameters: SolverParameters | None,
    arguments: Mapping[str, Any],
    function: Callable[..., Any],
) -> tuple[Instance, SolverParameters]:
    """Return the instance and the parameters that the arguments of `solve`, or the like, state.

    Parameters
    ----------
    given : an instance, an array of points or a data frame
    k : number of clusters, or parameters in its place; None for neither
    parameters : those that the arguments change; None for the default ones
    arguments : the others by keyword (`SolveArguments`)
    function : whose arguments they are

    Raises
    ------
    TypeError
        If there is no argument of a name; the message has the one that is most like it.
    InstanceError, ParameterError
        For values that are wrong, and for what an instance states itself.
    """
    of_instance, changes = divided(arguments, function)
    if k is not None and not _is_number(k):
        if parameters is not None:
            raise TypeError(f"{function.__name__}() got parameters twice: as k, and by keyword")
        if not isinstance(given, Instance):
            raise InstanceError(f"k is a {type(k).__name__}; expected the number of clusters")
        k, parameters = None, k
    return stated_instance(given, k, of_instance), changed(parameters, changes)


def divided(
    arguments: Mapping[str, Any], function: Callable[..., Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return those of the arguments by keyword that state an instance, and single parameters.

    Parameters and errors are those of `stated_run`.
    """
    of_instance = InstanceArguments.__annotations__
    of_run = own_declarations(SolverParameters)
    check_keywords(arguments, [*of_instance, *of_run], function)
    stated = {name: value for name, value in arguments.items() if name in of_instance}
    return stated, {name: value for name, value in arguments.items() if name in of_run}


def changed(parameters: SolverParameters | None, changes: Mapping[str, Any]) -> SolverParameters:
    """Return parameters, or the default ones, with single ones instead of theirs."""
    parameters = SolverParameters() if parameters is None else parameters
    if changes and isinstance(parameters, SolverParameters):
        return replace(parameters, **changes)
    return parameters


def _is_number(value: Any) -> bool:
    """Return whether a value is meant as a number of clusters, a right one or not."""
    return isinstance(value, (int, float)) or hasattr(value, "__index__")
