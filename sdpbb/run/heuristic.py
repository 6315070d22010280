"""`sdpbb.heuristic`: published heuristics by name, and `RootRelaxation` for starts from the SDP."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from heuristics.descent import Descent
from heuristics.first_clustering import first_clustering
from heuristics.method import Heuristic
from heuristics.multi_start import MultiStart
from heuristics.parameters import HeuristicSchedule
from heuristics.registry import method as registered
from heuristics.result import HeuristicResult
from sdpbb.bounds.registry import bounding_method
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction
from sdpbb.problem.sources import InstanceArguments
from sdpbb.run.kernels import WarmUp
from sdpbb.runtime.executors.executor import SerialExecutor, TaskExecutor
from sdpbb.runtime.executors.memory import free_mebibytes
from sdpbb.runtime.executors.processes import LocalProcesses
from sdpbb.runtime.executors.scheduler import Scheduler, Task, source_of
from sdpbb.runtime.jit import clock_stopped_by_compiler
from sdpbb.runtime.time_left import RUN_CLOCK, TimeLeft
from sdpbb.search.loop import GRACE, LOOK

# The relaxation is solved until its bound is so close to a clustering's cost that the starts it
# gives hardly change any more.
GAP = 1e-5
# Keywords that state an instance; the others are parameters of a heuristic.
OF_INSTANCE = frozenset(InstanceArguments.__annotations__)
# Blocks of a relaxation that takes a second an iteration; larger ones take hours.
MOST_BLOCKS = 4000


def size_problem(contraction: Contraction) -> str | None:
    """Return why the relaxation of a contraction is too large to be solved, or None."""
    n_blocks = contraction.n_blocks
    if n_blocks > MOST_BLOCKS:
        return f"the relaxation has {n_blocks} blocks, and takes hours for more than {MOST_BLOCKS}"
    needed, free = bounding_method("sdp").mebibytes(contraction), free_mebibytes()
    if needed > free:
        return (
            f"the relaxation needs about {needed:.0f} MiB for {n_blocks} blocks; {free:.0f} MiB "
            "are free"
        )
    return None


@overload
def heuristic(given: str, /, **arguments: Any) -> Heuristic: ...


@overload
def heuristic(
    given: Any, k: int | str, method: str | None = None, /, *, seed: int = 0, **arguments: Any
) -> HeuristicResult: ...


def heuristic(
    given: Any,
    k: int | str | None = None,
    method: str | None = None,
    /,
    *,
    seed: int = 0,
    **arguments: Any,
) -> Heuristic | HeuristicResult:
    """Run a heuristic on points, or return it by its name alone.

    Examples
    --------
    >>> import sdpbb
    >>> points = [[0.0], [0.1], [5.0], [5.1]]
    >>> sdpbb.heuristic(points, 2, "cop-kmeans", cannot_link=[(0, 1)], seed=1).labels.tolist()
    [0, 1, 1, 1]
    >>> round(sdpbb.heuristic("cop-kmeans", n_starts=5).run(points, 2).sum_of_squares, 3)
    0.01

    Parameters
    ----------
    given : an array of points (n, d), a data frame, or an `Instance`; or the name of a heuristic
    k : number of clusters, of points; the name of the heuristic, of an `Instance`, which states k
    method : the name of a published heuristic, as `sdpbb heuristic --list` and docs/heuristics.md
        have them, or of a class of your own (`heuristics.register`)
    seed : of the random choices of the run
    arguments : parameters of the heuristic, and of points what makes an `Instance` of them, as for
        `sdpbb.solve`. For "ipc-kmeans" with start="sdp" the semidefinite relaxation is supplied

    Returns
    -------
    The result of the run; the configured heuristic, whose `run` takes the points, of a name alone.

    Raises
    ------
    ParameterError
        If there is no such heuristic or parameter (the message lists those there are), or a
        parameter is outside of its domain.
    InstanceError
        As `Heuristic.run` does.
    """
    if isinstance(given, str):
        if k is not None or method is not None:
            raise ParameterError(
                f"the heuristic {given!r} comes after the points: sdpbb.heuristic(points, k, "
                f"{given!r})"
            )
        return _configured(given, arguments)
    if isinstance(k, str):
        k, method = None, k
    if method is None:
        raise ParameterError(
            "no heuristic is named; expected its name without a keyword, as in "
            "sdpbb.heuristic(points, 5, 'best-of') or sdpbb.heuristic(instance, 'best-of')"
        )
    stated = {name: value for name, value in arguments.items() if name in OF_INSTANCE}
    parameters = {name: value for name, value in arguments.items() if name not in OF_INSTANCE}
    return _configured(method, parameters).run(given, k=k, seed=seed, **stated)


def _configured(name: str, parameters: dict[str, Any]) -> Heuristic:
    """Return a heuristic; of "ipc-kmeans" with start="sdp" with the semidefinite relaxation."""
    if name == "ipc-kmeans" and parameters.get("start") == "sdp":
        relaxation = RootRelaxation(parameters.get("time_limit", math.inf))
        parameters = {"affinities": relaxation, **parameters}
    return registered(name, **parameters)


@dataclass(frozen=True)
class RootRelaxation:
    """Semidefinite relaxation of a contraction, solved as at the root of `sdpbb.solve`.

    Parameters
    ----------
    time_limit : seconds, > 0. Steps that take long, on many blocks, are those of another process,
        which is left behind then
    """

    time_limit: float = math.inf

    def __call__(self, contraction: Contraction) -> Iterator[NDArray[np.float64]]:
        """Yield affinities Z (m, m) of the blocks: nonnegative, zero on cannot-links, Z e ~ 1.

        One after each evaluation of the bound, the last when it meets the cost of a clustering
        found before or hardly approaches it any more.

        Parameters
        ----------
        contraction : must have a clustering (see `sdpbb.problem.feasibility.find_feasible`)

        Raises
        ------
        ParameterError
            If there are more than `MOST_BLOCKS` blocks, or its matrices do not fit the memory.
        """
        if problem := size_problem(contraction):
            raise ParameterError(f"start = 'sdp': {problem}; expected 'k-means++'")
        if contraction.n_blocks == contraction.k:
            yield np.diag(1.0 / contraction.weights)
            return
        if not contraction.means.any():  # all clusterings cost the same
            yield np.full((contraction.n_blocks,) * 2, 1.0 / contraction.weights.sum())
            return
        end = RUN_CLOCK() + self.time_limit
        with threadpool_limits(1), clock_stopped_by_compiler():  # see `sdpbb.run.run`
            known = _cost_of_some(contraction, lambda: end - RUN_CLOCK())
            with Scheduler(_executor(contraction)) as scheduler:
                run = None
                while run is None or RUN_CLOCK() < end:
                    seconds = end - RUN_CLOCK()
                    task = Task(0, _step, (contraction, run, known, seconds))
                    done = _within(scheduler, task, end)
                    if done is None:
                        return
                    run = done.run
                    yield done.affinity
                    if done.is_last:
                        return


@dataclass(frozen=True, eq=False)
class _Step:
    """Bounding by the relaxation after a step."""

    run: Any
    affinity: NDArray[np.float64]
    is_last: bool


def _cost_of_some(contraction: Contraction, time_left: TimeLeft) -> float:
    """Return the cost of a good clustering, within limits where there are some; inf for none."""
    effort, rng = HeuristicSchedule().before, np.random.default_rng(0)
    known = first_clustering(contraction, time_left)
    if not isinstance(known, np.ndarray):
        return math.inf
    descent = Descent(contraction, effort, known, time_left)
    found = MultiStart(effort).run(contraction, rng, descent=descent)
    return found.cost if contraction.keeps_sizes(found.labels) else math.inf


def _step(contraction: Contraction, begun: Any, cost: float, seconds: float) -> _Step:
    """Evaluate the bound once more, within so many seconds if that can be foreseen."""
    end, bounding = RUN_CLOCK() + seconds, bounding_method("sdp")
    is_first = begun is None
    run = bounding.start(contraction, None) if is_first else bounding.resume(contraction, begun)
    progress = run.advance(cost, lambda: end - RUN_CLOCK())
    is_last = progress.stalled or progress.bound.value >= (1.0 - GAP) * cost
    return _Step(run, run.affinity(), is_last)


def _executor(contraction: Contraction) -> TaskExecutor:
    """Return that of this process, or of another one that can be left behind in a long step."""
    if contraction.n_blocks > bounding_method("sdp").most_blocks_here:
        return LocalProcesses(1, WarmUp("sdp"))
    return SerialExecutor()


def _within(scheduler: Scheduler, task: Task, end: float) -> _Step | None:
    """Return the value of a task; None if it has none at the end."""
    source = source_of(task)
    while scheduler.round(source, LOOK) == []:
        if RUN_CLOCK() >= end + GRACE:
            break
    step: _Step | None = task.value  # None, too, if its workers died
    return step
