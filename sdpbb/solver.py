"""`solve` and `resume`: compose a run, run it, write its checkpoint and its certificate.

A run is a search tree (`sdpbb.search.tree`) on which `branch_and_bound` works: nodes are evaluated
by a `Workforce`, with a bounding method (`sdpbb.bounds`) and heuristics, until they are finished or
a limit is reached. A `CheckpointWriter` saves its state; `sdpbb.conclusion` makes the result.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from heuristics.multi_start import IncumbentSearch
from sdpbb import conclusion
from sdpbb.bounds.method import BoundingMethod
from sdpbb.bounds.registry import bounding_method
from sdpbb.certificates.recorder import ProofRecorder
from sdpbb.checkpoint import CheckpointWriter, SavedRun, read_checkpoint
from sdpbb.compilation import RunKernels, WarmUp
from sdpbb.cores import LARGE
from sdpbb.errors import BackendFailure
from sdpbb.executors.dask import DaskCluster
from sdpbb.executors.memory import resident_mebibytes
from sdpbb.executors.pool import TaskPool
from sdpbb.executors.processes import LocalProcesses
from sdpbb.executors.serial import SerialExecutor
from sdpbb.feasibility import find_feasible
from sdpbb.files import FilePath, new_file_problem, output_problem
from sdpbb.interruption import interruptible
from sdpbb.memory_plan import MemoryPlan, memory_plan
from sdpbb.parameters import SolverParameters
from sdpbb.problem import Contraction, Infeasibility, Instance, Partition, contract
from sdpbb.problem.cluster_rules import cluster_rules
from sdpbb.problem.equal_points import join_equal_points
from sdpbb.refusals import (
    check_begun_with_certificate,
    check_certifiable,
    check_compatibility,
    checked_start,
    reserved_checkpoint,
)
from sdpbb.result import Result, Termination
from sdpbb.search.evaluate import EvaluationContext
from sdpbb.search.evaluations import Evaluations
from sdpbb.search.events import (
    Compiling,
    Finished,
    MemoryShort,
    Observer,
    Resumed,
    Started,
    ignore,
)
from sdpbb.search.limits import Limits, Sampled
from sdpbb.search.loop import branch_and_bound
from sdpbb.search.node import Node
from sdpbb.search.reporting import Reporter, Watches
from sdpbb.search.state import Search
from sdpbb.search.tolerances import Tolerances
from sdpbb.search.tree import Tree
from sdpbb.search.workforce import Workforce
from sdpbb.time_left import RUN_CLOCK

if TYPE_CHECKING:
    from sdpbb.certificates.writer import CertificateOrder
    from sdpbb.decomposition.bounds import SubsetBounds

# Seconds between two measurements of the memory.
MEMORY_SECONDS = 0.25


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
    algorithm for semi-supervised minimum sum-of-squares clustering, 2022) and column generation
    (Babaki, Guns, Nijssen: Constrained clustering using column generation, 2014). "optimal" means
    that a bound which is valid whatever the numerical method did lies within the gap of the
    clustering.

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
    order = None if certificate is None else _order(certificate)
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
    """Solve as `solve` does, with a `CertificateOrder` in place of a path."""
    parameters = SolverParameters() if parameters is None else parameters
    check_compatibility(instance, parameters, checkpoint)
    with reserved_checkpoint(checkpoint, new_file_problem):
        if order is not None or parameters.certify:
            parameters = parameters.for_certificates()
            check_certifiable(instance, None if order is None else order.path, checkpoint)
        first = None if start is None else checked_start(start, instance)
        return interruptible(
            interrupt,
            lambda stop: _Run(
                instance, parameters, observer, stop, checkpoint, order, start=first
            ).result(),
        )


class Changes(TypedDict, total=False):
    """Parameters that can be changed when a run is resumed (see `SolverParameters`)."""

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
    from sdpbb.archive.file import check_header

    unknown = sorted(changes.keys() - Changes.__annotations__.keys())
    if unknown:
        raise TypeError(f"resume() cannot change {', '.join(unknown)}")
    check_header(path)  # what is no checkpoint at all is told first
    is_same = checkpoint is None or os.path.realpath(checkpoint) == os.path.realpath(path)
    writable = output_problem if is_same else new_file_problem
    written_to = path if checkpoint is None else checkpoint
    with reserved_checkpoint(written_to, writable):
        saved = read_checkpoint(path)
        order = None
        if certificate is not None:
            check_certifiable(saved.instance, certificate, path, checkpoint)
            check_begun_with_certificate(saved.parameters, certificate)
            order = _order(certificate)
        parameters = _with_changes(saved.parameters, changes)
        resumed = Resumed(
            path=os.fspath(path),
            n_nodes=0 if saved.search is None else saved.search.statistics.n_nodes,
            n_open=0 if saved.search is None else saved.search.tree.n_open,
            seconds=saved.seconds,
        )
        return interruptible(
            interrupt,
            lambda stop: _Run(
                saved.instance, parameters, observer, stop, written_to, order, saved, resumed
            ).result(),
        )


def _order(certificate: FilePath) -> CertificateOrder:
    """Return the order of a certificate. What writes them is imported where one is asked for."""
    from sdpbb.certificates.writer import CertificateOrder

    return CertificateOrder(certificate)


def _with_changes(parameters: SolverParameters, changes: Changes) -> SolverParameters:
    values: dict[str, Any] = dict(changes)
    if "workers" in changes:
        values.setdefault("dask", None)
    elif changes.get("dask") is not None:
        values["workers"] = 1
    return replace(parameters, **values)


@dataclass(frozen=True)
class _Run:
    """One run of the solver: what is asked for, and what it goes on from.

    checkpoint, order : the files that it writes, None for none
    saved, resumed : the state of a run that it goes on with, and the event that tells of that
    start : a clustering to begin with
    """

    instance: Instance
    parameters: SolverParameters
    observer: Observer
    interrupt: threading.Event
    checkpoint: FilePath | None
    order: CertificateOrder | None
    saved: SavedRun | None = None
    resumed: Resumed | None = None
    start: Partition | None = None

    def result(self) -> Result:
        """Solve the instance; write checkpoints, and in the end the certificate.

        The certificate is written after `Finished`, so that whoever keeps the result has it before.

        Raises
        ------
        CertificateError
            With the result, if its certificate cannot be written.
        """
        instance, parameters = self.instance, self.parameters
        observer, saved = self.observer, self.saved
        recorder = ProofRecorder(None if saved is None else saved.proof)
        # Two BLAS threads have been seen to slow small eigenvalue problems down by factors of 10 to
        # 150; parallelism belongs across nodes.
        with threadpool_limits(1):
            with (
                _dask_cluster(parameters) as cluster,
                RunKernels(parameters.bounding, lambda: observer(Compiling())) as kernels,
            ):
                if parameters.memory_limit < math.inf:
                    kernels.finish()  # another process that compiles would count
                limits = Limits(
                    time_limit=parameters.time_limit,
                    node_limit=parameters.node_limit,
                    memory_limit=parameters.memory_limit,
                    memory=Sampled(resident_mebibytes, MEMORY_SECONDS),
                    interrupt=self.interrupt,
                    started=RUN_CLOCK() - (0.0 if saved is None else saved.seconds),
                )
                writer = CheckpointWriter(
                    self.checkpoint,
                    instance,
                    parameters,
                    lambda: limits.seconds,
                    observer,
                    recorder.proof if parameters.certify else None,
                    None if saved is None else saved.subsets,
                )
                result = self._run_search(limits, cluster, kernels, recorder, writer)
            observer(Finished(result))
            if self.order is not None and self.order.applies_to(result):
                from sdpbb.certificates.writer import write_certificate

                observer(
                    write_certificate(
                        self.order,
                        instance,
                        parameters.gap,
                        result,
                        recorder.proof,
                        None if writer.subsets is None else writer.subsets.best_proofs(),
                    )
                )
        return result

    def _run_search(
        self,
        limits: Limits,
        cluster: DaskCluster | None,
        kernels: RunKernels,
        recorder: ProofRecorder,
        writer: CheckpointWriter,
    ) -> Result:
        """Contract, plan the memory, run branch and bound, return the result.

        `recorder` collects the proof if bounds are to be certified.
        """
        instance, parameters, observer = self.instance, self.parameters, self.observer
        contraction = contract(self._joined)
        observer(_started_event(instance, self._joined, contraction, self.resumed))
        search = self._initial_search(contraction, limits)
        n_blocks = 0 if isinstance(contraction, Infeasibility) else contraction.n_blocks
        if isinstance(search, Infeasibility):
            recorder.record_infeasible()
            writer.write(infeasibility=search)
            return conclusion.infeasible(search, instance, parameters, limits.seconds, n_blocks)
        if search is None:
            writer.write()
            limit = limits.urgent() or Termination.TIME_LIMIT
            return conclusion.unknown(limit, 0.0, parameters, limits.seconds, n_blocks)
        assert isinstance(contraction, Contraction)
        worker_pool = _WorkerPool(parameters, cluster, kernels)
        has_search = self.saved is not None and self.saved.search is not None
        plan = memory_plan(parameters, contraction, is_resumed=has_search)
        if self._begins_with_subsets(search, plan, n_blocks):
            try:
                reached = self._bound_subsets(
                    search, contraction, plan, limits, worker_pool, writer, recorder
                )
            except BaseException as error:
                worker_pool.shutdown()
                if isinstance(error, BackendFailure):
                    writer.write(search)
                raise
            if reached is not None or not search.tree.n_open:
                worker_pool.shutdown()
                return conclusion.of_search(
                    search, reached, instance, parameters, limits.seconds, n_blocks
                )
        if plan.parameters != parameters or plan.is_without_bound:
            observer(_memory_short(plan, n_blocks))
            parameters = writer.parameters = plan.parameters
        bounding: BoundingMethod[Any] = bounding_method(parameters.bounding, parameters)
        # Without a bound, no step takes long.
        long_steps = not plan.is_without_bound and n_blocks > bounding.most_blocks_here
        if parameters.certify:
            bounding = self._certified(bounding, not plan.is_without_bound)
        context = self._context(search, bounding, plan.is_without_bound)
        workforce = _workforce(
            parameters,
            cluster,
            kernels,
            worker_pool,
            self.parameters.workers,
            n_blocks,
            long_steps,
        )
        reporter = Reporter(observer, limits)
        evaluations = Evaluations(context, limits, workforce, reporter)
        watches = [recorder, reporter, writer] if parameters.certify else [reporter, writer]
        try:
            reached = branch_and_bound(search, evaluations, Watches(*watches))
        except BackendFailure:
            # Of a task or of who evaluates them: what is known of the tree is as it should be.
            writer.write(search)
            raise
        return conclusion.of_search(search, reached, instance, parameters, limits.seconds, n_blocks)

    @cached_property
    def _joined(self) -> Instance:
        """Instance whose equal points are joined, for the search."""
        return join_equal_points(self.instance)

    def _context(
        self, search: Search, bounding: BoundingMethod[Any], is_without_bound: bool = False
    ) -> EvaluationContext:
        parameters = self.parameters
        return EvaluationContext(
            instance=self._joined,
            bounding=bounding,
            heuristic=IncumbentSearch(parameters.heuristics),
            parameters=parameters.search,
            tolerances=search.tree.tolerances,
            seed=parameters.seed,
            is_without_bound=is_without_bound,
            keeps_evidence=parameters.certify,
        )

    def _certified(self, bounding: BoundingMethod[Any], fits: bool) -> BoundingMethod[Any]:
        """Return a bounding all of whose bounds a certificate can show; if the matrices fit."""
        from sdpbb.bounds.certified import CertifiedBounding  # of certified runs

        rules = cluster_rules(self.instance)
        return CertifiedBounding(bounding, self.instance.points, rules, fits)

    def _begins_with_subsets(self, search: Search, plan: MemoryPlan, n_blocks: int) -> bool:
        """Return whether the root's first bound is the sum of the bounds of subsets.

        It is if that is asked for, and by itself where the hybrid bound of all blocks takes long or
        does not fit the memory.
        """
        parameters = self.parameters
        if search.tree.has_begun or not search.tree.n_open:
            return False
        large = n_blocks >= parameters.decomposition.least_blocks or plan.is_without_bound
        by_itself = parameters.bounding == "hybrid" and large
        return by_itself or parameters.bounding == "decomposition"

    def _bound_subsets(
        self,
        search: Search,
        contraction: Contraction,
        plan: MemoryPlan,
        limits: Limits,
        worker_pool: Callable[[], TaskPool],
        writer: CheckpointWriter,
        recorder: ProofRecorder,
    ) -> Termination | None:
        """Raise the bound of the root by subsets; return the limit that was reached.

        None if the search has ended, or the root is to be bounded as a whole.
        """
        from sdpbb.decomposition.run import Decomposition  # seldom needed

        parameters = self.parameters
        bounding: BoundingMethod[Any] = bounding_method(parameters.bounding, parameters)
        of_root = bounding
        if parameters.certify:
            # The scatter inside blocks, all that is asked for here, is worth no large matrix.
            fits = contraction.n_blocks <= parameters.decomposition.largest
            of_root = self._certified(bounding, fits)
        reporter = Reporter(self.observer, limits)

        def keep(subsets: SubsetBounds) -> None:
            writer.subsets = subsets

        return Decomposition(
            search=search,
            contraction=contraction,
            context=self._context(search, of_root),
            bounding=bounding,
            parameters=parameters.decomposition,
            limits=limits,
            local_pool=TaskPool(SerialExecutor()),
            worker_pool=worker_pool,
            n_cores=parameters.workers,
            has_help=parameters.workers > 1 or parameters.dask is not None,
            free_mebibytes=plan.available,
            fits_as_a_whole=not plan.is_without_bound,
            reporter=reporter,
            watch=Watches(reporter, writer),
            observer=self.observer,
            keep=keep,
            state=None if self.saved is None else self.saved.subsets,
            recorder=recorder if parameters.certify else None,
            given=self.instance,
        ).run()

    def _initial_search(
        self, contraction: Contraction | Infeasibility, limits: Limits
    ) -> Search | Infeasibility | None:
        """Return the saved search, or a new one from a first feasible colouring.

        The colouring keeps the constraints on pairs. If there is none, return the proof of that; if
        the time does not do to tell, None.
        """
        if isinstance(contraction, Infeasibility):
            return contraction
        saved = self.saved
        if saved is not None and (saved.search or saved.infeasibility):
            return saved.search or saved.infeasibility
        if self.start is not None:
            return self._search_from(self.start.labels, "start", contraction)
        found = find_feasible(contraction, limits.seconds_left, lambda: limits.urgent() is not None)
        if found is None or isinstance(found, Infeasibility):
            return found
        return self._search_from(contraction.lift(found), "colouring", contraction)

    def _search_from(
        self, labels: NDArray[np.intp], source: str, contraction: Contraction
    ) -> Search:
        """Return a search whose root knows labels (n,) that keep the constraints on pairs.

        They are its first incumbent if they keep those on clusters, too.
        """
        root = Node(block_of=contraction.block_of, feasible=labels)
        tree = Tree(root, Tolerances(self.parameters.gap))
        if contraction.keeps(labels[contraction.representatives]):
            tree.offer(labels, Partition(labels).sum_of_squares(self.instance.points), source)
        return Search(tree)


@contextmanager
def _dask_cluster(parameters: SolverParameters) -> Iterator[DaskCluster | None]:
    """Context manager: the cluster that evaluates nodes, if it is asked for.

    It is connected to at once, so that a wrong address is told before the work begins.
    """
    if parameters.dask is None:
        yield None
        return
    cluster = DaskCluster(parameters.dask, WarmUp(parameters.bounding))
    try:
        yield cluster
    finally:
        cluster.kill()


class _WorkerPool:
    """Pool of other processes, made when it is called for first."""

    def __init__(
        self, parameters: SolverParameters, cluster: DaskCluster | None, kernels: RunKernels
    ) -> None:
        self._parameters = parameters
        self._cluster = cluster
        self._kernels = kernels
        self._pool: TaskPool | None = None

    def __call__(self) -> TaskPool:
        if self._pool is None:
            self._pool = self._made()
        return self._pool

    def _made(self) -> TaskPool:
        if self._cluster is not None:
            return TaskPool(self._cluster)
        self._kernels.finish()  # all workers load them
        parameters = self._parameters
        return TaskPool(LocalProcesses(parameters.workers, WarmUp(parameters.bounding)))

    def shutdown(self) -> None:
        """End the processes, if there are any."""
        if self._pool is not None:
            self._pool.shutdown()


def _workforce(
    parameters: SolverParameters,
    cluster: DaskCluster | None,
    kernels: RunKernels,
    worker_pool: Callable[[], TaskPool],
    cores: int,
    n_blocks: int,
    has_long_steps: bool,
) -> Workforce:
    """Return the workforce; worker processes are started on demand.

    cores : that were asked for; memory may hold fewer processes
    """
    several = cluster is not None or parameters.workers > 1
    root_uses_cores = cores > 1 and n_blocks >= LARGE
    return Workforce(
        TaskPool(SerialExecutor()),
        worker_pool,
        several,
        has_long_steps,
        cores,
        root_uses_cores,
        lambda: kernels.is_compiling,
    )


def _memory_short(plan: MemoryPlan, n_blocks: int) -> MemoryShort:
    """Return the event that tells of a plan."""
    return MemoryShort(
        n_blocks=n_blocks,
        needed=plan.needed,
        available=plan.available,
        bounding=None if plan.is_without_bound else plan.parameters.bounding,
        workers=plan.parameters.workers,
    )


def _started_event(
    instance: Instance,
    joined: Instance,
    contraction: Contraction | Infeasibility,
    resumed: Resumed | None,
) -> Started:
    """Return the event that begins a run.

    joined : the instance with equal points joined
    """
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
        n_equal=len(joined.must_link) - len(instance.must_link),
    )
