"""`solve` and `resume`: check the request, and run it (`sdpbb.run.solving`)."""

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
    """Find a feasible clustering with the least sum of squares, and prove that it is optimal.

        minimise    sum_i w_i || p_i - m_{l(i)} ||^2 + the weights of the soft pairs that l violates
        subject to  l(i) = l(j) for must-links, l(i) != l(j) for cannot-links, exactly k clusters,
                    each of which satisfies the constraints on clusters and the limits

    by branch and cut over contracted semidefinite bounds (Piccialli, Russo Russo, Sudoso: An exact
    algorithm for semi-supervised minimum sum-of-squares clustering, 2022) and column generation
    (Babaki, Guns, Nijssen: Constrained clustering using column generation, 2014). "optimal" means
    that a bound lies within the gap of the clustering. Numerical errors do not invalidate bounds.

    Examples
    --------
    >>> import sdpbb
    >>> points = [[0.0], [0.1], [5.0], [5.1]]
    >>> result = sdpbb.solve(points, 2, cannot_link=[(0, 1)], time_limit=60)
    >>> result.status.value, result.labels.tolist(), result.sizes.tolist()
    ('optimal', [0, 1, 1, 1], [1, 3])

    Parameters
    ----------
    instance : points, k and constraints as an `Instance`; or points only, an array (n, d) or a data
        frame of pandas or polars, with further arguments
    k : number of clusters, for points. An `Instance` has a k, so its parameters may be in this
        place: `solve(instance, parameters)`
    observer : receives the events of the run (`sdpbb.search.events`): a function of one argument
    interrupt : set it from a signal handler or another thread to end the run cleanly. The run then
        returns the best result so far (`Termination.INTERRUPTED`). Without it, the first Ctrl-C in
        the main thread ends the run, and raises `Interrupted` with the result
    checkpoint : a new file for the state of the run, written every few seconds and at the end, for
        `resume`
    start : labels (n,) of a first clustering that satisfies the constraints; integers, in any
        numbering
    certificate : a file for the proof, which `sdpbb verify` and `sdpbb.checker` check without this
        package's engine. Bounds then count only if the checker confirms them
    parameters : tolerance, limits, seed, workers, and the parameters of the components
    executor : any `concurrent.futures.Executor`, such as `client.get_executor()` of Dask or
        `MPIPoolExecutor` of mpi4py. Its workers evaluate nodes instead of processes of this
        machine. Needs workers = 1. The run does not shut it down
    verbose : whether to show the progress table; in a notebook it is updated in place. Every run
        also logs to `sdpbb` of Python's `logging`
    arguments : single parameters, such as gap, time_limit, node_limit, memory_limit, seed, workers
        and bounding (see `SolverParameters`). For points also the arguments of an `Instance`:
        must_link, cannot_link, soft_must_link, soft_cannot_link, cluster_constraints, min_size,
        max_size, sizes, min_weight, max_weight, weights, known_classes, missing, standardize,
        one_hot, metric, as_points, name, and for a data frame index_column, drop and weight_column
        (see `Instance.from_points`). Pairs are row numbers from 0, or names of the rows of a frame

    Returns
    -------
    Result. It is repeatable for a seed and one worker, unless a time or memory limit, an interrupt,
    or a time-limited assignment step (see `heuristics.parameters`) ends the search.

    Raises
    ------
    TypeError
        If an argument has an unknown name.
    InstanceError
        If the points and constraints are not a valid instance.
    ParameterError
        If a parameter is outside of its domain, or conflicts with the `Instance`. If start violates
        a constraint. If the checkpoint exists, cannot be written, or belongs to another run
        (`FileInUse`). If the address of the Dask cluster is wrong. If the certificate cannot be
        written, is the checkpoint, or is not possible: for a gap below 1e-9, and with constraints
        of the user's own classes. Also if the bounding, a checkpoint or other processes do not
        support a constraint on clusters.
    BackendFailure
        If an integer programming solver or a conic solver fails, no worker process can start, or
        the Dask cluster cannot be reached. The checkpoint is written first.
    BackendUnavailable
        If Dask is requested and not installed.
    CertificateError
        If the certificate cannot be written at the end; its attribute `result` is the result.
    Interrupted
        (A KeyboardInterrupt.) After Ctrl-C, unless `interrupt` is given; its attribute `result` is
        the result. A second Ctrl-C raises KeyboardInterrupt at once.
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
    """Return the result of a run; more: fields of `Run`."""
    if not callable(observer):
        raise wrong("observer", observer, "a function of one argument, an event")
    observers = [log, ProgressTable(), observer] if verbose else [log, observer]
    observed = all_of(*observers)
    return interruptible(interrupt, lambda stop: Run(state, observed, stop, **more).run())


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
    """Resume a run from its checkpoint. A finished run only returns its result.

    Parameters
    ----------
    path : a checkpoint written by the same version of sdpbb
    observer, interrupt : as for `solve`
    checkpoint : a new file to write to; None: write to path
    certificate : as for `solve`; only if the run started with a certificate
    executor, verbose : as for `solve`
    more_time : additional seconds, > 0. time_limit counts from the first start; give one of the two
    time_limit, node_limit, memory_limit, workers, dask, mpi : new values. Limits are for the whole
        run, so raise the limit that has ended it. Giving one of workers, dask and mpi resets the
        other two

    Raises
    ------
    ArchiveError
        If there is no checkpoint at path.
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
