"""BH-k-means: k-means with soft must-links and cannot-links of one price.

Source: P. Baumann, D. S. Hochbaum, A k-means algorithm for clustering with soft must-link and
cannot-link constraints, section 3.
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
from heuristics.kmeans import unconstrained
from heuristics.method import Heuristic, RunClock, SearchResult, Soft, check_integer, check_positive
from sdpbb.errors import InstanceError
from sdpbb.problem import Infeasibility, Instance, SoftPairs
from sdpbb.problem.graph import distinct_edges


class BHKMeans(Heuristic):
    """k-means that pays for violated constraints, soft and hard alike.

    For centres o_l an assignment step solves, over the points x_i, programme (1)-(8) of the paper,

        minimise    sum_i d(x_i, o_l(i)) + M p * (number of violated constraints)
        subject to  no cluster empty,

    M = max_{i, l} d(x_i, o_l), anew in each step. Must-links and cannot-links are sets of pairs:
    hard ones and soft ones of weight 1 are one and the same, and a pair that is given twice counts
    once. Stopping is described in `heuristics.alternating`.

    The result may violate any constraint. Its penalised_objective is the objective with M of the
    last iteration.
    """

    name = "bh-kmeans"
    soft = Soft.WEIGHED

    def __init__(
        self,
        *,
        p: float = 1.0,
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
        p : the price of a violation, as a multiple of M, > 0; 0.18 to 0.2 does well where the
            constraints are noisy (section 5.2 of the paper)
        distance : d, "squared" Euclidean, so that the sum of squares is minimised, or "euclidean"
            as in the paper
        start : of the centres, "k-means++" as in the paper, or "random": different points, all
            equally likely
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
        check_positive("p", p)
        check_integer("max_iterations", max_iterations, 1)
        self.p = p
        self.scheme = Scheme(
            choice(Distance, "distance", distance),
            choice(Start, "start", start),
            None,
            self._penalty,
            max_iterations,
            assignment_parameters(solver, assignment_time_limit),
        )

    def search(
        self, instance: Instance, rng: np.random.Generator, clock: RunClock
    ) -> SearchResult | Infeasibility:
        softened = all_soft(instance)
        contraction = unconstrained(softened)
        found = self.scheme.run(contraction, pair_graph(softened, contraction), rng, clock)
        assert not isinstance(found, Infeasibility)  # nothing is hard
        assert found.labels is not None
        return SearchResult(found.labels, found.stop, len(found.iterations), found.objective)

    def _penalty(
        self, blocks: BlockDistances, centres: NDArray[np.float64], distances: NDArray[np.float64]
    ) -> float:
        return self.p * float(distances.max())


def all_soft(instance: Instance) -> Instance:
    """The same points and k with every must-link and cannot-link soft, of weight 1, each pair once.

    Raises
    ------
    InstanceError
        If a soft constraint has another weight.
    """
    return Instance(
        instance.points,
        instance.k,
        name=instance.name,
        soft_must_link=_softened("must_link", instance.must_link, instance.soft_must_link),
        soft_cannot_link=_softened("cannot_link", instance.cannot_link, instance.soft_cannot_link),
    )


def _softened(kind: str, hard: NDArray[np.intp], soft: SoftPairs) -> SoftPairs:
    wrong = np.flatnonzero(soft.weights != 1)
    if len(wrong):
        raise InstanceError(
            f"bh-kmeans: soft_{kind}[{wrong[0]}] has weight {soft.weights[wrong[0]]:g}; "
            "expected weights of 1, or a method that weighs each one (pccc)"
        )
    pairs = distinct_edges(np.concatenate([hard, soft.pairs]))
    return SoftPairs(pairs, np.ones(len(pairs)))
