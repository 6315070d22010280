"""Loop of branch and bound: select, evaluate, bound, branch; the tree as a source of tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.executors.scheduler import Task
from sdpbb.search.evaluate import EvaluationContext, evaluate
from sdpbb.search.limits import Budget, Limits
from sdpbb.search.node import Node
from sdpbb.search.reporting import Reporter, Watch
from sdpbb.search.result import Termination
from sdpbb.search.tree import Search
from sdpbb.search.workforce import Workforce

# Seconds of one task: a node is evaluated in slices, each of which returns all that the next one
# needs. Between two, incumbents are exchanged, limits are kept, the user is told, and the state can
# be saved. They grow with the run.
SHORTEST_SLICE, LONGEST_SLICE, SLICE_SHARE = 0.5, 5.0, 0.1
# Seconds between two looks at the limits while other processes work.
LOOK = 0.1
# Seconds that evaluations in other processes get when the time is over or the user has had enough;
# they are abandoned then. Most come back: they know the time limit.
GRACE = 0.5


def branch_and_bound(evaluations: Evaluations, *watches: Watch) -> Termination | None:
    """Search best-first by branch and bound (PC-SOS-SDP, Algorithm 3), asynchronously.

    While no limit is reached and a worker is free (`Evaluations.rounds`):

    1. Select the open node with the least bound, or one whose evaluation is to go on.
    2. Evaluate it: bound, cut, and look for clusterings (`sdpbb.search.evaluate`).

    For each result that comes back:

    3. Bound: take its clustering if it is better than the incumbent. Drop the node if it holds no
       clustering, close it if its bound meets the incumbent, and evaluate it again if pairs were
       fixed or its slice of time has ended.
    4. Branch otherwise: replace the node by its two children.

    Works on the search of the evaluations. Returns the limit that was reached, None if every node
    is finished.
    """
    search, tree = evaluations.search, evaluations.search.tree
    try:
        for tasks in evaluations.rounds():  # 1, 2
            for node, task in tasks:
                number, result = node.number, task.value
                if result is None:  # two workers have died of it
                    search.lose(number, evaluations.seconds)
                    continue
                pair = search.apply(number, result, evaluations.seconds)  # 3
                children = None if pair is None else tree.split(number, pair)  # 4
                for watch in watches:
                    watch.evaluated(search, number, result, children)
            for watch in watches:
                watch.round_ended(search)
    finally:
        evaluations.shutdown()
    for watch in watches:
        watch.ended(search)
    return evaluations.limit or _reason_for_open_nodes(search)


def _reason_for_open_nodes(search: Search) -> Termination | None:
    """Return why a search that has reached no limit has not closed its tree, or None if it has."""
    if search.tree.is_closed or search.tree.is_exhausted:
        return None
    return Termination.WORKERS_LOST if search.statistics.n_lost else Termination.PRECISION


class TaskRounds:
    """Rounds in which a workforce does the tasks of a source, within the limits of a run.

    Attributes
    ----------
    limit : the limit that the run has reached, so that no task begins any more, or None
    """

    def __init__(self, limits: Limits, workforce: Workforce) -> None:
        self.limit: Termination | None = None
        self._limits = limits
        self._workforce = workforce
        self._under_way: dict[int, Any] = {}  # what tasks are about, by their keys
        self._urgent_since: float | None = None

    @property
    def seconds(self) -> float:
        """Seconds of the run until now."""
        return self._limits.seconds

    def rounds(self) -> Iterator[list[tuple[Any, Task]]]:
        """Do tasks while there are some and no limit is reached.

        Each round begins tasks while a worker is free, and waits for a moment. Yield those that
        have ended, each with what it is about. One without a value has ended two workers.
        """
        while True:
            self._look_at_limits()
            if self._urgent_since is None and self._limits.urgent() is not None:
                self._urgent_since = self.seconds
            if self._is_to_end:
                return
            try:
                tasks = self._workforce.round(self._begin_task, LOOK)
            except MemoryError:
                # Nobody knows whose it was. All that is under way stays as it is.
                self.limit = Termination.MEMORY_LIMIT
                continue
            if tasks is None:
                return
            yield [(self._under_way.pop(task.key), task) for task in tasks]

    @property
    def _is_to_end(self) -> bool:
        """True if no task is under way and none will be, or those that are must be abandoned."""
        if self.limit is Termination.MEMORY_LIMIT or (self.limit and not self._under_way):
            return True
        since = self._urgent_since
        return since is not None and self.seconds >= since + GRACE

    def _begin_task(self) -> Task | None:
        return None if self.limit is not None else self._next_task()

    def _look_at_limits(self) -> None:
        """Set the limit if one is reached."""
        self.limit = self.limit or self._limits.reached(0)

    def _next_task(self) -> Task | None:
        """Return the next task, which is under way from now on; None if there is none now."""
        raise NotImplementedError


class Evaluations(TaskRounds):
    """Evaluations of the nodes of a search in slices of time."""

    def __init__(
        self,
        search: Search,
        context: EvaluationContext,
        limits: Limits,
        workforce: Workforce,
        reporter: Reporter,
    ) -> None:
        super().__init__(limits, workforce)
        self.search = search
        self._context = context
        self._reporter = reporter

    def rounds(self) -> Iterator[list[tuple[Node, Task]]]:
        self._reporter.began(self.search)
        for tasks in super().rounds():
            self._workforce.begin_step(is_first=not tasks)
            yield tasks

    def _look_at_limits(self) -> None:
        """Look at the limits, and choose the processes that evaluate the next nodes."""
        tree, n_nodes = self.search.tree, self.search.statistics.n_nodes
        if self.limit is None and tree.n_open:
            self.limit = self._limits.reached(n_nodes)
            if self.limit is None and self._context.is_without_bound and tree.n_due:
                self.limit = Termination.MEMORY_LIMIT
        if self.limit is None:
            n_due = tree.n_due + tree.n_waiting
            self._workforce.choose_scheduler(n_due, n_nodes, self.seconds)

    def _next_task(self) -> Task | None:
        """Return a slice of the next node; None if there is none."""
        if (node := self.search.tree.select()) is None:
            return None
        self._under_way[node.number] = node
        self._workforce.begin_step(is_first=True)
        arguments = (node, self.search.tree.upper, self._context, self._budget())
        return Task(node.number, evaluate, arguments)

    def _budget(self) -> Budget:
        search, seconds, tree = self.search, self.seconds, self.search.tree
        slice_ = min(LONGEST_SLICE, max(SHORTEST_SLICE, SLICE_SHARE * seconds))
        left = self._limits.time_limit - seconds
        cores = self._workforce.cores_of_a_task(len(self._under_way) + tree.n_due + tree.n_waiting)
        if not self._workforce.works_here:
            return Budget(slice_, left, cores=cores)

        def is_cancelled() -> bool:
            self._workforce.begin_step()
            self._reporter.stepped(search)
            return self._limits.urgent() is not None

        def take(labels: NDArray[np.intp], cost: float, source: str) -> None:
            search.tree.offer(labels, cost, source)
            self._reporter.stepped(search)

        bounds = self._context.is_without_bound or not self._workforce.avoids_long_steps
        return Budget(slice_, left, is_cancelled, take, bounds, cores)

    def shutdown(self) -> None:
        """End all processes at once; evaluations under way are abandoned."""
        self._workforce.shutdown()
