"""Bounding of the subsets of one level by the processes of a pool."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sdpbb.decomposition.bounding import SubsetBounding, bound_subset
from sdpbb.decomposition.bounds import SubsetBounds
from sdpbb.executors.pool import TaskPool
from sdpbb.search.evaluations import LONGEST_SLICE
from sdpbb.search.limits import Budget, Limits
from sdpbb.search.state import SearchStatistics

# Seconds of a subset before it can be given up for taking longer than others.
PATIENCE = 5.0
# A slice of a subset is this part of the time that it has taken, or LONGEST_SLICE.
SLICE_SHARE = 0.5


@dataclass(frozen=True)
class Processes:
    """Processes that bound subsets.

    pool : of their tasks
    n_cores : that they may use together
    is_cancelled : asked between steps where the pool is that of this process
    """

    pool: TaskPool
    n_cores: int
    is_cancelled: Callable[[], bool] | None = None

    def budget(self, seconds: float, seconds_left: float, n_tasks: int) -> Budget:
        """Return the budget of a slice of a subset that has taken some seconds.

        n_tasks : under way, this one among them
        """
        at_once = max(1, min(self.pool.n_workers, n_tasks))
        budget = Budget(
            slice=max(LONGEST_SLICE, SLICE_SHARE * seconds),
            until_end=seconds_left,
            cores=max(1, self.n_cores // at_once),
        )
        return replace(budget, cancelled=self.is_cancelled) if self.is_cancelled else budget


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
        make: Callable[[int], SubsetBounding | None],
        processes: Processes,
        limits: Limits,
        statistics: SearchStatistics,
        most_times: float,
    ) -> None:
        """
        Parameters
        ----------
        bounds : are raised
        subsets : to bound, in this order
        make : returns the bounding of a subset, None where it has no bound
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
        self._running: dict[int, SubsetBounding] = {}
        self._began: dict[int, float] = {}

    @property
    def is_running(self) -> bool:
        return bool(self._running)

    def start(self) -> None:
        """Begin with subsets while a worker is free."""
        while self._todo and self._processes.pool.n_free > 0:
            subset = self._todo.pop()
            bounding = self._make(subset)
            if bounding is None:
                self._bounds.is_done[subset] = True
            else:
                self._submit(bounding)

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
                self._take(completion.value)
            elif completion.key > 0:
                lost.append(completion.key)
                self._statistics.n_lost += 1
                self._finish(self._running.pop(completion.key))
        return lost

    def _submit(self, bounding: SubsetBounding) -> None:
        subset, now = bounding.subset, self._limits.seconds
        self._running[subset] = bounding
        self._began[subset] = now
        left = self._limits.time_limit - now
        budget = self._processes.budget(bounding.seconds, left, len(self._running))
        self._processes.pool.submit(subset, bound_subset, bounding, budget)

    def _take(self, bounding: SubsetBounding) -> None:
        """Take a slice of a subset; begin the next one, or be done with it."""
        subset = bounding.subset
        taken = self._limits.seconds - self._began[subset]
        bounding = replace(bounding, seconds=bounding.seconds + taken)
        del self._running[subset]
        self._statistics.n_iterations += bounding.n_iterations
        self._bounds.raise_to(subset, bounding.lower, bounding.proof)
        if bounding.lower == math.inf:
            self.is_infeasible = True
        elif not bounding.goes_on or self._is_overdue(bounding):
            self._finish(bounding)
        elif self._limits.urgent() is None:
            self._submit(bounding)
        # Otherwise it is bounded again when the run goes on.

    def _finish(self, bounding: SubsetBounding) -> None:
        """Be done with a subset."""
        self._statistics.n_subsets += 1
        self._bounds.is_done[bounding.subset] = True
        self._bounds.seconds[bounding.subset] = bounding.seconds

    def _is_overdue(self, bounding: SubsetBounding) -> bool:
        """Return whether a subset has taken so much longer than others that it is given up."""
        mean = self._bounds.mean_seconds(self._bounds.level)
        return mean > 0.0 and bounding.seconds >= max(PATIENCE, self._most_times * mean)
