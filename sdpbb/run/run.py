"""One run of the solver: a first clustering, a search whose bound is raised, and the result.

A run prepares its workers and limits; contracts the instance; begins a search tree with a first
clustering, and raises its bound (`prover`) until it is closed or a limit is reached; and concludes.
Its state (`RunState`) is what a checkpoint holds: a resumed run works on the one that it has read.
"""

from __future__ import annotations

import threading
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from threadpoolctl import threadpool_limits

from heuristics.first_clustering import first_clustering
from sdpbb.errors import BackendFailure
from sdpbb.problem import Contraction, Infeasibility, Partition, contract
from sdpbb.problem.equal_points import join_equal_points
from sdpbb.run import conclusion
from sdpbb.run.certificates.recorder import ProofRecorder
from sdpbb.run.checkpoint import CheckpointWriter, RunState
from sdpbb.run.kernels import WarmUp, compile_first
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.prover import Prover
from sdpbb.run.report import memory_shortage
from sdpbb.runtime.backends.milp import using_integer_solver
from sdpbb.runtime.executors.clusters import workers_beyond
from sdpbb.runtime.executors.executor import TaskExecutor
from sdpbb.runtime.executors.given import GivenExecutor
from sdpbb.runtime.executors.memory import resident_mebibytes
from sdpbb.runtime.executors.processes import LocalProcesses
from sdpbb.runtime.files import FilePath
from sdpbb.runtime.jit import clock_stopped_by_compiler
from sdpbb.runtime.time_left import RUN_CLOCK
from sdpbb.search.events import (
    Compiling,
    Finished,
    Observer,
    Resumed,
    Started,
)
from sdpbb.search.limits import Limits, Sampled
from sdpbb.search.node import Node
from sdpbb.search.result import Result, Termination
from sdpbb.search.tolerances import Tolerances
from sdpbb.search.tree import Search, Tree
from sdpbb.search.workforce import Workforce

if TYPE_CHECKING:
    from sdpbb.run.certificates.writer import CertificateOrder

# Seconds between two measurements of the memory.
MEMORY_SECONDS = 0.25


@dataclass(frozen=True, eq=False)
class Request:
    """All that a run needs.

    state : with the instance and the parameters; that of a checkpoint is resumed
    observer, interrupt : receives events; ends the run when it is set
    checkpoint, order : the files that it writes; None: no file
    start : a clustering to begin with, if there is one
    resumed : the event that reports a resumed run; None of a new run
    executor : evaluates nodes instead of processes of this machine; None: as the parameters say
    """

    state: RunState
    observer: Observer
    interrupt: threading.Event
    checkpoint: FilePath | None = None
    order: CertificateOrder | None = None
    start: Partition | None = None
    resumed: Resumed | None = None
    executor: Executor | None = None


def run(request: Request) -> Result:
    """Solve the instance; write checkpoints, and in the end the certificate.

    The certificate is written after `Finished`, so that whoever keeps the result has it before.

    Raises
    ------
    CertificateError
        With the result, if its certificate cannot be written.
    """
    parameters, observer = request.state.parameters, request.observer
    # Two BLAS threads have been seen to slow small eigenvalue problems down by factors of 10 to
    # 150; parallelism belongs across nodes.
    with threadpool_limits(1):
        asked = request.executor, parameters.dask, parameters.mpi
        warm_up = WarmUp.of(request.state.instance, parameters.bounding)
        with (
            workers_beyond(*asked, warm_up) as given,
            clock_stopped_by_compiler(lambda: observer(Compiling())),
            using_integer_solver(parameters.search.milp_solver),
        ):
            with RUN_CLOCK.stopped():
                compile_first(parameters.bounding)
            prover = _prepared(request, _workforce(parameters, warm_up, given))
            result = _solved(request, prover)
        observer(Finished(result))
        _write_certificate(request, prover, result)
    return result


def _workforce(
    parameters: SolverParameters, warm_up: WarmUp, given: GivenExecutor | None
) -> Workforce:
    """Return the workers that parameters ask for."""

    def make_executor(n_workers: int) -> TaskExecutor:
        if given is not None:
            return given
        with RUN_CLOCK.stopped():
            warm_up()  # all workers load what is cached
        return LocalProcesses(n_workers, warm_up)

    return Workforce(make_executor, parameters.workers, is_given=given is not None)


def _prepared(request: Request, workforce: Workforce) -> Prover:
    """Return what works on the state, within the limits, which count the seconds of before."""
    state = request.state
    limits = Limits(
        time_limit=state.parameters.time_limit,
        node_limit=state.parameters.node_limit,
        memory_limit=state.parameters.memory_limit,
        memory=Sampled(resident_mebibytes, MEMORY_SECONDS),
        interrupt=request.interrupt,
        started=RUN_CLOCK() - state.seconds,
    )
    recorder = ProofRecorder(state.proof)
    if state.parameters.certify:
        state.proof = recorder.proof
    return Prover(
        state=state,
        joined=join_equal_points(state.instance),
        observer=request.observer,
        limits=limits,
        workforce=workforce,
        recorder=recorder,
        writer=CheckpointWriter(
            request.checkpoint, state, lambda: limits.seconds, request.observer
        ),
        is_resumed=state.search is not None,
    )


def _solved(request: Request, prover: Prover) -> Result:
    """Contract, begin a search with a first clustering, raise its bound as far as it goes."""
    state, limits, before = prover.state, prover.limits, prover.state.seconds
    instance, joined = state.instance, prover.joined
    contraction = contract(joined)
    n_blocks, n_pairs = 0, 0
    if isinstance(contraction, Contraction):
        n_blocks, n_pairs = contraction.n_blocks, len(contraction.cannot_link)
    n_equal = len(joined.must_link) - len(instance.must_link)
    prover.observer(Started.of(instance, n_blocks, n_pairs, n_equal, request.resumed))
    if isinstance(contraction, Infeasibility):
        state.infeasibility, state.search = contraction, None
    elif state.search is None and state.infeasibility is None:
        _begin_search(state, contraction, request.start, limits)
    if state.infeasibility is not None:
        prover.recorder.record_infeasible()
    reached = None
    if state.search is None:
        prover.writer.write()
    else:
        assert isinstance(contraction, Contraction)
        try:
            with prover.workforce:
                reached = prover.raise_bound(contraction)
        except BackendFailure:
            # A task or an executor failed. The tree is consistent, so it is saved.
            prover.writer.write()
            raise
    if state.search is None and state.infeasibility is None:
        reached = limits.urgent() or Termination.TIME_LIMIT
    notes = (*_deviations(prover), *_time_used_before(before, state.parameters, reached))
    return conclusion.of_run(state, reached, limits.seconds, n_blocks, notes)


def _begin_search(
    state: RunState, contraction: Contraction, start: Partition | None, limits: Limits
) -> None:
    """Begin the search of a run from a first clustering, or a colouring without one.

    The colouring satisfies the constraints on pairs. Set the proof if there is none, and nothing if
    the time is over first.
    """
    if start is not None:
        labels, source = start.labels, "start"
    else:
        found = first_clustering(contraction, limits.time_left)
        if isinstance(found, Infeasibility):
            state.infeasibility = found
        if found is None or isinstance(found, Infeasibility):
            return
        labels, source = contraction.lift(found), "colouring"
    root = Node(block_of=contraction.block_of, known_labels=labels)
    tree = Tree(root, Tolerances(state.parameters.gap))
    # It is the first incumbent if it satisfies the constraints on clusters, too.
    if contraction.keeps(labels[contraction.representatives]):
        tree.offer(labels, Partition(labels).cost(state.instance), source)
    state.search = Search(tree)


def _deviations(prover: Prover) -> tuple[str, ...]:
    """Return notes on deviations from the request."""
    state, shortage = prover.state, prover.shortage
    notes: tuple[str, ...] = ()
    if state.subsets is not None and state.search and state.search.statistics.n_subsets:
        from sdpbb.run.decomposition.left_out import left_out  # seldom needed

        notes = left_out(state.instance, state.subsets)
    return notes if shortage is None else (*notes, memory_shortage(shortage))


def _time_used_before(
    seconds: float, parameters: SolverParameters, reached: Termination | None
) -> tuple[str, ...]:
    """Return the note on a resumed run that its time limit has ended."""
    if not seconds or reached is not Termination.TIME_LIMIT:
        return ()
    return (
        f"{seconds:.1f} s of {parameters.time_limit:g} s were used before: --time-limit counts the "
        "whole run; --more-time S adds some (more_time=S in Python)",
    )


def _write_certificate(request: Request, prover: Prover, result: Result) -> None:
    """Write the certificate of the result, if it is asked for."""
    order, state = request.order, prover.state
    if order is None or not order.applies_to(result):
        return
    from sdpbb.run.certificates.writer import write_certificate

    proofs = None if state.subsets is None else state.subsets.best_proofs()
    gap, proof = state.parameters.gap, prover.recorder.proof
    prover.observer(write_certificate(order, state.instance, gap, result, proof, proofs))
