"""Studies: many jobs of one question, each in isolation, within the limits of all.

A job is an instance of a batch, a number of clusters of a sweep, a constraint to price, or a point.
Its question makes the call of the job once a worker is free, so that the job starts from all that
is known by then. Outcomes come as jobs end. The study handles workers, limits, interrupts and
failures.
"""

from __future__ import annotations

import fnmatch
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from threadpoolctl import threadpool_limits

from sdpbb.bounds.registry import bounding_method
from sdpbb.errors import (
    BackendFailure,
    BackendUnavailable,
    CertificateError,
    InstanceError,
    ParameterError,
)
from sdpbb.problem import Contraction, Infeasibility, contract
from sdpbb.run.parameters import SolverParameters
from sdpbb.runtime.executors import worker
from sdpbb.runtime.executors.given import GivenExecutor, workers_beyond
from sdpbb.runtime.executors.processes import LocalProcesses
from sdpbb.runtime.executors.scheduler import Scheduler, SerialExecutor, Task
from sdpbb.runtime.files import FilePath, name_problem, shown_path
from sdpbb.runtime.interruption import interruptible
from sdpbb.runtime.memory import free_mebibytes
from sdpbb.runtime.time_left import TimeLeft
from sdpbb.search.events import Compiling, Event, Observer, Progress, ignore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from sdpbb.problem import Instance
    from sdpbb.search.result import Result

# A worker is killed this number of seconds after the time limit of its job, or after an interrupt.
GRACE = 20.0
# Seconds until other processes get jobs; they take as long to start.
SECONDS_HERE = 2.0
# Seconds between two checks of the interrupt.
PAUSE = 0.1


class Failure(StrEnum):
    """Reason why a job failed."""

    BAD_INPUT = "bad_input"
    """Its own files or parameters are wrong."""
    FAILED = "failed"
    """A solver failed, memory ran out, or there is an error in this package."""
    CRASHED = "crashed"
    """Its worker process died, also when no other job was running."""
    TIMED_OUT = "timed_out"
    """It did not end after its time limit, and was killed."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Outcome of a job.

    value : value; None: the job failed
    failure, message : the reason, and a line on what went wrong, or "". A value can also have a
        message: its certificate could not be written
    attempts : number of workers that have started with the job
    seconds : of the job, in the last of its workers
    """

    value: Any = None
    failure: Failure | None = None
    message: str = ""
    attempts: int = 1
    seconds: float = 0.0


J = TypeVar("J")
Answer = TypeVar("Answer")
Begin = Callable[[J, float, threading.Event | None], partial[Outcome]]
"""Function that returns the call of a job, which returns its outcome.

Its arguments are the job, its seconds, and the event that interrupts it. That is None in worker
processes, which have `worker.interrupt`.
"""


class Study(Generic[J]):
    """Workers, limits and interrupts of the jobs of one question.

    Attributes
    ----------
    stop : set by an interrupt
    """

    def __init__(
        self,
        parameters: SolverParameters,
        executor: Executor | None = None,
        *,
        time_limit_each: float | Callable[[J], float] = math.inf,
        reads_files: bool = False,
        observer: Callable[[Compiling], None] = lambda event: None,
    ) -> None:
        """
        Parameters
        ----------
        parameters : number of workers, and the time limit of the whole study
        executor : as for `sdpbb.solve`; each worker does one job at a time
        time_limit_each : seconds for each job, or a function of the job
        reads_files : whether each job reads its own files. Wrong files, or an error in this
            package, then fail this job only; otherwise they are raised
        observer : receives the event that kernels are compiled, before other processes start

        Raises
        ------
        ParameterError
            If the executor is not one, or the parameters also ask for workers; if time_limit_each
            is not above 0.
        """
        # It needs SciPy, which help texts do not wait for.
        from sdpbb.run.arguments import check_executor

        check_executor(executor, parameters)
        if not callable(time_limit_each) and not time_limit_each > 0:
            raise ParameterError(f"time_limit_each = {time_limit_each}: expected seconds > 0")
        self._given: GivenExecutor | None = None
        self.stop = threading.Event()
        self._parameters, self._executor = parameters, executor
        self._each = time_limit_each
        self._observer = observer
        self._reads_files = reads_files
        self._workers: Scheduler | None = None
        self._jobs: dict[int, J] = {}
        self._started = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the beginning of the study."""
        return time.monotonic() - self._started

    def ended(self) -> dict[str, Any]:
        """Return the fields of a report: whether an interrupt ended the study, and its duration."""
        return {"interrupted": self.stop.is_set(), "seconds": self.seconds}

    def conduct(self, interrupt: threading.Event | None, work: Callable[[], Answer]) -> Answer:
        """Return what `work` returns; the workers end with it. `work` calls `solve` and `outcomes`.

        interrupt : event that ends the jobs early. None: the first Ctrl-C ends them, and the answer
            is raised as an exception (`runtime.interruption.interruptible`)
        """

        def begun(stop: threading.Event) -> Answer:
            asked = self._parameters
            self.stop, self._started = stop, time.monotonic()
            with ExitStack() as self._block:
                beyond = workers_beyond(self._executor, asked.dask, asked.mpi, prepare)
                self._given = self._block.enter_context(beyond)
                return work()

        return interruptible(interrupt, begun)

    def solve(
        self, instance: Instance, observer: Observer, start: ArrayLike | None = None
    ) -> Result:
        """Solve the instance that the jobs start from, with all workers."""
        from sdpbb.run.solver import solve

        given = None if self._given is None else self._given.executor
        own = self._parameters.alone(self._parameters.workers)
        return solve(instance, own, observer, self.stop, start=start, executor=given)

    def outcomes(
        self,
        jobs: Iterable[J],
        begin: Begin[J],
        *,
        needs_processes: bool = False,
        begins_here: bool = False,
    ) -> Iterator[tuple[J, Outcome]]:
        """Do jobs in their order, until a limit or an interrupt; yield each with its outcome.

        needs_processes : whether even a single worker is another process, as that can be ended in
            the middle of a long step
        begins_here : whether this process does the jobs of the first seconds, until others start
        """
        waiting = deque(jobs)
        with Scheduler(SerialExecutor()) as here:
            if begins_here and not needs_processes:
                yield from self._done(waiting, begin, here, self.stop, self.seconds + SECONDS_HERE)
            is_single = min(self._parameters.workers, len(waiting)) <= 1
            if not waiting or (is_single and self._given is None and not needs_processes):
                yield from self._done(waiting, begin, here, self.stop)
                return
        if self._workers is None:
            self._workers = self._block.enter_context(Scheduler(self._given or self._processes()))
        yield from self._done(waiting, begin, self._workers)

    def _done(
        self,
        waiting: deque[J],
        begin: Begin[J],
        scheduler: Scheduler,
        stop: threading.Event | None = None,
        end: float = math.inf,
    ) -> Iterator[tuple[J, Outcome]]:
        """Run waiting jobs. No job starts later than `end` seconds after the study began.

        stop : interrupts jobs in this process; None in others
        """

        def next_task() -> Task | None:
            if not waiting or self.stop.is_set() or self.seconds > end:
                return None
            each = self._each(waiting[0]) if callable(self._each) else self._each
            seconds = min(each, self._parameters.time_limit - self.seconds)
            if seconds <= 0:
                return None
            job, number = waiting.popleft(), len(self._jobs)
            self._jobs[number] = job
            call = begin(job, seconds, stop)
            return Task(number, isolated, (call, self._reads_files), seconds)

        while (tasks := scheduler.round(next_task, PAUSE)) is not None:
            for task in tasks:
                if not (task.value is None and self.stop.is_set()):  # ended by the interrupt
                    yield self._jobs[task.key], self._outcome(task)
            if self.stop.is_set():
                scheduler.interrupt()

    def _processes(self) -> LocalProcesses:
        """Return worker processes; they find in the cache what this process compiles first."""
        from sdpbb.runtime.jit import clock_stopped_by_compiler

        with clock_stopped_by_compiler(lambda: self._observer(Compiling())):
            prepare()
        return LocalProcesses(self._parameters.workers, prepare, grace=GRACE)

    def _outcome(self, task: Task) -> Outcome:
        if task.is_overdue:
            late = f"did not end within {GRACE:g} s after its time limit of {task.seconds:g} s"
            outcome = _failed(Failure.TIMED_OUT, f"{late}, and was killed")
        elif task.is_lost:
            first, again = task.deaths
            times = ", both times" if first == again else f"; on retry: {again}"
            outcome = _failed(Failure.CRASHED, f"worker process {first}{times}")
        else:
            outcome = task.value
        return replace(outcome, attempts=task.n_attempts)


def prepare() -> None:
    """Import the engine, and compile all kernels."""
    from sdpbb.run.kernels import compile_all

    compile_all()


def isolated(call: partial[Outcome], catches_all: bool) -> Outcome:
    """Return the outcome of a job; a failure is an outcome, too.

    catches_all : whether wrong input and errors in this package are also failures
    """
    started = time.monotonic()
    try:
        return replace(call(), seconds=time.monotonic() - started)
    except (BackendFailure, BackendUnavailable) as error:
        return _failed(Failure.FAILED, str(error))
    except MemoryError:
        return _failed(Failure.FAILED, "memory ran out")
    except Exception as error:
        if not catches_all:
            raise
        if isinstance(error, (InstanceError, ParameterError)):
            return _failed(Failure.BAD_INPUT, str(error))
        return _failed(Failure.FAILED, f"internal error: {type(error).__name__}: {error}")


def _failed(failure: Failure, message: str) -> Outcome:
    return Outcome(failure=failure, message=" ".join(message.split()))


def solve_job(
    instance: Instance,
    parameters: SolverParameters,
    stop: threading.Event | None = None,
    observer: Observer = ignore,
    *,
    start: ArrayLike | None = None,
    checkpoint: str | None = None,
    certificate: str | None = None,
) -> Outcome:
    """Solve the instance of a job, or resume its run if the checkpoint exists.

    Seconds of an earlier run are added to the time limit. The message of the outcome says why its
    certificate could not be written.

    stop : interrupts the run; None: the event of the worker process
    """
    from sdpbb.run.solver import resume, solve

    stop = worker.interrupt if stop is None else stop
    try:
        if checkpoint is None or not os.path.exists(checkpoint):
            return Outcome(
                solve(instance, parameters, observer, stop, checkpoint, start, certificate)
            )
        return Outcome(
            resume(
                checkpoint,
                observer,
                stop,
                certificate=certificate,
                more_time=parameters.time_limit,
                node_limit=parameters.node_limit,
                memory_limit=parameters.memory_limit,
                workers=parameters.workers,
            )
        )
    except CertificateError as error:
        if error.result is None:
            raise
        return Outcome(error.result, message=str(error))


def fits_one_matrix(contraction: Contraction, parameters: SolverParameters) -> bool:
    """Return whether each worker can bound all blocks at once, without subsets."""
    n_blocks, has_limits = contraction.n_blocks, contraction.has_limits
    needed = parameters.workers * bounding_method("sdp").mebibytes(contraction)
    is_large = parameters.decomposition.is_large(n_blocks, has_limits)
    return not is_large and needed <= free_mebibytes()


def has_long_steps(contraction: Contraction) -> bool:
    """Return whether a step of the bound is too long for this process."""
    return contraction.n_blocks > bounding_method("sdp").most_blocks_here


def advanced(run: Any, until: float, above: float, time_left: TimeLeft, n_steps: int) -> float:
    """Advance a bound by n_steps evaluations, or fewer if it comes to `until`; return its value."""
    for _ in range(n_steps):
        progress = run.advance(above, time_left)
        if progress.bound.value >= until or progress.stalled or time_left() <= 0:
            break
    return float(progress.bound.value)


def quick_bound(
    contraction: Contraction | Infeasibility,
    above: float,
    time_left: TimeLeft,
    n_steps: int,
    warm_start: Any = None,
) -> float:
    """Return a lower bound that n_steps evaluations prove, or fewer if they come to `above`.

    It is inf if no clustering exists, and -inf if there are too few blocks for the bound.

    n_steps : 0: only contradictions are detected
    warm_start : dual values of a similar contraction, or None
    """
    if isinstance(contraction, Infeasibility):
        return math.inf
    if contraction.n_blocks <= contraction.k or n_steps == 0:  # the engine counts
        return -math.inf
    with threadpool_limits(1):
        run = bounding_method("sdp").start(contraction, warm_start)
        return advanced(run, above, above, time_left, n_steps)


class Decision(NamedTuple):
    """Bound and clustering that a job has found.

    bound : lower bound on the least cost; inf if no clustering exists
    labels : labels (n,) of the best clustering found, or None
    """

    bound: float
    labels: NDArray[np.intp] | None = None


def bound_job(
    instance: Instance,
    pairs: dict[str, Any],
    above: float,
    seconds: float,
    n_steps: int,
    warm_start: Any = None,
) -> Outcome:
    """Bound an instance with further pairs (`quick_bound`); the value is a `Decision`.

    pairs : lists of pairs by name, `must_link` or `cannot_link`
    """
    end = time.monotonic() + seconds
    changed = contract(instance, **pairs)
    bound = quick_bound(changed, above, lambda: end - time.monotonic(), n_steps, warm_start)
    return Outcome(Decision(bound))


class EitherEvent(threading.Event):
    """Event that also counts as set while another one is."""

    def __init__(self, other: threading.Event) -> None:
        super().__init__()
        self._other = other

    def is_set(self) -> bool:
        return super().is_set() or self._other.is_set()


def decide_job(
    instance: Instance, parameters: SolverParameters, limit: float, stop: threading.Event | None
) -> Outcome:
    """Solve an instance until it is known whether a clustering costs at most `limit`.

    The value is a `Decision`.
    """
    known = EitherEvent(worker.interrupt if stop is None else stop)

    def observe(event: Event) -> None:
        if isinstance(event, Progress) and (event.lower > limit or event.upper <= limit):
            known.set()

    outcome = solve_job(instance, parameters, known, observe)
    result: Result | None = outcome.value
    if result is None:
        return outcome
    if result.infeasibility is not None:
        return replace(outcome, value=Decision(math.inf))
    labels = None if result.partition is None else result.partition.labels
    return replace(outcome, value=Decision(result.lower_bound or 0.0, labels))


def make_folder(path: FilePath, pattern: str, resume: bool) -> str:
    """Make a folder for the results of a study, unless it exists, and return its path.

    pattern : pattern of the names of result files
    resume : whether the folder may hold results

    Raises
    ------
    InstanceError
        If the folder cannot be made, or holds results that are not to be resumed.
    """
    if problem := name_problem(path):
        raise InstanceError(problem)
    folder = os.fspath(path)
    with writing(folder, "; expected a folder"):
        os.makedirs(folder, exist_ok=True)
    names = [] if resume else sorted(fnmatch.filter(os.listdir(folder), pattern))
    for file in (os.path.join(folder, name) for name in names):
        if os.path.getsize(file):
            raise InstanceError(
                f"{shown_path(file)}: holds results already; resume with --resume (resume=True), "
                "or give a new folder"
            )
    return folder


@contextmanager
def writing(path: str, then: str = "") -> Iterator[None]:
    """Context manager: an OSError becomes an InstanceError on what could not be written.

    then : the end of the message
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise InstanceError(f"{shown_path(path)}: could not be written ({reason}){then}") from None
