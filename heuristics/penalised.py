"""BLPKM, BH-k-means and PCCC: alternating assignments and means, several starts.

Sources: P. Baumann, D. S. Hochbaum, PCCC: the pairwise-confidence-constraints-clustering algorithm,
section 4; P. Baumann, D. S. Hochbaum, A k-means algorithm for clustering with soft must-link and
cannot-link constraints, section 3 (BH-k-means); P. Baumann, A binary linear programming-based
k-means algorithm for clustering with must-link and cannot-link constraints, IEEM 2020 (BLPKM): the
version of BH-k-means in which all constraints are hard.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heuristics.alternating import (
    AssignmentStep,
    BlockDistances,
    Distance,
    PenalisedStep,
    alternate,
)
from heuristics.assignment import AssignmentParameters, PairwiseAssignment
from heuristics.first_clustering import first_clustering
from heuristics.kmeans import unconstrained
from heuristics.method import (
    Heuristic,
    RunClock,
    SearchResult,
    Soft,
    best_of_starts,
)
from heuristics.parameters import SOLVER_HELP
from heuristics.result import Stop
from heuristics.sizes.assignment import SizedAssignment
from heuristics.starts import kmeans_plus_plus
from sdpbb.errors import InstanceError
from sdpbb.problem import (
    Contraction,
    Infeasibility,
    Instance,
    SoftPairs,
    contract,
)
from sdpbb.problem.graph import distinct_edges
from sdpbb.problem.soft_blocks import SoftBlocks
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
    n_starts: int = parameter(
        1, "Sets of k-means++ centres; the best clustering is the result.", ge=1
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
        seconds = at_most(clock.time_left, self.assignment_time_limit)
        known = first_clustering(contraction, seconds)
        if isinstance(known, Infeasibility):
            return known
        try:
            best = best_of_starts(self._ends(contraction, known, rng, clock), clock)
        except OutOfTime:  # or no assignment step finds labels
            return SearchResult(None, clock.reason if clock.is_over else Stop.TIME_LIMIT, 0)
        return best.lifted(contraction)

    def _ends(
        self,
        contraction: Contraction,
        known: NDArray[np.intp] | None,
        rng: np.random.Generator,
        clock: RunClock,
    ) -> Iterator[SearchResult]:
        """Yield what each set of initial centres ends with.

        P changes from start to start as it does from iteration to iteration: clusterings cost what
        they cost under that of the first start.

        known : labels (m,) that keep the hard constraints: the end of a start whose first
            assignment step finds none

        Raises
        ------
        OutOfTime
            If an assignment step finds no labels, and none are known.
        """
        time_left, most = clock.time_left, self.max_iterations
        lists = self.n_candidates(contraction)
        blocks = BlockDistances(contraction, self.distance, lists, time_left)
        assign, price = self._assignment(contraction), None
        for _ in range(self.n_starts):
            centres = kmeans_plus_plus(contraction, rng, time_left)
            step = PenalisedStep(blocks, assign, self.price)
            found = alternate(contraction, step, centres, step.rule, most, known, time_left)
            if not found.n_iterations:
                step.take(found.labels)
            price = step.penalty if price is None else price
            cost = step.cost + price * step.violated
            objective = step.objective if self.soft is Soft.WEIGHED else None
            yield SearchResult(found.labels, found.stop, found.n_iterations, objective, cost)

    def _assignment(self, contraction: Contraction) -> AssignmentStep:
        """Return the assignment step, prepared for a contraction."""
        limits = AssignmentParameters(time_limit=self.assignment_time_limit)
        if contraction.has_limits:
            return SizedAssignment(contraction, math.inf, limits, is_exact=True).of_costs
        return PairwiseAssignment(contraction, limits)


@dataclass(frozen=True, eq=False, kw_only=True)
class BLPKM(AlternatingHeuristic):
    """k-means with hard constraints by binary linear programmes.

    Over the blocks that the constraints force together, with weights s_i and means x_i, an
    assignment step solves, for centres o_l,

        minimise    sum_i s_i d(x_i, o_l(i))
        subject to  l(i) != l(j) for cannot-links, no cluster empty,
                    limits on the sizes and weights of clusters.

    It ends when the objective at the means no longer decreases.
    """

    name = "blpkm"

    def price(self, distances: NDArray[np.float64]) -> float:
        return 1.0  # nothing is soft


@dataclass(frozen=True, eq=False, kw_only=True)
class BHKMeans(AlternatingHeuristic):
    """k-means that pays for violated constraints, soft and hard alike.

    For centres o_l an assignment step solves, over the points x_i, programme (1)-(8) of the paper,

        minimise    sum_i d(x_i, o_l(i)) + M p * (number of violated constraints)
        subject to  no cluster empty, limits on the sizes and weights of clusters,

    M = max_{i, l} d(x_i, o_l), anew in each step. Must-links and cannot-links are sets of pairs:
    hard ones and soft ones of weight 1 are one and the same, and a pair that is given twice counts
    once. Stopping is described in `heuristics.alternating`.

    The result may violate any constraint on pairs; it is within the limits. Its penalised_objective
    is the objective with M of the last iteration.
    """

    name = "bh-kmeans"
    soft = Soft.WEIGHED

    p: float = parameter(
        1.0,
        "Price of a violation, as a multiple of M.",
        reason="0.18 to 0.2 works well with noisy constraints (section 5.2 of the paper).",
        gt=0,
    )

    def contracted(self, instance: Instance) -> Contraction:
        """Return the points as blocks, with all constraints on pairs soft, each once, of weight 1.

        Raises
        ------
        InstanceError
            If a soft constraint has another weight.
        """
        points = unconstrained(instance)
        must = _softened("must_link", instance.must_link, instance.soft_must_link)
        cannot = _softened("cannot_link", instance.cannot_link, instance.soft_cannot_link)
        return replace(
            points,
            quantities=tuple(each.over(points.block_of) for each in instance.rules.quantities),
            soft=SoftBlocks.of(must, cannot, points.block_of, points.cannot_link),
        )

    def price(self, distances: NDArray[np.float64]) -> float:
        return self.p * float(distances.max())


def _softened(kind: str, hard: NDArray[np.intp], soft: SoftPairs) -> SoftPairs:
    wrong = np.flatnonzero(soft.weights != 1)
    if len(wrong):
        raise InstanceError(
            f"bh-kmeans: soft_{kind}[{wrong[0]}] has weight {soft.weights[wrong[0]]:g}; expected "
            "weight 1, or the method pccc, which uses weights"
        )
    pairs = distinct_edges(np.concatenate([hard, soft.pairs]))
    return SoftPairs(pairs, np.ones(len(pairs)))


@dataclass(frozen=True, eq=False, kw_only=True)
class PCCC(AlternatingHeuristic):
    """k-means that keeps hard constraints and weighs soft ones.

    Over the blocks that the hard constraints force together, with weights s_i and means x_i, an
    assignment step solves, for centres o_l,

        minimise    sum_i s_i d(x_i, o_l(i)) + P * (weight of the violated soft constraints)
        subject to  l(i) != l(j) for hard cannot-links, l(i) in L_i, no cluster empty,
                    limits on the sizes and weights of clusters,

    which, without the limits, is (MBLP) of the paper, section 4.3, where L_i are all clusters, and
    (R(q)MBLP) where they are the q nearest ones. Weights of parallel soft constraints between two
    blocks add up, opposing ones are netted off. The blocks are those of `sdpbb.problem.contract`:
    those of the paper, merged further where the cannot-links leave no choice. Stopping is described
    in `heuristics.alternating`.

    The result keeps all hard constraints, and the limits. Its penalised_objective is the objective
    with P of the last iteration; with squared distances it is the sum of squares plus P times the
    violated weight.
    """

    name = "pccc"
    soft = Soft.WEIGHED

    q: int | Literal["auto"] | None = parameter(
        None,
        "Number of nearest clusters that a block may join. None: all k. Hard cannot-links raise "
        "an integer to min(1 + D, k), D the largest number of hard cannot-links of a block. "
        '"auto": max(2, min(1 + D, k)), the smallest of the paper (PCCC-N2, section 5.5).',
        reason="Lists of that length suffice if any clustering satisfies the cannot-links (Lemma "
        "1). With soft cannot-links only, 2 is PCCC-N2-S.",
        ge=1,
    )
    penalty: float | None = parameter(
        None,
        "Penalty P, in units of d. None: computed in each iteration as k times the average "
        "distance of a block from a centre (Table 3 of the paper).",
        gt=0,
    )

    def check(self, instance: Instance) -> None:
        super().check(instance)
        if self.q is not None and instance.rules.go_beyond_pairs:
            raise InstanceError(
                f"pccc: q = {self.q!r}: with limits on sizes or weights, a block may have to join "
                "any cluster; expected q = None, or no limits"
            )

    def n_candidates(self, contraction: Contraction) -> int:
        return list_length(contraction, self.q)

    def price(self, distances: NDArray[np.float64]) -> float:
        return distances.sum() / len(distances) if self.penalty is None else self.penalty


def list_length(contraction: Contraction, q: int | Literal["auto"] | None) -> int:
    """Return the number of nearest clusters that a block may join, at most k; see `PCCC`."""
    k = contraction.k
    if q is None:
        return k
    degrees = np.bincount(contraction.cannot_link.reshape(-1), minlength=1)
    enough = int(degrees.max()) + 1  # 1 without cannot-links, which asks for nothing
    return min(max(2 if q == "auto" else q, enough), k)
