"""BLPKM: k-means whose assignment step is a binary linear programme with the hard constraints.

Source: P. Baumann, A binary linear programming-based k-means algorithm for clustering with
must-link and cannot-link constraints, IEEM 2020: the version of BH-k-means in which all constraints
are hard (P. Baumann, D. S. Hochbaum, A k-means algorithm for clustering with soft must-link and
cannot-link constraints, section 3).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from heuristics.alternating import (
    BlockDistances,
    Distance,
    Scheme,
    Start,
    assignment_parameters,
    choice,
)
from heuristics.assignment import pair_graph
from heuristics.assignment.parameters import IntegerSolver
from heuristics.method import Heuristic, RunClock, SearchResult, check_integer
from sdpbb.problem import Infeasibility, Instance, contract


class BLPKM(Heuristic):
    """k-means with hard constraints by binary linear programmes.

    Over the blocks that the constraints force together, with sizes s_i and means x_i, an assignment
    step solves, for centres o_l,

        minimise    sum_i s_i d(x_i, o_l(i))
        subject to  l(i) != l(j) for cannot-links, no cluster empty.

    It ends when the objective at the means no longer decreases.
    """

    name = "blpkm"

    def __init__(
        self,
        *,
        distance: str = "squared",
        start: str = "k-means++",
        max_iterations: int = 1000,
        assignment_time_limit: float = 200.0,
        solver: IntegerSolver = "auto",
        time_limit: float = math.inf,
    ) -> None:
        """
        Parameters
        ----------
        distance : d, "squared" Euclidean, so that the sum of squares is minimised, or "euclidean"
        start : of the centres, "k-means++" or "random": different blocks, all equally likely
        max_iterations : assignment steps, >= 1
        assignment_time_limit : seconds of one assignment step for integer programmes and searches
        solver : of the integer programmes; see `heuristics.assignment.AssignmentParameters`
        time_limit : seconds of one run

        Raises
        ------
        ParameterError
            Naming the parameter at fault.
        """
        super().__init__(time_limit)
        check_integer("max_iterations", max_iterations, 1)
        self.scheme = Scheme(
            choice(Distance, "distance", distance),
            choice(Start, "start", start),
            None,
            _no_penalty,
            max_iterations,
            assignment_parameters(solver, assignment_time_limit),
        )

    def search(
        self, instance: Instance, rng: np.random.Generator, clock: RunClock
    ) -> SearchResult | Infeasibility:
        contraction = contract(instance)
        if isinstance(contraction, Infeasibility):
            return contraction
        found = self.scheme.run(contraction, pair_graph(instance, contraction), rng, clock)
        if isinstance(found, Infeasibility):
            return found
        labels = None if found.labels is None else contraction.lift(found.labels)
        return SearchResult(labels, found.stop, len(found.iterations))


def _no_penalty(
    blocks: BlockDistances, centres: NDArray[np.float64], distances: NDArray[np.float64]
) -> float:
    """Nothing is soft."""
    return 1.0
