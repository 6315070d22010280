"""Base class of PCCC, BLPKM and BH-k-means: alternating assignments and means, several starts."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heuristics.alternating import Alternation, AssignmentStep, PenalisedStep, alternate
from heuristics.assignment import AssignmentParameters, PairwiseAssignment
from heuristics.assignment.parameters import SOLVER_HELP
from heuristics.block_distances import BlockDistances, Distance
from heuristics.first_clustering import first_clustering
from heuristics.method import (
    Clustering,
    Heuristic,
    RunClock,
    SearchResult,
    Soft,
    best_of_starts,
)
from heuristics.result import Stop
from heuristics.sizes.assignment import SizedAssignment, SizedPairwiseAssignment
from heuristics.starts import kmeans_plus_plus
from sdpbb.problem import Contraction, Infeasibility, InfeasibilityKind, Instance, contract
from sdpbb.runtime.backends import IntegerSolver
from sdpbb.runtime.declaration import parameter
from sdpbb.runtime.time_left import OutOfTime, at_most

Start = Literal["k-means++", "random"]
"""Choice of the initial centres."""


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
    def price(self, distances: NDArray[np.float64]) -> float:
        """Return P of an iteration, from the distances d (m, k) of the blocks to its centres."""

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
        try:
            best = best_of_starts(self._ends(contraction, rng, clock), clock)
        except _ProvenInfeasible as proof:
            return proof.infeasibility
        if best.labels is None:
            return SearchResult(None, best.stop, best.n_iterations)
        objective = best.penalised_objective if self.soft is Soft.WEIGHED else None
        return SearchResult(contraction.lift(best.labels), best.stop, best.n_iterations, objective)

    def _ends(
        self, contraction: Contraction, rng: np.random.Generator, clock: RunClock
    ) -> Iterator[Clustering]:
        """Yield what each set of initial centres ends with, for each order of listed sizes.

        P changes from start to start as it does from iteration to iteration: clusterings cost what
        they cost under that of the first start which has found one.

        Raises
        ------
        OutOfTime
            If the clock runs out before an assignment step.
        _ProvenInfeasible
            If no clustering keeps the constraints.
        """
        blocks = BlockDistances(
            contraction, self.distance, self.n_candidates(contraction), clock.time_left
        )
        price: float | None = None
        for centres, assign in self._starts(contraction, rng, clock):
            step, found = self._run_from(centres, blocks, assign, clock)
            if found is None:
                yield Clustering(None, math.inf, Stop.TIME_LIMIT, 0)
                continue
            price = step.penalty if price is None else price
            cost = step.cost + price * step.violated
            yield Clustering(found.labels, cost, found.stop, found.n_iterations, step.objective)

    @property
    def _assignment(self) -> AssignmentParameters:
        return AssignmentParameters(solver=self.solver, time_limit=self.assignment_time_limit)

    def _starts(
        self, contraction: Contraction, rng: np.random.Generator, clock: RunClock
    ) -> Iterator[tuple[NDArray[np.float64], AssignmentStep]]:
        """Yield initial centres (k, r), each with the assignment step of the loop from there."""
        assign = PairwiseAssignment(contraction, self._assignment)
        sized = None
        if contraction.has_limits:
            sized = SizedAssignment(contraction, math.inf, self.solver, is_exact=True)
        for _ in range(self.n_starts):
            if self.start == "k-means++":
                centres = kmeans_plus_plus(contraction, rng, clock.time_left)
            else:
                drawn = rng.choice(contraction.n_blocks, contraction.k, replace=False)
                centres = contraction.means[drawn]
            if sized is None:
                yield centres, assign
                continue
            for order in sized.orders(centres, rng):
                yield centres, SizedPairwiseAssignment(sized, order, self.assignment_time_limit)

    def _run_from(
        self,
        centres: NDArray[np.float64],
        blocks: BlockDistances,
        assign: AssignmentStep,
        clock: RunClock,
    ) -> tuple[PenalisedStep, Alternation | None]:
        """Run the loop from initial centres, at most twice; None if it finds nothing.

        It is run once more from labels of `first_clustering` where the first assignment step finds
        none and the contraction is small enough to look for them.
        """
        contraction, most, time_left = blocks.contraction, self.max_iterations, clock.time_left
        step = PenalisedStep(blocks, assign, self.price)
        try:
            return step, alternate(contraction, step, centres, step.rule, most, None, time_left)
        except OutOfTime:
            if clock.is_over:
                raise
        if self._is_decidable(contraction):
            labels = first_clustering(contraction, at_most(time_left, self.assignment_time_limit))
            if isinstance(labels, Infeasibility):
                raise _ProvenInfeasible(labels)
            if labels is None:
                return step, None
            step = PenalisedStep(blocks, assign, self.price, labels)
            found = alternate(contraction, step, centres, step.rule, most, labels, time_left)
            if not found.n_iterations:
                step.take(labels)
            return step, found
        if step.is_infeasible:
            first = tuple(contraction.representatives.tolist())
            raise _ProvenInfeasible(Infeasibility(InfeasibilityKind.NOT_COLOURABLE, first))
        return step, None

    def _is_decidable(self, contraction: Contraction) -> bool:
        """Return whether an integer programme for a colouring is small enough to be loaded."""
        rows = contraction.n_blocks + len(contraction.cannot_link) * contraction.k
        return rows <= self._assignment.max_rows


class _ProvenInfeasible(Exception):
    """Proof that no clustering keeps the constraints, on the way to one."""

    def __init__(self, infeasibility: Infeasibility) -> None:
        super().__init__()
        self.infeasibility = infeasibility
