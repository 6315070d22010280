"""Loop of branch and bound: select, evaluate, bound, branch; nodes are tasks of workers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.executors.scheduler import Task
from sdpbb.search.clocks import Budget, Limits
from sdpbb.search.evaluate import EvaluationContext, evaluate
from sdpbb.search.reporting import Reporter, Watch
from sdpbb.search.result import Termination
from sdpbb.search.tree import Tree
from sdpbb.search.workforce import Workforce

# Seconds of one task. A node is evaluated in slices, each of which returns all that the next one
# needs. Between two slices, incumbents are exchanged, limits are checked, progress is reported, and
# the state can be saved. Slices grow with the run.
SHORTEST_SLICE, LONGEST_SLICE, SLICE_SHARE = 0.5, 5.0, 0.1
# Seconds between two checks of the limits while other processes work.
PAUSE = 0.1
# Seconds after the time limit, or after an interrupt, until evaluations in other processes are
# abandoned. Most end before, as they know the time limit.
GRACE = 0.5


def branch_and_bound(evaluations: Evaluations) -> Termination | None:
    """Search best-first by branch and bound (PC-SOS-SDP, Algorithm 3), asynchronously.

    While no limit is reached and a worker is free (`Evaluations.rounds`):

    1. Select a paused node, or else the open node with the least bound.
    2. Evaluate it: bound, cut, and run heuristics (`sdpbb.search.evaluate`).

    For each result:

    3. Bound: take its clustering if it is better than the incumbent. Drop the node if it has no
       clustering, close it if its bound meets the incumbent, and evaluate it again if pairs were
       fixed or its slice of time has ended.
    4. Branch otherwise: replace the node by its two children.

    Changes the tree of the evaluations. Returns the limit that was reached; None if every node is
    finished.
    """
    tree, watches = evaluations.tree, evaluations.watches
    evaluations.reporter.began(tree)
    try:
        for tasks in evaluations.rounds():  # 1, 2
            for node, task in tasks:
                number, result = node.number, task.value
                if result is None:  # two workers have died while they evaluated it
                    tree.lose(number, evaluations.limits.seconds)
                    continue
                pair = tree.apply(number, result, evaluations.limits.seconds)  # 3
                children = None if pair is None else tree.split(number, pair)  # 4
                for watch in watches:
                    watch.evaluated(tree, number, result, children)
            for watch in watches:
                watch.round_ended(tree)
    finally:
        evaluations.workforce.shutdown()  # running evaluations are abandoned
    for watch in watches:
        watch.ended(tree)
    return evaluations.limit or reason_for_open_nodes(tree)


def reason_for_open_nodes(tree: Tree) -> Termination | None:
    """Return why a search without a limit ended with open nodes; None if its tree is closed."""
    if tree.is_closed or tree.is_exhausted:
        return None
    return Termination.WORKERS_LOST if tree.statistics.n_lost else Termination.PRECISION


@dataclass(eq=False)
class TaskRounds:
    """Rounds in which a workforce does tasks, within the limits of a run.

    tree : of the search
    context : of the evaluations of nodes
    limits, workforce, reporter : of the run
    watches : of the search; the reporter is one of them
    limit : limit that the run has reached, after which no task begins; None: no limit yet
    """

    tree: Tree
    context: EvaluationContext
    limits: Limits
    workforce: Workforce
    reporter: Reporter
    watches: Sequence[Watch]

    def __post_init__(self) -> None:
        self.limit: Termination | None = None
        self._under_way: dict[int, Any] = {}  # nodes or subsets of running tasks, by their keys
        self._end = math.inf  # seconds of the run at which running tasks are abandoned

    def rounds(self) -> Iterator[list[tuple[Any, Task]]]:
        """Do tasks until there is none, or a limit is reached.

        Each round begins tasks while a worker is free, and waits for a moment. Yield the tasks that
        have ended, each with its node or subset. A task without a value has killed two workers.
        """
        while True:
            self._check_limits()
            if self._end == math.inf and self.limits.urgent() is not None:
                self._end = self.limits.seconds + GRACE
            is_last = self.limit and not self._under_way
            if (
                is_last
                or self.limit is Termination.MEMORY_LIMIT
                or self.limits.seconds >= self._end
            ):
                return
            try:
                tasks = self.workforce.round(self._begin_task, PAUSE)
            except MemoryError:
                # The task is not known. All running tasks are abandoned.
                self.limit = Termination.MEMORY_LIMIT
                continue
            if tasks is None:
                return
            self.workforce.check_step(is_new=not tasks)
            yield [(self._under_way.pop(task.key), task) for task in tasks]

    def _begin_task(self) -> Task | None:
        return None if self.limit is not None else self._next_task()

    def _check_limits(self) -> None:
        """Set the limit if one is reached."""
        self.limit = self.limit or self.limits.reached(0)

    def _next_task(self) -> Task | None:
        """Return the next task, now running; None if there is none now."""
        raise NotImplementedError

    def is_cancelled(self) -> bool:
        """Return whether a task in this process is to end; report progress now and then."""
        self.workforce.check_step()
        self.reporter.stepped(self.tree)
        return self.limits.urgent() is not None

    def take(self, labels: NDArray[np.intp], cost: float, source: str) -> None:
        """Offer a clustering from a task in this process to the tree, and report it."""
        self.tree.offer(labels, cost, source)
        self.reporter.stepped(self.tree)


class Evaluations(TaskRounds):
    """Evaluations of nodes, in slices of time."""

    def _check_limits(self) -> None:
        """Check the limits, and choose the processes that evaluate the next nodes."""
        tree, n_nodes = self.tree, self.tree.statistics.n_nodes
        if self.limit is None and tree.n_open:
            self.limit = self.limits.reached(n_nodes)
            if self.limit is None and tree.n_due and not self.context.may_bound:
                self.limit = Termination.MEMORY_LIMIT
        if self.limit is None:
            self.workforce.choose_scheduler(
                tree.n_due + tree.n_waiting, n_nodes, self.limits.seconds
            )

    def _next_task(self) -> Task | None:
        """Return a slice of the next node; None if there is none."""
        if (node := self.tree.select()) is None:
            return None
        self._under_way[node.number] = node
        self.workforce.check_step(is_new=True)
        arguments = (node, self.tree.upper, self.context, self._budget())
        return Task(node.number, evaluate, arguments)

    def _budget(self) -> Budget:
        """Return the budget of the next slice of a node."""
        tree, workforce = self.tree, self.workforce
        budget = Budget(
            self.limits.seconds_left,
            slice=min(LONGEST_SLICE, max(SHORTEST_SLICE, SLICE_SHARE * self.limits.seconds)),
            cores=workforce.cores_of_a_task(len(self._under_way) + tree.n_due + tree.n_waiting),
        )
        if not workforce.works_here:
            return budget
        may_bound = not (self.context.may_bound and workforce.avoids_long_steps)
        return replace(budget, stop=self.is_cancelled, found=self.take, may_bound=may_bound)
