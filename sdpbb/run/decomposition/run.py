"""Run of a decomposition: level by level, as far as time and memory allow."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import BoundingMethod, matrices_mebibytes
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Infeasibility, InfeasibilityKind, contract
from sdpbb.problem.contraction import equal_points, join_equal_points
from sdpbb.run.certificates.proof import SubsetProof
from sdpbb.run.checkpoint import RunState
from sdpbb.run.decomposition.bounding import Subset, bound_subset, restricted, rows_of
from sdpbb.run.decomposition.dealing import subset_tree
from sdpbb.run.decomposition.root import Root
from sdpbb.run.decomposition.subsets import SubsetBounds, restricted_costs
from sdpbb.runtime.executors.scheduler import Task
from sdpbb.search.events import SubsetLost, SubsetsBounded, SubsetsChosen
from sdpbb.search.limits import Budget
from sdpbb.search.loop import LONGEST_SLICE, TaskRounds
from sdpbb.search.result import Termination
from sdpbb.search.workforce import Workforce

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
# Matrices over the blocks of a subset that its bounding takes beside those of a root: its state has
# two, which are sent to and fro between slices, and are copied by both processes.
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


@dataclass
class _Running:
    """Subset that is being bounded.

    seconds : that its slices have taken until the present one, which began at `began`
    """

    number: int
    subset: Subset
    seconds: float = 0.0
    began: float = 0.0


class Decomposition(TaskRounds):
    """Decomposition of a root: bounds of subsets, level by level, each a source of tasks.

    A task is a slice of time in which a subset is bounded.
    """

    def __init__(
        self,
        root: Root,
        run: RunState,
        bounding: BoundingMethod[Any],
        workforce: Workforce,
        free_mebibytes: float,
    ) -> None:
        """Contract what is dealt out, and start the workers, which takes seconds.

        Parameters
        ----------
        root : is raised
        run : state of the run, whose subsets are set. The points of its instance are dealt out
            before equal ones are joined, as they are in that of the root: what is heavy is then
            shared among subsets
        bounding : of the subsets
        workforce : of the run
        free_mebibytes : memory for all subsets that are bounded at the same time

        Raises
        ------
        ParameterError
            If no certificate can hold what would be proven.
        """
        super().__init__(root.limits, workforce)
        self._root, self._run, self._bounding = root, run, bounding
        self._free_mebibytes = free_mebibytes
        sizes, is_joined = run.parameters.decomposition, root.context.instance is not run.instance
        dealt = contract(run.instance) if is_joined else root.contraction
        assert isinstance(dealt, Contraction)  # as that of the root is one
        self._dealt, self._is_certified = dealt, root.context.keeps_evidence
        # Blocks of the smallest subsets, about; and the depth of their tree, 0 if there are none.
        self._smallest = max(sizes.smallest, sizes.per_cluster * run.instance.k)
        self._depth = max(0, round(math.log2(dealt.n_blocks / self._smallest)))
        self._todo: deque[int] = deque()
        self._ready: deque[_Running] = deque()
        if self._depth == 0:
            return
        size = self._evidence_mebibytes(self._smallest)
        if run.subsets is None and size > LARGEST_FILE:
            raise ParameterError(
                f"certificate = ...: not possible, as the proof takes {size:,.0f} MiB, and a "
                f"certificate holds {LARGEST_FILE:,.0f}"
            )
        if workforce.has_several_workers:
            workforce.start_workers()

    def bound(self) -> Termination | None:
        """Raise the root's bound until it is closed, a limit is reached or nothing is left to do.

        Return the limit. The best clustering that is known says how blocks are dealt out.
        """
        root = self._root
        if self._run.subsets is None:
            self._run.subsets = self._dealt_out()
        if self._run.subsets is None:
            return None
        bounds = self._bounds
        if bounds.is_infeasible:  # known when the run was left
            root.take(bounds)
        while root.is_open and bounds.level > 0:
            limit = self._bound_level()
            if limit is not None:
                return limit
            if root.is_open:
                self._go_up()
        nothing_fits = root.is_open and root.context.is_without_bound
        return Termination.MEMORY_LIMIT if nothing_fits else None

    def _dealt_out(self) -> SubsetBounds | None:
        """Deal the blocks out; return the subsets, with nothing proven; None if there are none."""
        has_ended = not self._root.is_open or self._root.limits.urgent() is not None
        if has_ended or self._depth == 0 or not self._holds_evidence(self._smallest):
            return None
        most_linked = max(1, int(LINKED * self._smallest))
        tree = subset_tree(self._dealt, self._labels, self._depth, most_linked)
        return SubsetBounds(tree, self._depth, proofs={} if self._is_certified else None)

    @property
    def _bounds(self) -> SubsetBounds:
        assert self._run.subsets is not None
        return self._run.subsets

    @property
    def _labels(self) -> NDArray[np.intp]:
        """Labels of the blocks that are dealt out, of the best clustering known."""
        return self._root.labels[self._dealt.representatives]

    def _bound_level(self) -> Termination | None:
        """Bound the subsets of a level, or close the root on the way; return the limit reached."""
        root, bounds, reporter = self._root, self._bounds, self._root.reporter
        chosen = self._begin_level()
        reporter.tell(chosen)
        summed_at, is_over = self.seconds, False
        for tasks in self.rounds():
            for running, task in tasks:
                self._take(running, task)
            if not tasks:  # all workers are busy
                self._prepare(self._workforce.n_at_once)
            if self.seconds >= summed_at + BETWEEN_SUMS and not bounds.is_infeasible:
                summed_at = self.seconds
                root.raise_to(bounds.total())
            for watch in root.watches:
                watch.round_ended(root.search)
            is_over = bounds.is_infeasible or not root.is_open
            if is_over:
                break
        root.take(bounds)
        if not bounds.is_infeasible:
            n_bounded = chosen.n_subsets - len(bounds.todo(bounds.level))
            done = chosen.n_subsets, n_bounded, chosen.n_blocks, chosen.seconds, self.seconds
            reporter.tell(SubsetsBounded(*done, bounds.total()))
        return None if is_over else self.limit

    def _begin_level(self) -> SubsetsChosen:
        """Choose the workers of a level and the order of its subsets; return its event."""
        bounds, workforce, labels = self._bounds, self._workforce, self._labels
        todo, tree = bounds.todo(bounds.level), bounds.tree
        largest = int(tree.n_blocks(bounds.level).max())
        chosen = SubsetsChosen(self.seconds, len(todo), largest)
        workforce.choose_for_subsets(largest > self._bounding.most_blocks_here)
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
        self._prepare(1)
        if not self._ready:
            return None
        running = self._ready.popleft()
        running.began = self.seconds
        self._under_way[running.number] = running
        arguments = running.subset, self._budget(running)
        return Task(running.number, bound_subset, arguments)

    def _prepare(self, count: int) -> None:
        """Prepare subsets until some are ready to be bounded, if enough remain."""
        while self._todo and len(self._ready) < count:
            number = self._todo.popleft()
            subset = self._subset(self._bounds.tree.blocks(number))
            if subset is None:
                self._bounds.is_done[number] = True
            else:
                self._ready.append(_Running(number, subset))

    def _subset(self, blocks: NDArray[np.intp]) -> Subset | None:
        """Return a subset to bound; None if it has fewer than k blocks.

        "k clusters or fewer" is not "exactly k" then.
        """
        if len(blocks) < self._run.instance.k:
            return None
        rows, root = rows_of(self._dealt, blocks), self._root
        stated = restricted(self._run.instance, rows)
        instance = join_equal_points(stated)
        contraction = contract(instance)
        too_few = InfeasibilityKind.TOO_FEW_BLOCKS
        if isinstance(contraction, Infeasibility) and contraction.kind is too_few:
            return None
        proof = None
        if self._is_certified:
            proof = SubsetProof(rows.astype(np.int32), equal_points(stated))
        labels = root.search.tree.labels
        own = None if labels is None else labels[rows]
        return Subset.of(instance, own, self._bounding, self._loss, root.context, proof)

    def _budget(self, running: _Running) -> Budget:
        """Return the budget of the next slice of a subset."""
        left, seconds = self._limits.time_limit - running.began, running.seconds
        slice_ = min(max(LONGEST_SLICE, SLICE_SHARE * seconds), self._most_seconds() - seconds)
        cores = self._workforce.cores_of_a_task(len(self._under_way), self._most_tasks)
        if not self._workforce.works_here:
            return Budget(slice_, left, cores=cores)
        return Budget(slice_, left, self._root.is_cancelled, cores=cores)

    def _take(self, running: _Running, task: Task) -> None:
        """Take a slice of a subset, which is done with or has another one.

        A subset of which two workers have died is done with.
        """
        search = self._root.search
        if task.is_lost:
            search.count(n_lost_subsets=1)
            self._finish(running)
            self._root.reporter.tell(SubsetLost(len(self._bounds.tree.blocks(task.key))))
            return
        running.subset = subset = task.value
        running.seconds += self.seconds - running.began
        search.count(n_iterations=subset.search.statistics.n_iterations)
        self._bounds.raise_to(running.number, subset.lower, subset.proof)
        if subset.lower == math.inf:
            return
        if not subset.search.tree.n_open or running.seconds >= self._most_seconds():
            self._finish(running)
        else:
            self._ready.appendleft(running)  # its next slice comes before other subsets

    def _finish(self, running: _Running) -> None:
        """Be done with a subset."""
        self._root.search.count(n_subsets=1)
        self._bounds.is_done[running.number] = True
        self._bounds.seconds[running.number] = running.seconds

    def _most_seconds(self) -> float:
        """Return the seconds that a subset may take: not much longer than others."""
        mean = self._bounds.mean_seconds(self._bounds.level)
        return max(PATIENCE, SECONDS_FACTOR * mean) if mean > 0.0 else math.inf

    def _go_up(self) -> None:
        """Choose the next level."""
        bounds = self._bounds
        level = next_level(bounds, self._root.seconds_left, self._workforce.n_at_once)
        while level < bounds.level and not self._fits(level):
            level += 1
        # Where no larger subset fits, there is nothing left to do but the whole.
        bounds.level = 0 if level == bounds.level else level

    def _fits(self, level: int) -> bool:
        """Return whether the subsets of a level are neither too large nor take too much memory."""
        if level == 0:
            return not self._root.context.is_without_bound
        most = int(self._bounds.tree.n_blocks(level).max())
        if most > self._run.parameters.decomposition.largest or not self._holds_evidence(most):
            return False
        return self._n_that_fit(level) > 0

    def _n_that_fit(self, level: int) -> int:
        """Return how many subsets of a level this machine's memory holds at the same time."""
        tree = self._bounds.tree
        blocks = tree.blocks((1 << level) + int(np.argmax(tree.n_blocks(level))))
        if len(blocks) < self._run.instance.k:
            return UNLIMITED
        largest = restricted(self._run.instance, rows_of(self._dealt, blocks))
        contraction = contract(join_equal_points(largest))
        if isinstance(contraction, Infeasibility):
            return UNLIMITED
        copies = matrices_mebibytes(COPIES, contraction.n_blocks)
        return int(self._free_mebibytes / (self._bounding.mebibytes(contraction) + copies))

    def _holds_evidence(self, most: int) -> bool:
        """Return whether the evidence of subsets of at most this many blocks fits the memory."""
        largest = min(LARGEST_FILE, EVIDENCE * self._free_mebibytes)
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
    """Return the seconds that a subset of a level will take, from those of the levels below."""
    for below in range(level, bounds.tree.depth + 1):
        if (seconds := bounds.mean_seconds(below)) > 0.0:
            return float(seconds * 2.0 ** (POWER * (below - level)))
    return math.nan
