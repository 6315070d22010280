"""One run of the solver, from its limits and workers to the result.

1. Contract the instance, and begin a search tree with a first clustering.
2. Raise the bound until the tree is closed or a limit is reached: by subsets if that pays off
   (`sdpbb.run.decomposition`), then by branch and bound.
3. Conclude.

A checkpoint holds the state of the run (`RunState`). A resumed run continues with the state that it
has read.
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
from sdpbb.run.certificates.recorded import Proof
from sdpbb.run.checkpoint import CheckpointWriter, RunState
from sdpbb.run.kernels import compile_all
from sdpbb.run.plan import Plan, planned
from sdpbb.run.report import ignored_by_subsets, notice
from sdpbb.runtime.backends.milp import using_integer_solver
from sdpbb.runtime.executors.given import GivenExecutor, workers_beyond
from sdpbb.runtime.files import FilePath
from sdpbb.runtime.jit import clock_stopped_by_compiler
from sdpbb.runtime.time_left import RUN_CLOCK
from sdpbb.runtime.version import installed_version
from sdpbb.search.clocks import Limits
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

# Maximum and minimum seconds of the search for a minimal conflict; between them, it may use the
# remaining time of the run.
EXPLANATION, LEAST_EXPLANATION = 5.0, 1.0


@dataclass(eq=False)
class Run:
    """Run of the solver.

    state : of a new run, or read from a checkpoint. The run changes it. Once the bounding of the
        root as a whole begins, its parameters come from the `Plan`
    observer : receives events
    interrupt : ends the run when it is set
    checkpoint, certificate : files to write; None: no file. The second may be a `CertificateOrder`
    start : first clustering; None: find one
    resumed : event that reports a resumed run; None: a new run
    executor : evaluates nodes; None: processes as in the parameters
    """

    state: RunState
    observer: Observer
    interrupt: threading.Event
    checkpoint: FilePath | None = None
    certificate: FilePath | None = None
    start: Partition | None = None
    resumed: Resumed | None = None
    executor: Executor | None = None

    def run(self) -> Result:
        """Solve the instance; write checkpoints, and at the end the certificate.

        The certificate is written after `Finished`: observers have the result before.

        Raises
        ------
        CertificateError
            With the result, if its certificate cannot be written.
        ParameterError
            If there are more blocks than a conic solver supports.
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
                result = self._solve(given)
            observer(Finished(result))
            self._write_certificate(result)
        return result

    def _solve(self, given: GivenExecutor | None) -> Result:
        """Contract the instance, find a first clustering, raise the bound, and conclude."""
        state, parameters = self.state, self.state.parameters
        limits = Limits(
            parameters.time_limit,
            self.interrupt.is_set,
            RUN_CLOCK() - state.seconds,
            parameters.node_limit,
            parameters.memory_limit,
        )
        if parameters.certify and state.proof is None:
            state.proof = Proof()
        self._shortage: MemoryShort | None = None
        joined = join_equal_points(state.instance)
        contraction = contract(joined)
        n_blocks, n_pairs = 0, 0
        if isinstance(contraction, Contraction):
            n_blocks, n_pairs = contraction.n_blocks, len(contraction.cannot_link)
        solver = parameters.sdp.solver
        if solver != "admm" and n_blocks > LARGEST_CONIC:
            raise ParameterError(
                f"sdp.solver = {solver!r}: {n_blocks} blocks, expected at most {LARGEST_CONIC}, "
                "for which a solution takes minutes"
            )
        n_equal = len(joined.must_link) - len(state.instance.must_link)
        self.observer(Started(state.instance, n_blocks, n_pairs, n_equal, self.resumed))
        if isinstance(contraction, Infeasibility):
            state.infeasibility, state.tree = contraction, None
        elif state.tree is None and state.infeasibility is None:
            self._begin_search(contraction, limits)
        if state.infeasibility is not None and state.proof is not None:
            state.proof.nodes[0].is_infeasible = True
        writer = CheckpointWriter(self.checkpoint, state, lambda: limits.seconds, self.observer)
        reached = None
        if state.tree is not None:
            assert isinstance(contraction, Contraction)
            reached = self._raise_bound(joined, contraction, limits, writer, given)
        else:
            writer.write()
            if state.infeasibility is None:
                reached = limits.urgent() or Termination.TIME_LIMIT
        return concluded(state, reached, limits.seconds, n_blocks, tuple(self._notes()))

    def _begin_search(self, contraction: Contraction, limits: Limits) -> None:
        """Begin the search tree with a first clustering, given or by colouring.

        The colouring satisfies the constraints on pairs. If there is none, set the infeasibility
        of the state. If the time is over first, set nothing.
        """
        state, start = self.state, self.start
        if start is not None:
            labels, source = start.labels, "start"
        else:
            found = first_clustering(contraction, limits.time_left)
            if isinstance(found, Infeasibility):
                state.infeasibility = found
            if found is None or isinstance(found, Infeasibility):
                return
            labels, source = contraction.lift(found), "colouring"
        # The clustering may violate constraints on clusters.
        cost = None
        if contraction.keeps(labels[contraction.representatives]):
            cost = Partition(labels).cost(state.instance)
        root = Node(block_of=contraction.block_of, known_labels=labels)
        state.tree = Tree(root, Tolerances(state.parameters.gap))
        if cost is not None:
            state.tree.offer(labels, cost, source)

    def _raise_bound(
        self,
        joined: Instance,
        contraction: Contraction,
        limits: Limits,
        writer: CheckpointWriter,
        given: GivenExecutor | None,
    ) -> Termination | None:
        """Raise the bound by subsets if the plan says so, then by branch and bound.

        Return the limit that was reached, or None.

        joined : the instance, with equal points joined
        given : executor of the user; None: processes of this machine
        """
        state, tree, observer = self.state, self.state.tree, self.observer
        assert tree is not None
        has_begun = tree.has_begun or not tree.n_open
        plan = planned(state.parameters, contraction, has_begun, given is None)
        workforce = Workforce(
            state.parameters.workers,
            compile_all,
            given,
            on_death=lambda reason: observer(WorkerCrashed(reason)),
        )
        reporter = Reporter(observer, limits)
        watches = [reporter, writer] if state.proof is None else [state.proof, reporter, writer]
        shared = limits, workforce, reporter, watches
        try:
            with workforce:
                if plan.begins_with_subsets:
                    from sdpbb.run.decomposition.levels import Decomposition  # seldom needed

                    context = self._context(plan, joined, of_subsets=True)
                    of_root = contraction, state, plan.available
                    reached = Decomposition(tree, context, *shared, *of_root).raise_bound()
                    if reached is not None or not tree.n_open:
                        return reached
                if plan.shortage is not None and tree.n_open:
                    self._shortage = plan.shortage
                    observer(plan.shortage)
                    state.parameters = plan.parameters
                    workforce.allow_workers(plan.parameters.workers)
                workforce.begin_tree(plan.has_long_steps)
                return branch_and_bound(Evaluations(tree, self._context(plan, joined), *shared))
        except BackendFailure:
            # A task or an executor failed. The tree is consistent, so it is saved.
            writer.write()
            raise

    def _context(self, plan: Plan, joined: Instance, of_subsets: bool = False) -> EvaluationContext:
        """Return the data that all evaluations of nodes share.

        of_subsets : whether the root is bounded by subsets; certificates then need matrices over
            all blocks only for the scatter inside blocks
        """
        parameters, bounding = self.state.parameters, plan.bounding
        if parameters.certify:
            from sdpbb.bounds.certified import CertifiedBounding  # of certified runs

            fits = plan.is_small if of_subsets else plan.may_bound
            bounding = CertifiedBounding(bounding, stated_instance(self.state.instance), fits)
        return EvaluationContext(
            instance=joined,
            bounding=bounding,
            heuristic=HeuristicSchedule(),
            tolerances=Tolerances(parameters.gap),
            seed=parameters.seed,
            milp_solver=parameters.search.milp_solver,
            fixing=parameters.search.fixing,
            may_bound=plan.may_bound,
        )

    def _notes(self) -> Iterator[str]:
        """Yield notes on deviations from the request."""
        state = self.state
        if state.subsets is not None and state.tree and state.tree.statistics.n_subsets:
            yield from ignored_by_subsets(state.instance)
        if self._shortage is not None:
            yield notice(self._shortage)

    def _write_certificate(self, result: Result) -> None:
        """Write the certificate of the result, if it is requested."""
        order, state = self.certificate, self.state
        if order is None:
            return
        from sdpbb.run.certificates.writer import CertificateOrder, write_certificate  # seldom

        order = order if isinstance(order, CertificateOrder) else CertificateOrder(order)
        if order.only not in (None, result.status):
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
    """Return the result of a run that ended at a limit, or (None) because all is proven.

    seconds : of the run
    notes : on deviations from the request

    Raises
    ------
    BackendFailure
        If an integer programming solver fails, or was wrong: a clustering contradicts the proof of
        infeasibility.
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
    """Return the fields of an infeasible result.

    They include a minimal conflict if one is found within seconds.
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
    """Return the fields of a result with a clustering, the incumbent of the search."""
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
