"""Arguments of `solve` by keyword: what they state of the instance and of the parameters."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict

from numpy.typing import ArrayLike

from heuristics.parameters import HeuristicSchedule
from sdpbb.bounds.colgen.parameters import ColgenParameters
from sdpbb.bounds.hybrid.parameters import HybridParameters
from sdpbb.bounds.places.parameters import PlaceParameters
from sdpbb.bounds.registry import Bounding
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.declaration import did_you_mean, own_declarations
from sdpbb.decomposition.parameters import DecompositionParameters
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.parameters import SolverParameters
from sdpbb.problem import ClusterConstraint, Instance
from sdpbb.problem.frames import is_frame
from sdpbb.search.parameters import SearchParameters


class SolveArguments(TypedDict, total=False):
    """Keywords of `solve` beside its own: those of an `Instance`, and `SolverParameters`."""

    must_link: Iterable[Any] | None
    cannot_link: Iterable[Any] | None
    soft_must_link: Iterable[Any] | None
    soft_cannot_link: Iterable[Any] | None
    cluster_constraints: Iterable[ClusterConstraint] | None
    min_size: int | None
    max_size: int | None
    sizes: Iterable[int] | None
    weights: ArrayLike | None
    index_column: str | None
    drop: Sequence[str]
    weight_column: str | None
    name: str
    gap: float
    time_limit: float
    node_limit: int | None
    memory_limit: float
    seed: int
    workers: int
    dask: str | None
    bounding: Bounding
    certify: bool
    sdp: SdpParameters
    colgen: ColgenParameters
    hybrid: HybridParameters
    decomposition: DecompositionParameters
    places: PlaceParameters
    search: SearchParameters
    heuristics: HeuristicSchedule


_FIRST = "expected points (n, d), a data frame, or an sdpbb.Instance"


def stated_run(
    given: Any,
    k: Any,
    parameters: SolverParameters | None,
    arguments: Mapping[str, Any],
    own: Iterable[str],
) -> tuple[Instance, SolverParameters]:
    """Return the instance and the parameters that the arguments of `solve` state.

    Parameters
    ----------
    given : an instance, an array of points or a data frame
    k : number of clusters, or parameters in its place; None for neither
    parameters : those that the arguments change; None for the default ones
    arguments : the others by keyword (`SolveArguments`)
    own : names of the arguments of `solve` itself, one of which a wrong one may be meant for

    Raises
    ------
    TypeError
        If there is no argument of a name; the message has the one that is most like it.
    InstanceError, ParameterError
        For values that are wrong, and for what an instance states itself.
    """
    of_instance = _instance_arguments()
    of_run = own_declarations(SolverParameters)
    known = [*own, *of_instance, *of_run]
    for name in arguments:
        if name not in of_instance and name not in of_run:
            raise TypeError(f"solve() has no argument {name!r}; {did_you_mean(name, known)}")
    if k is not None and not _is_number(k):
        if parameters is not None:
            raise TypeError("solve() was given parameters twice: in the place of k, and by keyword")
        if not isinstance(given, Instance):
            raise InstanceError(f"k is a {type(k).__name__}; expected the number of clusters")
        k, parameters = None, k
    parameters = SolverParameters() if parameters is None else parameters
    changes = {name: value for name, value in arguments.items() if name in of_run}
    if changes and isinstance(parameters, SolverParameters):
        parameters = replace(parameters, **changes)
    stated = {name: value for name, value in arguments.items() if name in of_instance}
    return _instance(given, k, stated), parameters


def _is_number(value: Any) -> bool:
    """Return whether a value is meant as a number of clusters, a right one or not."""
    return isinstance(value, (int, float)) or hasattr(value, "__index__")


def _instance_arguments() -> list[str]:
    """Return the names of the arguments that make an instance of a data frame, but for k."""
    return list(inspect.signature(Instance.from_frame).parameters)[2:]


def _instance(given: Any, k: Any, stated: dict[str, Any]) -> Instance:
    """Return the instance that is given, or made of points."""
    if isinstance(given, Instance):
        for name, value in ({"k": k} | stated).items():
            if value is not None:
                raise ParameterError(f"{name}: expected None, as the Instance states it")
        return given
    if isinstance(given, (str, os.PathLike)):
        path = os.fspath(given)
        raise InstanceError(
            f"instance = {path!r}: {_FIRST}, as sdpbb.read_instance makes one of files"
        )
    if k is None:
        raise InstanceError("k: expected the number of clusters, as in sdpbb.solve(points, 3)")
    if is_frame(given):
        return Instance.from_frame(given, k, **stated)
    of_arrays = inspect.signature(Instance).parameters
    for name in stated.keys() - of_arrays.keys():
        raise InstanceError(f"{name}: an array has no columns with names; expected a data frame")
    return Instance(given, k, **stated)
