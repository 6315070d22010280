"""BLPKM, BH-k-means and PCCC: alternating assignments and means, several starts.

With blocks i of size s_i and mean x_i, centres o_l, and a penalty P, the objective of labels l at
given centres is

    F_P(l, o) = W + sum_i s_i d(x_i, o_l(i)) + P V(l),

V the weight of the violated soft constraints. For squared Euclidean distances d, W is the sum of
squares inside the blocks. The first two terms are then the sum of squares of the points around the
centres. For Euclidean distances d, as in the papers, W = 0.

Each step sets P by a rule from the distances. It finds labels that minimise F_P at the centres and
satisfy the hard cannot-links (the mixed-binary programmes of the papers). The loop continues while
the objective "computed after the update step" decreases. If P changes with the centres, objectives
of different steps are not comparable. So the clusterings before and after a step, each with its own
means, are compared under the P of that step. For a fixed P this is the rule of the papers word for
word. Under a changing P clusterings could cycle, each better than the last under its own P: the
loop also ends when a clustering repeats.

Sources: P. Baumann, D. S. Hochbaum, PCCC: the pairwise-confidence-constraints-clustering algorithm,
section 4; P. Baumann, D. S. Hochbaum, A k-means algorithm for clustering with soft must-link and
cannot-link constraints, section 3 (BH-k-means); P. Baumann, A binary linear programming-based
k-means algorithm for clustering with must-link and cannot-link constraints, IEEM 2020 (BLPKM): the
version of BH-k-means in which all constraints are hard.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heuristics.alternating import ComesBack, StepVerdict, alternate, cluster_means
from heuristics.assignment.steps import Assignment, SizedAssignment, assignment_of
from heuristics.first_clustering import first_clustering
from heuristics.kmeans import unconstrained
from heuristics.method import Heuristic, RunClock, Soft, cheapest_of
from heuristics.parameters import SOLVER_HELP
from heuristics.result import SearchResult, Stop
from heuristics.starts import kmeans_plus_plus
from sdpbb.errors import InstanceError
from sdpbb.problem import Contraction, Infeasibility, Instance, SoftPairs, contract
from sdpbb.problem.graph import distinct_edges
from sdpbb.problem.soft_blocks import SoftBlocks
from sdpbb.runtime.backends import IntegerSolver
from sdpbb.runtime.declaration import parameter
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, at_most, check_time, chunks, no_limit

Distance = Literal["squared", "euclidean"]
"""Distance d from a block to a centre."""

# A decrease of less than this share of the objective is rounding.
LEAST_DECREASE = 1e-12


class PenalisedStep:
    """Assignment step that minimises F_P, and the rule that F_P decreases, for one alternation.

    Parameters
    ----------
    n_candidates : number of nearest clusters that a block may join; k for all
    assign : the assignment step
    price : the rule for P, of the distances (m, k) of a step

    Attributes
    ----------
    cost, violated : F_0 and V of the labels so far, at their means; cost inf without any
    penalty : P of the last step
    """

    def __init__(
        self,
        contraction: Contraction,
        distance: Distance,
        n_candidates: int,
        assign: Assignment | SizedAssignment,
        price: Callable[[NDArray[np.float64]], float],
        time_left: TimeLeft = no_limit,
    ) -> None:
        self._contraction, self._is_squared = contraction, distance == "squared"
        self._n_candidates, self._assign, self._price = n_candidates, assign, price
        self._time_left = time_left
        self._start: NDArray[np.intp] | None = None
        self._comes_back = ComesBack()
        self.cost, self.violated, self.penalty = math.inf, 0.0, 0.0

    def __call__(self, centres: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return labels (m,) for centres (k, r).

        Raises
        ------
        OutOfTime
            If no labels that satisfy the hard pairs are found.
        """
        check_time(self._time_left)
        distances, q = self._distances(centres, self._time_left), self._n_candidates
        penalty, allowed = self._price(distances), None
        if q < distances.shape[1]:
            allowed = np.zeros(distances.shape, np.bool_)
            nearest = np.argpartition(distances, q - 1, axis=1)[:, :q]
            np.put_along_axis(allowed, nearest, True, axis=1)
        costs = self._contraction.weights[:, None] * distances
        found = self._assign.of_costs(costs, allowed, penalty, self._start, self._time_left)
        if found.labels is None:
            raise OutOfTime
        self._start, self.penalty = found.labels, penalty
        return found.labels

    @property
    def objective(self) -> float:
        """F_P of the labels so far at their means, under P of the last step."""
        return self.cost + self.penalty * self.violated

    def rule(self, labels: NDArray[np.intp]) -> StepVerdict:
        """Return whether the labels of a step are better than the labels before, under its P."""
        before, known = self.objective, (self.cost, self.violated)
        self._evaluate(labels)
        if self.objective >= before - LEAST_DECREASE * abs(self.objective):
            self.cost, self.violated = known
            return StepVerdict.NO_BETTER
        return self._comes_back(labels)

    def take(self, labels: NDArray[np.intp]) -> None:
        """Record labels that come from no step as the best, with P at their means."""
        self.penalty = self._price(self._distances(cluster_means(self._contraction, labels)))
        self._evaluate(labels)

    def _evaluate(self, labels: NDArray[np.intp]) -> None:
        """Compute F_0 and V of labels, at the means of their clusters."""
        contraction = self._contraction
        away = contraction.means - cluster_means(contraction, labels)[labels]
        squares: NDArray[np.float64] = np.einsum("ij,ij->i", away, away)
        self.violated = contraction.soft.penalty(labels)
        if self._is_squared:
            self.cost = float(contraction.scatter.sum() + contraction.weights @ squares)
        else:
            self.cost = float(contraction.weights @ np.sqrt(squares))

    def _distances(
        self, centres: NDArray[np.float64], time_left: TimeLeft = no_limit
    ) -> NDArray[np.float64]:
        """Return d from each block to each centre, (m, k)."""
        from scipy.spatial.distance import cdist  # a tenth of a second, and not needed by every run

        means = self._contraction.means
        distances = np.empty((len(means), len(centres)))
        metric = "sqeuclidean" if self._is_squared else "euclidean"
        for first, last in chunks(len(means), centres.size, time_left):
            distances[first:last] = cdist(means[first:last], centres, metric)
        return distances


@dataclass(frozen=True, eq=False, kw_only=True)
class AlternatingHeuristic(Heuristic):
    """Method of exact assignment steps and means in turn.

    A subclass defines the price of violated soft constraints. It may override how the instance is
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
        """Return the number of nearest clusters that a block may join, 1 to k."""
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
            best = cheapest_of(self._ends(contraction, known, rng, clock), clock)
        except OutOfTime:  # or no assignment step found labels
            return SearchResult(None, Stop.TIME_LIMIT, 0)
        return best.lifted(contraction)

    def _ends(
        self,
        contraction: Contraction,
        known: NDArray[np.intp] | None,
        rng: np.random.Generator,
        clock: RunClock,
    ) -> Iterator[SearchResult]:
        """Yield the result of each set of initial centres.

        As P changes from start to start, the P of the first start prices all clusterings.

        known : labels (m,) that satisfy the hard constraints, the result of a start whose first
            assignment step finds no labels

        Raises
        ------
        OutOfTime
            If an assignment step finds no labels, and none are known.
        """
        time_left, most = clock.time_left, self.max_iterations
        lists, price = self.n_candidates(contraction), None
        step_limit = self.assignment_time_limit
        assign = assignment_of(contraction, math.inf, None, step_limit, True, is_thorough=True)
        for _ in range(self.n_starts):
            centres = kmeans_plus_plus(contraction, rng, time_left)
            step = PenalisedStep(contraction, self.distance, lists, assign, self.price, time_left)
            found = alternate(contraction, step, centres, step.rule, most, known, time_left)
            if not found.n_iterations:
                step.take(found.found)
            price = step.penalty if price is None else price
            cost = step.cost + price * step.violated
            objective = step.objective if self.soft is Soft.WEIGHED else None
            yield replace(found, penalised_objective=objective, cost=cost)


@dataclass(frozen=True, eq=False, kw_only=True)
class BLPKM(AlternatingHeuristic):
    """k-means with hard constraints by binary linear programmes.

    An assignment step solves, for centres o_l, over the blocks that the constraints force together,
    with weights s_i and means x_i (numbers are of (MBLP) in the PCCC paper),

        minimise    sum_i s_i d(x_i, o_l(i))                              (1), without soft pairs
        subject to  one label l(i) for every block i, no cluster empty,   (2), (3), (7)
                    l(i) != l(j) for cannot-links,                        (4)
                    limits on the sizes and weights of clusters.

    The run ends when the objective at the means no longer decreases.
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
    hard ones and soft ones of weight 1 are treated alike, and a pair given twice counts once. The
    head of the module describes stopping.

    The result may violate any constraint on pairs, but satisfies the limits. Its
    penalised_objective is the objective with M of the last iteration.
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
    blocks add up, opposing ones are netted off. `sdpbb.problem.contract` merges the blocks of the
    paper further if the cannot-links leave no choice. The head of the module describes stopping.

    The result satisfies all hard constraints, and the limits. Its penalised_objective is the
    objective with P of the last iteration. With squared distances it is the sum of squares plus P
    times the violated weight.
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
        if self.q is None:
            return contraction.k
        degrees = np.bincount(contraction.cannot_link.reshape(-1), minlength=1)
        enough = int(degrees.max()) + 1  # 1 without cannot-links, which asks for nothing
        return min(max(2 if self.q == "auto" else self.q, enough), contraction.k)

    def price(self, distances: NDArray[np.float64]) -> float:
        return distances.sum() / len(distances) if self.penalty is None else self.penalty
