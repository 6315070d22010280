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
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from heuristics.first_clustering import first_clustering
from heuristics.incumbents import IncumbentSearch
from sdpbb.bounds.bound import BoundingMethod
from sdpbb.bounds.registry import bounding_method
from sdpbb.errors import BackendFailure
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
from sdpbb.run.kernels import compile_all, compile_first
from sdpbb.run.memory_plan import MemoryPlan, memory_plan
from sdpbb.run.report import ignored_by_subsets, memory_shortage
from sdpbb.runtime.backends.milp import using_integer_solver
from sdpbb.runtime.executors.given import workers_beyond
from sdpbb.runtime.executors.memory import resident_mebibytes
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
from sdpbb.search.limits import Limits, Sampled
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
from sdpbb.search.tree import Search, Tolerances, Tree
from sdpbb.search.workforce import Workforce

if TYPE_CHECKING:
    from sdpbb.problem.statements import Conflict
    from sdpbb.run.certificates.writer import CertificateOrder

# Seconds between two measurements of the memory.
MEMORY_SECONDS = 0.25
# Maximum slices of exact pricing for enumeration in a subset. Open subsets are bounded again as
# parts of larger ones.
PRICING_SLICES = 1
# Seconds to look for the constraints that are infeasible together: as many as remain to the run
# within these two numbers.
EXPLANATION, LEAST_EXPLANATION = 5.0, 1.0


@dataclass(eq=False)
class Run:
    """Run of the solver.

    state : with the instance and the parameters, which become those that the memory allows once the
        bound of the root as a whole begins. It is changed; that of a checkpoint is resumed
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

    def result(self) -> Result:
        """Solve the instance; write checkpoints, and in the end the certificate.

        The certificate is written after `Finished`, so that whoever keeps the result has it before.

        Raises
        ------
        CertificateError
            With the result, if its certificate cannot be written.
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
                with RUN_CLOCK.stopped():
                    compile_first(parameters.bounding)
                self._workforce = Workforce(
                    parameters.workers,
                    compile_all,
                    given,
                    on_death=lambda reason: observer(WorkerCrashed(reason)),
                )
                self._begin()
                result = self._solve()
            observer(Finished(result))
            self._write_certificate(result)
        return result

    def _begin(self) -> None:
        """Begin to count the time, and take up the state."""
        state, parameters = self.state, self.state.parameters
        self._joined = join_equal_points(state.instance)
        self._limits = limits = Limits(
            time_limit=parameters.time_limit,
            node_limit=parameters.node_limit,
            memory_limit=parameters.memory_limit,
            memory=Sampled(resident_mebibytes, MEMORY_SECONDS),
            interrupt=self.interrupt,
            started=RUN_CLOCK() - state.seconds,
        )
        if parameters.certify and state.proof is None:
            state.proof = Proof()
        self._writer = CheckpointWriter(
            self.checkpoint, state, lambda: limits.seconds, self.observer
        )
        self._is_resumed = state.search is not None
        self._shortage: MemoryShort | None = None  # what the memory did not allow

    def _solve(self) -> Result:
        """Contract, begin a search with a first clustering, raise its bound as far as it goes."""
        state, instance, joined = self.state, self.state.instance, self._joined
        contraction = contract(joined)
        n_blocks, n_pairs = 0, 0
        if isinstance(contraction, Contraction):
            n_blocks, n_pairs = contraction.n_blocks, len(contraction.cannot_link)
        n_equal = len(joined.must_link) - len(instance.must_link)
        self.observer(Started(instance, n_blocks, n_pairs, n_equal, self.resumed))
        if isinstance(contraction, Infeasibility):
            state.infeasibility, state.search = contraction, None
        elif state.search is None and state.infeasibility is None:
            self._begin_search(contraction)
        if state.infeasibility is not None and state.proof is not None:
            state.proof.nodes[0].is_infeasible = True
        reached = None
        if state.search is None:
            self._writer.write()
        else:
            assert isinstance(contraction, Contraction)
            try:
                with self._workforce:
                    reached = self._raise_bound(contraction)
            except BackendFailure:
                # A task or an executor failed. The tree is consistent, so it is saved.
                self._writer.write()
                raise
        if state.search is None and state.infeasibility is None:
            reached = self._limits.urgent() or Termination.TIME_LIMIT
        seconds, notes = self._limits.seconds, tuple(self._notes())
        return concluded(state, reached, seconds, n_blocks, notes)

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
        tree = Tree(root, Tolerances(state.parameters.gap))
        # It is the first incumbent if it satisfies the constraints on clusters, too.
        if contraction.keeps(labels[contraction.representatives]):
            tree.offer(labels, Partition(labels).cost(state.instance), source)
        state.search = Search(tree)

    def _raise_bound(self, contraction: Contraction) -> Termination | None:
        """Raise the bound by subsets where that pays, then by branch and bound.

        Return the limit that was reached, or None.
        """
        parameters, tree = self.state.parameters, self._search.tree
        self._reporter = Reporter(self.observer, self._limits)
        asked = bounding_method(parameters.bounding, parameters.sdp)
        plan = memory_plan(
            parameters,
            asked,
            contraction,
            is_resumed=self._is_resumed,
            is_local=not self._workforce.is_given,
        )
        if self._begins_with_subsets(contraction, asked, plan):
            reached = self._bound_subsets(contraction, asked, plan)
            if reached is not None or not tree.n_open:
                return reached
        return self._search_tree(contraction.n_blocks, plan)

    @property
    def _search(self) -> Search:
        assert self.state.search is not None
        return self.state.search

    def _begins_with_subsets(
        self, contraction: Contraction, asked: BoundingMethod[Any], plan: MemoryPlan
    ) -> bool:
        """Return whether the root's first bound is the sum of the bounds of subsets.

        It is if the parameters say so, and by itself if the hybrid bound of all blocks takes long
        or does not fit the memory.

        asked : the bounding method of the parameters
        """
        parameters, tree = self.state.parameters, self._search.tree
        if tree.has_begun or not tree.n_open:
            return False
        if parameters.bounding != "hybrid":
            return parameters.bounding == "decomposition"
        if plan.is_without_bound:
            return True
        is_large = parameters.decomposition.is_large(contraction.n_blocks, contraction.has_limits)
        return is_large and not asked.is_quick(contraction)

    def _bound_subsets(
        self, contraction: Contraction, asked: BoundingMethod[Any], plan: MemoryPlan
    ) -> Termination | None:
        """Raise the bound of the root by subsets; return the limit that was reached.

        None if the search has ended, or the root is to be bounded as a whole.
        """
        from sdpbb.run.decomposition.root import Root  # seldom needed
        from sdpbb.run.decomposition.run import Decomposition

        parameters = self.state.parameters
        # The scatter inside blocks, all that is asked for of the root, is worth no large matrix.
        fits = contraction.n_blocks <= parameters.decomposition.largest
        root = Root(
            self._search,
            contraction,
            self._context(asked, plan.is_without_bound, fits),
            self._limits,
            self.state.proof,
            self._reporter,
            (self._reporter, self._writer),
        )
        root.begin()
        of_subsets = bounding_method(parameters.bounding, parameters.sdp, PRICING_SLICES)
        decomposition = Decomposition(root, self.state, of_subsets, self._workforce, plan.available)
        # A resumed run may have been cut short in this before.
        root.look_for_clusterings()
        if self.state.subsets is None:
            root.raise_by_places(plan.available)
        return root.end(decomposition.bound())

    def _search_tree(self, n_blocks: int, plan: MemoryPlan) -> Termination | None:
        """Bound the root as a whole, and branch; return the limit that was reached, or None."""
        is_short = plan.parameters != self.state.parameters or plan.is_without_bound
        if is_short and self._search.tree.n_open:
            self._shortage = plan.event(n_blocks)
            self.observer(self._shortage)
            self.state.parameters = plan.parameters
            self._workforce.allow_workers(plan.parameters.workers)
        parameters = self.state.parameters
        bounding = bounding_method(parameters.bounding, parameters.sdp)
        # Without a bound, no step takes long.
        long_steps = not plan.is_without_bound and n_blocks > bounding.most_blocks_here
        self._workforce.begin_tree(long_steps)
        context = self._context(bounding, plan.is_without_bound, not plan.is_without_bound)
        evaluations = Evaluations(
            self._search, context, self._limits, self._workforce, self._reporter
        )
        proofs = [] if self.state.proof is None else [self.state.proof]
        return branch_and_bound(evaluations, *proofs, self._reporter, self._writer)

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
            heuristic=IncumbentSearch(),
            tolerances=self._search.tree.tolerances,
            seed=parameters.seed,
            milp_solver=parameters.search.milp_solver,
            fixing=parameters.search.fixing,
            is_without_bound=is_without_bound,
            keeps_evidence=parameters.certify,
        )

    def _notes(self) -> Iterator[str]:
        """Yield notes on deviations from the request."""
        state = self.state
        if state.subsets is not None and state.search and state.search.statistics.n_subsets:
            yield from ignored_by_subsets(state.instance)
        if self._shortage is not None:
            yield memory_shortage(self._shortage)

    def _write_certificate(self, result: Result) -> None:
        """Write the certificate of the result, if it is asked for."""
        order, state = self.order, self.state
        if order is None or not order.applies_to(result):
            return
        from sdpbb.run.certificates.writer import write_certificate

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
    search, proof = state.search, state.infeasibility
    counted = Statistics() if search is None else search.statistics
    common: dict[str, Any] = {
        "statistics": replace(counted, wall_seconds=seconds, n_blocks=n_blocks),
        "parameters": state.parameters.to_dict(),
        "version": installed_version(),
        "k": state.instance.k,
        "origin": state.instance.origin,
    }
    if search is not None and search.tree.is_exhausted:
        proof = Infeasibility(InfeasibilityKind.EXHAUSTED, n_nodes=counted.n_nodes)
    if proof is not None:
        seconds_left = state.parameters.time_limit - seconds
        return Result(**_infeasible(proof, state.instance, seconds_left), **common)
    if search is None or search.tree.labels is None:
        assert limit is not None  # nothing is closed without a clustering
        lower = 0.0 if search is None else search.tree.lower
        unknown = SolutionStatus.UNKNOWN
        return Result(unknown, limit, None, None, lower, None, notes=notes, **common)
    return Result(**_found(search.tree, limit, state), notes=notes, **common)


def _infeasible(proof: Infeasibility, instance: Instance, seconds_left: float) -> dict[str, Any]:
    """Return what is proven if there is no clustering, with conflicting constraints if found."""
    return {
        "status": SolutionStatus.INFEASIBLE,
        "termination": Termination.PROVEN_INFEASIBLE,
        **dict.fromkeys(("partition", "objective", "gap", "lower_bound")),
        "infeasibility": replace(proof, rows=tuple(instance.origin.rows(proof.points))),
        "conflict": _conflict(proof, instance, seconds_left),
    }


def _conflict(proof: Infeasibility, instance: Instance, seconds_left: float) -> Conflict | None:
    """Return constraints that are infeasible together, if they are found in a few seconds."""
    from sdpbb.run.explanation import diagnose  # seldom needed

    found = diagnose(instance, min(EXPLANATION, max(LEAST_EXPLANATION, seconds_left)))
    if found.is_feasible:
        raise BackendFailure(f"{proof}: contradicted by a clustering that has been found")
    return found.conflict


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
