"""solve and resume: what a run is asked for, and what is refused before it begins."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sdpbb.archive import read_header
from sdpbb.checkpoint import KIND, Checkpoint, FilePath, read_checkpoint
from sdpbb.compatibility import check_compatibility
from sdpbb.errors import FileInUse, InstanceError, ParameterError
from sdpbb.files import new_file_problem, output_problem, shown_path
from sdpbb.interruption import interruptible
from sdpbb.locks import only_writer
from sdpbb.parameters import SolverParameters
from sdpbb.problem import Instance, Partition
from sdpbb.problem.cluster_rules import foreign_constraints
from sdpbb.result import Result
from sdpbb.run import CertificateOrder, run
from sdpbb.search.events import Observer, Resumed, ignore


def solve(
    instance: Instance,
    parameters: SolverParameters | None = None,
    observer: Observer = ignore,
    interrupt: threading.Event | None = None,
    checkpoint: FilePath | None = None,
    start: ArrayLike | None = None,
    certificate: FilePath | None = None,
) -> Result:
    """Find a clustering with the least sum of squares that keeps the constraints, and prove it.

    minimise    sum_i || p_i - m_{l(i)} ||^2
    subject to  l(i) = l(j) for must-links, l(i) != l(j) for cannot-links, exactly k clusters,
                each of which keeps the constraints on clusters

    by branch and cut over contracted semidefinite bounds (Piccialli, Russo Russo, Sudoso: An exact
    algorithm for semi-supervised minimum sum-of-squares clustering, 2022). "optimal" means that a
    bound which is valid whatever the numerical method did lies within the gap of the clustering.

    Parameters
    ----------
    instance : points, k and constraints
    parameters : tolerance, limits, seed, workers, and the numbers of the components
    observer : is told how the run goes (`sdpbb.search.events`)
    interrupt : set it, from a signal handler or another thread, to end the run cleanly: what was
        found until then is returned (`Termination.INTERRUPTED`). Without one, the first Ctrl-C in
        the main thread ends the run so, and what was found is raised
    checkpoint : a new file that the state of the run is written to every few seconds, and at the
        end, for `resume`
    start : labels (n,) of a clustering that keeps the constraints, to begin with; integers, in any
        numbering
    certificate : a file for the proof, which `sdpbb verify` and `sdpbb.checker` check without this
        package's engine. Bounds then count as far as the checker confirms them

    Returns
    -------
    Result; repeatable for a seed and one worker unless a time or memory limit, an interrupt, or a
    time-limited assignment step (see `heuristics.parameters`) cuts in.

    Raises
    ------
    InstanceError
        If the instance has soft constraints.
    ParameterError
        If start does not keep the constraints; if there is a checkpoint already, none can be
        written there, or another run is writing to it (`FileInUse`); if a certificate is asked for
        of a gap below 1e-9, with constraints on clusters that are the user's own code, or where
        none can be written or the checkpoint is; if the address of the Dask cluster is none. Also
        if the instance has constraints on clusters that the engine asked for cannot keep, that a
        checkpoint cannot hold, or that other processes cannot be sent.
    BackendFailure
        If the integer programming solver or a conic one fails, no worker process can be had, or
        the Dask cluster cannot be reached or has no workers. A checkpoint is written first.
    BackendUnavailable
        If Dask or a conic solver is asked for and not installed.
    CertificateError
        If the certificate cannot be written in the end; the result is its attribute `result`.
    Interrupted
        (A KeyboardInterrupt.) After Ctrl-C, unless there is an interrupt of the caller's; the
        result is its attribute `result`. A second Ctrl-C raises KeyboardInterrupt at once.
    """
    order = None if certificate is None else CertificateOrder(certificate)
    return solve_and_certify(instance, parameters, observer, interrupt, checkpoint, start, order)


def solve_and_certify(
    instance: Instance,
    parameters: SolverParameters | None = None,
    observer: Observer = ignore,
    interrupt: threading.Event | None = None,
    checkpoint: FilePath | None = None,
    start: ArrayLike | None = None,
    order: CertificateOrder | None = None,
) -> Result:
    """`solve`, with a certificate that says what the order does."""
    parameters = SolverParameters() if parameters is None else parameters
    check_compatibility(instance, parameters, checkpoint)
    with _only_writer(checkpoint, new_file_problem):
        if order is not None or parameters.certify:
            parameters = parameters.for_certificates()
            require_certifiable(instance, None if order is None else order.path, checkpoint)
        first = None if start is None else _first_clustering(start, instance)
        begin = Checkpoint(instance, parameters)
        return interruptible(
            interrupt,
            lambda stop: run(begin, checkpoint, observer, stop, order, first=first),
        )


def require_certifiable(
    instance: Instance, path: FilePath | None, *checkpoints: FilePath | None
) -> None:
    """ParameterError if there is no certificate for an instance, or none at path, where there are
    checkpoints."""
    _require("certificate", _certificate_problem(path, instance, *checkpoints))


def _first_clustering(start: ArrayLike, instance: Instance) -> Partition:
    try:
        partition = Partition(np.asarray(start))
    except (InstanceError, ValueError):
        raise ParameterError("start = ...: expected a one-dimensional array of integers") from None
    if len(partition.labels) != instance.n_points:
        expected = f"{len(partition.labels)} labels: expected {instance.n_points}, one per point"
        raise ParameterError(f"start = {expected}")
    if not partition.is_feasible(instance):
        raise ParameterError(
            f"start = {partition.n_clusters} clusters: expected a clustering into exactly "
            f"k = {instance.k} clusters that keeps every constraint"
        )
    return partition


class Changes(TypedDict, total=False):
    """What a run can be asked anew when it is resumed (see `SolverParameters`)."""

    time_limit: float
    node_limit: int | None
    memory_limit: float
    workers: int
    dask: str | None


def resume(
    path: FilePath,
    observer: Observer = ignore,
    interrupt: threading.Event | None = None,
    checkpoint: FilePath | None = None,
    certificate: FilePath | None = None,
    **changes: Unpack[Changes],
) -> Result:
    """Go on with a run from its checkpoint. A run that was finished is reported again.

    Parameters
    ----------
    path : a checkpoint written by the same version of sdpbb
    observer, interrupt : as for `solve`
    checkpoint : a new file that is written to from now on; None for path
    certificate : as for `solve`, of a run that was begun with one
    time_limit, node_limit, memory_limit, workers, dask : instead of those before. Limits are for
        the whole run, including the seconds and nodes of before, so one that has ended the run must
        be raised for it to go on. workers and dask are each given up for the other

    Raises
    ------
    ArchiveError
        If there is no such checkpoint.
    ParameterError, BackendFailure, BackendUnavailable, CertificateError, Interrupted
        As for `solve`.
    """
    unknown = sorted(changes.keys() - Changes.__annotations__.keys())
    if unknown:
        raise TypeError(f"resume() cannot change {', '.join(unknown)}")
    read_header(path, KIND)  # what is no checkpoint at all is told first
    is_same = checkpoint is None or os.path.realpath(checkpoint) == os.path.realpath(path)
    written_to = path if checkpoint is None else checkpoint
    with _only_writer(written_to, output_problem if is_same else new_file_problem):
        left = read_checkpoint(path)
        if certificate is not None:
            require_certifiable(left.instance, certificate, path, checkpoint)
            if not left.parameters.certify:
                begun = "expected none, as the run was not begun with one"
                _require("certificate", f"{shown_path(certificate)}: {begun}")
        left = replace(left, parameters=_changed(left.parameters, changes))
        resumed = Resumed(
            path=os.fspath(path),
            n_nodes=left.statistics.n_nodes,
            n_open=0 if left.tree is None else len(left.tree.nodes),
            seconds=left.seconds,
        )
        order = None if certificate is None else CertificateOrder(certificate)
        return interruptible(
            interrupt,
            lambda stop: run(left, written_to, observer, stop, order, resumed),
        )


@contextmanager
def _only_writer(
    checkpoint: FilePath | None, problem: Callable[[FilePath], str | None]
) -> Iterator[None]:
    """Within the block no other run writes to the checkpoint, if there is one; problem says why
    there can be none."""
    if checkpoint is None:
        yield
        return
    _require("checkpoint", problem(checkpoint))
    with ExitStack() as held:
        try:
            held.enter_context(only_writer(checkpoint, "run"))
        except FileInUse as error:
            raise FileInUse(f"checkpoint = {error}") from None
        except OSError as error:
            reason = error.strerror or error
            _require("checkpoint", f"{shown_path(checkpoint)}: cannot be written ({reason})")
        # Another run may have written it, and ended, since it was asked for.
        _require("checkpoint", problem(checkpoint))
        yield


def _certificate_problem(
    path: FilePath | None, instance: Instance, *checkpoints: FilePath | None
) -> str | None:
    """Why there is no certificate for an instance, or none at path, where there are checkpoints, or
    None."""
    if instance.has_soft_constraints:
        return f"{path}: expected none, as certificates say nothing of soft constraints"
    foreign = foreign_constraints(instance.cluster_constraints)
    if foreign:
        name = "True" if path is None else f"{shown_path(path)}"
        return (
            f"{name}: expected none, as {foreign[0]} is a constraint on clusters that does not "
            "come with sdpbb, so that nobody else can check it"
        )
    if path is None:
        return None
    for checkpoint in checkpoints:
        if checkpoint is not None and os.path.realpath(checkpoint) == os.path.realpath(path):
            return f"{shown_path(path)}: is the checkpoint already; expected another file"
    return output_problem(path)


def _require(parameter: str, problem: str | None) -> None:
    if problem is not None:
        raise ParameterError(f"{parameter} = {problem}")


def _changed(parameters: SolverParameters, changes: Changes) -> SolverParameters:
    values: dict[str, Any] = dict(changes)
    if "workers" in changes:
        values.setdefault("dask", None)
    elif changes.get("dask") is not None:
        values["workers"] = 1
    return replace(parameters, **values)
