"""Options of the engine, and its parameters from them and from a file."""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, Any

from sdpbb.app.cli import options
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.run.parameters import SHORT_NAMES, SolverParameters

engine_options = partial(options.declared_options, SolverParameters, short_names=SHORT_NAMES)
"""Decorator of a class of options that state parameters of the engine, by name."""

OF_EVERY_RUN = (
    *("gap", "time_limit", "node_limit", "memory_limit", "seed", "bounding"),
    *("sdp_solver", "milp_solver"),
)
"""Parameters that are options of a single run, of a sweep, and of a batch."""


@options.grouped
class EngineFile(options.StatedOptions):
    """A file of parameters of the engine."""

    file: options.ParametersFile = None

    def parameters(self) -> SolverParameters:
        """Return the parameters of a run: of the file, and of the options, which take precedence.

        Without workers, dask and mpi, all cores are used.

        Raises
        ------
        InstanceError
            If the file cannot be read, or is wrong.
        ParameterError
            If the value of an option is outside of its domain.
        """
        stated, parameters, named = self.stated(), SolverParameters(), frozenset[str]()
        if (file := stated.pop("file", None)) is not None:
            parameters, named = read_parameters(file)
        changes = {SHORT_NAMES.get(name, name): value for name, value in stated.items()}
        if "dask" in changes or changes.get("mpi"):
            changes.setdefault("workers", 1)
        elif "workers" in changes:
            changes |= {"dask": None, "mpi": False}
        elif not named & {"workers", "dask", "mpi"}:
            changes["workers"] = options.usable_cores()
        return parameters.updated(changes)


@engine_options(*OF_EVERY_RUN, "fixing", "workers", "dask", "mpi")
class EngineOptions(EngineFile):
    """Parameters of a run of the engine."""


@options.grouped
class StudyFile(EngineFile):
    """A file of parameters, and what holds for the jobs of a study, such as one for each k."""

    time_limit_each: Annotated[
        float | None,
        options.option(
            metavar="S",
            help="Spend at most S seconds on each k, constraint or point.",
            group=options.LIMITS,
        ),
    ] = None
    workers: Annotated[
        int | None,
        options.option(
            metavar="N",
            default="number of cores",
            help="Number of k, constraints or points to work on at the same time.",
        ),
    ] = None

    def stated(self) -> dict[str, Any]:
        stated = super().stated()
        stated.pop("time_limit_each", None)
        return stated

    @property
    def seconds_each(self) -> float:
        """Seconds for each job; inf without a limit."""
        return math.inf if self.time_limit_each is None else self.time_limit_each


@engine_options("gap", "time_limit", "seed", "bounding", "sdp_solver", "milp_solver")
class StudyOptions(StudyFile):
    """Parameters of the runs of a study."""


def read_parameters(file: str) -> tuple[SolverParameters, frozenset[str]]:
    """Return the parameters in a TOML file, and the names of those that it states itself.

    Raises InstanceError if it cannot be read, or is wrong.
    """
    try:
        return SolverParameters.load_stated(file)
    except ParameterError as error:
        raise InstanceError(str(error)) from None
