"""The published heuristics for users of this package, with what only the engine can give them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from heuristics.method import Heuristic, Soft
from heuristics.multi_start import MultiStart
from heuristics.registry import method
from heuristics.warm_up import exercise_wide_components
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.problem import Contraction, Instance, SoftPairs, contract
from sdpbb.search.parameters import HeuristicSchedule

# The relaxation is solved until its bound is so close to a clustering's cost that the starts it
# gives hardly change any more.
GAP = 1e-5


def heuristic(name: str, **parameters: Any) -> Heuristic:
    """A published heuristic by name; its `run(instance, seed)` looks for a clustering.

    >>> import sdpbb
    >>> instance = sdpbb.Instance([[0.0], [0.1], [5.0], [5.1]], k=2, cannot_link=[(0, 1)])
    >>> result = sdpbb.heuristic("cop-kmeans", n_starts=5).run(instance, seed=1)

    Parameters
    ----------
    name : "kmeans", "cop-kmeans", "ipc-kmeans", "blpkm", "bh-kmeans", "pccc", "bckm",
        "post-processing" or "best-of"; docs/heuristics.md says what they do
    parameters : of the method; those left out are as its class has them by default. In addition,
        for "ipc-kmeans" with start="sdp" the semidefinite relaxation is supplied, and "best-of"
        takes the name of another method as its `method`

    Raises
    ------
    ParameterError
        If there is no such method or parameter (the message lists those there are), or a parameter
        is outside of its domain.
    """
    if name == "ipc-kmeans" and parameters.get("start") == "sdp":
        relaxation = RootRelaxation(parameters.get("time_limit", math.inf))
        parameters = {"affinities": relaxation, **parameters}
    if name == "best-of" and isinstance(parameters.get("method"), str):
        parameters = {**parameters, "method": heuristic(parameters["method"])}
    return method(name, **parameters)


@dataclass(frozen=True)
class RootRelaxation:
    """The semidefinite relaxation of a contraction, solved as at the root of `sdpbb.solve`.

    Parameters
    ----------
    time_limit : seconds, > 0; looked at between evaluations of the bound, of which there is one
        at least
    """

    time_limit: float = math.inf

    def __call__(self, contraction: Contraction) -> Iterator[NDArray[np.float64]]:
        """Affinities Z (m, m) of the blocks: nonnegative, zero on cannot-links, Z e ~ 1.

        One after each evaluation of the bound, the last when it meets the cost of a clustering
        found before or hardly approaches it any more.

        Parameters
        ----------
        contraction : must have a clustering (see `sdpbb.feasibility.find_feasible`)
        """
        if contraction.n_blocks == contraction.k:
            yield np.diag(1.0 / contraction.sizes)
            return
        if not contraction.means.any():  # all clusterings cost the same
            yield np.full((contraction.n_blocks,) * 2, 1.0 / contraction.n_points)
            return
        end = time.perf_counter() + self.time_limit
        with threadpool_limits(1):  # see `sdpbb.solver`
            known = MultiStart(HeuristicSchedule().before).run(
                contraction, np.random.default_rng(0), stop=lambda: time.perf_counter() >= end
            )
            run = SdpBounding().start(contraction, None)
            is_last = False
            while not is_last:
                progress = run.advance(known.cost)
                closed = progress.bound.value >= (1.0 - GAP) * known.cost
                is_last = closed or progress.stalled or time.perf_counter() >= end
                yield run.affinity()


def prepare_kernels(name: str) -> None:
    """Compile, or load from the cache on disk, what a method is compiled to: before its clock
    starts to run. Kernels for other parameters than the default ones may be left."""
    prepared = heuristic(name)
    points = np.random.default_rng(0).normal(size=(16, 3))
    pairs = np.array([[0, 1], [2, 3], [3, 4]])
    instance = Instance(points, 3, cannot_link=pairs)
    prepared.run(instance)
    contraction = contract(instance)
    assert isinstance(contraction, Contraction)
    exercise_wide_components(contraction)
    if prepared.soft is Soft.WEIGHED:
        soft = SoftPairs(pairs, np.ones(len(pairs)))
        prepared.run(Instance(points, 3, soft_cannot_link=soft))
