"""Bounding of the subsets of a level, each as a search of one node, in slices of time."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heuristics.incumbents import IncumbentSearch
from heuristics.parameters import HeuristicSchedule, MultiStartParameters
from sdpbb.bounds.method import BoundingMethod
from sdpbb.problem import Instance, Partition
from sdpbb.problem.checker_rules import checked_soft_pairs, checker_rules
from sdpbb.run.certificates.proof import Proof, SubsetProof
from sdpbb.run.decomposition.root import Root
from sdpbb.run.decomposition.subsets import SubsetBounds
from sdpbb.runtime.executors.scheduler import Task
from sdpbb.search.evaluate import EvaluationContext, evaluate
from sdpbb.search.events import NodeEnd, SubsetLost, SubsetsBounded, SubsetsChosen
from sdpbb.search.limits import Budget
from sdpbb.search.loop import LONGEST_SLICE, TaskRounds
from sdpbb.search.node import Node
from sdpbb.search.result import Statistics, Termination
from sdpbb.search.tolerances import Tolerances
from sdpbb.search.tree import Search, Tree
from sdpbb.search.workforce import Workforce

# Accuracy of the bound of a subset, as a share of the loss of the decomposition itself: larger
# subsets, which lose less, come next.
ACCURACY = 0.5
# The relative gap of a subset is at most this, and at least this share of the gap of the run.
LARGEST_GAP, LEAST_GAP = 5e-2, 0.25
# A subset has the restriction of a good clustering to begin with. A descent from it comes first,
# and a little more where the first bound, that of the clustering's dual values, does not do.
HEURISTIC_ITERATIONS = (1,)
LITTLE = MultiStartParameters(n_starts=4, n_relocations=5, swap_effort=0.5)
# A subset is left once it takes this many times as long as others of its size, and these seconds at
# least; its bound counts.
SECONDS_FACTOR, PATIENCE = 4.0, 1.0
# A slice of a subset is this part of the time that it has taken, or LONGEST_SLICE.
SLICE_SHARE = 0.5
# Seconds between two sums of the bounds.
BETWEEN_SUMS = 0.25


@dataclass(frozen=True, eq=False)
class SubsetTask:
    """Subset to bound, with all that its slices share.

    context : of the evaluation of its root, whose tolerance depends on the best clustering
    given : cost of the restriction of the best clustering of the whole, inf for none
    loss : share of its cost that this clustering loses when it is restricted to the subsets
    gap : of the run
    """

    context: EvaluationContext
    given: float
    loss: float
    gap: float

    @classmethod
    def of(
        cls,
        instance: Instance,
        labels: NDArray[np.intp] | None,
        bounding: BoundingMethod[Any],
        loss: float,
        whole: EvaluationContext,
        proof: SubsetProof | None = None,
    ) -> tuple[SubsetTask, SubsetSearch]:
        """Return a subset to bound, and its search before the first slice.

        instance : of the subset
        labels : (n,) of its points, of a clustering into k clusters or fewer; None if none is known
        whole : context of the root
        proof : to begin with, if its bound is to be certified
        """
        if proof is not None:
            from sdpbb.bounds.certified import CertifiedBounding

            rules, soft = checker_rules(instance), checked_soft_pairs(instance)
            bounding = CertifiedBounding(
                bounding, instance.points, rules, weights=instance.weights, soft=soft
            )
        given, node = math.inf, Node()
        if labels is not None:
            numbered = np.unique(labels, return_inverse=True)[1]
            # What keeps the constraints but has fewer clusters costs no less than the optimum.
            given = Partition(numbered).cost(instance)
            has_all = int(numbered.max()) + 1 == instance.k
            node = Node(known_labels=numbered if has_all else None)
        context = replace(
            whole,
            instance=instance,
            bounding=bounding,
            heuristic=IncumbentSearch(HeuristicSchedule(LITTLE, LITTLE, LITTLE), knows_good=True),
            fixing=False,
            is_without_bound=False,
            heuristic_iterations=HEURISTIC_ITERATIONS,
        )
        task = cls(context, given, loss, whole.tolerances.gap)
        search = Search(Tree(node, task.tolerances(given)))
        search.tree.upper = given
        return task, SubsetSearch(search, proof)

    def tolerances(self, upper: float) -> Tolerances:
        """Return how near it is bounded if the best clustering known of it costs so much.

        That is a part of what the subset loses anyway: `loss`, and what its own clustering saves.
        """
        saved = 1.0 - upper / self.given if 0.0 < self.given < math.inf else 0.0
        gap = max(ACCURACY * (self.loss + saved), LEAST_GAP * self.gap)
        return Tolerances(min(gap, LARGEST_GAP))


@dataclass(frozen=True, eq=False)
class SubsetSearch:
    """Search whose only node is a subset, as far as it has come: what a worker returns.

    search : its statistics are those of the last slice
    proof : of what is proven of the subset, if the run is certified
    """

    search: Search
    proof: SubsetProof | None = None

    @property
    def lower(self) -> float:
        """Bound proven for the subset; inf if no clustering keeps its constraints."""
        return self.search.tree.bound_of_nodes if self.proof is None else self.proof.proof.lower


def bound_subset(task: SubsetTask, subset: SubsetSearch, budget: Budget) -> SubsetSearch:
    """Bound a subset for a slice of time.

    It begins with a clustering of its own: how much that saves says how near to bound it, and each
    better one says so anew.
    """
    budget, search, proof = budget.begin(), subset.search, subset.proof
    tree, search.statistics = search.tree, Statistics()
    if proof is not None:  # others may hold the one that is given
        (known,) = proof.proof.nodes
        proof = replace(proof, proof=Proof([replace(known, steps=list(known.steps))]))
    while (node := tree.select()) is not None:
        context = replace(task.context, tolerances=tree.tolerances)
        left = replace(budget.left(), bounds=node.state is not None)
        result = evaluate(node, tree.upper, context, left)
        if proof is not None:
            proof.proof.nodes[0].record(result)
        tree.tolerances = task.tolerances(min(tree.upper, result.cost))
        if search.apply(0, result, 0.0) is not None:
            tree.abandon(0, NodeEnd.UNPROVEN)  # a larger subset tells more than its two children
        if budget.is_over():
            break
    return SubsetSearch(search, proof)


@dataclass
class _Running:
    """Subset that is being bounded.

    seconds : that its slices have taken until the present one, which began at `began`
    """

    number: int
    task: SubsetTask
    search: SubsetSearch
    seconds: float = 0.0
    began: float = 0.0


class LevelBounding(TaskRounds):
    """Bounding of subsets of a level, in slices of time."""

    def __init__(
        self,
        root: Root,
        bounds: SubsetBounds,
        chosen: SubsetsChosen,
        subsets: Iterable[int],
        make: Callable[[int], tuple[SubsetTask, SubsetSearch] | None],
        workforce: Workforce,
        most_tasks: int,
    ) -> None:
        """
        Parameters
        ----------
        root : is raised to the sum of the bounds
        bounds : are raised
        chosen : tells of the level
        subsets : to bound, in this order
        make : returns a subset to bound, and its search; None where it has no bound
        workforce : does the slices
        most_tasks : at the same time, which the memory holds
        """
        super().__init__(root.limits, workforce)
        self._root, self._bounds, self._chosen = root, bounds, chosen
        self._todo, self._make = deque(subsets), make
        self._most_tasks = most_tasks
        self._ready: deque[_Running] = deque()

    def run(self) -> Termination | None:
        """Bound the subsets until all are, or the root is closed; return the limit reached."""
        root, bounds, reporter, chosen = self._root, self._bounds, self._root.reporter, self._chosen
        reporter.tell(chosen)
        summed_at, is_over = self.seconds, False
        for tasks in self.rounds():
            for running, task in tasks:
                self._take(running, task)
            if not tasks:  # all workers are busy
                self._prepare(self._workforce.n_at_once)
            reporter.subsets = self._n_bounded, chosen.n_subsets
            if self.seconds >= summed_at + BETWEEN_SUMS and not bounds.is_infeasible:
                summed_at = self.seconds
                root.raise_to(bounds.total())
            root.watch.round_ended(root.search)
            is_over = bounds.is_infeasible or not root.is_open
            if is_over:
                break
        root.take(bounds)
        reporter.subsets = None
        if not bounds.is_infeasible:
            told = SubsetsBounded(chosen, self.seconds, self._n_bounded, bounds.total())
            reporter.tell(told)
        return None if is_over else self.limit

    @property
    def _n_bounded(self) -> int:
        return self._chosen.n_subsets - len(self._bounds.todo(self._bounds.level))

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
        arguments = running.task, running.search, self._budget(running)
        return Task(running.number, bound_subset, arguments)

    def _prepare(self, count: int) -> None:
        """Prepare subsets until some are ready to be bounded, if enough remain."""
        while self._todo and len(self._ready) < count:
            subset = self._todo.popleft()
            made = self._make(subset)
            if made is None:
                self._bounds.is_done[subset] = True
            else:
                self._ready.append(_Running(subset, *made))

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
        running.search = task.value
        running.seconds += self.seconds - running.began
        of_slice, lower = running.search.search, running.search.lower
        search.count(n_iterations=of_slice.statistics.n_iterations)
        self._bounds.raise_to(running.number, lower, running.search.proof)
        if lower == math.inf:
            return
        if not of_slice.tree.n_open or running.seconds >= self._most_seconds():
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
