"""Bounding of the subsets of one level by the processes of a pool."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sdpbb.decomposition.bounding import SubsetProgress, SubsetTask, bound_subset
from sdpbb.decomposition.bounds import SubsetBounds
from sdpbb.executors.pool import TaskPool
from sdpbb.search.evaluations import LONGEST_SLICE
from sdpbb.search.limits import Budget, Limits
from sdpbb.search.state import SearchStatistics

# Seconds of a subset before it can be given up for taking longer than others.
PATIENCE = 1.0
# A slice of a subset is this part of the time that it has taken, or LONGEST_SLICE.
SLICE_SHARE = 0.5


@dataclass(frozen=True)
class SubsetProcesses:
    """Processes that bound subsets.

    pool : of their tasks
    n_cores : that they may use together
    most_tasks : at the same time, which the memory holds
    is_cancelled : asked between steps where the pool is that of this process
    """

    pool: TaskPool
    n_cores: int
    most_tasks: int
    is_cancelled: Callable[[], bool] | None = None

    def n_free(self, n_running: int) -> int:
        """Return how many subsets can be begun while so many are bounded."""
        return min(self.pool.n_free, self.most_tasks - n_running)

    def budget(
        self, seconds: float, most_seconds: float, seconds_left: float, n_tasks: int
    ) -> Budget:
        """Return the budget of a slice of a subset that has taken some seconds.

        most_seconds : that it may take in all
        n_tasks : under way, this one among them
        """
        at_once = max(1, min(self.pool.n_workers, self.most_tasks, n_tasks))
        budget = Budget(
            slice=min(max(LONGEST_SLICE, SLICE_SHARE * seconds), most_seconds - seconds),
            until_end=seconds_left,
            cores=max(1, self.n_cores // at_once),
        )
        return replace(budget, cancelled=self.is_cancelled) if self.is_cancelled else budget


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
    """Bounding of subsets of a level, one after the other, as many at a time as there are workers.

    Attributes
    ----------
    is_infeasible : whether a subset has no clustering
    """

    def __init__(
        self,
        bounds: SubsetBounds,
        subsets: Sequence[int],
        make: Callable[[int], tuple[SubsetTask, SubsetProgress] | None],
        processes: SubsetProcesses,
        limits: Limits,
        statistics: SearchStatistics,
        most_times: float,
    ) -> None:
        """
        Parameters
        ----------
        bounds : are raised
        subsets : to bound, in this order
        make : returns a subset to bound, and its progress; None where it has no bound
        most_times : a subset is given up that takes so many times as long as others
        """
        self.is_infeasible = False
        self._bounds = bounds
        self._todo = list(reversed(subsets))
        self._make = make
        self._processes = processes
        self._limits = limits
        self._statistics = statistics
        self._most_times = most_times
        self._ready: deque[_Running] = deque()
        self._running: dict[int, _Running] = {}

    @property
    def is_running(self) -> bool:
        return bool(self._running)

    def start(self) -> None:
        """Begin with subsets while a worker is free; make those ready that come next."""
        while self._processes.n_free(len(self._running)) > 0:
            self._make_ready(1)
            if not self._ready:
                return
            self._submit(self._ready.popleft())
        self._make_ready(self._processes.pool.n_workers)  # while the others are bounded

    def _make_ready(self, count: int) -> None:
        """Make the next subsets until so many are ready to be bounded, if so many are left."""
        while self._todo and len(self._ready) < count:
            subset = self._todo.pop()
            made = self._make(subset)
            if made is None:
                self._bounds.is_done[subset] = True
            else:
                self._ready.append(_Running(*made))

    def wait(self, seconds: float) -> list[int]:
        """Take the slices that end within so many seconds.

        Return the subsets of which two workers have died. They are done with.

        Raises
        ------
        MemoryError
            Of any of the workers.
        """
        lost = []
        for completion in self._processes.pool.wait(seconds):
            if not completion.lost:
                self._take(self._running.pop(completion.key), completion.value)
            else:
                lost.append(completion.key)
                self._statistics.n_lost_subsets += 1
                self._finish(self._running.pop(completion.key))
        return lost

    def _submit(self, running: _Running) -> None:
        """Have a slice of a subset evaluated."""
        subset, running.began = running.task.subset, self._limits.seconds
        self._running[subset] = running
        left = self._limits.time_limit - running.began
        budget = self._processes.budget(
            running.seconds, self._most_seconds(), left, len(self._running)
        )
        pool = self._processes.pool
        pool.submit(subset, bound_subset, running.task, running.progress, budget)

    def _take(self, running: _Running, progress: SubsetProgress) -> None:
        """Take a slice of a subset; begin the next one, or be done with it."""
        running.progress = progress
        running.seconds += self._limits.seconds - running.began
        self._statistics.n_iterations += progress.n_iterations
        self._bounds.raise_to(running.task.subset, progress.lower, progress.proof)
        if progress.lower == math.inf:
            self.is_infeasible = True
        elif not progress.goes_on or self._is_overdue(running):
            self._finish(running)
        elif self._limits.urgent() is None:
            self._submit(running)
        # Otherwise it is bounded again when the run goes on.

    def _finish(self, running: _Running) -> None:
        """Be done with a subset."""
        subset = running.task.subset
        self._statistics.n_subsets += 1
        self._bounds.is_done[subset] = True
        self._bounds.seconds[subset] = running.seconds

    def _is_overdue(self, running: _Running) -> bool:
        """Return whether a subset has taken so much longer than others that it is given up."""
        return running.seconds >= self._most_seconds()

    def _most_seconds(self) -> float:
        """Return the seconds that a subset may take."""
        mean = self._bounds.mean_seconds(self._bounds.level)
        return max(PATIENCE, self._most_times * mean) if mean > 0.0 else math.inf
