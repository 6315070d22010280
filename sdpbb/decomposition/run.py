"""Run of a decomposition: level by level, the subsets are bounded by worker processes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.method import BoundingMethod
from sdpbb.certificates.recorder import ProofRecorder, SubsetProof
from sdpbb.decomposition.bounding import Accuracy, SubsetProgress, SubsetTask, subset_task
from sdpbb.decomposition.bounds import SubsetBounds, restricted_costs
from sdpbb.decomposition.dealing import subset_tree
from sdpbb.decomposition.level import LevelBounding, Processes
from sdpbb.decomposition.parameters import DecompositionParameters
from sdpbb.decomposition.restriction import Restriction
from sdpbb.decomposition.schedule import in_order, next_level, smallest_depth
from sdpbb.decomposition.subsets import SubsetTree
from sdpbb.errors import ParameterError
from sdpbb.executors.pool import TaskPool
from sdpbb.problem import Contraction, Infeasibility, InfeasibilityKind, Instance, contract
from sdpbb.problem.equal_points import equal_points, join_equal_points
from sdpbb.result import Termination
from sdpbb.search.evaluate import BEFORE_SHARE, NO_CLUSTERING, EvaluationContext, evaluate
from sdpbb.search.evaluations import GRACE, LOOK
from sdpbb.search.events import Observer, SubsetsChosen
from sdpbb.search.limits import Budget, Limits
from sdpbb.search.node import NodeResult, NodeStatus
from sdpbb.search.reporting import Reporter, Watch
from sdpbb.search.state import Search

# Of the blocks of the smallest subsets, the part that cannot-links may keep together.
LINKED = 0.25
# Of the time that is left to a run, the part that heuristics may take before the first subset; up
# to so many seconds, it is what they have in any run.
FIRST_SHARE, FIRST_SECONDS = 0.1, 5.0
# Seconds between two sums of the bounds.
BETWEEN_SUMS = 0.25
# MiB that the evidence of a certificate may take, of the 8192 that the checker allows, and its part
# of the memory: a file is compressed in memory.
LARGEST_FILE, EVIDENCE = 7000.0, 0.4


@dataclass(eq=False)
class Decomposition:
    """Decomposition of the root of a search, with all that its bounding needs.

    search : its root is raised, and its clusterings are replaced by better ones
    contraction, context : of the root
    bounding : of the subsets
    limits : of the run
    local_pool : of this process, which bounds small subsets if it is given no help
    worker_pool : makes the pool of other processes, when it is called first
    n_cores : that processes of this machine may use together
    has_help : whether other processes bound small subsets, too
    free_mebibytes : memory for all subsets that are bounded at the same time
    fits_as_a_whole : whether the root can be bounded as a whole afterwards
    state : to go on from, or None
    recorder : of the proof, if the run is certified
    given : the instance, whose equal points may be joined in that of the context
    """

    search: Search
    contraction: Contraction
    context: EvaluationContext
    bounding: BoundingMethod[Any]
    parameters: DecompositionParameters
    limits: Limits
    local_pool: TaskPool
    worker_pool: Callable[[], TaskPool]
    n_cores: int
    has_help: bool
    free_mebibytes: float
    fits_as_a_whole: bool
    reporter: Reporter
    watch: Watch
    observer: Observer
    keep: Callable[[SubsetBounds], None]
    state: SubsetBounds | None = None
    recorder: ProofRecorder | None = None
    given: Instance | None = None

    def run(self) -> Termination | None:
        """Raise the root's bound until it is closed, a limit is reached or nothing is left to do.

        Return the limit; None if the root is closed, or is to be bounded as a whole.
        """
        self.watch.began(self.search)
        self._node = self.search.tree.select()
        if self._node is None:
            return self._end()
        self._restriction = Restriction(self.context.instance, self.contraction, self.given)
        # A run that goes on may have been cut short in this before.
        self._look_for_clusterings()
        if self.state is None and not self._begin():
            return self._end()
        assert self.state is not None
        self.keep(self.state)
        if np.isinf(self.state.proven).any():  # known when the run was left
            self._apply(NodeResult(NodeStatus.INFEASIBLE, NO_CLUSTERING))
        while self.is_open and self.state.level > 0:
            limit = self._bound_level(self.state)
            if limit is not None:
                return self._end(limit)
            if self.is_open:
                self._go_up(self.state)
        is_at_its_end = self.is_open and not self.fits_as_a_whole
        return self._end(Termination.MEMORY_LIMIT if is_at_its_end else None)

    @property
    def is_open(self) -> bool:
        """True while the root is neither closed nor without a clustering."""
        return self.search.tree.n_open > 0

    def _begin(self) -> bool:
        """Deal the blocks out; return whether there are subsets."""
        k, n_blocks = self.contraction.k, self.contraction.n_blocks
        smallest = max(self.parameters.smallest, self.parameters.per_cluster * k)
        depth = smallest_depth(n_blocks, smallest)
        size = _evidence_mebibytes(n_blocks, smallest)
        if self.recorder is not None and depth > 0 and size > LARGEST_FILE:
            raise ParameterError(
                f"certificate = ...: expected none, as the evidence of subsets takes {size:,.0f} "
                f"MiB, and a certificate holds {LARGEST_FILE:,.0f}"
            )
        has_room = self._has_room_for_evidence(smallest)
        if not self.is_open or self.limits.urgent() is not None or depth == 0 or not has_room:
            return False
        most_linked = max(1, int(LINKED * smallest))
        tree = subset_tree(self.contraction, self._labels(), depth, most_linked)
        proofs: dict[str, SubsetProof] | None = None if self.recorder is None else {}
        self.state = SubsetBounds(tree, depth, proofs=proofs)
        return True

    def _has_room_for_evidence(self, most: float) -> bool:
        """Return whether the evidence of all subsets of so many blocks fits memory and file."""
        size = _evidence_mebibytes(self.contraction.n_blocks, most)
        return self.recorder is None or size <= min(LARGEST_FILE, EVIDENCE * self.free_mebibytes)

    def _look_for_clusterings(self) -> None:
        """Run the heuristics of the root, for a part of the time."""
        tree, limits = self.search.tree, self.limits
        assert self._node is not None

        def take(labels: NDArray[np.intp], cost: float, source: str) -> None:
            tree.offer(labels, cost, source)
            self.reporter.found(self.search)

        left = limits.time_limit - limits.seconds
        seconds = max(FIRST_SHARE * left, min(BEFORE_SHARE * left, FIRST_SECONDS))
        budget = Budget(until_end=seconds, cancelled=self._is_cancelled, found=take, bounds=False)
        context = replace(self.context, is_without_bound=True)
        result = evaluate(replace(self._node, state=None), tree.upper, context, budget)
        if self.recorder is not None:
            self.recorder.record(0, result)
        self._apply(result)

    def _is_cancelled(self) -> bool:
        """Report progress now and then; return whether a task in this process is to end."""
        self.reporter.stepped(self.search)
        return self.limits.urgent() is not None

    def _labels(self) -> NDArray[np.intp]:
        """Return labels of the blocks of the best clustering known."""
        labels = self.search.tree.labels
        if labels is None:
            assert self._node is not None
            labels = self._node.feasible
        assert labels is not None
        return labels[self.contraction.representatives]

    def _apply(self, result: NodeResult) -> None:
        """Take a result for the root into the search, and tell the watch."""
        tree = self.search.tree
        self.search.apply(0, result, self.limits.seconds)
        self.watch.evaluated(self.search, 0, result, None)
        if self.is_open:
            self._node = tree.select()

    def _bound_level(self, state: SubsetBounds) -> Termination | None:
        """Bound the subsets of the present level; return the limit that was reached."""
        costs = self._costs(state)
        accuracy, labels = self._accuracy(state, costs), self.search.tree.labels

        def make(subset: int) -> tuple[SubsetTask, SubsetProgress] | None:
            return self._subset_task(state.tree, subset, labels, accuracy)

        processes = self._processes(int(state.tree.n_blocks(state.level).max()))
        level = LevelBounding(
            state,
            in_order(state, costs),
            make,
            processes,
            self.limits,
            self.search.statistics,
            self.parameters.seconds_factor,
        )
        self.observer(self._event(state))
        limit = self._wait_for(level, state)
        if level.is_infeasible:
            self._apply(NodeResult(NodeStatus.INFEASIBLE, NO_CLUSTERING))
        elif self.is_open:
            self._raise(state)
        return limit

    def _wait_for(self, level: LevelBounding, state: SubsetBounds) -> Termination | None:
        """Wait until the subsets of a level are bounded; return the limit that was reached."""
        summed_at, urgent_since = self.limits.seconds, math.inf
        while self.is_open and not level.is_infeasible:
            limit = self.limits.reached(0)
            if limit is None:
                level.start()
            else:
                urgent_since = min(urgent_since, self.limits.seconds)
            is_late = self.limits.seconds >= urgent_since + GRACE
            if not level.is_running or limit is Termination.MEMORY_LIMIT or is_late:
                return limit
            try:
                lost = level.wait(LOOK)
            except MemoryError:  # nobody knows whose it was
                return Termination.MEMORY_LIMIT
            for subset in lost:
                self.watch.lost(self.search, subset)
            if self.limits.seconds >= summed_at + BETWEEN_SUMS and not level.is_infeasible:
                summed_at = self.limits.seconds
                self._raise(state)
            self.watch.round_ended(self.search)
        return None

    def _processes(self, most_blocks: int) -> Processes:
        """Return the processes for subsets of so many blocks at most."""
        is_long = most_blocks > self.bounding.most_blocks_here
        if is_long or self.has_help:
            return Processes(self.worker_pool(), self.n_cores)
        return Processes(self.local_pool, self.n_cores, self._is_cancelled)

    def _event(self, state: SubsetBounds) -> SubsetsChosen:
        """Return the event that tells of the present level."""
        return SubsetsChosen(
            seconds=self.limits.seconds,
            n_subsets=len(state.todo(state.level)),
            n_blocks=int(state.tree.n_blocks(state.level).max()),
            n_dropped=self._restriction.n_dropped(state.tree.subset_of(state.level)),
        )

    def _raise(self, state: SubsetBounds) -> None:
        """Raise the root's bound to the sum of those of the subsets."""
        assert self._node is not None
        bound = ProvenBound(state.total())
        if bound > self._node.lower:
            self._apply(NodeResult(NodeStatus.UNFINISHED, bound))

    def _costs(self, state: SubsetBounds) -> NDArray[np.float64]:
        of = self.contraction
        return restricted_costs(of.sizes, of.means, of.scatter, self._labels(), state.tree)

    def _accuracy(self, state: SubsetBounds, costs: NDArray[np.float64]) -> Accuracy:
        """Return how near the subsets of the present level are bounded.

        costs : of the restrictions of the best clustering to the subsets
        """
        given, parameters = float(costs[1]), self.parameters
        parts = float(costs[1 << state.level : 2 << state.level].sum())
        return Accuracy(
            part=parameters.accuracy,
            least=parameters.least_gap * self.search.tree.tolerances.gap,
            most=parameters.largest_gap,
            unmatched=max(0.0, 1.0 - parts / given) if given > 0.0 else 0.0,
        )

    def _subset_task(
        self,
        tree: SubsetTree,
        subset: int,
        labels: NDArray[np.intp] | None,
        accuracy: Accuracy,
    ) -> tuple[SubsetTask, SubsetProgress] | None:
        """Return a subset to bound, and its progress; None if it has fewer than k blocks.

        labels : (n,) of the best clustering, if there is one
        """
        blocks = tree.blocks(subset)
        if len(blocks) < self.contraction.k:
            return None
        rows = self._restriction.rows(blocks)
        instance, proof = self._instance(blocks, rows)
        if _has_too_few_blocks(instance):
            return None
        own = None if labels is None else labels[rows]
        return subset_task(subset, instance, own, self.bounding, accuracy, self.context.seed, proof)

    def _instance(
        self, blocks: NDArray[np.intp], rows: NDArray[np.intp]
    ) -> tuple[Instance, SubsetProof | None]:
        """Return the instance of a subset, and the beginning of its proof in a certified run."""
        if self.recorder is None:
            return self._restriction.instance(blocks, rows), None
        stated = self._restriction.stated(rows)
        return join_equal_points(stated), SubsetProof(rows.astype(np.int32), equal_points(stated))

    def _go_up(self, state: SubsetBounds) -> None:
        """Choose the next level."""
        left = self.limits.time_limit - self.limits.seconds
        level = next_level(state, left)
        while level < state.level and not self._fits(state, level):
            level += 1
        # Where no larger subset fits, there is nothing left to do but the whole.
        state.level = 0 if level == state.level else level

    def _fits(self, state: SubsetBounds, level: int) -> bool:
        """Return whether the subsets of a level are neither too large nor take too much memory."""
        if level == 0:
            return self.fits_as_a_whole
        most = int(state.tree.n_blocks(level).max())
        if most > self.parameters.largest or not self._has_room_for_evidence(most):
            return False
        largest = (1 << level) + int(np.argmax(state.tree.n_blocks(level)))
        blocks = state.tree.blocks(largest)
        contraction = contract(self._instance(blocks, self._restriction.rows(blocks))[0])
        if isinstance(contraction, Infeasibility):
            return True
        # A cluster's workers have memory of their own: it takes this machine's for theirs.
        n_tasks = min(self.n_cores, 1 << level)
        return n_tasks * self.bounding.mebibytes(contraction) <= self.free_mebibytes

    def _end(self, limit: Termination | None = None) -> Termination | None:
        """Give the root back to the tree; tell the watch, unless it is to be bounded as a whole."""
        tree, limit = self.search.tree, limit or self.limits.urgent()
        if self.is_open and self._node is not None:
            # As a whole, it begins anew: with heuristics, and components that are moved.
            tree.apply(0, NodeResult(NodeStatus.UNFINISHED, self._node.lower))
        if limit is not None or not self.is_open:
            self.watch.ended(self.search)
        if self.is_open:
            return limit
        return None if tree.is_closed or tree.is_exhausted else Termination.PRECISION


def _evidence_mebibytes(n_blocks: int, most: float) -> float:
    """Return the size of the evidence of all subsets of so many blocks, in MiB, about.

    It is a triangle of single-precision numbers for each.
    """
    return 2.0 * n_blocks * most / 2**20


def _has_too_few_blocks(instance: Instance) -> bool:
    """Return whether a subset has fewer than k blocks, so that "k or fewer" is not "exactly k"."""
    contraction = contract(instance)
    too_few = InfeasibilityKind.TOO_FEW_BLOCKS
    return isinstance(contraction, Infeasibility) and contraction.kind is too_few
