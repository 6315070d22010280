"""Workers of a run: this process first, other processes when they pay off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sdpbb.runtime.executors.given import GivenExecutor
from sdpbb.runtime.executors.processes import LocalProcesses
from sdpbb.runtime.executors.scheduler import Scheduler, SerialExecutor, Task, TaskSource, source_of
from sdpbb.runtime.time_left import RUN_CLOCK

# A process takes a second to start, and most runs end sooner. Processes start once the tree has
# work for two, and this many seconds or nodes have passed.
ALONE, ALONE_NODES = 2.0, 3
# If a step has taken more seconds than this, other processes do the next steps: they can be
# abandoned in the middle of a step.
LONGEST_STEP = 1.0


@dataclass(eq=False)
class Workforce:
    """Workers of a run, and the switch to them from this process.

    Tasks move from this process to other ones

    - when the tree has work for two workers,
    - or when a step takes so long that this process could not meet the limits of the run.

    A context manager, which ends the workers.

    n_workers : of this machine; each may use a core
    warm_up : function of a module, called here before other processes start, and in each of them
        before its first task
    given : executor of the user, whose workers have their own memory; None: processes of this
        machine
    on_death : called when a worker dies whose task is repeated, with the reason
    here : scheduler of this process
    scheduler : scheduler that has the tasks now: `here`, or the scheduler of the workers
    n_cores : cores of this machine for all processes together
    """

    n_workers: int
    warm_up: Callable[[], None]
    given: GivenExecutor | None = None
    on_death: Callable[[str], object] = lambda reason: None

    def __post_init__(self) -> None:
        self.here = self.scheduler = Scheduler(SerialExecutor())
        self.n_cores, self.is_given = self.n_workers, self.given is not None
        self._workers: Scheduler | None = None
        self._starts: TaskSource | None = None
        self._has_long_steps, self._checked_at = False, RUN_CLOCK()

    def __enter__(self) -> Workforce:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    @property
    def workers(self) -> Scheduler:
        """Scheduler of the workers, made when it is first used."""
        if self._workers is None:
            executor = self.given or self._local_processes()
            self._workers = Scheduler(executor, on_death=lambda key, reason: self.on_death(reason))
        return self._workers

    def _local_processes(self) -> LocalProcesses:
        with RUN_CLOCK.stopped():
            self.warm_up()  # workers load from the cache what this process compiles
        return LocalProcesses(self.n_workers, self.warm_up)

    @property
    def has_several_workers(self) -> bool:
        """True if the workers can do more than one task at a time."""
        return self.is_given or self.n_workers > 1

    @property
    def n_at_once(self) -> int:
        """Tasks that run at the same time; 1 while a cluster has no worker."""
        return max(1, self.workers.n_workers) if self.has_several_workers else 1

    @property
    def works_here(self) -> bool:
        """True while this process does the tasks, one at a time."""
        return self.scheduler is self.here

    @property
    def avoids_long_steps(self) -> bool:
        """True if this process still does the tasks, but must not begin a long step."""
        return self.works_here and self._has_long_steps

    def cores_of_a_task(self, n_tasks: int, most_tasks: int | None = None) -> int:
        """Return how many cores a task may use.

        n_tasks : tasks that run or could begin now, including this one
        most_tasks : maximum number at the same time, limited by memory; None: any number
        """
        n_at_once = min(self.scheduler.n_workers, n_tasks, most_tasks or n_tasks)
        return max(1, self.n_cores // max(1, n_at_once))

    def allow_workers(self, most: int) -> None:
        """Limit the workers of this machine to a number that fits the memory."""
        if most < self.n_workers:
            self.n_workers = most
            self.shutdown()

    def choose_for_subsets(self, have_long_steps: bool) -> None:
        """Let workers bound subsets if there are several, or if steps take long."""
        self.scheduler = self.workers if have_long_steps or self.has_several_workers else self.here

    def begin_tree(self, has_long_steps: bool) -> None:
        """Let this process evaluate the first nodes of a tree.

        has_long_steps : whether steps are known to take long
        """
        self.scheduler, self._has_long_steps = self.here, has_long_steps

    def check_step(self, is_new: bool = False) -> None:
        """Measure the last step of a task in this process: the limits are checked after each.

        is_new : whether there was no step since the last call
        """
        now = RUN_CLOCK()
        if self.works_here and not is_new and now - self._checked_at > LONGEST_STEP:
            self._has_long_steps = True
        self._checked_at = now

    def choose_scheduler(self, n_due: int, n_nodes: int, seconds: float) -> None:
        """Start the workers, or pass the tasks on to them, when that pays off.

        n_due : tasks that could run at the same time
        n_nodes, seconds : of the run until now
        """
        if not self.works_here:
            return
        if self._has_long_steps:
            # At the second call: a process takes a second to start, and this one runs heuristics
            # meanwhile.
            if self._starts is not None:
                self.scheduler = self.workers
            self.start_workers()
            return
        has_grown = n_due > 1 and (n_nodes >= ALONE_NODES or seconds >= ALONE)
        if has_grown and self.has_several_workers and self.start_workers():
            self.scheduler = self.workers

    def start_workers(self) -> bool:
        """Start all workers, which takes a second; return whether all have started."""
        if self._starts is None:
            starts = (Task(number, _start_worker) for number in range(self.n_at_once))
            self._starts = source_of(*starts)
        self.workers.round(self._starts, 0.0)
        return self.workers.is_idle

    def round(self, next_task: TaskSource, seconds: float) -> list[Task] | None:
        """Begin tasks and wait for some, as `Scheduler.round` does."""
        tasks = self.scheduler.round(next_task, seconds)
        return tasks and [task for task in tasks if task.function is not _start_worker]

    def shutdown(self) -> None:
        """End all workers at once; running tasks are lost."""
        if self._workers is not None:
            self._workers.shutdown()
        self._workers = self._starts = None


def _start_worker() -> None:
    """Do nothing: a task that starts a worker."""
