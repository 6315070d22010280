"""Worker processes of a run: this process first, others when they pay off."""

from __future__ import annotations

from sdpbb.executors.pool import Completion, TaskPool
from sdpbb.search.processes import RunProcesses

# Most runs end before another process has begun, which takes it a second. One less than wanted are
# started after the first number of seconds, on cores that are idle; the last, which competes with
# this process, after the second, or when so many nodes are finished and there is work for two.
ALONE, ALONE_LAST, ALONE_NODES = 0.4, 2.0, 3
# Steps that were seen to take longer than so many seconds are the work of another process, which
# can be left behind in the middle of one.
LONGEST_STEP = 1.0


class Workforce:
    """Worker processes of a run, and the switch to them from this process.

    - several, when the tree has work for two;
    - at least one, when a step takes so long that the limits of the run could not be kept here.

    Attributes
    ----------
    pool : of the processes that get the tasks now
    """

    def __init__(
        self,
        processes: RunProcesses,
        has_long_steps: bool = False,
        root_uses_cores: bool = False,
    ) -> None:
        """
        Parameters
        ----------
        processes : of the run
        has_long_steps : whether steps are known to take long
        root_uses_cores : whether the first node uses several cores, where there are some
        """
        self.pool: TaskPool = processes.local_pool
        self._processes = processes
        self._has_long_steps = has_long_steps
        self._root_uses_cores = root_uses_cores and processes.n_cores > 1
        self._n_started = 0

    @property
    def works_locally(self) -> bool:
        """True while tasks are done by this process, and their caller waits."""
        return self.pool is self._processes.local_pool

    @property
    def avoids_long_steps(self) -> bool:
        """True while tasks are done by this process and none of their steps may take long.

        Another process takes over next.
        """
        return self.works_locally and self._has_long_steps

    def cores_of_a_task(self, n_ready: int) -> int:
        """Return how many cores a task may use that is about to begin.

        n_ready : tasks that could begin now, this one among them
        """
        n_tasks = max(1, min(self.pool.n_workers, self.pool.n_under_way + n_ready))
        return max(1, self._processes.n_cores // n_tasks)

    @property
    def is_starting(self) -> bool:
        """True while tasks go to processes some of which have not begun yet."""
        return not self.works_locally and any(key < 0 for key in self.pool.keys)

    def record_step_time(self, seconds: float) -> None:
        """Record the longest time between two looks at the limits in a task of this process."""
        self._has_long_steps = self._has_long_steps or (
            self.works_locally and seconds > LONGEST_STEP
        )

    def choose_pool(self, n_due: int, n_nodes: int, seconds: float) -> None:
        """Start other processes when it is time to, and go over to them when it is.

        n_due : tasks that could be done at the same time
        n_nodes, seconds : of the run until now
        """
        if self.works_locally and self._has_long_steps:
            self._switch_for_long_steps()
        elif self.works_locally and self._processes.has_several_workers:
            self._switch_for_a_tree(n_due, n_nodes, seconds)

    def _switch_for_long_steps(self) -> None:
        """Go over to a process once one has begun, at the second call.

        A process takes a second to begin, and this one has heuristics to run.
        """
        if self._n_started:
            self.pool = self._processes.worker_pool
        self._start_workers(1)

    def _switch_for_a_tree(self, n_due: int, n_nodes: int, seconds: float) -> None:
        """Go over to the processes once all have begun and there is work for two."""
        grown = n_nodes >= ALONE_NODES and n_due > 1
        early = seconds < ALONE or self._root_uses_cores
        if not grown and early:
            return
        everybody = grown or seconds >= ALONE_LAST
        worker_pool = self._processes.worker_pool
        self._start_workers(worker_pool.n_workers - (0 if everybody else 1))
        worker_pool.wait(0.0)
        if n_due > 1 and everybody and not worker_pool.n_under_way:
            self.pool = worker_pool

    def _start_workers(self, n: int) -> None:
        """Start the first n workers; they have begun when these tasks are done."""
        worker_pool = self._processes.worker_pool
        while self._n_started < n and worker_pool.n_free:
            self._n_started += 1
            worker_pool.submit(-self._n_started, _start_worker)

    def wait(self, seconds: float) -> list[Completion]:
        """Return the tasks completed; waits so long at most where others work."""
        return [completion for completion in self.pool.wait(seconds) if completion.key >= 0]

    def shutdown(self) -> None:
        """End all workers at once; tasks under way are lost."""
        self._processes.shutdown()


def _start_worker() -> None:
    """Do nothing: a task that starts a worker."""
