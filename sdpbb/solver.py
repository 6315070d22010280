"""solve and resume: what a run is asked for, and what is refused before it begins."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from sdpbb.checkpoint import Checkpoint, FilePath, read_checkpoint
from sdpbb.compatibility import check_compatibility
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.files import new_file_problem, output_problem, shown_path
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
    interrupt : set it, from a signal handler or another thread, to end the run cleanly. Without
        one, the first Ctrl-C in the main thread does so, and what was found until then is returned
        (`Termination.INTERRUPTED`); the second raises KeyboardInterrupt
    checkpoint : a new file that the state of the run is written to every few seconds, and at the
        end, for `resume`
    start : labels (n,) of a clustering that keeps the constraints, to begin with; integers, in any
        numbering
    certificate : a file for the proof, which `sdpbb verify` and `sdpbb.checker` check without this
        package's engine. Bounds then count as far as the checker confirms them; pentagon cuts and
        the enumeration of clusters, which it does not know, are not used

    Returns
    -------
    Result; repeatable for a seed and one worker unless a time or memory limit, an interrupt, or a
    time-limited assignment step (see `heuristics.parameters`) cuts in.

    Raises
    ------
    InstanceError
        If the instance has soft constraints.
    ParameterError
        If start does not keep the constraints; if there is a checkpoint already or none can be
        written there; if a certificate is asked for of a gap below 1e-9, with constraints on
        clusters that are the user's own code, or where none can be written; if the address of the
        Dask cluster is none. Also if the instance has constraints on clusters that the engine asked
        for cannot keep, that a checkpoint cannot hold, or that other processes cannot be sent.
    BackendFailure
        If the integer programming solver or a conic one fails, no worker process can be had, or
        the Dask cluster cannot be reached or has no workers. A checkpoint is written first.
    BackendUnavailable
        If Dask or a conic solver is asked for and not installed.
    CertificateError
        If the certificate cannot be written in the end; the result is its attribute `result`.
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
    _require("checkpoint", None if checkpoint is None else new_file_problem(checkpoint))
    if order is not None or parameters.certify:
        parameters = parameters.for_certificates()
        require_certifiable(instance, None if order is None else order.path)
    first = None if start is None else _first_clustering(start, instance)
    begin = Checkpoint(instance, parameters)
    return run(begin, checkpoint, observer, interrupt, order, first=first)


def require_certifiable(instance: Instance, path: FilePath | None) -> None:
    """ParameterError if there is no certificate for an instance, or none at path."""
    _require("certificate", _certificate_problem(path, instance))


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
    ParameterError, BackendFailure, BackendUnavailable
        As for `solve`.
    """
    unknown = sorted(changes.keys() - Changes.__annotations__.keys())
    if unknown:
        raise TypeError(f"resume() cannot change {', '.join(unknown)}")
    left = read_checkpoint(path)
    if checkpoint is None or os.path.realpath(checkpoint) == os.path.realpath(path):
        _require("checkpoint", output_problem(path))
    else:
        _require("checkpoint", new_file_problem(checkpoint))
    if certificate is not None:
        require_certifiable(left.instance, certificate)
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
    written_to = path if checkpoint is None else checkpoint
    order = None if certificate is None else CertificateOrder(certificate)
    return run(left, written_to, observer, interrupt, order, resumed)


def _certificate_problem(path: FilePath | None, instance: Instance) -> str | None:
    """Why there is no certificate for an instance, or none at path, or None."""
    if instance.has_soft_constraints:
        return f"{path}: expected none, as certificates say nothing of soft constraints"
    foreign = foreign_constraints(instance.cluster_constraints)
    if foreign:
        name = "True" if path is None else f"{shown_path(path)}"
        return (
            f"{name}: expected none, as {foreign[0]} is a constraint on clusters that does not "
            "come with sdpbb, so that nobody else can check it"
        )
    return None if path is None else output_problem(path)


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
