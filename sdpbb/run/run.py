"""One run of the solver: a first clustering, a search whose bound is raised, and the result.

A run prepares its workers and limits; contracts the instance; begins a search tree with a first
clustering; raises its bound, by subsets where that pays (`sdpbb.run.decomposition`) and then by
branch and bound, until it is closed or a limit is reached; and concludes. Its state (`RunState`) is
what a checkpoint holds: a resumed run works on the one that it has read.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

from threadpoolctl import threadpool_limits

from heuristics.first_clustering import first_clustering
from heuristics.parameters import HeuristicSchedule
from sdpbb.bounds.bound import BoundingMethod
from sdpbb.bounds.registry import bounding_method
from sdpbb.bounds.sdp.parameters import LARGEST_CONIC
from sdpbb.errors import BackendFailure, ParameterError
from sdpbb.problem import (
    Contraction,
    Infeasibility,
    InfeasibilityKind,
    Instance,
    Partition,
    SoftViolations,
    contract,
)
from sdpbb.problem.checker_rules import stated_instance
from sdpbb.problem.contraction import join_equal_points
from sdpbb.run.certificates.proof import Proof
from sdpbb.run.checkpoint import CheckpointWriter, RunState
from sdpbb.run.kernels import compile_all
from sdpbb.run.memory_plan import memory_plan
from sdpbb.run.report import ignored_by_subsets, notice
from sdpbb.runtime.backends.milp import using_integer_solver
from sdpbb.runtime.executors.given import workers_beyond
from sdpbb.runtime.files import FilePath
from sdpbb.runtime.jit import clock_stopped_by_compiler
from sdpbb.runtime.time_left import RUN_CLOCK
from sdpbb.runtime.version import installed_version
from sdpbb.search.evaluate import EvaluationContext
from sdpbb.search.events import (
    Compiling,
    Finished,
    MemoryShort,
    Observer,
    Resumed,
    Started,
    WorkerCrashed,
)
from sdpbb.search.limits import Limits
from sdpbb.search.loop import Evaluations, branch_and_bound
from sdpbb.search.node import Node
from sdpbb.search.reporting import Reporter
from sdpbb.search.result import (
    PRECISION,
    Result,
    SolutionStatus,
    Statistics,
    Termination,
    bound_below,
    relative_gap,
)
from sdpbb.search.tree import Tolerances, Tree
from sdpbb.search.workforce import Workforce

# Maximum slices of exact pricing for enumeration in a subset. Open subsets are bounded again as
# parts of larger ones.
PRICING_SLICES = 1
# Seconds to look for the constraints that are infeasible together: the remaining time of the run,
# within these two numbers.
EXPLANATION, LEAST_EXPLANATION = 5.0, 1.0


@dataclass(eq=False)
class Run:
    """Run of the solver.

    state : of a new run, or from a checkpoint. It is changed; its parameters become what the memory
        allows once the bound of the root as a whole begins
    observer, interrupt : receives events; ends the run when it is set
    checkpoint, certificate : the files that it writes; None: no file. The second may be a
        `CertificateOrder`
    start : a clustering to begin with, if there is one
    resumed : the event that reports a resumed run; None of a new run
    executor : evaluates nodes instead of processes of this machine; None: as the parameters say
    """

    state: RunState
    observer: Observer
    interrupt: threading.Event
    checkpoint: FilePath | None = None
    certificate: FilePath | None = None
    start: Partition | None = None
    resumed: Resumed | None = None
    executor: Executor | None = None

    def result(self) -> Result:
        """Solve the instance; write checkpoints, and in the end the certificate.

        The certificate is written after `Finished`, so that whoever keeps the result has it before.

        Raises
        ------
        CertificateError
            With the result, if its certificate cannot be written.
        ParameterError
            If there are more blocks than a conic solver is asked to solve.
        """
        parameters, observer = self.state.parameters, self.observer
        # Two BLAS threads have been seen to slow small eigenvalue problems down by factors of 10 to
        # 150; parallelism belongs across nodes.
        with threadpool_limits(1):
            asked = self.executor, parameters.dask, parameters.mpi
            with (
                workers_beyond(*asked, compile_all) as given,
                clock_stopped_by_compiler(lambda: observer(Compiling())),
                using_integer_solver(parameters.search.milp_solver),
            ):
                self._workforce = Workforce(
                    parameters.workers,
                    compile_all,
                    given,
                    on_death=lambda reason: observer(WorkerCrashed(reason)),
                )
                result = self._solve()
            observer(Finished(result))
            self._write_certificate(result)
        return result

    def _solve(self) -> Result:
        """Contract, begin a search with a first clustering, raise its bound as far as it goes."""
        state, instance, parameters = self.state, self.state.instance, self.state.parameters
        self._limits = limits = Limits(
            time_limit=parameters.time_limit,
            node_limit=parameters.node_limit,
            memory_limit=parameters.memory_limit,
            interrupt=self.interrupt,
            started=RUN_CLOCK() - state.seconds,
        )
        if parameters.certify and state.proof is None:
            state.proof = Proof()
        self._writer = CheckpointWriter(
            self.checkpoint, state, lambda: limits.seconds, self.observer
        )
        self._is_resumed = state.tree is not None
        self._short: MemoryShort | None = None  # what the memory did not allow
        self._joined = join_equal_points(instance)
        contraction = contract(self._joined)
        n_blocks, n_pairs = 0, 0
        if isinstance(contraction, Contraction):
            n_blocks, n_pairs = contraction.n_blocks, len(contraction.cannot_link)
        solver = parameters.sdp.solver
        if solver != "admm" and n_blocks > LARGEST_CONIC:
            raise ParameterError(
                f"sdp.solver = {solver!r}: {n_blocks} blocks, expected at most {LARGEST_CONIC}, "
                "for which a solution takes minutes"
            )
        n_equal = len(self._joined.must_link) - len(instance.must_link)
        self.observer(Started(instance, n_blocks, n_pairs, n_equal, self.resumed))
        if isinstance(contraction, Infeasibility):
            state.infeasibility, state.tree = contraction, None
        elif state.tree is None and state.infeasibility is None:
            self._begin_search(contraction)
        if state.infeasibility is not None and state.proof is not None:
            state.proof.nodes[0].is_infeasible = True
        reached = None
        if state.tree is None:
            self._writer.write()
            if state.infeasibility is None:
                reached = limits.urgent() or Termination.TIME_LIMIT
        else:
            assert isinstance(contraction, Contraction)
            try:
                with self._workforce:
                    reached = self._raise_bound(contraction, state.tree)
            except BackendFailure:
                # A task or an executor failed. The tree is consistent, so it is saved.
                self._writer.write()
                raise
        return concluded(state, reached, limits.seconds, n_blocks, tuple(self._notes()))

    def _begin_search(self, contraction: Contraction) -> None:
        """Begin the search from a first clustering, or a colouring without one.

        The colouring satisfies the constraints on pairs. Set the proof if there is none, and
        nothing if the time is over first.
        """
        state, start = self.state, self.start
        if start is not None:
            labels, source = start.labels, "start"
        else:
            found = first_clustering(contraction, self._limits.time_left)
            if isinstance(found, Infeasibility):
                state.infeasibility = found
            if found is None or isinstance(found, Infeasibility):
                return
            labels, source = contraction.lift(found), "colouring"
        root = Node(block_of=contraction.block_of, known_labels=labels)
        state.tree = Tree(root, Tolerances(state.parameters.gap))
        # It is the first incumbent if it satisfies the constraints on clusters, too.
        if contraction.keeps(labels[contraction.representatives]):
            state.tree.offer(labels, Partition(labels).cost(state.instance), source)

    def _raise_bound(self, contraction: Contraction, tree: Tree) -> Termination | None:
        """Raise the bound by subsets where that pays, then by branch and bound.

        Return the limit that was reached, or None.
        """
        state, asked, workforce = self.state, self.state.parameters, self._workforce
        reporter = Reporter(self.observer, self._limits)
        shared = self._limits, workforce, reporter, self._writer, state.proof
        bounding = bounding_method(asked.bounding, asked.sdp)
        plan = memory_plan(asked, contraction, self._is_resumed, not workforce.is_given)
        no_bound = plan.is_without_bound
        if self._begins_with_subsets(contraction, tree, bounding, no_bound):
            from sdpbb.run.decomposition.run import Decomposition  # seldom needed

            # The scatter inside blocks, all that is asked for of the root, is worth no large
            # matrix.
            fits = contraction.n_blocks <= asked.decomposition.largest
            context = self._context(bounding, no_bound, fits)
            of_subsets = bounding_method(asked.bounding, asked.sdp, PRICING_SLICES)
            more = contraction, state, of_subsets, plan.available
            reached = Decomposition(tree, context, *shared, *more).bound()
            if reached is not None or not tree.n_open:
                return reached
        if plan.short is not None and tree.n_open:
            self._short = plan.short
            self.observer(plan.short)
            state.parameters = plan.parameters
            workforce.allow_workers(plan.parameters.workers)
        bounding = bounding_method(state.parameters.bounding, state.parameters.sdp)
        # Without a bound, no step takes long.
        workforce.begin_tree(not no_bound and contraction.n_blocks > bounding.most_blocks_here)
        context = self._context(bounding, no_bound, not no_bound)
        return branch_and_bound(Evaluations(tree, context, *shared))

    def _begins_with_subsets(
        self, contraction: Contraction, tree: Tree, asked: BoundingMethod[Any], no_bound: bool
    ) -> bool:
        """Return whether the root's first bound is the sum of the bounds of subsets.

        It is if the parameters say so, and by itself if the hybrid bound of all blocks takes long
        or does not fit the memory.

        asked : the bounding method of the parameters
        no_bound : whether the memory holds no bound of all blocks
        """
        parameters = self.state.parameters
        if tree.has_begun or not tree.n_open:
            return False
        if parameters.bounding != "hybrid":
            return parameters.bounding == "decomposition"
        is_large = parameters.decomposition.is_large(contraction.n_blocks, contraction.has_limits)
        return no_bound or (is_large and not asked.is_quick(contraction))

    def _context(
        self, bounding: BoundingMethod[Any], is_without_bound: bool, fits: bool
    ) -> EvaluationContext:
        """Return what the evaluations of nodes share.

        fits : whether the memory holds the matrices of a bound that a certificate can show
        """
        parameters, instance = self.state.parameters, self.state.instance
        if parameters.certify:
            from sdpbb.bounds.certified import CertifiedBounding  # of certified runs

            bounding = CertifiedBounding(bounding, stated_instance(instance), fits)
        return EvaluationContext(
            instance=self._joined,
            bounding=bounding,
            heuristic=HeuristicSchedule(),
            tolerances=Tolerances(parameters.gap),
            seed=parameters.seed,
            milp_solver=parameters.search.milp_solver,
            fixing=parameters.search.fixing,
            is_without_bound=is_without_bound,
            keeps_evidence=parameters.certify,
        )

    def _notes(self) -> Iterator[str]:
        """Yield notes on deviations from the request."""
        state = self.state
        if state.subsets is not None and state.tree and state.tree.statistics.n_subsets:
            yield from ignored_by_subsets(state.instance)
        if self._short is not None:
            yield notice(self._short)

    def _write_certificate(self, result: Result) -> None:
        """Write the certificate of the result, if it is asked for."""
        order, state = self.certificate, self.state
        if order is None:
            return
        # What writes them is imported where one is asked for.
        from sdpbb.run.certificates.writer import CertificateOrder, write_certificate

        order = order if isinstance(order, CertificateOrder) else CertificateOrder(order)
        if not order.applies_to(result):
            return
        proofs = None if state.subsets is None else state.subsets.best_proofs()
        assert state.proof is not None  # of a certified run
        gap = state.parameters.gap
        self.observer(write_certificate(order, state.instance, gap, result, state.proof, proofs))


def concluded(
    state: RunState,
    limit: Termination | None,
    seconds: float,
    n_blocks: int,
    notes: tuple[str, ...] = (),
) -> Result:
    """Return the result of a run that ended at a limit, or (None) with nothing left to do.

    seconds : of the run
    notes : on deviations from the request

    Raises
    ------
    BackendFailure
        If an integer programming solver was wrong, or fails: a clustering contradicts the proof
        that there is none.
    """
    tree, proof = state.tree, state.infeasibility
    counted = Statistics() if tree is None else tree.statistics
    common: dict[str, Any] = {
        "statistics": replace(counted, wall_seconds=seconds, n_blocks=n_blocks),
        "parameters": state.parameters.to_dict(),
        "version": installed_version(),
        "k": state.instance.k,
        "origin": state.instance.origin,
    }
    if tree is not None and tree.is_exhausted:
        proof = Infeasibility(InfeasibilityKind.EXHAUSTED, n_nodes=counted.n_nodes)
    if proof is not None:
        seconds_left = state.parameters.time_limit - seconds
        return Result(**_infeasible(proof, state.instance, seconds_left), **common)
    if tree is None or tree.labels is None:
        assert limit is not None  # nothing is closed without a clustering
        lower = 0.0 if tree is None else tree.lower
        unknown = SolutionStatus.UNKNOWN
        return Result(unknown, limit, None, None, lower, None, notes=notes, **common)
    return Result(**_found(tree, limit, state), notes=notes, **common)


def _infeasible(proof: Infeasibility, instance: Instance, seconds_left: float) -> dict[str, Any]:
    """Return what is proven if there is no clustering.

    Constraints that are infeasible together are part of it, if they are found in a few seconds.
    """
    from sdpbb.run.explanation import diagnose  # seldom needed

    found = diagnose(instance, min(EXPLANATION, max(LEAST_EXPLANATION, seconds_left)))
    if found.is_feasible:
        raise BackendFailure(f"{proof}: contradicted by a clustering that has been found")
    return {
        "status": SolutionStatus.INFEASIBLE,
        "termination": Termination.PROVEN_INFEASIBLE,
        **dict.fromkeys(("partition", "objective", "gap", "lower_bound")),
        "infeasibility": replace(proof, rows=tuple(instance.origin.rows(proof.points))),
        "conflict": found.conflict,
    }


def _found(tree: Tree, limit: Termination | None, state: RunState) -> dict[str, Any]:
    """Return what is proven of the incumbent of a search."""
    assert tree.is_closed or limit is not None
    assert tree.labels is not None
    instance, partition = state.instance, Partition(tree.labels)
    if not partition.is_feasible(instance):
        raise AssertionError("the incumbent violates a constraint")
    objective = partition.cost(instance)
    lower = bound_below(tree.bound_of_nodes, objective)
    gap = relative_gap(lower, objective)
    closed = tree.is_closed and gap <= max(state.parameters.gap, PRECISION)
    limited = Termination.PRECISION if limit is None or tree.is_closed else limit
    means = partition.means(instance.points, instance.weights)
    return {
        "status": SolutionStatus.OPTIMAL if closed else SolutionStatus.FEASIBLE,
        "termination": Termination.GAP_CLOSED if closed else limited,
        "partition": partition,
        "objective": objective,
        "lower_bound": lower,
        "gap": gap,
        "soft": SoftViolations.of(partition, instance),
        "centers": instance.origin.in_user_units(means),
    }
