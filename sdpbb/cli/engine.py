"""Parameters of the engine, from a file and from the options of a command."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from sdpbb.cli.options import given, usable_cores
from sdpbb.errors import InstanceError, ParameterError

if TYPE_CHECKING:
    from sdpbb.parameters import SolverParameters

PATHS = {"sdp_solver": "sdp.solver", "fixing": "search.fixing"}
"""Paths of the parameters that options call by other names."""


def solver_parameters(file: str | None = None, **options: object) -> SolverParameters:
    """Return the parameters of a run. Without workers and dask, all cores are used.

    Parameters
    ----------
    file : in TOML; None for none
    options : by name; None for those that are not given. They take precedence over the file

    Raises
    ------
    InstanceError
        If the file cannot be read, or is wrong.
    ParameterError
        If the value of an option is outside of its domain.
    """
    from sdpbb.parameters import SolverParameters

    parameters, stated = SolverParameters(), frozenset[str]()
    if file is not None:
        parameters, stated = read_parameters(file)
    changes = {
        PATHS.get(name, name): value.value if isinstance(value, Enum) else value
        for name, value in given(**options).items()
    }
    if "dask" in changes:
        changes.setdefault("workers", 1)
    elif "workers" not in changes and not stated & {"workers", "dask"}:
        changes["workers"] = usable_cores()
    elif "workers" in changes and "dask" in stated:
        changes["dask"] = None
    return parameters.updated(changes)


def read_parameters(file: str) -> tuple[SolverParameters, frozenset[str]]:
    """Return the parameters in a TOML file, and the names of those that it states itself; raise
    InstanceError if it cannot be read, or is wrong."""
    from sdpbb.parameters import SolverParameters

    try:
        return SolverParameters.load_stated(file)
    except ParameterError as error:
        raise InstanceError(str(error)) from None
