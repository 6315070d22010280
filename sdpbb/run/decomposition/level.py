"""Subsets of one level as a source of tasks, and the bounds that these raise."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sdpbb.run.decomposition.bounding import SubsetProgress, SubsetTask, bound_subset
from sdpbb.run.decomposition.bounds import SubsetBounds
from sdpbb.runtime.executors.scheduler import Task
from sdpbb.search.evaluations import LONGEST_SLICE
from sdpbb.search.limits import Budget, Limits
from sdpbb.search.tree import Search
from sdpbb.search.workforce import Workforce

# Seconds of a subset before it can be given up for taking longer than others.
PATIENCE = 1.0
# A slice of a subset is this part of the time that it has taken, or LONGEST_SLICE.
SLICE_SHARE = 0.5


@dataclass
class _Running:
    """Subset that is being bounded.

    seconds : that its slices have taken until the present one, which began at `began`
    """

    task: SubsetTask
    progress: SubsetProgress
    seconds: float = 0.0
    began: float = 0.0


class LevelBounding:
    """Bounding of subsets of a level, in slices of time.

    Attributes
    ----------
    is_infeasible : whether a subset has no clustering
    """

    def __init__(
        self,
        bounds: SubsetBounds,
        subsets: Sequence[int],
        make: Callable[[int], tuple[SubsetTask, SubsetProgress] | None],
        workforce: Workforce,
        limits: Limits,
        search: Search,
        most_times: float,
        most_tasks: int,
        is_cancelled: Callable[[], bool],
    ) -> None:
        """
        Parameters
        ----------
        bounds : are raised
        subsets : to bound, in this order
        make : returns a subset to bound, and its progress; None where it has no bound
        search : counts them
        most_times : a subset is given up that takes so many times as long as others
        most_tasks : at the same time, which the memory holds
        is_cancelled : asked between steps of subsets that this process bounds
        """
        self.is_infeasible = False
        self._bounds = bounds
        self._todo = list(reversed(subsets))
        self._make = make
        self._workforce = workforce
        self._limits = limits
        self._search = search
        self._most_times, self._most_tasks = most_times, most_tasks
        self._is_cancelled = is_cancelled
        self._ready: deque[_Running] = deque()
        self._running: dict[int, _Running] = {}

    def next_task(self) -> Task | None:
        """Return a slice of the next subset; None if there is none, or memory holds no more."""
        if len(self._running) >= self._most_tasks:
            return None
        self.prepare(1)
        if not self._ready:
            return None
        running = self._ready.popleft()
        subset, running.began = running.task.subset, self._limits.seconds
        self._running[subset] = running
        return Task(subset, bound_subset, (running.task, running.progress, self._budget(running)))

    def prepare(self, count: int) -> None:
        """Prepare subsets until some are ready to be bounded, if enough remain."""
        while self._todo and len(self._ready) < count:
            subset = self._todo.pop()
            made = self._make(subset)
            if made is None:
                self._bounds.is_done[subset] = True
            else:
                self._ready.append(_Running(*made))

    def _budget(self, running: _Running) -> Budget:
        """Return the budget of the next slice of a subset."""
        left, seconds = self._limits.time_limit - running.began, running.seconds
        slice_ = min(max(LONGEST_SLICE, SLICE_SHARE * seconds), self._most_seconds() - seconds)
        cores = self._workforce.cores_of_a_task(len(self._running), self._most_tasks)
        if not self._workforce.works_here:
            return Budget(slice_, left, cores=cores)
        return Budget(slice_, left, self._is_cancelled, cores=cores)

    def take(self, task: Task) -> bool:
        """Take a slice of a subset; return whether two workers have died of it.

        Such a subset is done with.
        """
        running = self._running.pop(task.key)
        if task.is_lost:
            self._search.count(n_lost_subsets=1)
            self._finish(running)
        else:
            self._take(running, task.value)
        return task.is_lost

    def _take(self, running: _Running, progress: SubsetProgress) -> None:
        """Take a slice of a subset, which is done with or has another one."""
        running.progress = progress
        running.seconds += self._limits.seconds - running.began
        self._search.count(n_iterations=progress.n_iterations)
        self._bounds.raise_to(running.task.subset, progress.lower, progress.proof)
        if progress.lower == math.inf:
            self.is_infeasible = True
        elif not progress.goes_on or self._is_overdue(running):
            self._finish(running)
        else:
            self._ready.appendleft(running)  # its next slice comes before other subsets

    def _finish(self, running: _Running) -> None:
        """Be done with a subset."""
        subset = running.task.subset
        self._search.count(n_subsets=1)
        self._bounds.is_done[subset] = True
        self._bounds.seconds[subset] = running.seconds

    def _is_overdue(self, running: _Running) -> bool:
        """Return whether a subset has taken so much longer than others that it is given up."""
        return running.seconds >= self._most_seconds()

    def _most_seconds(self) -> float:
        """Return the seconds that a subset may take."""
        mean = self._bounds.mean_seconds(self._bounds.level)
        return max(PATIENCE, self._most_times * mean) if mean > 0.0 else math.inf
