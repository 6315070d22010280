"""Base class of PCCC, BLPKM and BH-k-means: alternating assignments and means, several starts."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from heuristics.alternating import (
    Alternation,
    AssignmentStep,
    Iteration,
    Start,
    alternate,
    initial_centres,
)
from heuristics.assignment import AssignmentParameters, PairGraph, PairwiseAssignment, pair_graph
from heuristics.assignment.parameters import SOLVER_HELP
from heuristics.block_distances import BlockDistances, Distance
from heuristics.first_clustering import first_clustering
from heuristics.method import Heuristic, RunClock, SearchResult, Soft
from heuristics.sizes.assignment import SizedAssignment
from heuristics.sizes.pairwise import SizedPairwiseAssignment
from sdpbb.problem import Contraction, Infeasibility, InfeasibilityKind, Instance, contract
from sdpbb.runtime.backends import IntegerSolver
from sdpbb.runtime.declaration import parameter
from sdpbb.runtime.time_left import OutOfTime, at_most


@dataclass(frozen=True, eq=False, kw_only=True)
class AlternatingHeuristic(Heuristic):
    """Method of exact assignment steps and means in turn (`heuristics.alternating.alternate`).

    A subclass states the price of violated soft constraints. It may say how the instance is
    contracted, and how many of the nearest clusters a block may join.
    """

    keeps_sizes = True
    keeps_weights = True

    distance: Distance = parameter(
        "squared",
        'Distance d, "squared" Euclidean, so that the sum of squares is minimised, or "euclidean" '
        "as in the paper.",
    )
    start: Start = parameter(
        "k-means++", 'Initial centres; "random": different blocks, all equally likely.'
    )
    n_starts: int = parameter(
        1, "Sets of initial centres; the best clustering is the result.", ge=1
    )
    max_iterations: int = parameter(1000, "Assignment steps of one start.", ge=1)
    assignment_time_limit: float = parameter(
        200.0,
        "Time limit of one assignment step by an integer programme or a search.",
        gt=0,
        infinite=True,
        unit="seconds",
    )
    solver: IntegerSolver = parameter("auto", SOLVER_HELP)

    @abstractmethod
    def price(
        self, blocks: BlockDistances, centres: NDArray[np.float64], distances: NDArray[np.float64]
    ) -> float:
        """Return P of an iteration.

        Parameters
        ----------
        centres : (k, r)
        distances : (m, q) d in the programme of the iteration
        """

    def contracted(self, instance: Instance) -> Contraction | Infeasibility:
        """Return the instance over its blocks, with its soft pairs."""
        return contract(instance)

    def n_candidates(self, contraction: Contraction) -> int:
        """Return how many clusters, the nearest ones, a block may join, 1 to k."""
        return contraction.k

    def search(
        self, instance: Instance, rng: np.random.Generator, clock: RunClock
    ) -> SearchResult | Infeasibility:
        contraction = self.contracted(instance)
        if isinstance(contraction, Infeasibility):
            return contraction
        found = self._best(contraction, rng, clock)
        if isinstance(found, Infeasibility):
            return found
        n_iterations = len(found.iterations)
        if found.labels is None:
            return SearchResult(None, found.stop, n_iterations)
        objective = found.objective if self.soft is Soft.WEIGHED else None
        return SearchResult(contraction.lift(found.labels), found.stop, n_iterations, objective)

    def _best(
        self, contraction: Contraction, rng: np.random.Generator, clock: RunClock
    ) -> Alternation | Infeasibility:
        """Return the best clustering over all sets of initial centres, and orders of listed sizes.

        P changes from start to start as it does from iteration to iteration: clusterings are
        compared under that of the first start which has found one. The iterations are those of all
        starts.

        Raises
        ------
        OutOfTime
            If the clock runs out before the first assignment step.
        """
        graph = pair_graph(contraction)
        blocks = BlockDistances(
            contraction, self.distance, self.n_candidates(contraction), clock.time_left
        )
        best: Alternation | None = None
        price = 0.0
        iterations: list[Iteration] = []
        with suppress(OutOfTime):
            for centres, assign in self._starts(contraction, graph, rng, clock):
                found = self._run_from(centres, blocks, graph, assign, clock)
                if isinstance(found, Infeasibility):
                    return found
                iterations += found.iterations
                if best is None or best.labels is None:
                    best, price = found, found.penalty
                elif found.cost + price * found.violated < best.cost + price * best.violated:
                    best = found
                if clock.is_over:
                    break
        if best is None:
            raise OutOfTime
        stop = clock.reason if clock.is_over and self.n_starts > 1 else best.stop
        return replace(best, stop=stop, iterations=iterations)

    @property
    def _assignment(self) -> AssignmentParameters:
        return AssignmentParameters(solver=self.solver, time_limit=self.assignment_time_limit)

    def _starts(
        self, contraction: Contraction, graph: PairGraph, rng: np.random.Generator, clock: RunClock
    ) -> Iterator[tuple[NDArray[np.float64], AssignmentStep]]:
        """Yield initial centres (k, r), each with the assignment step of the loop from there."""
        assign = PairwiseAssignment(graph, contraction.k, self._assignment)
        sized = None
        if contraction.has_limits:
            sized = SizedAssignment(contraction, math.inf, self.solver, is_exact=True)
        for _ in range(self.n_starts):
            centres = initial_centres(contraction, self.start, rng, clock.time_left)
            if sized is None:
                yield centres, assign
                continue
            for order in sized.orders(centres, rng):
                limit = self.assignment_time_limit
                yield centres, SizedPairwiseAssignment(contraction, graph, sized, order, limit)

    def _run_from(
        self,
        centres: NDArray[np.float64],
        blocks: BlockDistances,
        graph: PairGraph,
        assign: AssignmentStep,
        clock: RunClock,
    ) -> Alternation | Infeasibility:
        """Run the loop from initial centres, at most twice.

        It is run once more from labels of `first_clustering` where the first assignment step finds
        none and the contraction is small enough to look for them.
        """
        contraction = blocks.contraction

        def loop(labels: NDArray[np.intp] | None) -> Alternation:
            return alternate(
                blocks, graph, assign, self.price, centres, clock, self.max_iterations, labels
            )

        found = loop(None)
        if found.labels is not None:
            return found
        if self._is_decidable(contraction) and not clock.is_over:
            time_left = at_most(clock.time_left, self.assignment_time_limit)
            labels = first_clustering(contraction, time_left)
            if isinstance(labels, Infeasibility):
                return labels
            return found if labels is None else loop(labels)
        if found.is_infeasible:
            first = tuple(contraction.representatives.tolist())
            return Infeasibility(InfeasibilityKind.NOT_COLOURABLE, first)
        return found

    def _is_decidable(self, contraction: Contraction) -> bool:
        """Return whether an integer programme for a colouring is small enough to be loaded."""
        rows = contraction.n_blocks + len(contraction.cannot_link) * contraction.k
        return rows <= self._assignment.max_rows
