"""Arguments of `solve` and `resume`: instance and parameters, and checks before a run begins."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sdpbb.bounds.registry import BOUNDING_METHODS, ONLY_PAIRS_AND_SIZES, Bounding
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.errors import FileInUse, InstanceError, ParameterError
from sdpbb.problem import Instance, Partition
from sdpbb.problem.checker_rules import foreign_constraints
from sdpbb.problem.frames import in_row_order
from sdpbb.problem.instance import check_instance, instance_of
from sdpbb.problem.partition import objection
from sdpbb.problem.rules import is_built_in
from sdpbb.problem.sources import InstanceArguments
from sdpbb.run.parameters import DecompositionParameters, SearchParameters, SolverParameters
from sdpbb.runtime.backends.milp import require_integer_solver
from sdpbb.runtime.declaration import check_keywords, own_declarations
from sdpbb.runtime.executors.worker import pack
from sdpbb.runtime.files import FilePath, only_writer, output_problem, shown_path


class SolveArguments(InstanceArguments, total=False):
    """Keywords of an `Instance` and of `SolverParameters` in `solve`."""

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
    """Return the instance and the parameters from the arguments of `solve` or a similar function.

    Parameters
    ----------
    given : an instance, an array of points or a data frame
    k : number of clusters, or parameters; or None
    parameters : changed by the arguments; None: the default parameters
    arguments : other keywords (`SolveArguments`)
    function : function with these arguments, for messages

    Raises
    ------
    TypeError
        If an argument has an unknown name; the message suggests a similar one.
    InstanceError, ParameterError
        If a value is wrong, or conflicts with the instance.
    """
    if k is not None and not _is_number(k):
        if parameters is not None:
            raise TypeError(f"{function.__name__}() got parameters twice: as k, and by keyword")
        if not isinstance(given, Instance):
            raise InstanceError(f"k is a {type(k).__name__}; expected the number of clusters")
        k, parameters = None, k
    of_instance, parameters = divided(arguments, parameters, function)
    return instance_of(given, k, of_instance), parameters


def divided(
    arguments: Mapping[str, Any], parameters: SolverParameters | None, function: Callable[..., Any]
) -> tuple[dict[str, Any], SolverParameters]:
    """Split keyword arguments into arguments of the instance and the parameters.

    Arguments and errors are as for `stated_run`.
    """
    names = InstanceArguments.__annotations__
    check_keywords(arguments, [*names, *own_declarations(SolverParameters)], function)
    stated = {name: value for name, value in arguments.items() if name in names}
    changes = {name: value for name, value in arguments.items() if name not in names}
    parameters = SolverParameters() if parameters is None else parameters
    if changes and isinstance(parameters, SolverParameters):
        parameters = replace(parameters, **changes)
    return stated, parameters


def _is_number(value: Any) -> bool:
    """Return whether a value is meant as a number of clusters, valid or not."""
    return isinstance(value, (int, float)) or hasattr(value, "__index__")


def check_compatibility(
    instance: Instance, parameters: SolverParameters, checkpoint: FilePath | None
) -> None:
    """Check that a run supports the instance with these parameters.

    Raises
    ------
    InstanceError
        If the instance is not an `Instance`.
    ParameterError
        If the parameters are not `SolverParameters`. If the bounding, a checkpoint or other
        processes do not support a constraint on clusters.
    BackendUnavailable
        If the solver of integer programmes is not installed.
    """
    check_instance(instance)
    if not isinstance(parameters, SolverParameters):
        kind = type(parameters).__name__
        raise ParameterError(
            f"parameters = ...: of type {kind}; expected an sdpbb.SolverParameters"
        )
    require_integer_solver(parameters.search.milp_solver)
    fit = [repr(name) for name in BOUNDING_METHODS if name not in ONLY_PAIRS_AND_SIZES]
    if instance.has_constraints_beyond_sizes and repr(parameters.bounding) not in fit:
        raise ParameterError(
            f"bounding = {parameters.bounding!r}: expected {', '.join(fit[:-1])} or {fit[-1]}, as "
            "there are constraints on clusters that are more than cannot-links and limits on sizes"
        )
    custom = [c for c in instance.cluster_constraints if not is_built_in(c)]
    if custom and checkpoint is not None:
        raise ParameterError(
            f"checkpoint = {shown_path(checkpoint)}: expected none, as a checkpoint cannot "
            f"hold a constraint of your own class ({type(custom[0]).__name__})"
        )
    if custom and (parameters.workers > 1 or parameters.dask is not None or parameters.mpi):
        try:
            pack(custom)
        except Exception as error:  # whatever the classes raise
            detail = " ".join(str(error).split())
            raise ParameterError(
                "cluster_constraints: cannot be sent to other processes; expected workers = 1, "
                f"without dask and mpi ({detail})"
            ) from None


def check_executor(executor: object, parameters: SolverParameters) -> None:
    """Check the type of an executor, and that parameters do not request other workers.

    Raises
    ------
    ParameterError
        If a check fails.
    """
    if executor is None:
        return
    kind = type(executor).__name__
    if not callable(getattr(executor, "submit", None)):
        raise ParameterError(f"executor = {kind}: expected a concurrent.futures.Executor")
    if parameters.workers > 1 or parameters.dask is not None or parameters.mpi:
        raise ParameterError(f"executor = {kind}: expected None with workers > 1, dask or mpi")


def checked_clustering(labels: ArrayLike, instance: Instance, argument: str) -> Partition:
    """Return the clustering of labels (n,), after checking.

    argument : name of the labels in messages

    Raises
    ------
    ParameterError
        If it is not a clustering of the instance, or violates a constraint.
    """
    try:
        ordered = in_row_order(labels, instance.n_points, instance.origin, argument)
    except InstanceError as error:
        raise ParameterError(str(error)) from None
    try:
        partition = Partition(np.asarray(ordered))
    except (InstanceError, ValueError):
        raise ParameterError(
            f"{argument} = ...: expected a one-dimensional array of integers"
        ) from None
    if len(partition.labels) != instance.n_points:
        expected = f"{len(partition.labels)} labels: expected {instance.n_points}, one per point"
        raise ParameterError(f"{argument} = {expected}")
    if wrong := objection(instance, partition):
        raise ParameterError(
            f"{argument} = ...: {wrong}; expected a clustering into exactly k = {instance.k} "
            "clusters that satisfies every constraint"
        )
    return partition


def check_certifiable(
    instance: Instance, path: FilePath | None, *checkpoints: FilePath | None
) -> None:
    """Check that a run on the instance can be certified, and its certificate written to path.

    Raises
    ------
    ParameterError
        If not, or if path is one of the checkpoints.
    """
    foreign = foreign_constraints(instance.cluster_constraints)
    if foreign:
        name = "True" if path is None else f"{shown_path(path)}"
        _refuse(
            "certificate",
            f"{name}: expected none, as {foreign[0]} is a constraint of your own class, which the "
            "checker does not know",
        )
    if path is None:
        return
    for checkpoint in checkpoints:
        if checkpoint is not None and os.path.realpath(checkpoint) == os.path.realpath(path):
            problem = f"{shown_path(path)}: is the checkpoint already; expected another file"
            _refuse("certificate", problem)
    _refuse("certificate", output_problem(path))


@contextmanager
def reserved_checkpoint(
    checkpoint: FilePath | None, problem: Callable[[FilePath], str | None]
) -> Iterator[None]:
    """Context manager: no other run writes to the checkpoint.

    checkpoint : None: no checkpoint
    problem : returns why a file cannot be written at a path, or None

    Raises
    ------
    ParameterError
        If the checkpoint cannot be written, or another run writes to it (`FileInUse`).
    """
    if checkpoint is None:
        yield
        return
    _refuse("checkpoint", problem(checkpoint))
    with ExitStack() as held:
        try:
            held.enter_context(only_writer(checkpoint, "run"))
        except FileInUse as error:
            raise FileInUse(f"checkpoint = {error}") from None
        except OSError as error:
            reason = error.strerror or error
            _refuse("checkpoint", f"{shown_path(checkpoint)}: cannot be written ({reason})")
        yield


def _refuse(parameter: str, problem: str | None) -> None:
    """Raise a ParameterError if there is a problem with a parameter."""
    if problem is not None:
        raise ParameterError(f"{parameter} = {problem}")
