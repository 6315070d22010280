"""One run of the solver: a first clustering, the bounds of subsets, and the search tree.

A run is a search tree (`sdpbb.search.tree`) on which `branch_and_bound` works: nodes are evaluated
by a `Workforce`, with a bounding method (`sdpbb.bounds`) and heuristics, until they are finished or
a limit is reached. The bound of a large root is raised by those of subsets before
(`sdpbb.decomposition`). A `CheckpointWriter` saves the state, a `ProofRecorder` keeps the proof;
`sdpbb.conclusion` makes the result.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from heuristics.first_clustering import first_clustering
from heuristics.incumbents import IncumbentSearch
from sdpbb import conclusion
from sdpbb.bounds.method import BoundingMethod
from sdpbb.bounds.registry import bounding_method
from sdpbb.certificates.recorder import ProofRecorder
from sdpbb.checkpoint import CheckpointWriter, SavedRun
from sdpbb.compilation import RunKernels, WarmUp
from sdpbb.cores import LARGE
from sdpbb.errors import BackendFailure
from sdpbb.executors.dask import DaskCluster
from sdpbb.executors.executor import TaskExecutor
from sdpbb.executors.memory import resident_mebibytes
from sdpbb.executors.processes import LocalProcesses
from sdpbb.files import FilePath
from sdpbb.memory_plan import MemoryPlan, memory_plan
from sdpbb.parameters import SolverParameters
from sdpbb.problem import Contraction, Infeasibility, Instance, Partition, contract
from sdpbb.problem.cluster_rules import checked_soft_pairs, cluster_rules
from sdpbb.problem.equal_points import join_equal_points
from sdpbb.report import memory_shortage
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
)
from sdpbb.search.limits import Limits, Sampled
from sdpbb.search.loop import branch_and_bound
from sdpbb.search.node import Node
from sdpbb.search.processes import RunProcesses
from sdpbb.search.reporting import Reporter, Watches
from sdpbb.search.state import Search
from sdpbb.search.tolerances import Tolerances
from sdpbb.search.tree import Tree
from sdpbb.search.workforce import Workforce
from sdpbb.time_left import RUN_CLOCK

if TYPE_CHECKING:
    from sdpbb.certificates.writer import CertificateOrder

# Seconds between two measurements of the memory.
MEMORY_SECONDS = 0.25


@dataclass(frozen=True, eq=False)
class Request:
    """Request for a run, and what that goes on from.

    observer, interrupt : who is told how the run goes, and what ends it when it is set
    checkpoint, order : the files that it writes, None for none
    start : a clustering to begin with, if there is one
    saved, resumed : the state of a run that it goes on with, and the event that tells of that
    """

    instance: Instance
    parameters: SolverParameters
    observer: Observer
    interrupt: threading.Event
    checkpoint: FilePath | None = None
    order: CertificateOrder | None = None
    start: Partition | None = None
    saved: SavedRun | None = None
    resumed: Resumed | None = None


def run(request: Request) -> Result:
    """Solve the instance; write checkpoints, and in the end the certificate.

    The certificate is written after `Finished`, so that whoever keeps the result has it before.

    Raises
    ------
    CertificateError
        With the result, if its certificate cannot be written.
    """
    parameters, observer = request.parameters, request.observer
    # Two BLAS threads have been seen to slow small eigenvalue problems down by factors of 10 to
    # 150; parallelism belongs across nodes.
    with threadpool_limits(1):
        with (
            _dask_cluster(parameters) as cluster,
            RunKernels(parameters.bounding, lambda: observer(Compiling())) as kernels,
        ):
            if parameters.memory_limit < math.inf:
                kernels.finish()  # another process that compiles would count
            current = _Run(request, _processes(parameters, cluster, kernels))
            result = current.result()
        observer(Finished(result))
        current.write_certificate(result)
    return result


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


def _processes(
    parameters: SolverParameters, cluster: DaskCluster | None, kernels: RunKernels
) -> RunProcesses:
    """Return the processes that parameters ask for."""

    def make_executor(n_workers: int) -> TaskExecutor:
        if cluster is not None:
            return cluster
        kernels.finish()  # all workers load them
        return LocalProcesses(n_workers, WarmUp(parameters.bounding))

    return RunProcesses(
        make_executor,
        parameters.workers,
        is_cluster=cluster is not None,
        is_compiling=lambda: kernels.is_compiling,
    )


class _Run:
    """Run under way: its limits, its proof, and the state that it saves."""

    def __init__(self, request: Request, processes: RunProcesses) -> None:
        parameters, saved = request.parameters, request.saved
        self._request = request
        self._processes = processes
        self._observer = request.observer
        # As asked for until the memory is known to hold no more than others.
        self._parameters = parameters
        self._shortage: MemoryShort | None = None
        self._limits = Limits(
            time_limit=parameters.time_limit,
            node_limit=parameters.node_limit,
            memory_limit=parameters.memory_limit,
            memory=Sampled(resident_mebibytes, MEMORY_SECONDS),
            interrupt=request.interrupt,
            started=RUN_CLOCK() - (0.0 if saved is None else saved.seconds),
        )
        self._recorder = ProofRecorder(None if saved is None else saved.proof)
        self._writer = CheckpointWriter(
            request.checkpoint,
            SavedRun(
                request.instance,
                parameters,
                proof=self._recorder.proof if parameters.certify else None,
                subsets=None if saved is None else saved.subsets,
            ),
            lambda: self._limits.seconds,
            request.observer,
        )

    @cached_property
    def _joined(self) -> Instance:
        """Instance whose equal points are joined, for the search."""
        return join_equal_points(self._request.instance)

    def result(self) -> Result:
        """Contract, find a first clustering, raise the bound as far as it goes."""
        instance, parameters = self._request.instance, self._parameters
        contraction = contract(self._joined)
        n_blocks, n_pairs = 0, 0
        if isinstance(contraction, Contraction):
            n_blocks, n_pairs = contraction.n_blocks, len(contraction.cannot_link)
        n_equal = len(self._joined.must_link) - len(instance.must_link)
        self._observer(Started.of(instance, n_blocks, n_pairs, n_equal, self._request.resumed))
        search = self._initial_search(contraction)
        if isinstance(search, Infeasibility):
            self._recorder.record_infeasible()
            self._writer.write(infeasibility=search)
            seconds = self._limits.seconds
            return conclusion.infeasible(search, instance, parameters, seconds, n_blocks)
        if search is None:
            self._writer.write()
            limit = self._limits.urgent() or Termination.TIME_LIMIT
            return conclusion.unknown(
                limit, 0.0, instance, parameters, self._limits.seconds, n_blocks
            )
        assert isinstance(contraction, Contraction)
        try:
            with self._processes:
                reached = self._raise_bound(search, contraction)
        except BackendFailure:
            # Of a task or of who evaluates them: what is known of the tree is as it should be.
            self._writer.write(search)
            raise
        seconds, asked = self._limits.seconds, self._parameters
        notes = self._notes(search)
        return conclusion.of_search(search, reached, instance, asked, seconds, n_blocks, notes)

    def _notes(self, search: Search) -> tuple[str, ...]:
        """Return a line for each thing that was done otherwise than asked."""
        subsets = self._writer.saved.subsets
        notes: tuple[str, ...] = ()
        if subsets is not None and search.statistics.n_subsets:
            from sdpbb.decomposition.left_out import left_out  # seldom needed

            notes = left_out(self._request.instance, subsets)
        return notes if self._shortage is None else (*notes, memory_shortage(self._shortage))

    def write_certificate(self, result: Result) -> None:
        """Write the certificate of the result, if it is asked for."""
        order, subsets = self._request.order, self._writer.saved.subsets
        if order is None or not order.applies_to(result):
            return
        from sdpbb.certificates.writer import write_certificate

        proofs = None if subsets is None else subsets.best_proofs()
        gap, proof = self._request.parameters.gap, self._recorder.proof
        self._observer(write_certificate(order, self._request.instance, gap, result, proof, proofs))

    def _initial_search(
        self, contraction: Contraction | Infeasibility
    ) -> Search | Infeasibility | None:
        """Return the saved search, or a new one from a first feasible colouring.

        The colouring keeps the constraints on pairs. If there is none, return the proof of that; if
        the time does not do to tell, None.
        """
        if isinstance(contraction, Infeasibility):
            return contraction
        saved, start = self._request.saved, self._request.start
        if saved is not None and (saved.search or saved.infeasibility):
            return saved.search or saved.infeasibility
        if start is not None:
            return self._search_from(start.labels, "start", contraction)
        found = first_clustering(contraction, self._limits.time_left)
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
        tree = Tree(root, Tolerances(self._parameters.gap))
        if contraction.keeps(labels[contraction.representatives]):
            cost = Partition(labels).cost(self._request.instance)
            tree.offer(labels, cost, source)
        return Search(tree)

    def _raise_bound(self, search: Search, contraction: Contraction) -> Termination | None:
        """Raise the bound by subsets where that pays, then by branch and bound.

        Return the limit that was reached, or None.
        """
        saved = self._request.saved
        has_search = saved is not None and saved.search is not None
        asked: BoundingMethod[Any] = bounding_method(self._parameters.bounding, self._parameters)
        plan = memory_plan(self._parameters, asked, contraction, is_resumed=has_search)
        reporter = Reporter(self._observer, self._limits)
        if self._begins_with_subsets(search, contraction, asked, plan):
            reached = self._bound_subsets(search, contraction, asked, plan, reporter)
            if reached is not None or not search.tree.n_open:
                return reached
        return self._search_tree(search, contraction.n_blocks, plan, reporter)

    def _begins_with_subsets(
        self,
        search: Search,
        contraction: Contraction,
        asked: BoundingMethod[Any],
        plan: MemoryPlan,
    ) -> bool:
        """Return whether the root's first bound is the sum of the bounds of subsets.

        It is if that is asked for, and by itself where the hybrid bound of all blocks takes long or
        does not fit the memory.

        asked : the bounding method that is asked for
        """
        parameters = self._parameters
        if search.tree.has_begun or not search.tree.n_open:
            return False
        if parameters.bounding != "hybrid":
            return parameters.bounding == "decomposition"
        if plan.is_without_bound:
            return True
        is_large = contraction.n_blocks >= parameters.decomposition.least_blocks
        return is_large and not asked.is_quick(contraction)

    def _bound_subsets(
        self,
        search: Search,
        contraction: Contraction,
        asked: BoundingMethod[Any],
        plan: MemoryPlan,
        reporter: Reporter,
    ) -> Termination | None:
        """Raise the bound of the root by subsets; return the limit that was reached.

        None if the search has ended, or the root is to be bounded as a whole.
        """
        from sdpbb.decomposition.places import raise_by_places  # seldom needed
        from sdpbb.decomposition.run import Decomposition
        from sdpbb.search.root import Root

        parameters = self._parameters
        # The scatter inside blocks, all that is asked for of the root, is worth no large matrix.
        fits = contraction.n_blocks <= parameters.decomposition.largest
        of_root = self._certified(asked, fits) if parameters.certify else asked
        root = Root(
            search,
            contraction,
            self._context(search, of_root, plan.is_without_bound),
            self._limits,
            self._recorder.record,
            reporter,
            Watches(reporter, self._writer),
        )
        decomposition = Decomposition(
            root=root,
            instance=self._request.instance,
            bounding=bounding_method(parameters.bounding, _of_subsets(parameters)),
            parameters=parameters.decomposition,
            processes=self._processes,
            free_mebibytes=plan.available,
            keep=self._writer.keep_subsets,
            state=self._writer.saved.subsets,
        )
        root.begin()
        decomposition.prepare()
        # A run that goes on may have been cut short in this before.
        root.look_for_clusterings()
        if decomposition.state is None:
            raise_by_places(root, parameters.places, plan.available)
        return root.end(decomposition.run())

    def _search_tree(
        self, search: Search, n_blocks: int, plan: MemoryPlan, reporter: Reporter
    ) -> Termination | None:
        """Bound the root as a whole, and branch; return the limit that was reached, or None."""
        is_short = plan.parameters != self._parameters or plan.is_without_bound
        if is_short and search.tree.n_open:
            self._shortage = plan.event(n_blocks)
            self._observer(self._shortage)
            self._parameters = plan.parameters
            self._writer.keep_parameters(plan.parameters)
            self._processes.allow_workers(plan.parameters.workers)
        parameters = self._parameters
        bounding: BoundingMethod[Any] = bounding_method(parameters.bounding, parameters)
        # Without a bound, no step takes long.
        long_steps = not plan.is_without_bound and n_blocks > bounding.most_blocks_here
        workforce = Workforce(self._processes, long_steps, root_uses_cores=n_blocks >= LARGE)
        watches = [reporter, self._writer]
        if parameters.certify:
            bounding = self._certified(bounding, not plan.is_without_bound)
            watches = [self._recorder, *watches]
        context = self._context(search, bounding, plan.is_without_bound)
        evaluations = Evaluations(context, self._limits, workforce, reporter)
        return branch_and_bound(search, evaluations, Watches(*watches))

    def _context(
        self, search: Search, bounding: BoundingMethod[Any], is_without_bound: bool
    ) -> EvaluationContext:
        parameters = self._parameters
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

        instance = self._request.instance
        rules = cluster_rules(instance)
        return CertifiedBounding(
            bounding, instance.points, rules, fits, instance.weights, checked_soft_pairs(instance)
        )


def _of_subsets(parameters: SolverParameters) -> SolverParameters:
    """Return the parameters of the bounding of subsets."""
    colgen = parameters.colgen
    most = parameters.decomposition.max_pricing_slices
    enumeration = replace(colgen.enumeration, max_pricing_slices=most)
    return replace(parameters, colgen=replace(colgen, enumeration=enumeration))
