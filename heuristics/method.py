"""Base class of the heuristics, the clock of a run, and steps that several methods share."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, ClassVar, Unpack

import numpy as np
from numpy.typing import NDArray

from heuristics.first_clustering import first_clustering
from heuristics.result import HeuristicResult, HeuristicStatus, SearchResult, Stop
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.problem import Contraction, Infeasibility, Instance, Partition, contract
from sdpbb.problem.instance import instance_of
from sdpbb.problem.sources import InstanceArguments
from sdpbb.runtime.backends import IntegerSolver
from sdpbb.runtime.backends.milp import require_integer_solver, using_integer_solver
from sdpbb.runtime.declaration import Parameters, parameter
from sdpbb.runtime.time_left import Clock, OutOfTime


class Soft(Enum):
    """Treatment of soft constraints by a method."""

    REFUSED = "supports hard constraints only"
    WEIGHED = "each violation costs its weight"
    IGNORED = "ignores constraints"


class RunClock(Clock):
    """Time limit and interrupt of one run."""

    @property
    def reason(self) -> Stop:
        """Reason of the end of a run that is_over."""
        return Stop.TIME_LIMIT if self.seconds_left <= 0.0 else Stop.INTERRUPTED


@dataclass(frozen=True, eq=False, kw_only=True)
class Heuristic(Parameters, ABC):
    """Configured method; `run` is a function of the instance and the seed.

    A method is a subclass with a `name`, a `soft`, a `keeps_sizes`, a `keeps_weights`, and a
    `search`; its parameters are fields of the dataclass, declared by
    `sdpbb.runtime.declaration.parameter`, and the first line of its documentation is what
    `sdpbb heuristic --list` shows.
    """

    name: ClassVar[str]
    soft: ClassVar[Soft] = Soft.REFUSED
    keeps_sizes: ClassVar[bool] = False
    """Whether it supports limits on the sizes of clusters, and satisfies them."""
    keeps_weights: ClassVar[bool] = False
    """Whether it supports limits on the weights of clusters as well."""

    time_limit: float = parameter(
        math.inf,
        "Time limit of one run.",
        reason="The clock is checked about every 0.1 s; at the limit the best result so far is "
        "returned.",
        gt=0,
        infinite=True,
        unit="seconds",
    )

    def run(
        self,
        instance: Any,
        k_or_seed: int | None = None,
        stop: Callable[[], bool] = lambda: False,
        *,
        k: int | None = None,
        seed: int = 0,
        **arguments: Unpack[InstanceArguments],
    ) -> HeuristicResult:
        """Search for a clustering.

        Parameters
        ----------
        instance : an `Instance`; or points, an array (n, d) or a data frame, with k and the other
            keywords of `sdpbb.solve`. Soft constraints only if the method weighs or ignores them.
            Constraints on clusters only if they amount to cannot-links, or to limits on sizes if
            the method supports these
        k_or_seed : k of points; the seed of an `Instance`, which states k
        stop : checked like the time limit; once true, the run ends with the best result so far
        k : number of clusters, of points
        seed : of all random choices: the same for the same instance and seed, unless a time limit
            cuts in
        arguments : must_link, cannot_link, weights and the others of `Instance.from_points`

        Raises
        ------
        InstanceError
            See `check`.
        ParameterError
            If the seed is not an integer >= 0.
        """
        if k_or_seed is not None and isinstance(instance, Instance):
            seed = k_or_seed
        elif k_or_seed is not None:
            k = k_or_seed
        instance = instance_of(instance, k, arguments, self.run)
        self.check(instance)
        instance = instance.in_pairs_and_sizes()
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
            raise ParameterError(f"seed = {seed!r}: expected an integer >= 0")
        clock = RunClock(self.time_limit, stop)
        rng = np.random.default_rng(seed)
        try:
            from sdpbb.runtime.jit import clock_stopped_by_compiler  # imports the compiler

            with clock_stopped_by_compiler(), using_integer_solver(self._solver):
                found = self.search(instance, rng, clock)
        except OutOfTime:
            found = SearchResult(None, clock.reason, 0)
        if isinstance(found, Infeasibility):
            status = HeuristicStatus.INFEASIBLE
            result = HeuristicResult(self.name, seed, status, Stop.INFEASIBLE, infeasibility=found)
        else:
            status = HeuristicStatus.NOT_FOUND
            stop_reason = clock.reason if clock.is_over else found.stop
            result = HeuristicResult(
                self.name, seed, status, stop_reason, n_iterations=found.n_iterations
            )
            # A first clustering of many blocks may have other sizes, and weights may exceed limits
            # by a tolerance.
            if found.labels is not None and Partition(found.labels).keeps_sizes(instance):
                result = result.with_labels(instance, found.labels, found.penalised_objective)
        return replace(result, seconds=clock.seconds)

    def check(self, instance: Instance) -> None:
        """Refuse instances and solvers that the method does not support.

        Raises
        ------
        InstanceError
            If the method does not support constraints of the instance.
        BackendUnavailable
            If the chosen solver is not installed.
        """
        require_integer_solver(self._solver)
        if self.soft is Soft.REFUSED and instance.has_soft_constraints:
            weighs = "the method pccc, which uses weights"
            if instance.has_constraints_beyond_sizes:  # pccc does not support them
                weighs = "sdpbb.solve, which supports both"
            raise InstanceError(
                f"{self.name}: supports hard constraints only; expected no soft constraints, or "
                f"{weighs}"
            )
        if self.keeps_sizes:
            if instance.has_constraints_beyond_sizes:
                raise InstanceError(
                    f"{self.name}: supports constraints on pairs and limits on sizes only; "
                    "expected no others, or sdpbb.solve, which supports all"
                )
            if instance.limits_weight and not self.keeps_weights:
                raise InstanceError(
                    f"{self.name}: does not support limits on the weights of clusters; expected "
                    "no min_weight and max_weight, or the method best-of"
                )
        elif instance.rules.go_beyond_pairs:
            keeps = "pccc" if instance.has_soft_constraints else "best-of"
            raise InstanceError(
                f"{self.name}: supports constraints on pairs only; expected none on clusters, or "
                f"sdpbb.solve, which supports all, or {keeps}, which supports limits on sizes and "
                "weights"
            )

    @property
    def _solver(self) -> IntegerSolver:
        """Solver of integer programmes: the parameter `solver` of methods that have it."""
        solver: IntegerSolver = getattr(self, "solver", "auto")
        return solver

    @abstractmethod
    def search(
        self, instance: Instance, rng: np.random.Generator, clock: RunClock
    ) -> SearchResult | Infeasibility:
        """Search for a clustering of an instance that `check` has accepted.

        Parameters
        ----------
        instance : with cannot-links and limits instead of other constraints on clusters
        rng : the only source of randomness
        clock : to be checked every tenth of a second

        Returns
        -------
        labels and the reason of the end; or the proof that no clustering exists. If the time is
        over or the run interrupted, `run` reports that as the reason

        Raises
        ------
        OutOfTime
            If the clock ran out before there was a clustering.
        """


def contract_and_colour(
    instance: Instance, clock: RunClock
) -> tuple[Contraction, NDArray[np.intp]] | Infeasibility:
    """Return the instance over its blocks, and labels (m,) that satisfy the cannot-links.

    Or return the proof that no such labels exist.

    Raises
    ------
    OutOfTime
        If an integer programme that decides it took too long.
    """
    contraction = contract(instance)
    if isinstance(contraction, Infeasibility):
        return contraction
    feasible = first_clustering(contraction, clock.time_left)
    if feasible is None:
        raise OutOfTime
    return feasible if isinstance(feasible, Infeasibility) else (contraction, feasible)


def cheapest_of(starts: Iterable[SearchResult], clock: RunClock) -> SearchResult:
    """Return the cheapest clustering of several starts, with their iterations together.

    Starts run one after the other until the time is over.

    Raises
    ------
    OutOfTime
        If the time is over before the first start ends.
    """
    best: SearchResult | None = None
    n_iterations = 0
    with suppress(OutOfTime):
        for found in starts:
            n_iterations += found.n_iterations
            if best is None or found.cost < best.cost:
                best = found
            if clock.is_over:
                break
    if best is None:
        raise OutOfTime
    return replace(best, n_iterations=n_iterations)
