"""Run of a decomposition: prices and places, then subsets by levels, raise the root's bound."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundingMethod, ProvenBound, matrices_mebibytes
from sdpbb.bounds.lagrangian.reach import has_places, place_mebibytes
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Infeasibility, InfeasibilityKind, contract
from sdpbb.problem.contraction import equal_points, join_equal_points
from sdpbb.run.certificates.proof import SubsetProof
from sdpbb.run.checkpoint import RunState
from sdpbb.run.decomposition.dealing import subset_tree
from sdpbb.run.decomposition.subsets import (
    Subset,
    SubsetBounds,
    bound_subset,
    restricted,
    restricted_costs,
    rows_of,
)
from sdpbb.runtime.executors.scheduler import Task
from sdpbb.runtime.time_left import at_most
from sdpbb.search.evaluate import BEFORE_SHARE, NO_CLUSTERING, evaluate
from sdpbb.search.events import SubsetLost, SubsetsBounded, SubsetsChosen
from sdpbb.search.limits import Budget
from sdpbb.search.loop import LONGEST_SLICE, TaskRounds, reason_for_open_nodes
from sdpbb.search.node import Node, NodeResult, NodeStatus
from sdpbb.search.result import Termination

# Part of the remaining time that heuristics may take before the first bound. Up to these seconds,
# it is what they have in any run.
FIRST_SHARE, FIRST_SECONDS = 0.1, 5.0
# Minimum blocks for a bound by prices and places: the other bounds prove smaller instances in
# seconds. And the share of the remaining time for it.
MIN_BLOCKS, PLACES_SHARE = 1000, 0.5
# Of the blocks of the smallest subsets, the part that cannot-links may keep together.
LINKED = 0.25
# Seconds of a subset grow like this power of its number of blocks.
POWER = 2.25
# Levels that a step goes up: subsets of four times the blocks. What lies between is not worth its
# time, but where the whole level would take more than what is left, or a single subset of it more
# than this part of that. The first step from an odd level is one level, as the last one is then
# from quarters to the whole: halves would take twice its time for an iteration, and lose more.
STEP, SHARE = 2, 0.3
# MiB that the evidence of a certificate may take, of the 8192 that the checker allows, and its part
# of the memory: a file is compressed in memory.
LARGEST_FILE, EVIDENCE = 7000.0, 0.4
# Matrices over the blocks of a subset that its bounding takes beside the matrices of a root. Its
# state has two, which are sent to and fro between slices, and are copied by both processes.
COPIES = 14
# Subsets at the same time where memory does not count.
UNLIMITED = 10**6
# A subset is left once it takes this many times as long as others of its size, and these seconds at
# least; its bound counts.
SECONDS_FACTOR, PATIENCE = 4.0, 1.0
# A slice of a subset is this part of the time that it has taken, or LONGEST_SLICE.
SLICE_SHARE = 0.5
# Seconds between two sums of the bounds.
BETWEEN_SUMS = 0.25


@dataclass(eq=False)
class Decomposition(TaskRounds):
    """Decomposition of a root: bounds of subsets, level by level, each a source of tasks.

    A task is a slice of time in which a subset is bounded. The tree has not begun.

    contraction : of the root
    run : state of the run, whose subsets are set. The points of its instance are dealt out before
        equal ones are joined, as they are in the root: heavy points are then shared among subsets
    bounding : of the subsets
    free_mebibytes : memory for all subsets that are bounded at the same time
    """

    contraction: Contraction
    run: RunState
    bounding: BoundingMethod[Any]
    free_mebibytes: float

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = self.run.parameters.decomposition
        is_joined = self.context.instance is not self.run.instance
        dealt = contract(self.run.instance) if is_joined else self.contraction
        assert isinstance(dealt, Contraction)  # as the root has one
        self._dealt, self._is_certified = dealt, self.context.keeps_evidence
        # Blocks of the smallest subsets, about; and the depth of their tree, 0 if there are none.
        self._smallest = max(sizes.smallest, sizes.per_cluster * self.run.instance.k)
        self._depth = max(0, round(math.log2(dealt.n_blocks / self._smallest)))
        self._todo: deque[int] = deque()
        self._ready: deque[Subset] = deque()

    def bound(self) -> Termination | None:
        """Raise the root's bound until it is closed, a limit is reached or nothing is left to do.

        Return why the search ends before the tree is closed. None if it is closed, or if the root
        is to be bounded as a whole: anew, with heuristics, and components that are moved.

        Raises
        ------
        ParameterError
            If no certificate can hold what would be proven.
        """
        tree = self.tree
        self.reporter.began(tree)
        tree.select()
        self._start_workers()
        # A resumed run may have been cut short in this before.
        self._look_for_clusterings()
        if self.run.subsets is None:
            self._raise_by_places()
        limit = self._bound_levels() or self.limits.urgent()
        is_open = tree.n_open > 0
        if is_open:
            tree.apply(0, NodeResult(NodeStatus.UNFINISHED, self._root.lower))
        if limit is not None or not is_open:
            for watch in self.watches:
                watch.ended(tree)
        return limit if is_open else reason_for_open_nodes(tree)

    def _start_workers(self) -> None:
        """Start the workers, which takes seconds, if there are subsets."""
        if self._depth == 0:
            return
        size = self._evidence_mebibytes(self._smallest)
        if self.run.subsets is None and size > LARGEST_FILE:
            raise ParameterError(
                f"certificate = ...: not possible, as the proof takes {size:,.0f} MiB, and a "
                f"certificate holds {LARGEST_FILE:,.0f}"
            )
        if self.workforce.has_several_workers:
            self.workforce.start_workers()

    @property
    def _root(self) -> Node:
        return self.tree.running(0)

    def _look_for_clusterings(self) -> None:
        """Run the heuristics, for a part of the time."""
        left = self.seconds_left
        seconds = max(FIRST_SHARE * left, min(BEFORE_SHARE * left, FIRST_SECONDS))
        budget = Budget(
            until_end=seconds, cancelled=self.is_cancelled, found=self.take, bounds=False
        )
        context = replace(self.context, is_without_bound=True)
        root = replace(self._root, bounding=None, n_heuristics=0)
        self._apply(evaluate(root, self.tree.upper, context, budget))

    def _raise_by_places(self) -> None:
        """Raise the bound by prices and places, if it has few dimensions and many blocks."""
        contraction, tree = self.contraction, self.tree
        # The bound comes without the evidence of a node, which certified runs keep.
        if tree.labels is None or not tree.n_open or self._is_certified:
            return
        if contraction.n_blocks < MIN_BLOCKS or not has_places(contraction):
            return
        if place_mebibytes(contraction.n_blocks) > self.free_mebibytes:
            return
        # Few runs come here, and the compiler is slow to import.
        from sdpbb.bounds.lagrangian.places.run import PlaceRun

        labels = tree.labels[contraction.representatives].astype(np.intp)
        time_left = at_most(self._time_left, PLACES_SHARE * self.seconds_left)
        run = PlaceRun.begin(contraction, labels)
        while run is not None and tree.n_open:
            progress = run.advance(tree.tolerances.cutoff(tree.upper), time_left)
            self._raise_to(progress.bound.value)
            if progress.stalled or progress.is_cut:
                return

    def _time_left(self) -> float:
        return 0.0 if self.is_cancelled() else self.seconds_left

    def _raise_to(self, bound: float) -> None:
        """Raise the root's bound, if that is lower."""
        proven = ProvenBound(bound)
        if proven > self._root.lower:
            self._apply(NodeResult(NodeStatus.UNFINISHED, proven))

    def _apply(self, result: NodeResult) -> None:
        """Take a result of the root, and report it."""
        self.tree.apply(0, result, self.seconds)
        for watch in self.watches:
            watch.evaluated(self.tree, 0, result, None)
        if self.tree.n_open:
            self.tree.select()

    def _bound_levels(self) -> Termination | None:
        """Bound subsets, level by level; return the limit that was reached, or None.

        The best clustering that is known says how blocks are dealt out.
        """
        tree = self.tree
        if self.run.subsets is None:
            self.run.subsets = self._dealt_out()
        if self.run.subsets is None:
            return None
        bounds = self._bounds
        if bounds.is_infeasible:  # known when the run was left
            self._apply(NodeResult(NodeStatus.INFEASIBLE, NO_CLUSTERING))
        while tree.n_open and bounds.level > 0:
            limit = self._bound_level()
            if limit is not None:
                return limit
            if tree.n_open:
                self._go_up()
        nothing_fits = tree.n_open and self.context.is_without_bound
        return Termination.MEMORY_LIMIT if nothing_fits else None

    def _dealt_out(self) -> SubsetBounds | None:
        """Deal the blocks out; return the subsets, with nothing proven; None if there are none."""
        has_ended = not self.tree.n_open or self.limits.urgent() is not None
        if has_ended or self._depth == 0 or not self._holds_evidence(self._smallest):
            return None
        most_linked = max(1, int(LINKED * self._smallest))
        tree = subset_tree(self._dealt, self._labels, self._depth, most_linked)
        return SubsetBounds(tree, self._depth, proofs={} if self._is_certified else None)

    @property
    def _bounds(self) -> SubsetBounds:
        assert self.run.subsets is not None
        return self.run.subsets

    @property
    def _labels(self) -> NDArray[np.intp]:
        """Labels of the blocks that are dealt out, of the best clustering known."""
        labels = self.tree.labels
        labels = self._root.known_labels if labels is None else labels
        assert labels is not None
        return labels[self._dealt.representatives]

    def _bound_level(self) -> Termination | None:
        """Bound the subsets of a level, or close the root on the way; return the limit reached."""
        tree, bounds, observer = self.tree, self._bounds, self.reporter.observer
        chosen = self._begin_level()
        observer(chosen)
        summed_at = self.seconds
        for tasks in self.rounds():
            for subset, task in tasks:
                self._take_slice(subset, task)
            if self.seconds >= summed_at + BETWEEN_SUMS and not bounds.is_infeasible:
                summed_at = self.seconds
                self._raise_to(bounds.total())
            for watch in self.watches:
                watch.round_ended(tree)
            if bounds.is_infeasible or not tree.n_open:
                break
        limit = None if bounds.is_infeasible or not tree.n_open else self.limit
        if bounds.is_infeasible:
            self._apply(NodeResult(NodeStatus.INFEASIBLE, NO_CLUSTERING))
            return limit
        if tree.n_open:
            self._raise_to(bounds.total())
        n_bounded = chosen.n_subsets - len(bounds.todo(bounds.level))
        done = chosen.n_subsets, n_bounded, chosen.n_blocks, chosen.seconds, self.seconds
        observer(SubsetsBounded(*done, bounds.total()))
        return limit

    def _begin_level(self) -> SubsetsChosen:
        """Choose the workers of a level and the order of its subsets; return its event."""
        bounds, workforce, labels = self._bounds, self.workforce, self._labels
        todo, tree = bounds.todo(bounds.level), bounds.tree
        largest = int(tree.n_blocks(bounds.level).max())
        chosen = SubsetsChosen(self.seconds, len(todo), largest)
        workforce.choose_for_subsets(largest > self.bounding.most_blocks_here)
        # Tasks at the same time, which the memory of this machine holds.
        shares_memory = not (workforce.works_here or workforce.is_given)
        self._most_tasks = max(1, self._n_that_fit(bounds.level)) if shares_memory else UNLIMITED
        whole = float(restricted_costs(self._dealt, labels, tree.subset_of(0))[1])
        costs = restricted_costs(self._dealt, labels, tree.subset_of(bounds.level))
        self._loss = max(0.0, 1.0 - float(costs.sum()) / whole) if whole > 0.0 else 0.0
        # The largest gaps come first.
        gaps = costs[todo] - bounds.of_each()[todo]
        self._todo = deque(np.array(todo, np.intp)[np.argsort(-gaps, kind="stable")].tolist())
        return chosen

    def _next_task(self) -> Task | None:
        """Return a slice of the next subset; None if there is none, or memory holds no more."""
        if len(self._under_way) >= self._most_tasks:
            return None
        while self._todo and not self._ready:
            number = self._todo.popleft()
            subset = self._subset(number)
            self._bounds.is_done[number] = subset is None
            self._ready.extend([] if subset is None else [subset])
        if not self._ready:
            return None
        subset = replace(self._ready.popleft(), began=self.seconds)
        self._under_way[subset.number] = subset
        return Task(subset.number, bound_subset, (subset, self._budget(subset)))

    def _subset(self, number: int) -> Subset | None:
        """Return a subset to bound; None if it has fewer than k blocks.

        "k clusters or fewer" is not "exactly k" then.
        """
        blocks = self._bounds.tree.blocks(number)
        if len(blocks) < self.run.instance.k:
            return None
        rows = rows_of(self._dealt, blocks)
        stated = restricted(self.run.instance, rows)
        instance = join_equal_points(stated)
        contraction = contract(instance)
        too_few = InfeasibilityKind.TOO_FEW_BLOCKS
        if isinstance(contraction, Infeasibility) and contraction.kind is too_few:
            return None
        proof = None
        if self._is_certified:
            proof = SubsetProof(rows.astype(np.int32), equal_points(stated))
        labels = self.tree.labels
        own = None if labels is None else labels[rows]
        return Subset.of(number, instance, own, self.bounding, self._loss, self.context, proof)

    def _budget(self, subset: Subset) -> Budget:
        """Return the budget of the next slice of a subset."""
        left, seconds = self.limits.time_limit - subset.began, subset.seconds
        slice_ = min(max(LONGEST_SLICE, SLICE_SHARE * seconds), self._most_seconds() - seconds)
        cores = self.workforce.cores_of_a_task(len(self._under_way), self._most_tasks)
        if not self.workforce.works_here:
            return Budget(slice_, left, cores=cores)
        return Budget(slice_, left, self.is_cancelled, cores=cores)

    def _take_slice(self, subset: Subset, task: Task) -> None:
        """Take a slice of a subset, which is done with or has another one.

        A subset of which two workers have died is done with.
        """
        tree = self.tree
        if task.is_lost:
            tree.count(n_lost_subsets=1)
            self._finish(subset)
            self.reporter.observer(SubsetLost(len(self._bounds.tree.blocks(subset.number))))
            return
        found: Subset = task.value
        subset = replace(found, seconds=subset.seconds + self.seconds - subset.began)
        tree.count(n_iterations=subset.tree.statistics.n_iterations)
        self._bounds.raise_to(subset.number, subset.lower, subset.proof)
        if subset.lower == math.inf:
            return
        if not subset.tree.n_open or subset.seconds >= self._most_seconds():
            self._finish(subset)
        else:
            self._ready.appendleft(subset)  # its next slice comes before other subsets

    def _finish(self, subset: Subset) -> None:
        """Be done with a subset."""
        self.tree.count(n_subsets=1)
        self._bounds.is_done[subset.number] = True
        self._bounds.seconds[subset.number] = subset.seconds

    def _most_seconds(self) -> float:
        """Return the seconds that a subset may take: not much longer than others."""
        mean = self._bounds.mean_seconds(self._bounds.level)
        return max(PATIENCE, SECONDS_FACTOR * mean) if mean > 0.0 else math.inf

    def _go_up(self) -> None:
        """Choose the next level."""
        bounds = self._bounds
        level = next_level(bounds, self.seconds_left, self.workforce.n_at_once)
        while level < bounds.level and not self._fits(level):
            level += 1
        # Where no larger subset fits, there is nothing left to do but the whole.
        bounds.level = 0 if level == bounds.level else level

    def _fits(self, level: int) -> bool:
        """Return whether the subsets of a level are neither too large nor take too much memory."""
        if level == 0:
            return not self.context.is_without_bound
        most = int(self._bounds.tree.n_blocks(level).max())
        if most > self.run.parameters.decomposition.largest or not self._holds_evidence(most):
            return False
        return self._n_that_fit(level) > 0

    def _n_that_fit(self, level: int) -> int:
        """Return how many subsets of a level this machine's memory holds at the same time."""
        tree = self._bounds.tree
        blocks = tree.blocks((1 << level) + int(np.argmax(tree.n_blocks(level))))
        if len(blocks) < self.run.instance.k:
            return UNLIMITED
        largest = restricted(self.run.instance, rows_of(self._dealt, blocks))
        contraction = contract(join_equal_points(largest))
        if isinstance(contraction, Infeasibility):
            return UNLIMITED
        copies = matrices_mebibytes(COPIES, contraction.n_blocks)
        return int(self.free_mebibytes / (self.bounding.mebibytes(contraction) + copies))

    def _holds_evidence(self, most: int) -> bool:
        """Return whether the evidence of subsets of at most this many blocks fits the memory."""
        largest = min(LARGEST_FILE, EVIDENCE * self.free_mebibytes)
        return not self._is_certified or self._evidence_mebibytes(most) <= largest

    def _evidence_mebibytes(self, most: int) -> float:
        """Return the size of the evidence that is kept of subsets of at most this many blocks.

        It is a triangle of single-precision numbers for each.
        """
        return 2.0 * self._dealt.n_blocks * most / 2**20 if self._is_certified else 0.0


def next_level(bounds: SubsetBounds, seconds_left: float, n_at_once: int) -> int:
    """Return the level to bound after the present one: of subsets of twice the blocks or more.

    n_at_once : subsets that are bounded at the same time
    """
    above = bounds.level - (bounds.level % STEP or STEP)
    if above >= 0:
        of_one = predicted_seconds(bounds, above)
        of_all = of_one * math.ceil(2**above / n_at_once)
        if of_one <= SHARE * seconds_left and of_all <= seconds_left:
            return above
    return bounds.level - 1


def predicted_seconds(bounds: SubsetBounds, level: int) -> float:
    """Return the seconds that a subset of a level will take, from the levels below."""
    for below in range(level, bounds.tree.depth + 1):
        if (seconds := bounds.mean_seconds(below)) > 0.0:
            return float(seconds * 2.0 ** (POWER * (below - level)))
    return math.nan
