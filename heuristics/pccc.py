"""PCCC: k-means with hard and soft must-links and cannot-links, each soft one with a confidence.

Source: P. Baumann, D. S. Hochbaum, PCCC: the pairwise-confidence-constraints-clustering algorithm,
section 4.
"""

from __future__ import annotations

import math
from typing import Literal

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
from heuristics.method import (
    Heuristic,
    RunClock,
    SearchResult,
    Soft,
    check_integer,
    check_positive,
)
from sdpbb.problem import Contraction, Infeasibility, Instance, contract


class PCCC(Heuristic):
    """k-means that keeps hard constraints and weighs soft ones.

    Over the blocks that the hard constraints force together, with sizes s_i and means x_i, an
    assignment step solves, for centres o_l,

        minimise    sum_i s_i d(x_i, o_l(i)) + P * (weight of the violated soft constraints)
        subject to  l(i) != l(j) for hard cannot-links, l(i) in L_i, no cluster empty,

    which is (MBLP) of the paper, section 4.3, where L_i are all clusters, and (R(q)MBLP) where they
    are the q nearest ones. Weights of parallel soft constraints between two blocks add up, opposing
    ones are netted off. The blocks are those of `sdpbb.problem.contract`: those of the paper,
    merged further where the cannot-links leave no choice. Stopping is described in
    `heuristics.alternating`.

    The result keeps all hard constraints. Its penalised_objective is the objective with P of the
    last iteration; with squared distances it is the sum of squares plus P times the violated
    weight.
    """

    name = "pccc"
    soft = Soft.WEIGHED

    def __init__(
        self,
        *,
        q: int | Literal["auto"] | None = None,
        penalty: float | None = None,
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
        q : number of nearest clusters that a block may join, >= 1; None for all k. With hard
            cannot-links an integer is raised to min(1 + D, k), D the largest number of hard
            cannot-links of a block: lists of that length can always be kept to if any clustering
            keeps the cannot-links (Lemma 1). "auto": max(2, min(1 + D, k)), the least of the paper
            (PCCC-N2, section 5.5). With soft cannot-links only, 2 is PCCC-N2-S
        penalty : P, > 0, in units of d. None: sum_{i, l} d(x_i, o_l) / m over the m blocks and all
            k centres (Table 3 of the paper; the sum is over pairs, so that P is k times the average
            distance of a block from a centre), recomputed in each iteration
        distance : d, "squared" Euclidean, so that the sum of squares is minimised, or "euclidean"
            as in the paper
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
        if q is not None and q != "auto":
            check_integer("q", q, 1)
        if penalty is not None:
            check_positive("penalty", penalty)
        check_integer("max_iterations", max_iterations, 1)
        self.q = q
        self.penalty = penalty
        self.distance = choice(Distance, "distance", distance)
        self.start = choice(Start, "start", start)
        self.max_iterations = max_iterations
        self.assignment = assignment_parameters(solver, assignment_time_limit)

    def search(
        self, instance: Instance, rng: np.random.Generator, clock: RunClock
    ) -> SearchResult | Infeasibility:
        contraction = contract(instance)
        if isinstance(contraction, Infeasibility):
            return contraction
        scheme = Scheme(
            self.distance,
            self.start,
            list_length(contraction, self.q),
            average_distance if self.penalty is None else self._fixed_penalty,
            self.max_iterations,
            self.assignment,
        )
        found = scheme.run(contraction, pair_graph(instance, contraction), rng, clock)
        if isinstance(found, Infeasibility):
            return found
        if found.labels is None:
            return SearchResult(None, found.stop, len(found.iterations))
        return SearchResult(
            contraction.lift(found.labels), found.stop, len(found.iterations), found.objective
        )

    def _fixed_penalty(
        self, blocks: BlockDistances, centres: NDArray[np.float64], distances: NDArray[np.float64]
    ) -> float:
        assert self.penalty is not None
        return self.penalty


def average_distance(
    blocks: BlockDistances, centres: NDArray[np.float64], distances: NDArray[np.float64]
) -> float:
    """Return the default penalty: the sum of all distances between blocks and centres, over the
    number of blocks."""
    return blocks.mean_sum(centres)


def list_length(contraction: Contraction, q: int | Literal["auto"] | None) -> int:
    """Return the number of nearest clusters that a block may join, at most k; see `PCCC`."""
    k = contraction.k
    if q is None:
        return k
    degrees = np.bincount(contraction.cannot_link.reshape(-1), minlength=1)
    enough = int(degrees.max()) + 1  # 1 without cannot-links, which asks for nothing
    return min(max(2 if q == "auto" else q, enough), k)
