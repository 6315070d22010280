"""`sdpbb.heuristic`: published heuristics by name, and starts from the semidefinite relaxation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from heuristics.incumbents import good_clustering
from heuristics.method import Heuristic
from heuristics.registry import method as registered
from heuristics.result import HeuristicResult
from sdpbb.bounds.registry import bounding_method
from sdpbb.bounds.sdp.admm_run import AdmmRun
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction
from sdpbb.problem.sources import InstanceArguments
from sdpbb.runtime.jit import clock_stopped_by_compiler
from sdpbb.runtime.memory import free_mebibytes
from sdpbb.runtime.time_left import TimeLeft, at_most, no_limit

# The relaxation is solved until its bound is this close to a clustering's cost, relatively. Further
# iterations would hardly change the starts.
GAP = 1e-5
# Keywords of an instance; other keywords are parameters of a heuristic.
OF_INSTANCE = frozenset(InstanceArguments.__annotations__)
# Maximum blocks of a relaxation, one second per iteration; larger relaxations take hours.
MOST_BLOCKS = 4000


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
    """Run a heuristic on points; or return the heuristic, if only its name is given.

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
    k : number of clusters, for points; for an `Instance`, the name of the heuristic
    method : name of a published heuristic (see `sdpbb heuristic --list` and docs/heuristics.md), or
        of a class of your own (`heuristics.register`)
    seed : of the random choices of the run
    arguments : parameters of the heuristic, and for points the arguments of an `Instance`, as for
        `sdpbb.solve`. "ipc-kmeans" with start="sdp" gets the semidefinite relaxation

    Returns
    -------
    The result of the run. For a name only, the configured heuristic; its `run` takes the points.

    Raises
    ------
    ParameterError
        If a heuristic or parameter has an unknown name (the message lists all names), or a
        parameter is outside of its domain.
    InstanceError
        See `Heuristic.run`.
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
    """Return a heuristic; give "ipc-kmeans" with start="sdp" the semidefinite relaxation."""
    if name == "ipc-kmeans" and parameters.get("start") == "sdp":
        relaxation = partial(root_affinities, time_limit=parameters.get("time_limit", math.inf))
        parameters = {"affinities": relaxation, **parameters}
    return registered(name, **parameters)


def root_affinities(
    contraction: Contraction, time_limit: float = math.inf
) -> Iterator[NDArray[np.float64]]:
    """Yield affinities Z (m, m) of the blocks from the relaxation at the root of `sdpbb.solve`.

    Z is nonnegative, zero on cannot-links, and Z e ~ 1. Each evaluation of the bound yields one.
    The last comes when the bound meets the cost of a known clustering, or stalls, or when the time
    is too short for another iteration.

    Parameters
    ----------
    contraction : must have a clustering (see `sdpbb.problem.feasibility.find_feasible`)
    time_limit : seconds, > 0. The first affinity may come later if an iteration takes longer

    Raises
    ------
    ParameterError
        If there are more than `MOST_BLOCKS` blocks, or its matrices do not fit the memory.
    """
    _check_size(contraction)
    if contraction.n_blocks == contraction.k:
        yield np.diag(1.0 / contraction.weights)
        return
    if not contraction.means.any():  # all clusterings cost the same
        yield np.full((contraction.n_blocks,) * 2, 1.0 / contraction.weights.sum())
        return
    time_left = at_most(no_limit, time_limit)
    with threadpool_limits(1), clock_stopped_by_compiler():  # see `sdpbb.run.solving`
        cost = _cost_of_some(contraction, time_left)
        run, is_last = AdmmRun.begin(contraction, SdpParameters()), False
        while not is_last:
            is_last = run.iterate(time_left)
            if not is_last:  # the bound of a large relaxation takes as long as many iterations
                progress = run.evaluate(cost)
                is_last = progress.stalled or progress.bound.value >= (1.0 - GAP) * cost
            yield run.affinity()


def _check_size(contraction: Contraction) -> None:
    """Refuse a relaxation that is too large."""
    n_blocks, problem = contraction.n_blocks, ""
    needed, free = bounding_method("sdp").mebibytes(contraction), free_mebibytes()
    if n_blocks > MOST_BLOCKS:
        problem = f"has {n_blocks} blocks, and takes hours for more than {MOST_BLOCKS}"
    elif needed > free:
        problem = f"needs about {needed:.0f} MiB for {n_blocks} blocks; {free:.0f} MiB are free"
    if problem:
        raise ParameterError(f"start = 'sdp': the relaxation {problem}; expected 'k-means++'")


def _cost_of_some(contraction: Contraction, time_left: TimeLeft) -> float:
    """Return the cost of a good clustering that satisfies the limits on sizes; inf: none found."""
    labels = good_clustering(contraction, time_left, np.random.default_rng(0))
    if not isinstance(labels, np.ndarray) or not contraction.keeps_sizes(labels):
        return math.inf
    return contraction.cost(labels)
