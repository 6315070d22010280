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
from sdpbb.decomposition.bounding import Accuracy, SubsetBounding, bound_subset, subset_bounding
from sdpbb.decomposition.bounds import SubsetBounds, restricted_costs
from sdpbb.decomposition.dealing import subset_tree
from sdpbb.decomposition.parameters import DecompositionParameters
from sdpbb.decomposition.restriction import Restriction
from sdpbb.decomposition.schedule import in_order, next_level, smallest_depth
from sdpbb.executors.pool import TaskPool
from sdpbb.problem import Contraction, Infeasibility, InfeasibilityKind, Instance, contract
from sdpbb.result import Termination
from sdpbb.search.evaluate import BEFORE_SHARE, NO_CLUSTERING, EvaluationContext, evaluate
from sdpbb.search.evaluations import GRACE, LONGEST_SLICE, LOOK
from sdpbb.search.events import Observer, SubsetsChosen
from sdpbb.search.limits import Budget, Limits
from sdpbb.search.node import NodeResult, NodeStatus
from sdpbb.search.reporting import Reporter, Watch
from sdpbb.search.state import Search

# Of the blocks of the smallest subsets, the part that cannot-links may keep together.
LINKED = 0.25
# Seconds of a subset before it can be given up for taking longer than others.
PATIENCE = 5.0
# Seconds between two sums of the bounds.
BETWEEN_SUMS = 0.25


@dataclass(eq=False)
class Decomposition:
    """Decomposition of the root of a search, with all that its bounding needs.

    search : its root is raised, and its clusterings are replaced by better ones
    contraction, context : of the root
    bounding : of the subsets
    limits : of the run
    local_pool : of this process, which bounds small subsets if it is given no help
    worker_pool : makes the pool of other processes, when it is called first
    n_workers : processes, or cores where subsets are fewer; 1 where a cluster does the work
    has_help : whether other processes bound small subsets, too
    free_mebibytes : memory for all subsets that are bounded at the same time
    fits_as_a_whole : whether the root can be bounded as a whole afterwards
    state : to go on from, or None
    """

    search: Search
    contraction: Contraction
    context: EvaluationContext
    bounding: BoundingMethod[Any]
    parameters: DecompositionParameters
    limits: Limits
    local_pool: TaskPool
    worker_pool: Callable[[], TaskPool]
    n_workers: int
    has_help: bool
    free_mebibytes: float
    fits_as_a_whole: bool
    reporter: Reporter
    watch: Watch
    observer: Observer
    keep: Callable[[SubsetBounds], None]
    state: SubsetBounds | None = None

    def run(self) -> Termination | None:
        """Raise the root's bound until it is closed, a limit is reached or nothing is left to do.

        Return the limit; None if the root is closed, or is to be bounded as a whole.
        """
        self.watch.began(self.search)
        self._node = self.search.tree.select()
        if self._node is None:
            return None
        self._pool = self.local_pool
        self._restriction = Restriction(self.context.instance, self.contraction)
        self._running: dict[int, SubsetBounding] = {}
        self._began: dict[int, float] = {}
        self._summed_at = -math.inf
        self._urgent_since: float | None = None
        if self.state is None and not self._begin():
            return self._end()
        assert self.state is not None
        self.keep(self.state)
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
        """Look for a clustering and deal the blocks out; return whether there are subsets."""
        self._look_for_clusterings()
        reached = self.limits.urgent()
        depth = self._depth()
        if reached is not None or depth == 0:
            return False
        tree = subset_tree(
            self.contraction, self._labels(), depth, max(1, int(LINKED * self._smallest))
        )
        self.state = SubsetBounds(tree, depth)
        return True

    @property
    def _k(self) -> int:
        return self.contraction.k

    @property
    def _smallest(self) -> int:
        return max(self.parameters.smallest, self.parameters.per_cluster * self._k)

    def _depth(self) -> int:
        return smallest_depth(self.contraction.n_blocks, self._smallest)

    def _look_for_clusterings(self) -> None:
        """Run the heuristics of the root, for a part of the time."""
        tree, limits = self.search.tree, self.limits
        assert self._node is not None

        def take(labels: NDArray[np.intp], cost: float, source: str) -> None:
            tree.offer(labels, cost, source)
            self.reporter.found(self.search)

        left = limits.time_limit - limits.seconds
        budget = Budget(
            until_end=BEFORE_SHARE * left, cancelled=self._is_cancelled, found=take, bounds=False
        )
        context = replace(self.context, is_without_bound=True)
        self._apply(evaluate(self._node, tree.upper, context, budget))

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
        todo = in_order(state, costs)[::-1]
        self._accuracy = self._accuracy_of(state, costs)
        most = int(state.tree.n_blocks(state.level).max())
        is_long = most > self.bounding.most_blocks_here
        self._pool = self.worker_pool() if is_long or self.has_help else self.local_pool
        self.observer(
            SubsetsChosen(
                seconds=self.limits.seconds,
                n_subsets=len(todo),
                n_blocks=most,
                n_dropped=self._restriction.n_dropped(state.tree.subset_of(state.level)),
            )
        )
        while self.is_open:
            limit = self.limits.reached(0)
            if limit is not None and self._urgent_since is None:
                self._urgent_since = self.limits.seconds
            while limit is None and todo and self._pool.n_free > 0:
                self._start(todo.pop(), state)
            if limit is Termination.MEMORY_LIMIT or self._is_abandoned():
                return limit
            if not self._running:
                return limit
            try:
                completions = self._pool.wait(LOOK)
            except MemoryError:  # nobody knows whose it was
                return Termination.MEMORY_LIMIT
            for completion in completions:
                if completion.lost:
                    self._lose(completion.key, state)
                else:
                    self._complete(completion.value, state)
            self._sum(state, is_last=not (todo or self._running))
            self.watch.round_ended(self.search)
        return None

    def _is_abandoned(self) -> bool:
        since = self._urgent_since
        return since is not None and self.limits.seconds >= since + GRACE

    def _costs(self, state: SubsetBounds) -> NDArray[np.float64]:
        of = self.contraction
        return restricted_costs(of.sizes, of.means, of.scatter, self._labels(), state.tree)

    def _accuracy_of(self, state: SubsetBounds, costs: NDArray[np.float64]) -> Accuracy:
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

    def _start(self, subset: int, state: SubsetBounds) -> None:
        """Begin to bound a subset, unless it has fewer than k blocks: that has no bound."""
        blocks = state.tree.blocks(subset)
        rows = self._restriction.rows(blocks)
        instance = self._restriction.instance(blocks, rows) if len(rows) >= self._k else None
        if instance is None or _has_too_few_blocks(instance):
            state.is_done[subset] = True
            return
        labels = self.search.tree.labels
        self._running[subset] = subset_bounding(
            subset,
            instance,
            None if labels is None else labels[rows],
            self.bounding,
            self._accuracy,
            self.context.seed,
        )
        self._submit(subset)

    def _submit(self, subset: int) -> None:
        bounding, seconds = self._running[subset], self.limits.seconds
        n_tasks = min(max(1, self._pool.n_workers), max(1, len(self._running)))
        budget = Budget(
            slice=max(LONGEST_SLICE, 0.5 * bounding.seconds),
            until_end=self.limits.time_limit - seconds,
            cores=max(1, self.n_workers // n_tasks),
        )
        if self._pool is self.local_pool:
            budget = replace(budget, cancelled=self._is_cancelled)
        self._began[subset] = seconds
        self._pool.submit(subset, bound_subset, bounding, budget)

    def _complete(self, after: SubsetBounding, state: SubsetBounds) -> None:
        """Take a slice of a subset."""
        subset = after.subset
        seconds = after.seconds + self.limits.seconds - self._began[subset]
        self._running[subset] = replace(after, seconds=seconds)
        self.search.statistics.n_iterations += after.n_iterations
        state.proven[subset] = max(state.proven[subset], after.lower)
        if after.lower == math.inf:
            self._apply(NodeResult(NodeStatus.INFEASIBLE, NO_CLUSTERING))
        elif not after.goes_on or self._is_overdue(self._running[subset], state):
            self._finish(subset, state)
        elif self.limits.urgent() is None:
            self._submit(subset)
        else:
            del self._running[subset]  # to be bounded again when the run goes on

    def _lose(self, subset: int, state: SubsetBounds) -> None:
        """Give up a subset, of which two workers have died."""
        self.search.statistics.n_lost += 1
        self.watch.lost(self.search, subset)
        self._finish(subset, state)

    def _finish(self, subset: int, state: SubsetBounds) -> None:
        """Be done with a subset."""
        bounding = self._running.pop(subset)
        self.search.statistics.n_subsets += 1
        state.is_done[subset] = True
        state.seconds[subset] = bounding.seconds

    def _is_overdue(self, bounding: SubsetBounding, state: SubsetBounds) -> bool:
        """Return whether a subset has taken so much longer than others that it is given up."""
        mean = state.mean_seconds(state.level)
        most = self.parameters.seconds_factor * mean
        return mean > 0.0 and bounding.seconds >= max(PATIENCE, most)

    def _sum(self, state: SubsetBounds, is_last: bool) -> None:
        """Raise the root's bound to the sum of those of the subsets."""
        now = self.limits.seconds
        if not is_last and now < self._summed_at + BETWEEN_SUMS:
            return
        self._summed_at = now
        assert self._node is not None
        bound = ProvenBound(state.total())
        if self.is_open and (bound > self._node.lower or is_last):
            state_of_root = self._node.state
            self._apply(NodeResult(NodeStatus.UNFINISHED, bound, state=state_of_root))

    def _go_up(self, state: SubsetBounds) -> None:
        """Choose the next level."""
        left = self.limits.time_limit - self.limits.seconds
        level = next_level(state, left)
        while level < state.level and level > 0 and not self._fits(state, level):
            level += 1
        # Where no larger subset fits, there is nothing left to do but the whole.
        state.level = 0 if level == state.level else level

    def _fits(self, state: SubsetBounds, level: int) -> bool:
        """Return whether the subsets of a level are neither too large nor take too much memory."""
        if state.tree.n_blocks(level).max() > self.parameters.largest:
            return False
        blocks = state.tree.blocks(1 << level)
        contraction = contract(self._restriction.instance(blocks, self._restriction.rows(blocks)))
        if isinstance(contraction, Infeasibility):
            return True
        n_tasks = min(max(1, self._pool.n_workers), 1 << level)
        return n_tasks * self.bounding.mebibytes(contraction) <= self.free_mebibytes

    def _end(self, limit: Termination | None = None) -> Termination | None:
        """Give the root back to the tree; tell the watch, unless it is to be bounded as a whole."""
        limit = limit or self.limits.urgent()
        if self.is_open and self._node is not None:
            node = self._node
            self.search.tree.apply(
                0, NodeResult(NodeStatus.UNFINISHED, node.lower, state=node.state)
            )
        if limit is not None or not self.is_open:
            self.watch.ended(self.search)
        return limit if self.is_open else None


def _has_too_few_blocks(instance: Instance) -> bool:
    """Return whether a subset has fewer than k blocks, so that "k or fewer" is not "exactly k"."""
    contraction = contract(instance)
    too_few = InfeasibilityKind.TOO_FEW_BLOCKS
    return isinstance(contraction, Infeasibility) and contraction.kind is too_few
