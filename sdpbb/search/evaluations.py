"""Evaluations of nodes: the tree as a source of tasks, and the limits of the run."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sdpbb.runtime.executors.scheduler import Task
from sdpbb.search.evaluate import EvaluationContext, evaluate
from sdpbb.search.limits import Budget, Limits
from sdpbb.search.node import NodeResult
from sdpbb.search.reporting import Reporter
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


class Evaluations:
    """Evaluations of nodes in slices of time, within the limits of the run.

    Attributes
    ----------
    limit : the limit that the run has reached, so that no evaluation begins any more, or None
    """

    def __init__(
        self, context: EvaluationContext, limits: Limits, workforce: Workforce, reporter: Reporter
    ) -> None:
        self.limit: Termination | None = None
        self._context = context
        self._limits = limits
        self._workforce = workforce
        self._reporter = reporter
        self._numbers: set[int] = set()  # of the nodes
        self._urgent_since: float | None = None
        # In this process: when a task has last looked at the limits, and its longest step.
        self._looked_at, self._longest_step = 0.0, 0.0

    @property
    def seconds(self) -> float:
        """Seconds of the run until now."""
        return self._limits.seconds

    def rounds(self, search: Search) -> Iterator[list[tuple[int, NodeResult | None]]]:
        """Evaluate nodes while there are some and no limit is reached.

        Each round begins nodes while a worker is free, and waits for a moment. Yield its results
        with the numbers of their nodes: None for a node that two workers have died of.
        """
        next_task = partial(self._next_task, search)
        while True:
            self._look_at_limits(search)
            if self._is_to_end:
                return
            try:
                tasks = self._workforce.round(next_task, LOOK)
            except MemoryError:
                # Nobody knows whose it was. All nodes that are running stay as they are.
                self.limit, tasks = Termination.MEMORY_LIMIT, []
            if tasks is None:
                return
            if tasks and self._workforce.works_here:
                self._note_step()
                self._workforce.record_step_time(self._longest_step)
            self._numbers -= {task.key for task in tasks}
            yield [(task.key, task.value) for task in tasks]

    def _look_at_limits(self, search: Search) -> None:
        """Look at the limits, and choose the processes that evaluate the next nodes."""
        tree, n_nodes, seconds = search.tree, search.statistics.n_nodes, self._limits.seconds
        if self.limit is None and tree.n_open:
            self.limit = self._limits.reached(n_nodes)
            if self.limit is None and self._context.is_without_bound and tree.n_due:
                self.limit = Termination.MEMORY_LIMIT
        if self._urgent_since is None and self._limits.urgent() is not None:
            self._urgent_since = self._limits.seconds
        if self.limit is None:
            self._workforce.choose_scheduler(tree.n_due + tree.n_waiting, n_nodes, seconds)

    @property
    def _is_to_end(self) -> bool:
        """True if no node is under way and none will be, or those that are must be abandoned."""
        if self.limit is Termination.MEMORY_LIMIT or (self.limit and not self._numbers):
            return True
        since = self._urgent_since
        return since is not None and self._limits.seconds >= since + GRACE

    def _next_task(self, search: Search) -> Task | None:
        """Return a slice of the next node; None if there is none, or a limit has been reached."""
        if self.limit is not None or (node := search.tree.select()) is None:
            return None
        self._numbers.add(node.number)
        self._looked_at, self._longest_step = self._limits.seconds, 0.0
        arguments = (node, search.tree.upper, self._context, self._budget(search))
        return Task(node.number, evaluate, arguments)

    def _budget(self, search: Search) -> Budget:
        seconds, tree = self._limits.seconds, search.tree
        slice_ = min(LONGEST_SLICE, max(SHORTEST_SLICE, SLICE_SHARE * seconds))
        left = self._limits.time_limit - seconds
        cores = self._workforce.cores_of_a_task(len(self._numbers) + tree.n_due + tree.n_waiting)
        if not self._workforce.works_here:
            return Budget(slice_, left, cores=cores)

        def is_cancelled() -> bool:
            self._note_step()
            self._reporter.stepped(search)
            return self._limits.urgent() is not None

        def take(labels: NDArray[np.intp], cost: float, source: str) -> None:
            search.tree.offer(labels, cost, source)
            self._reporter.found(search)

        bounds = self._context.is_without_bound or not self._workforce.avoids_long_steps
        return Budget(slice_, left, is_cancelled, take, bounds, cores)

    def _note_step(self) -> None:
        """Note that a step of a task in this process has ended."""
        now = self._limits.seconds
        self._longest_step = max(self._longest_step, now - self._looked_at)
        self._looked_at = now

    def shutdown(self) -> None:
        """End all processes at once; evaluations under way are abandoned."""
        self._workforce.shutdown()
