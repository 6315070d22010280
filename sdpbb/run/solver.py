"""`solve` and `resume`: check what is asked for, and run it (`sdpbb.run.solving`)."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, TypedDict, Unpack

from numpy.typing import ArrayLike

from sdpbb.errors import ParameterError
from sdpbb.run.arguments import (
    SolveArguments,
    check_certifiable,
    check_compatibility,
    check_executor,
    checked_clustering,
    reserved_checkpoint,
    stated_run,
)
from sdpbb.run.checkpoint import RunState, read_checkpoint
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.report import ProgressTable, log
from sdpbb.run.solving import Run
from sdpbb.runtime.declaration import wrong
from sdpbb.runtime.files import FilePath, new_file_problem, output_problem, shown_path
from sdpbb.runtime.interruption import interruptible
from sdpbb.search.events import Observer, Resumed, all_of, ignore
from sdpbb.search.result import Result


def solve(
    instance: Any,
    k: int | SolverParameters | None = None,
    observer: Observer = ignore,
    interrupt: threading.Event | None = None,
    checkpoint: FilePath | None = None,
    start: ArrayLike | None = None,
    certificate: FilePath | None = None,
    *,
    parameters: SolverParameters | None = None,
    executor: Executor | None = None,
    verbose: bool = False,
    **arguments: Unpack[SolveArguments],
) -> Result:
    """Find a clustering with the least sum of squares that keeps the constraints, and prove it.

        minimise    sum_i w_i || p_i - m_{l(i)} ||^2 + the weights of the soft pairs that l violates
        subject to  l(i) = l(j) for must-links, l(i) != l(j) for cannot-links, exactly k clusters,
                    each of which satisfies the constraints on clusters and the limits

    by branch and cut over contracted semidefinite bounds (Piccialli, Russo Russo, Sudoso: An exact
    algorithm for semi-supervised minimum sum-of-squares clustering, 2022) and column generation
    (Babaki, Guns, Nijssen: Constrained clustering using column generation, 2014). "optimal" means
    that a bound which is valid whatever the numerical method did lies within the gap of the
    clustering.

    Examples
    --------
    >>> import sdpbb
    >>> points = [[0.0], [0.1], [5.0], [5.1]]
    >>> result = sdpbb.solve(points, 2, cannot_link=[(0, 1)], time_limit=60)
    >>> result.status.value, result.labels.tolist(), result.sizes.tolist()
    ('optimal', [0, 1, 1, 1], [1, 3])

    Parameters
    ----------
    instance : points, k and constraints as an `Instance`; or points alone, an array (n, d) or a
        data frame of pandas or polars, with the others as further arguments
    k : number of clusters, of points. Of an `Instance`, which states it, the parameters may be in
        this place: `solve(instance, parameters)`
    observer : receives the events of the run (`sdpbb.search.events`): a function of one argument
    interrupt : set it, from a signal handler or another thread, to end the run cleanly: what was
        found until then is returned (`Termination.INTERRUPTED`). Without one, the first Ctrl-C in
        the main thread ends the run so, and what was found is raised
    checkpoint : a new file that the state of the run is written to every few seconds, and at the
        end, for `resume`
    start : labels (n,) of a clustering that keeps the constraints, to begin with; integers, in any
        numbering
    certificate : a file for the proof, which `sdpbb verify` and `sdpbb.checker` check without this
        package's engine. Bounds then count as far as the checker confirms them
    parameters : tolerance, limits, seed, workers, and the numbers of the components
    executor : any `concurrent.futures.Executor`, whose workers evaluate nodes instead of processes
        of this machine, such as `client.get_executor()` of Dask or `MPIPoolExecutor` of mpi4py.
        Needs workers = 1. The run does not shut it down
    verbose : whether to show the progress table; in a notebook it is updated in place. All runs
        are told to Python's `logging`, too, under the name "sdpbb"
    arguments : single parameters, such as gap, time_limit, node_limit, memory_limit, seed, workers
        and bounding (see `SolverParameters`); and of points what makes an `Instance` of them:
        must_link, cannot_link, soft_must_link, soft_cannot_link, cluster_constraints, min_size,
        max_size, sizes, min_weight, max_weight, weights, known_classes, missing, standardize,
        one_hot, metric, as_points, name, and of a data frame index_column, drop and weight_column
        (see `Instance.from_points`). Pairs are row numbers from 0, or names of the rows of a frame

    Returns
    -------
    Result; repeatable for a seed and one worker unless a time or memory limit, an interrupt, or a
    time-limited assignment step (see `heuristics.parameters`) cuts in.

    Raises
    ------
    TypeError
        If there is no argument of a name.
    InstanceError
        If the points and constraints make no instance.
    ParameterError
        If a parameter is outside of its domain, or an `Instance` is given together with what it
        states itself.
        If start does not keep the constraints; if there is a checkpoint already, none can be
        written there, or another run is writing to it (`FileInUse`); if a certificate is asked for
        of a gap below 1e-9, with constraints on clusters that are the user's own code, or where
        none can be written or the checkpoint is; if the address of the Dask cluster is none. Also
        if the instance has constraints on clusters that the engine asked for cannot keep, that a
        checkpoint cannot hold, or that other processes cannot be sent.
    BackendFailure
        If the integer programming solver or a conic one fails, no worker process can be had, or
        the Dask cluster cannot be reached. A checkpoint is written first.
    BackendUnavailable
        If Dask is asked for and not installed.
    CertificateError
        If the certificate cannot be written in the end; the result is its attribute `result`.
    Interrupted
        (A KeyboardInterrupt.) After Ctrl-C, unless there is an interrupt of the caller's; the
        result is its attribute `result`. A second Ctrl-C raises KeyboardInterrupt at once.
    """
    stated, asked = stated_run(instance, k, parameters, arguments, solve)
    check_compatibility(stated, asked, checkpoint)
    check_executor(executor, asked)
    with reserved_checkpoint(checkpoint, new_file_problem):
        if certificate is not None or asked.certify:
            asked = replace(asked, certify=True)
            check_certifiable(stated, certificate, checkpoint)
        first = None if start is None else checked_clustering(start, stated, "start")
        files = {"checkpoint": checkpoint, "certificate": certificate}
        more = {"start": first, "executor": executor}
        return _run(RunState(stated, asked), observer, interrupt, verbose, **files, **more)


def _run(
    state: RunState,
    observer: Observer,
    interrupt: threading.Event | None,
    verbose: bool,
    **more: Any,
) -> Result:
    """Run (more: of a `Run`) until it ends, or the interrupt or the first Ctrl-C ends it."""
    if not callable(observer):
        raise wrong("observer", observer, "a function of one argument, an event")
    observers = [log, ProgressTable(), observer] if verbose else [log, observer]
    told = all_of(*observers)
    return interruptible(interrupt, lambda stop: Run(state, told, stop, **more).run())


class Changes(TypedDict, total=False):
    """Parameters that can be changed when a run is resumed (see `SolverParameters`)."""

    time_limit: float
    node_limit: int | None
    memory_limit: float
    workers: int
    dask: str | None
    mpi: bool


def resume(
    path: FilePath,
    observer: Observer = ignore,
    interrupt: threading.Event | None = None,
    checkpoint: FilePath | None = None,
    certificate: FilePath | None = None,
    *,
    executor: Executor | None = None,
    verbose: bool = False,
    more_time: float | None = None,
    **changes: Unpack[Changes],
) -> Result:
    """Go on with a run from its checkpoint. A run that was finished is reported again.

    Parameters
    ----------
    path : a checkpoint written by the same version of sdpbb
    observer, interrupt : as for `solve`
    checkpoint : a new file that is written to from now on; None for path
    certificate : as for `solve`, of a run that had one
    executor, verbose : as for `solve`
    more_time : seconds > 0 to run from now on, instead of a time limit, which counts the whole run
    time_limit, node_limit, memory_limit, workers, dask, mpi : instead of those before. Limits are
        for the whole run, including the seconds and nodes of before, so one that has ended the run
        must be raised for it to resume. Each of workers, dask and mpi replaces the others

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
    if more_time is not None and "time_limit" in changes:
        raise wrong("more_time", more_time, "no time limit besides, which counts the whole run")
    if more_time is not None and not more_time > 0:
        raise wrong("more_time", more_time, "seconds > 0")
    is_same = checkpoint is None or os.path.realpath(checkpoint) == os.path.realpath(path)
    writable = output_problem if is_same else new_file_problem
    written_to = path if checkpoint is None else checkpoint
    with reserved_checkpoint(written_to, writable):
        state = read_checkpoint(path)
        if certificate is not None:
            check_certifiable(state.instance, certificate, path, checkpoint)
            if not state.parameters.certify:
                begun = f"{shown_path(certificate)}: the run did not start with one"
                raise ParameterError(f"certificate = {begun}")
        if more_time is not None:
            changes["time_limit"] = state.seconds + more_time
        state.parameters = _with_changes(state.parameters, changes)
        check_executor(executor, state.parameters)
        n_nodes, n_open = 0, 0
        if (tree := state.tree) is not None:
            n_nodes, n_open = tree.statistics.n_nodes, tree.n_open
        resumed = Resumed(os.fspath(path), n_nodes, n_open, state.seconds)
        files = {"checkpoint": written_to, "certificate": certificate}
        return _run(
            state, observer, interrupt, verbose, **files, resumed=resumed, executor=executor
        )


def _with_changes(parameters: SolverParameters, changes: Changes) -> SolverParameters:
    others: dict[str, Any] = {"workers": 1, "dask": None, "mpi": False}
    replaced = others if any(changes.get(name) for name in others) else {}
    return replace(parameters, **replaced | dict(changes))
