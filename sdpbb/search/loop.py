"""Loop of branch and bound: select, evaluate, bound, branch; the tree as a source of tasks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.executors.scheduler import Task
from sdpbb.search.evaluate import EvaluationContext, evaluate
from sdpbb.search.limits import Budget, Limits
from sdpbb.search.reporting import Reporter, Watch
from sdpbb.search.result import Termination
from sdpbb.search.tree import Tree
from sdpbb.search.workforce import Workforce

# Seconds of one task: a node is evaluated in slices, each of which returns all that the next one
# needs. Between two, incumbents are exchanged, limits are kept, progress is reported, and the state
# can be saved. They grow with the run.
SHORTEST_SLICE, LONGEST_SLICE, SLICE_SHARE = 0.5, 5.0, 0.1
# Seconds between two looks at the limits while other processes work.
LOOK = 0.1
# Seconds that evaluations in other processes get when the time is over or the user has had enough;
# they are abandoned then. Most come back: they know the time limit.
GRACE = 0.5


def branch_and_bound(evaluations: Evaluations) -> Termination | None:
    """Search best-first by branch and bound (PC-SOS-SDP, Algorithm 3), asynchronously.

    While no limit is reached and a worker is free (`Evaluations.rounds`):

    1. Select the open node with the least bound, or one whose evaluation is to go on.
    2. Evaluate it: bound, cut, and look for clusterings (`sdpbb.search.evaluate`).

    For each result that comes back:

    3. Bound: take its clustering if it is better than the incumbent. Drop the node if it holds no
       clustering, close it if its bound meets the incumbent, and evaluate it again if pairs were
       fixed or its slice of time has ended.
    4. Branch otherwise: replace the node by its two children.

    Works on the tree of the evaluations. Returns the limit that was reached, None if every node
    is finished.
    """
    tree, watches = evaluations.tree, evaluations.watches
    evaluations.reporter.began(tree)
    try:
        for tasks in evaluations.rounds():  # 1, 2
            for node, task in tasks:
                number, result = node.number, task.value
                if result is None:  # two workers have died of it
                    tree.lose(number, evaluations.seconds)
                    continue
                pair = tree.apply(number, result, evaluations.seconds)  # 3
                children = None if pair is None else tree.split(number, pair)  # 4
                for watch in watches:
                    watch.evaluated(tree, number, result, children)
            for watch in watches:
                watch.round_ended(tree)
    finally:
        evaluations.workforce.shutdown()  # evaluations under way are abandoned
    for watch in watches:
        watch.ended(tree)
    return evaluations.limit or reason_for_open_nodes(tree)


def reason_for_open_nodes(tree: Tree) -> Termination | None:
    """Return why a search that has reached no limit has not closed its tree, or None if it has."""
    if tree.is_closed or tree.is_exhausted:
        return None
    return Termination.WORKERS_LOST if tree.statistics.n_lost else Termination.PRECISION


@dataclass(eq=False)
class TaskRounds:
    """Rounds in which a workforce does the tasks of a source, within the limits of a run.

    tree : of the search that the tasks are for
    context : of the evaluations of its nodes
    limits, workforce, reporter : of the run
    proof : watch of a certified run; None of others
    writer : watch that writes checkpoints
    limit : the limit that the run has reached, so that no task begins any more, or None
    """

    tree: Tree
    context: EvaluationContext
    limits: Limits
    workforce: Workforce
    reporter: Reporter
    writer: Watch
    proof: Watch | None

    def __post_init__(self) -> None:
        self.limit: Termination | None = None
        self._under_way: dict[int, Any] = {}  # what tasks are about, by their keys
        self._end = math.inf  # seconds of the run at which tasks under way are abandoned

    @property
    def watches(self) -> list[Watch]:
        """The watches of the search."""
        return [watch for watch in (self.proof, self.reporter, self.writer) if watch is not None]

    @property
    def seconds(self) -> float:
        """Seconds of the run until now."""
        return self.limits.seconds

    @property
    def seconds_left(self) -> float:
        """Seconds until the time limit."""
        return self.limits.time_limit - self.seconds

    def rounds(self) -> Iterator[list[tuple[Any, Task]]]:
        """Do tasks while there are some and no limit is reached.

        Each round begins tasks while a worker is free, and waits for a moment. Yield the tasks that
        have ended, each with what it is about. One without a value has ended two workers.
        """
        while True:
            self._look_at_limits()
            if self._end == math.inf and self.limits.urgent() is not None:
                self._end = self.seconds + GRACE
            # No task is under way and none will be, or tasks that are must be abandoned.
            is_last = self.limit and not self._under_way
            if is_last or self.limit is Termination.MEMORY_LIMIT or self.seconds >= self._end:
                return
            try:
                tasks = self.workforce.round(self._begin_task, LOOK)
            except MemoryError:
                # Nobody knows whose it was. All that is under way stays as it is.
                self.limit = Termination.MEMORY_LIMIT
                continue
            if tasks is None:
                return
            self.workforce.begin_step(is_first=not tasks)
            yield [(self._under_way.pop(task.key), task) for task in tasks]

    def _begin_task(self) -> Task | None:
        return None if self.limit is not None else self._next_task()

    def _look_at_limits(self) -> None:
        """Set the limit if one is reached."""
        self.limit = self.limit or self.limits.reached(0)

    def _next_task(self) -> Task | None:
        """Return the next task, which is under way from now on; None if there is none now."""
        raise NotImplementedError

    def is_cancelled(self) -> bool:
        """Report progress now and then; return whether a task in this process is to end."""
        self.workforce.begin_step()
        self.reporter.stepped(self.tree)
        return self.limits.urgent() is not None

    def take(self, labels: NDArray[np.intp], cost: float, source: str) -> None:
        """Take a clustering that a task in this process has found, and report it."""
        self.tree.offer(labels, cost, source)
        self.reporter.stepped(self.tree)


class Evaluations(TaskRounds):
    """Evaluations of the nodes of a search in slices of time."""

    def _look_at_limits(self) -> None:
        """Look at the limits, and choose the processes that evaluate the next nodes."""
        tree, n_nodes = self.tree, self.tree.statistics.n_nodes
        if self.limit is None and tree.n_open:
            self.limit = self.limits.reached(n_nodes)
            if self.limit is None and self.context.is_without_bound and tree.n_due:
                self.limit = Termination.MEMORY_LIMIT
        if self.limit is None:
            self.workforce.choose_scheduler(tree.n_due + tree.n_waiting, n_nodes, self.seconds)

    def _next_task(self) -> Task | None:
        """Return a slice of the next node; None if there is none."""
        if (node := self.tree.select()) is None:
            return None
        self._under_way[node.number] = node
        self.workforce.begin_step(is_first=True)
        arguments = (node, self.tree.upper, self.context, self._budget())
        return Task(node.number, evaluate, arguments)

    def _budget(self) -> Budget:
        tree, workforce = self.tree, self.workforce
        slice_ = min(LONGEST_SLICE, max(SHORTEST_SLICE, SLICE_SHARE * self.seconds))
        cores = workforce.cores_of_a_task(len(self._under_way) + tree.n_due + tree.n_waiting)
        if not workforce.works_here:
            return Budget(slice_, self.seconds_left, cores=cores)
        bounds = self.context.is_without_bound or not workforce.avoids_long_steps
        return Budget(slice_, self.seconds_left, self.is_cancelled, self.take, bounds, cores)
