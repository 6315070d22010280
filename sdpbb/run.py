"""A run: the one place that chooses implementations and puts them together."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from sdpbb.bounds.bound import Bounding
from sdpbb.bounds.certified import CertifiedBounding
from sdpbb.certificates import certificate_bytes
from sdpbb.checkpoint import Checkpoint, CheckpointFile, FilePath
from sdpbb.compilation import prepare_kernels, warm_up
from sdpbb.conclusion import infeasible, of_search, unknown
from sdpbb.errors import BackendFailure, CertificateError
from sdpbb.executors.dask import DaskCluster
from sdpbb.executors.memory import resident_mebibytes
from sdpbb.executors.pool import TaskPool
from sdpbb.executors.processes import LocalProcesses
from sdpbb.executors.serial import SerialExecutor
from sdpbb.feasibility import find_feasible
from sdpbb.files import replacement, shown_path
from sdpbb.memory_plan import MemoryPlan, bounding_of, memory_plan
from sdpbb.parameters import SolverParameters
from sdpbb.problem import Contraction, Infeasibility, Instance, Partition, contract
from sdpbb.problem.cluster_rules import cluster_rules
from sdpbb.result import Result, SolutionStatus, Termination
from sdpbb.search.branch_and_bound import Search, branch_and_bound
from sdpbb.search.evaluate import EvaluationContext
from sdpbb.search.events import (
    CertificateWritten,
    Compiling,
    Finished,
    MemoryShort,
    Observer,
    Resumed,
    Started,
)
from sdpbb.search.node import Node
from sdpbb.search.proof import ProofNode, SearchProof
from sdpbb.search.stop import Limits, Sampled
from sdpbb.search.tolerances import Tolerances
from sdpbb.search.tree import Tree
from sdpbb.search.workforce import MOST_BLOCKS, MOST_CONIC, Workforce

# How often the memory is measured: what a process takes in between is not noticed.
MEMORY_SECONDS = 0.25


@dataclass(frozen=True)
class CertificateOrder:
    """A certificate to be written at the end of a run.

    path : of the file
    about : a clustering that keeps the constraints, in the place of the best one found
    only : what the result has to be, or there is none; None for anything
    """

    path: FilePath
    about: Partition | None = None
    only: SolutionStatus | None = None


def run(
    begin: Checkpoint,
    path: FilePath | None,
    observer: Observer,
    interrupt: threading.Event,
    certificate: CertificateOrder | None,
    resumed: Resumed | None = None,
    first: Partition | None = None,
) -> Result:
    """Go on from a state, which may be the beginning, writing checkpoints to path, and at the end
    a certificate: after `Finished` is told, so that whoever keeps the result has it before.

    first : a clustering that keeps the constraints, for a run from the beginning

    Raises
    ------
    CertificateError
        With the result, if its certificate cannot be written.
    """
    parameters = begin.parameters
    # Two BLAS threads have been seen to slow small eigenvalue problems down by factors of 10 to
    # 150; parallelism belongs across nodes.
    with threadpool_limits(1):
        with _cluster(parameters) as cluster:
            # Of blocks there are at most as many as of points.
            small = begin.instance.n_points <= parameters.hybrid.small * begin.instance.k
            prepare_kernels(lambda: observer(Compiling()), parameters.bounding, small)
            limits = Limits(
                time_limit=parameters.time_limit,
                node_limit=parameters.node_limit,
                memory_limit=parameters.memory_limit,
                memory=Sampled(resident_mebibytes, MEMORY_SECONDS),
                interrupt=interrupt,
                started=time.perf_counter() - begin.seconds,
            )
            file = CheckpointFile(path, begin, lambda: limits.seconds, observer)
            result, proof = _search(begin, limits, observer, cluster, file, resumed, first)
        observer(Finished(result))
        if certificate is not None and certificate.only in (None, result.status):
            observer(_certified(certificate, begin, result, proof))
    return result


def _certified(
    order: CertificateOrder, begin: Checkpoint, result: Result, proof: SearchProof
) -> CertificateWritten:
    """Write the certificate of a run that has ended."""
    path, gap = order.path, begin.parameters.gap
    try:
        content = certificate_bytes(begin.instance, result, proof, gap, order.about)
        with replacement(path) as file:
            file.write(content)
    except Exception as error:  # whatever it is, the result must not go with it
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        message = f"{shown_path(path)}: could not be written ({reason})"
        raise CertificateError(message, result) from error
    return CertificateWritten(os.fspath(path), len(content))


@contextmanager
def _cluster(parameters: SolverParameters) -> Iterator[DaskCluster | None]:
    """The cluster that evaluates nodes, if it is asked for. It is connected to at once, so that a
    wrong address is told before the work begins."""
    if parameters.dask is None:
        yield None
        return
    cluster = DaskCluster(parameters.dask, warm_up(parameters.bounding))
    try:
        yield cluster
    finally:
        cluster.kill()


def _workforce(
    parameters: SolverParameters, cluster: DaskCluster | None, n_blocks: int
) -> Workforce:
    """Who evaluates nodes. Local processes are started when they are needed."""
    here = TaskPool(SerialExecutor())
    prepare = warm_up(parameters.bounding)

    def others() -> TaskPool:
        if cluster is not None:
            return TaskPool(cluster)
        return TaskPool(LocalProcesses(parameters.workers, prepare))

    several = cluster is not None or parameters.workers > 1
    has_long_steps = n_blocks > (MOST_BLOCKS if parameters.sdp.solver == "admm" else MOST_CONIC)
    return Workforce(here, others, several, has_long_steps)


def _search(
    begin: Checkpoint,
    limits: Limits,
    observer: Observer,
    cluster: DaskCluster | None,
    file: CheckpointFile,
    resumed: Resumed | None,
    first: Partition | None,
) -> tuple[Result, SearchProof]:
    """The result, and what it rests on, which is complete if bounds are certified."""
    instance, parameters = begin.instance, begin.parameters
    no_clustering = SearchProof([ProofNode(is_infeasible=True)])
    contraction = contract(instance)
    observer(_started(instance, contraction, resumed))
    if isinstance(contraction, Infeasibility):
        file.write(_ended(begin, limits, contraction), finished=True)
        return infeasible(contraction, begin, limits.seconds), no_clustering
    tolerances = Tolerances(parameters.gap)
    search = begin.search(tolerances)
    if search is None and first is not None:
        search = _begun(instance, contraction, first.labels, "start", tolerances)
    if search is None:
        found = begin.infeasibility or find_feasible(
            contraction, limits.seconds_left, lambda: limits.urgent() is not None
        )
        if isinstance(found, Infeasibility):
            file.write(_ended(begin, limits, found), finished=True)
            result = infeasible(found, begin, limits.seconds, contraction.n_blocks)
            return result, no_clustering
        if found is None:
            file.write(_ended(begin, limits), finished=True)
            limit = limits.urgent() or Termination.TIME_LIMIT
            result = unknown(limit, 0.0, begin, limits.seconds, contraction.n_blocks)
            return result, SearchProof()
        labels = contraction.lift(found)
        search = _begun(instance, contraction, labels, "colouring", tolerances)
    if parameters.certify and search.proof is None:
        search.proof = SearchProof()
    plan = memory_plan(parameters, contraction, is_resumed=begin.tree is not None)
    if plan.parameters != parameters or plan.is_without_bound:
        observer(_memory_short(plan, contraction.n_blocks))
        begin = replace(begin, parameters=plan.parameters)
        file.begin = begin  # what goes on from here is of this bounding
    bounding: Bounding[Any] = bounding_of(plan.parameters)
    if parameters.certify:
        bounding = CertifiedBounding(bounding, instance.points, cluster_rules(instance))
    context = EvaluationContext(
        instance=instance,
        bounding=bounding,
        search=parameters.search,
        tolerances=tolerances,
        seed=parameters.seed,
        is_without_bound=plan.is_without_bound,
    )
    # What is left without a bound is done here.
    n_blocks = 0 if plan.is_without_bound else contraction.n_blocks
    workforce = _workforce(plan.parameters, cluster, n_blocks)
    try:
        reached = branch_and_bound(search, context, limits, observer, workforce, file)
    except BackendFailure:
        # Of a task or of who evaluates them: what is known of the tree is as it should be.
        file(search, finished=True)
        raise
    result = of_search(search, reached, begin, limits.seconds, contraction.n_blocks)
    return result, search.proof or SearchProof()


def _ended(
    begin: Checkpoint, limits: Limits, infeasibility: Infeasibility | None = None
) -> Checkpoint:
    """The state of a run that has ended before its search began."""
    return replace(begin, infeasibility=infeasibility, seconds=limits.seconds)


def _memory_short(plan: MemoryPlan, n_blocks: int) -> MemoryShort:
    return MemoryShort(
        n_blocks=n_blocks,
        needed=plan.needed,
        available=plan.available,
        bounding=None if plan.is_without_bound else plan.parameters.bounding,
        workers=plan.parameters.workers,
    )


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
