"""solve and resume: the one place that chooses implementations and puts them together."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from sdpbb.bounds.bound import Bounding
from sdpbb.bounds.colgen.bounding import ColgenBounding
from sdpbb.bounds.hybrid import HybridBounding
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.checkpoint import Checkpoint, CheckpointFile, FilePath, read_checkpoint
from sdpbb.compatibility import check_compatibility
from sdpbb.compilation import prepare_kernels, warm_up
from sdpbb.conclusion import infeasible, of_search, unknown
from sdpbb.errors import BackendFailure, InstanceError, ParameterError
from sdpbb.executors.dask import DaskCluster
from sdpbb.executors.memory import resident_mebibytes
from sdpbb.executors.pool import TaskPool
from sdpbb.executors.processes import LocalProcesses
from sdpbb.executors.serial import SerialExecutor
from sdpbb.feasibility import find_feasible
from sdpbb.files import new_file_problem, output_problem
from sdpbb.interruption import interrupt_on_ctrl_c
from sdpbb.parameters import SolverParameters
from sdpbb.problem import Contraction, Infeasibility, Instance, Partition, contract
from sdpbb.result import Result, Termination
from sdpbb.search.branch_and_bound import Search, Workforce, branch_and_bound
from sdpbb.search.evaluate import EvaluationContext
from sdpbb.search.events import Compiling, Finished, Observer, Resumed, Started, ignore
from sdpbb.search.node import Node
from sdpbb.search.stop import Limits, Sampled
from sdpbb.search.tolerances import Tolerances
from sdpbb.search.tree import Tree


def solve(
    instance: Instance,
    parameters: SolverParameters | None = None,
    observer: Observer = ignore,
    interrupt: threading.Event | None = None,
    checkpoint: FilePath | None = None,
    start: ArrayLike | None = None,
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
        written there; if the address of the Dask cluster is none. Also if the instance has
        constraints on clusters that the engine asked for cannot keep, that a checkpoint cannot
        hold, or that other processes cannot be sent.
    BackendFailure
        If the integer programming solver fails, no worker process can be had, or the Dask cluster
        cannot be reached or has no workers. A checkpoint is written first.
    BackendUnavailable
        If Dask is asked for and not installed.
    """
    parameters = SolverParameters() if parameters is None else parameters
    check_compatibility(instance, parameters, checkpoint)
    _require(None if checkpoint is None else new_file_problem(checkpoint))
    first = None if start is None else _first_clustering(start, instance)
    begin = Checkpoint(instance, parameters)
    return _run(begin, checkpoint, observer, interrupt, first=first)


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
    **changes: Unpack[Changes],
) -> Result:
    """Go on with a run from its checkpoint. A run that was finished is reported again.

    Parameters
    ----------
    path : a checkpoint written by the same version of sdpbb
    observer, interrupt : as for `solve`
    checkpoint : a new file that is written to from now on; None for path
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
        _require(output_problem(path))
    else:
        _require(new_file_problem(checkpoint))
    left = replace(left, parameters=_changed(left.parameters, changes))
    resumed = Resumed(
        path=os.fspath(path),
        n_nodes=left.statistics.n_nodes,
        n_open=0 if left.tree is None else len(left.tree.nodes),
        seconds=left.seconds,
    )
    return _run(left, path if checkpoint is None else checkpoint, observer, interrupt, resumed)


def _require(problem: str | None) -> None:
    if problem is not None:
        raise ParameterError(f"checkpoint = {problem}")


def _changed(parameters: SolverParameters, changes: Changes) -> SolverParameters:
    values: dict[str, Any] = dict(changes)
    if "workers" in changes:
        values.setdefault("dask", None)
    elif changes.get("dask") is not None:
        values["workers"] = 1
    return replace(parameters, **values)


def _run(
    begin: Checkpoint,
    path: FilePath | None,
    observer: Observer,
    interrupt: threading.Event | None,
    resumed: Resumed | None = None,
    first: Partition | None = None,
) -> Result:
    """Go on from a state, which may be the beginning, writing checkpoints to path.

    first : a clustering that keeps the constraints, for a run from the beginning
    """
    parameters = begin.parameters
    # Two BLAS threads have been seen to slow small eigenvalue problems down by factors of 10 to
    # 150; parallelism belongs across nodes.
    with (
        interrupt_on_ctrl_c(interrupt) as stop,
        threadpool_limits(1),
        _workforce(parameters) as workforce,
    ):
        # Of blocks there are at most as many as of points.
        small = begin.instance.n_points <= parameters.hybrid.small * begin.instance.k
        prepare_kernels(lambda: observer(Compiling()), parameters.bounding, small)
        limits = Limits(
            time_limit=parameters.time_limit,
            node_limit=parameters.node_limit,
            memory_limit=parameters.memory_limit,
            memory=Sampled(resident_mebibytes),
            interrupt=stop,
            started=time.perf_counter() - begin.seconds,
        )
        file = CheckpointFile(path, begin, lambda: limits.seconds, observer)
        result = _search(begin, limits, observer, workforce, file, resumed, first)
    observer(Finished(result))
    return result


@contextmanager
def _workforce(parameters: SolverParameters) -> Iterator[Workforce]:
    """Who evaluates nodes. A cluster is connected to at once, so that a wrong address is told
    before the work begins; local processes are started when they are needed."""
    here = TaskPool(SerialExecutor())
    prepare = warm_up(parameters.bounding)
    if parameters.dask is not None:
        cluster = DaskCluster(parameters.dask, prepare)
        try:
            yield Workforce(here, lambda: TaskPool(cluster))
        finally:
            cluster.kill()
    elif parameters.workers > 1:
        yield Workforce(here, lambda: TaskPool(LocalProcesses(parameters.workers, prepare)))
    else:
        yield Workforce(here)


def _search(
    begin: Checkpoint,
    limits: Limits,
    observer: Observer,
    workforce: Workforce,
    file: CheckpointFile,
    resumed: Resumed | None,
    first: Partition | None,
) -> Result:
    instance, parameters = begin.instance, begin.parameters
    contraction = contract(instance)
    observer(_started(instance, contraction, resumed))
    if isinstance(contraction, Infeasibility):
        file.write(_ended(begin, limits, contraction), finished=True)
        return infeasible(contraction, begin, limits.seconds)
    tolerances = Tolerances.of(parameters.gap, contraction)
    search = begin.search(tolerances)
    if search is None and first is not None:
        search = _begun(instance, contraction, first.labels, "start", tolerances)
    if search is None:
        found = begin.infeasibility or find_feasible(contraction, limits.seconds_left)
        if isinstance(found, Infeasibility):
            file.write(_ended(begin, limits, found), finished=True)
            return infeasible(found, begin, limits.seconds, contraction.n_blocks)
        if found is None:
            file.write(_ended(begin, limits), finished=True)
            limit = Termination.TIME_LIMIT
            return unknown(limit, 0.0, begin, limits.seconds, contraction.n_blocks)
        labels = contraction.lift(found)
        search = _begun(instance, contraction, labels, "colouring", tolerances)
    context = EvaluationContext(
        instance=instance,
        bounding=_bounding(parameters),
        search=parameters.search,
        tolerances=tolerances,
        seed=parameters.seed,
    )
    try:
        reached = branch_and_bound(search, context, limits, observer, workforce, file)
    except BackendFailure:
        # Of a task or of who evaluates them: what is known of the tree is as it should be.
        file(search, finished=True)
        raise
    return of_search(search, reached, begin, limits.seconds, contraction.n_blocks)


def _ended(
    begin: Checkpoint, limits: Limits, infeasibility: Infeasibility | None = None
) -> Checkpoint:
    """The state of a run that has ended before its search began."""
    return replace(begin, infeasibility=infeasibility, seconds=limits.seconds)


def _bounding(parameters: SolverParameters) -> Bounding[Any]:
    """What bounds the nodes."""
    if parameters.bounding == "colgen":
        return ColgenBounding(parameters.colgen, parameters.sdp)
    if parameters.bounding == "hybrid":
        return HybridBounding(parameters.sdp, parameters.colgen, parameters.hybrid)
    return SdpBounding(parameters.sdp)


def _begun(
    instance: Instance,
    contraction: Contraction,
    labels: NDArray[np.intp],
    source: str,
    tolerances: Tolerances,
) -> Search:
    """A search that begins with labels (n,) that keep the constraints on pairs: its first
    clustering, if they keep those on clusters."""
    tree = Tree(Node(blocks=contraction.block_of, feasible=labels), tolerances)
    if contraction.keeps(labels[contraction.representatives]):
        tree.offer(labels, Partition(labels).sum_of_squares(instance.points), source)
    return Search(tree)


def _started(
    instance: Instance, contraction: Contraction | Infeasibility, resumed: Resumed | None
) -> Started:
    known = contraction if isinstance(contraction, Contraction) else None
    return Started(
        name=instance.name,
        n_points=instance.n_points,
        n_features=instance.n_features,
        k=instance.k,
        n_must_link=len(instance.must_link),
        n_cannot_link=len(instance.cannot_link),
        n_blocks=0 if known is None else known.n_blocks,
        n_block_cannot_link=0 if known is None else len(known.cannot_link),
        resumed=resumed,
        n_cluster_constraints=len(instance.cluster_constraints),
        origin=instance.origin,
    )
