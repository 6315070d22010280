"""Decomposition of a root: places, then subsets level by level, raise its bound."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import ProvenBound, matrices_mebibytes
from sdpbb.bounds.lagrangian.reach import has_places, place_mebibytes
from sdpbb.bounds.registry import bounding_method
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Infeasibility, InfeasibilityKind, contract
from sdpbb.problem.contraction import equal_points, join_equal_points
from sdpbb.run.certificates.recorded import SubsetProof
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
from sdpbb.runtime.time_left import at_most, never
from sdpbb.search.clocks import Budget
from sdpbb.search.evaluate import BEFORE_SHARE, NO_CLUSTERING, evaluate
from sdpbb.search.events import SubsetLost, SubsetsBounded, SubsetsChosen
from sdpbb.search.loop import LONGEST_SLICE, TaskRounds, reason_for_open_nodes
from sdpbb.search.node import Node, NodeResult, NodeStatus
from sdpbb.search.result import Termination

# Maximum slices of exact pricing for enumeration in a subset. Open subsets are bounded again as
# parts of larger subsets.
PRICING_SLICES = 1
# Share of the remaining time for heuristics before the first bound; and the seconds up to which
# they have the same share as in any run (BEFORE_SHARE).
FIRST_SHARE, FIRST_SECONDS = 0.1, 5.0
# Minimum blocks for a bound by prices and places, as other bounds prove smaller instances in
# seconds; and its share of the remaining time.
MIN_BLOCKS, PLACES_SHARE = 1000, 0.5
# Share of the blocks of a smallest subset that cannot-links may keep together.
LINKED = 0.25
# The seconds of a subset grow like this power of its number of blocks.
POWER = 2.25
# Levels of one step up: the next subsets have four times the blocks. Take one level only if two
# levels would need more than the remaining time, or a single subset more than this share of it. The
# first step from an odd level is one level, so that the last step is from quarters to the whole:
# halves would take twice the time of the whole for an iteration, and lose more.
STEP, SHARE = 2, 0.3
# Maximum MiB of the evidence in a certificate, as the checker allows 8192; and the maximum share of
# the memory, as files are compressed in memory.
LARGEST_FILE, EVIDENCE = 7000.0, 0.4
# Matrices over the blocks of a subset that its bounding needs in addition to the matrices of a
# root. Its state has two, which travel between two processes, and which both processes copy.
COPIES = 14
# Number of subsets at the same time if memory does not matter.
UNLIMITED = 10**6
# A subset is abandoned after this multiple of the mean time of its level, but not before these
# seconds; its bound counts.
SECONDS_FACTOR, PATIENCE = 4.0, 1.0
# A slice of a subset lasts this share of the time that it has taken, at least LONGEST_SLICE.
SLICE_SHARE = 0.5
# Seconds between two sums of the bounds.
BETWEEN_SUMS = 0.25


@dataclass(eq=False)
class Decomposition(TaskRounds):
    """Decomposition of a root: bounds of subsets, level by level.

    A task bounds a subset for a slice of time. The bounding of the tree has not begun.

    contraction : of the root
    run : state of the run, whose `subsets` are set. Equal points are dealt out one by one, although
        the root joins them, so that subsets share the weight of a heavy point
    free_mebibytes : memory for all subsets that are bounded at the same time
    """

    contraction: Contraction
    run: RunState
    free_mebibytes: float

    def __post_init__(self) -> None:
        super().__post_init__()
        parameters = self.run.parameters
        sizes = parameters.decomposition
        self._bounding = bounding_method(parameters.bounding, parameters.sdp, PRICING_SLICES)
        is_joined = self.context.instance is not self.run.instance
        dealt = contract(self.run.instance) if is_joined else self.contraction
        assert isinstance(dealt, Contraction)  # as the root has one
        self._dealt, self._is_certified = dealt, parameters.certify
        # Approximate blocks of the smallest subsets; and the depth of the tree, 0 without subsets.
        self._smallest = max(sizes.smallest, sizes.per_cluster * self.run.instance.k)
        self._depth = max(0, round(math.log2(dealt.n_blocks / self._smallest)))
        self._todo: deque[int] = deque()
        self._ready: deque[Subset] = deque()

    def raise_bound(self) -> Termination | None:
        """Raise the root's bound until the tree is closed, a limit is reached or all is done.

        Return why the search ends before the tree is closed. None: the tree is closed, or the root
        is to be bounded as a whole from the beginning.

        Raises
        ------
        ParameterError
            If the proof would be too large for a certificate.
        """
        tree = self.tree
        self.reporter.began(tree)
        tree.select()
        self._start_workers()
        # Also in a resumed run: the first run may have ended during the heuristics.
        self._run_heuristics()
        if self.run.subsets is None:
            self._raise_by_places()
        limit = self._raise_by_levels() or self.limits.urgent()
        is_open = tree.n_open > 0
        if is_open:
            tree.apply(0, NodeResult(NodeStatus.UNFINISHED, self._root.lower))
        if limit is not None or not is_open:
            for watch in self.watches:
                watch.ended(tree)
        return limit if is_open else reason_for_open_nodes(tree)

    def _start_workers(self) -> None:
        """Start the workers if there are subsets: it takes seconds."""
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

    def _run_heuristics(self) -> None:
        """Run the heuristics for a share of the time."""
        left = self.limits.seconds_left
        seconds = max(FIRST_SHARE * left, min(BEFORE_SHARE * left, FIRST_SECONDS))
        budget = Budget(seconds, self.is_cancelled, found=self.take)
        context = replace(self.context, may_bound=False)
        root = replace(self._root, bounding=None, n_heuristics=0)
        self._apply(evaluate(root, self.tree.upper, context, budget))

    def _raise_by_places(self) -> None:
        """Raise the bound by prices and places if there are few dimensions and many blocks."""
        contraction, tree = self.contraction, self.tree
        # This bound has no evidence, which certified runs need.
        if tree.labels is None or not tree.n_open or self._is_certified:
            return
        if contraction.n_blocks < MIN_BLOCKS or not has_places(contraction):
            return
        if place_mebibytes(contraction.n_blocks) > self.free_mebibytes:
            return
        from sdpbb.bounds.lagrangian.places.run import PlaceRun  # seldom needed, slow to import

        labels = tree.labels[contraction.representatives].astype(np.intp)
        time_left = at_most(self._time_left, PLACES_SHARE * self.limits.seconds_left)
        run = PlaceRun.begin(contraction, labels)
        while run is not None and tree.n_open:
            progress = run.advance(tree.tolerances.cutoff(tree.upper), time_left)
            self._raise_to(progress.bound.value)
            if progress.stalled or progress.is_cut:
                return

    def _time_left(self) -> float:
        return 0.0 if self.is_cancelled() else self.limits.seconds_left

    def _raise_to(self, bound: float) -> None:
        """Raise the root's bound to this bound if it is lower."""
        proven = ProvenBound(bound)
        if proven > self._root.lower:
            self._apply(NodeResult(NodeStatus.UNFINISHED, proven))

    def _apply(self, result: NodeResult) -> None:
        """Apply a result of the root, and report it."""
        self.tree.apply(0, result, self.limits.seconds)
        for watch in self.watches:
            watch.evaluated(self.tree, 0, result, None)
        if self.tree.n_open:
            self.tree.select()

    def _raise_by_levels(self) -> Termination | None:
        """Bound subsets, level by level; return the limit that was reached, or None."""
        tree = self.tree
        if self.run.subsets is None:
            self.run.subsets = self._dealt_out()
        if self.run.subsets is None:
            return None
        bounds = self._bounds
        if bounds.is_infeasible:  # proven before the run was resumed
            self._apply(NodeResult(NodeStatus.INFEASIBLE, NO_CLUSTERING))
        while tree.n_open and bounds.level > 0:
            limit = self._raise_by_level()
            if limit is not None:
                return limit
            if tree.n_open:
                self._go_up()
        nothing_fits = tree.n_open and not self.context.may_bound
        return Termination.MEMORY_LIMIT if nothing_fits else None

    def _dealt_out(self) -> SubsetBounds | None:
        """Deal the blocks into subsets without bounds yet. None: do not use subsets."""
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
        """Best known clustering, as labels of the blocks that are dealt out."""
        labels = self.tree.labels
        labels = self._root.known_labels if labels is None else labels
        assert labels is not None
        return labels[self._dealt.representatives]

    def _raise_by_level(self) -> Termination | None:
        """Bound the subsets of a level, or until the root is closed; return the limit reached."""
        tree, bounds, observer = self.tree, self._bounds, self.reporter.observer
        chosen = self._begin_level()
        observer(chosen)
        summed_at = self.limits.seconds
        for tasks in self.rounds():
            for subset, task in tasks:
                self._take_slice(subset, task)
            if self.limits.seconds >= summed_at + BETWEEN_SUMS and not bounds.is_infeasible:
                summed_at = self.limits.seconds
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
        done = chosen.n_subsets, n_bounded, chosen.n_blocks, chosen.seconds, self.limits.seconds
        observer(SubsetsBounded(*done, bounds.total()))
        return limit

    def _begin_level(self) -> SubsetsChosen:
        """Choose the workers of a level and the order of its subsets; return the event."""
        bounds, workforce, labels = self._bounds, self.workforce, self._labels
        todo, tree = bounds.todo(bounds.level), bounds.tree
        largest = int(tree.n_blocks(bounds.level).max())
        chosen = SubsetsChosen(self.limits.seconds, len(todo), largest)
        workforce.choose_for_subsets(largest > self._bounding.most_blocks_here)
        # Maximum number of tasks at the same time, limited by the memory of this machine.
        shares_memory = not (workforce.works_here or workforce.is_given)
        self._most_tasks = max(1, self._n_that_fit(bounds.level)) if shares_memory else UNLIMITED
        whole = float(restricted_costs(self._dealt, labels, tree.subset_of(0))[1])
        costs = restricted_costs(self._dealt, labels, tree.subset_of(bounds.level))
        self._lost_share = max(0.0, 1.0 - float(costs.sum()) / whole) if whole > 0.0 else 0.0
        # Largest gaps first.
        gaps = costs[todo] - bounds.of_each()[todo]
        self._todo = deque(np.array(todo, np.intp)[np.argsort(-gaps, kind="stable")].tolist())
        return chosen

    def _next_task(self) -> Task | None:
        """Return a slice of the next subset; None if there is none, or no more fit the memory."""
        if len(self._under_way) >= self._most_tasks:
            return None
        while self._todo and not self._ready:
            number = self._todo.popleft()
            subset = self._subset(number)
            self._bounds.is_done[number] = subset is None
            self._ready.extend([] if subset is None else [subset])
        if not self._ready:
            return None
        subset = replace(self._ready.popleft(), began=self.limits.seconds)
        self._under_way[subset.number] = subset
        return Task(subset.number, bound_subset, (subset, self._budget(subset)))

    def _subset(self, number: int) -> Subset | None:
        """Return a subset to bound; None if it has fewer than k blocks.

        Then "at most k clusters" and "exactly k" differ.
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
        return Subset.of(
            number, instance, own, self._bounding, self._lost_share, self.context, proof
        )

    def _budget(self, subset: Subset) -> Budget:
        """Return the budget of the next slice of a subset."""
        seconds, workforce = subset.seconds, self.workforce
        return Budget(
            self.limits.limit - subset.began,
            self.is_cancelled if workforce.works_here else never,
            slice=min(max(LONGEST_SLICE, SLICE_SHARE * seconds), self._most_seconds() - seconds),
            cores=workforce.cores_of_a_task(len(self._under_way), self._most_tasks),
        )

    def _take_slice(self, subset: Subset, task: Task) -> None:
        """Apply a slice of a subset; end the subset, or queue its next slice.

        A subset ends when two workers have died while they bounded it.
        """
        tree = self.tree
        if task.is_lost:
            tree.count(n_lost_subsets=1)
            self._finish(subset)
            self.reporter.observer(SubsetLost(len(self._bounds.tree.blocks(subset.number))))
            return
        found: Subset = task.value
        subset = replace(found, seconds=subset.seconds + self.limits.seconds - subset.began)
        tree.count(n_iterations=subset.tree.statistics.n_iterations)
        self._bounds.raise_to(subset.number, subset.lower, subset.proof)
        if subset.lower == math.inf:
            return
        if not subset.tree.n_open or subset.seconds >= self._most_seconds():
            self._finish(subset)
        else:
            self._ready.appendleft(subset)  # before other subsets

    def _finish(self, subset: Subset) -> None:
        """End the bounding of a subset."""
        self.tree.count(n_subsets=1)
        self._bounds.is_done[subset.number] = True
        self._bounds.seconds[subset.number] = subset.seconds

    def _most_seconds(self) -> float:
        """Return the maximum seconds of a subset: not much more than the mean of its level."""
        mean = self._bounds.mean_seconds(self._bounds.level)
        return max(PATIENCE, SECONDS_FACTOR * mean) if mean > 0.0 else math.inf

    def _go_up(self) -> None:
        """Choose the next level."""
        bounds = self._bounds
        level = next_level(bounds, self.limits.seconds_left, self.workforce.n_at_once)
        while level < bounds.level and not self._fits(level):
            level += 1
        # If no larger subset fits, the whole comes next.
        bounds.level = 0 if level == bounds.level else level

    def _fits(self, level: int) -> bool:
        """Return whether the subsets of a level are small enough, also for the memory."""
        if level == 0:
            return self.context.may_bound
        most = int(self._bounds.tree.n_blocks(level).max())
        if most > self.run.parameters.decomposition.largest or not self._holds_evidence(most):
            return False
        return self._n_that_fit(level) > 0

    def _n_that_fit(self, level: int) -> int:
        """Return how many subsets of a level fit the memory of this machine at the same time."""
        tree = self._bounds.tree
        blocks = tree.blocks((1 << level) + int(np.argmax(tree.n_blocks(level))))
        if len(blocks) < self.run.instance.k:
            return UNLIMITED
        largest = restricted(self.run.instance, rows_of(self._dealt, blocks))
        contraction = contract(join_equal_points(largest))
        if isinstance(contraction, Infeasibility):
            return UNLIMITED
        copies = matrices_mebibytes(COPIES, contraction.n_blocks)
        return int(self.free_mebibytes / (self._bounding.mebibytes(contraction) + copies))

    def _holds_evidence(self, most: int) -> bool:
        """Return whether the evidence of subsets of at most `most` blocks fits the memory."""
        largest = min(LARGEST_FILE, EVIDENCE * self.free_mebibytes)
        return not self._is_certified or self._evidence_mebibytes(most) <= largest

    def _evidence_mebibytes(self, most: int) -> float:
        """Return the size of the evidence of all subsets of at most `most` blocks each.

        The evidence of a subset is a triangle of single-precision numbers.
        """
        return 2.0 * self._dealt.n_blocks * most / 2**20 if self._is_certified else 0.0


def next_level(bounds: SubsetBounds, seconds_left: float, n_at_once: int) -> int:
    """Return the next level to bound, whose subsets have at least twice the blocks.

    n_at_once : number of subsets that are bounded at the same time
    """
    above = bounds.level - (bounds.level % STEP or STEP)
    if above >= 0:
        of_one = predicted_seconds(bounds, above)
        of_all = of_one * math.ceil(2**above / n_at_once)
        if of_one <= SHARE * seconds_left and of_all <= seconds_left:
            return above
    return bounds.level - 1


def predicted_seconds(bounds: SubsetBounds, level: int) -> float:
    """Predict the seconds of a subset of a level from the levels below."""
    for below in range(level, bounds.tree.depth + 1):
        if (seconds := bounds.mean_seconds(below)) > 0.0:
            return float(seconds * 2.0 ** (POWER * (below - level)))
    return math.nan
