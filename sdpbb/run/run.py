"""One run of the solver: a first clustering, a search whose bound is raised, and the result.

A run is a search tree (`sdpbb.search.tree`) that begins with a first clustering, and whose bound is
raised (`bound_raising`) until it is closed or a limit is reached. A `CheckpointWriter` saves the
state, a `ProofRecorder` keeps the proof; `conclusion` makes the result.
"""

from __future__ import annotations

import threading
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from heuristics.first_clustering import first_clustering
from sdpbb.errors import BackendFailure
from sdpbb.problem import Contraction, Infeasibility, Instance, Partition, contract
from sdpbb.problem.equal_points import join_equal_points
from sdpbb.run import conclusion
from sdpbb.run.bound_raising import BoundRaising
from sdpbb.run.certificates.recorder import ProofRecorder
from sdpbb.run.checkpoint import CheckpointWriter, SavedRun
from sdpbb.run.kernels import WarmUp, compile_first, compile_method
from sdpbb.run.parameters import SolverParameters
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
    MemoryShort,
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
    """All that a run needs, and the state to resume from.

    observer, interrupt : receives events; ends the run when it is set
    checkpoint, order : the files that it writes, None for none
    start : a clustering to begin with, if there is one
    saved, resumed : the state to resume from, and the event that tells of it
    executor : evaluates nodes instead of processes of this machine; None: as the parameters say
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
    executor: Executor | None = None


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
        asked = request.executor, parameters.dask, parameters.mpi
        with (
            workers_beyond(*asked, WarmUp(parameters.bounding)) as given,
            clock_stopped_by_compiler(lambda: observer(Compiling())),
            using_integer_solver(parameters.search.milp_solver),
        ):
            with RUN_CLOCK.stopped():
                compile_first(parameters.bounding)
            current = _Run(request, _workforce(parameters, given))
            result = current.result()
        observer(Finished(result))
        current.write_certificate(result)
    return result


def _workforce(parameters: SolverParameters, given: GivenExecutor | None) -> Workforce:
    """Return the workers that parameters ask for."""

    def make_executor(n_workers: int) -> TaskExecutor:
        if given is not None:
            return given
        with RUN_CLOCK.stopped():
            compile_method(parameters.bounding)  # all workers load what is cached
        return LocalProcesses(n_workers, WarmUp(parameters.bounding))

    return Workforce(make_executor, parameters.workers, is_given=given is not None)


class _Run:
    """Run under way: its limits, its proof, and the state that it saves."""

    def __init__(self, request: Request, workforce: Workforce) -> None:
        parameters, saved = request.parameters, request.saved
        self._request = request
        self._workforce = workforce
        self._observer = request.observer
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
        instance, parameters = self._request.instance, self._request.parameters
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
                limit,
                0.0,
                instance,
                parameters,
                self._limits.seconds,
                n_blocks,
                notes=self._time_used_before(limit),
            )
        assert isinstance(contraction, Contraction)
        raising = self._raising()
        try:
            with self._workforce:
                reached = raising.raise_bound(search, contraction)
        except BackendFailure:
            # A task or an executor failed. The tree is consistent, so it is saved.
            self._writer.write(search)
            raise
        seconds, used = self._limits.seconds, raising.parameters
        notes = (*self._notes(search, raising.shortage), *self._time_used_before(reached))
        return conclusion.of_search(search, reached, instance, used, seconds, n_blocks, notes)

    def _raising(self) -> BoundRaising:
        saved = self._request.saved
        return BoundRaising(
            instance=self._request.instance,
            joined=self._joined,
            parameters=self._request.parameters,
            observer=self._observer,
            limits=self._limits,
            workforce=self._workforce,
            recorder=self._recorder,
            writer=self._writer,
            is_resumed=saved is not None and saved.search is not None,
        )

    def _notes(self, search: Search, shortage: MemoryShort | None) -> tuple[str, ...]:
        """Return a line for each thing that was done otherwise than asked."""
        subsets = self._writer.saved.subsets
        notes: tuple[str, ...] = ()
        if subsets is not None and search.statistics.n_subsets:
            from sdpbb.run.decomposition.left_out import left_out  # seldom needed

            notes = left_out(self._request.instance, subsets)
        return notes if shortage is None else (*notes, memory_shortage(shortage))

    def _time_used_before(self, reached: Termination | None) -> tuple[str, ...]:
        """Return the note on a resumed run that its time limit has ended."""
        saved, limit = self._request.saved, self._request.parameters.time_limit
        if saved is None or not saved.seconds or reached is not Termination.TIME_LIMIT:
            return ()
        return (
            f"{saved.seconds:.1f} s of {limit:g} s were used before: --time-limit counts the whole "
            "run; --more-time S adds some (more_time=S in Python)",
        )

    def write_certificate(self, result: Result) -> None:
        """Write the certificate of the result, if it is asked for."""
        order, subsets = self._request.order, self._writer.saved.subsets
        if order is None or not order.applies_to(result):
            return
        from sdpbb.run.certificates.writer import write_certificate

        proofs = None if subsets is None else subsets.best_proofs()
        gap, proof = self._request.parameters.gap, self._recorder.proof
        self._observer(write_certificate(order, self._request.instance, gap, result, proof, proofs))

    def _initial_search(
        self, contraction: Contraction | Infeasibility
    ) -> Search | Infeasibility | None:
        """Return the saved search, or a new one from a first feasible colouring.

        The colouring keeps the constraints on pairs. Return the proof if there is none, and None if
        the time is over first.
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
        root = Node(block_of=contraction.block_of, known_labels=labels)
        tree = Tree(root, Tolerances(self._request.parameters.gap))
        if contraction.keeps(labels[contraction.representatives]):
            cost = Partition(labels).cost(self._request.instance)
            tree.offer(labels, cost, source)
        return Search(tree)
