"""Alternation of assignments and means: the loop of every k-means method.

Methods differ in the assignment step and in the rule that ends the loop. Two rules are here.

**A clustering comes back** (k-means and the methods after it). No step increases the cost, but
where several assignments are equally cheap they might follow each other in a circle.

**The objective no longer decreases** (PCCC, section 4.4; BH-k-means, section 3). With blocks i of
size s_i and mean x_i, centres o_l, and a penalty P, the objective of labels l at given centres is

    F_P(l, o) = W + sum_i s_i d(x_i, o_l(i)) + P V(l),

V the weight of the violated soft constraints. With d the squared Euclidean distance W is the sum of
squares inside the blocks, so that the first two terms are the sum of squares of the points around
the centres; with d the Euclidean distance, which is the one in the papers, W = 0.

Each step sets P by a rule from the distances, and finds labels that minimise F_P at the centres and
keep the hard cannot-links (the mixed-binary programmes of the papers). The loop goes on while the
objective "computed after the update step" decreases. Where P changes with the centres, values of
different steps are sums of different terms; so the clusterings before and after a step, each with
its own means, are compared under the P of that step. For a fixed P this is the rule of the papers
word for word. Under a P that changes, clusterings might follow each other in a circle, each better
than the last under the P of its time: the loop also ends when one comes back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from hashlib import blake2b
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment import AssignmentSolution, fill_empty_clusters
from heuristics.kmeans_steps import cluster_means, explained, nearest_labels
from heuristics.result import Stop
from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, check_time, chunks, no_limit

Distance = Literal["squared", "euclidean"]
"""Distance from a block to a centre."""


@dataclass(frozen=True, eq=False)
class BlockDistances:
    """Distances d of the blocks of a contraction, and the clusters that each may join.

    Attributes
    ----------
    n_candidates : how many clusters, the nearest ones, a block may join; k for all
    time_left : time left; the methods raise OutOfTime where there is none
    """

    contraction: Contraction
    distance: Distance
    n_candidates: int
    time_left: TimeLeft = no_limit

    def distances(self, centres: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return d from each block to each centre, (m, k)."""
        from scipy.spatial.distance import cdist  # a tenth of a second, and not needed by every run

        means = self.contraction.means
        distances = np.empty((len(means), len(centres)))
        metric = "sqeuclidean" if self.distance == "squared" else "euclidean"
        for first, last in chunks(len(means), centres.size, self.time_left):
            distances[first:last] = cdist(means[first:last], centres, metric)
        return distances

    def candidates(self, distances: NDArray[np.float64]) -> NDArray[np.bool_] | None:
        """Return marks (m, k) of the nearest clusters of each block, or None for all of them."""
        q = self.n_candidates
        if q >= distances.shape[1]:
            return None
        nearest = np.argpartition(distances, q - 1, axis=1)[:, :q]
        marks = np.zeros(distances.shape, np.bool_)
        np.put_along_axis(marks, nearest, True, axis=1)
        return marks

    def cost(self, labels: NDArray[np.intp]) -> float:
        """Return W + sum_i s_i d(x_i, o_l(i)) of the objective, at the means of the clusters."""
        contraction = self.contraction
        away = contraction.means - cluster_means(contraction, labels)[labels]
        squares: NDArray[np.float64] = np.einsum("ij,ij->i", away, away)
        if self.distance == "squared":
            return float(contraction.scatter.sum() + contraction.weights @ squares)
        return float(contraction.weights @ np.sqrt(squares))


# A decrease of less than this share of the objective is rounding, and none.
LEAST_DECREASE = 1e-12


class StepVerdict(Enum):
    """Verdict of a rule on the labels of a step: whether they are taken, and whether to go on."""

    GO_ON = auto()
    LAST = auto()
    NO_BETTER = auto()
    """The labels before them are the last ones."""


@dataclass(frozen=True, eq=False)
class Alternation:
    """End of an alternation.

    labels : (m,) the clustering
    centres : (k, r) those of the last assignment step
    stop : whether the rule, the number of steps or the time ended it
    n_iterations : assignment steps
    """

    labels: NDArray[np.intp]
    centres: NDArray[np.float64]
    stop: Stop
    n_iterations: int


def alternate(
    contraction: Contraction,
    assign: Callable[[NDArray[np.float64]], NDArray[np.intp]],
    centres: NDArray[np.float64],
    rule: Callable[[NDArray[np.intp]], StepVerdict],
    max_iterations: int,
    labels: NDArray[np.intp] | None = None,
    time_left: TimeLeft = no_limit,
) -> Alternation:
    """Alternate assignments and means, from given centres, until a rule ends it.

    Parameters
    ----------
    assign : labels (m,) for centres. An empty cluster keeps its centre
    centres : (k, r)
    rule : asked with the labels of each step
    max_iterations : assignment steps, >= 1
    labels : known labels, if there are any; the result where no time is left for others

    Raises
    ------
    OutOfTime
        If no time is left before there are labels.
    """
    n_iterations, stop = 0, Stop.ITERATION_LIMIT
    while n_iterations < max_iterations:
        try:
            updated = assign(centres)
        except OutOfTime:
            if labels is None:
                raise
            stop = Stop.TIME_LIMIT
            break
        n_iterations += 1
        verdict = rule(updated)
        if verdict is not StepVerdict.NO_BETTER:
            labels = updated
        if verdict is not StepVerdict.GO_ON:
            stop = Stop.CONVERGED
            break
        if time_left() <= 0.0:
            stop = Stop.TIME_LIMIT
            break
        centres = cluster_means(contraction, updated, centres)
    assert labels is not None  # max_iterations >= 1
    return Alternation(labels, centres, stop, n_iterations)


class ComesBack:
    """Rule that ends an alternation when its labels come back."""

    def __init__(self) -> None:
        self._met: set[bytes] = set()

    def __call__(self, labels: NDArray[np.intp]) -> StepVerdict:
        digest = blake2b(labels.astype(np.int32).data, digest_size=16).digest()
        if digest in self._met:
            return StepVerdict.LAST
        self._met.add(digest)
        return StepVerdict.GO_ON


# Of a descent that is not expected to come to its goal: steps, each as good as its last one.
PATIENCE = 20
# A saving of less than this share of the total is rounding.
LEAST_SAVING = 1e-13


class Decreases:
    """Rule that ends an alternation when the cost of the clustering, at its means, stays.

    It also ends where so little is saved that the goal is out of reach.

    Parameters
    ----------
    labels : those that the first centres are the means of, if there are any
    goal : a cost; the alternation is left if PATIENCE steps as good as the last one would not come
        to it
    least_decrease : share of the cost that a step saves if another one follows

    Attributes
    ----------
    is_hopeless : whether it was left because it would not come to the goal
    """

    def __init__(
        self,
        contraction: Contraction,
        labels: NDArray[np.intp] | None = None,
        goal: float = math.inf,
        least_decrease: float = 0.0,
    ) -> None:
        self._contraction, self._goal, self._least = contraction, goal, least_decrease
        self._cost = math.inf if labels is None else self._cost_of(labels)
        self.is_hopeless = False

    def __call__(self, labels: NDArray[np.intp]) -> StepVerdict:
        cost = self._cost_of(labels)
        saved = self._cost - cost
        if saved <= LEAST_SAVING * self._contraction.total:
            return StepVerdict.NO_BETTER
        self._cost = cost
        self.is_hopeless = cost - PATIENCE * saved > self._goal
        is_last = self.is_hopeless or saved <= self._least * cost
        return StepVerdict.LAST if is_last else StepVerdict.GO_ON

    def _cost_of(self, labels: NDArray[np.intp]) -> float:
        contraction = self._contraction
        return contraction.total - explained(contraction, labels) + contraction.soft.penalty(labels)


def kmeans(
    contraction: Contraction,
    centres: NDArray[np.float64],
    most: int,
    time_left: TimeLeft = no_limit,
) -> Alternation:
    """Run k-means over the blocks, weighted by their weights, from centres (k, r).

    Pairs are not looked at. The cost never increases from one step to the next: a block that fills
    an empty cluster is the one whose move reduces it most. It has converged once labels come back:
    those of the step before, or, where points coincide and clusters are filled in turn, earlier
    ones.

    most : assignment steps

    Raises
    ------
    OutOfTime
        If the time is over before the first assignment step has ended.
    """

    def assign(at: NDArray[np.float64]) -> NDArray[np.intp]:
        labels = nearest_labels(contraction.means, at, time_left)
        weights, means, k = contraction.weights, contraction.means, contraction.k
        return fill_empty_clusters(labels, weights, means, k, time_left)

    return alternate(contraction, assign, centres, ComesBack(), most, time_left=time_left)


AssignmentStep = Callable[
    [NDArray[np.float64], NDArray[np.bool_] | None, float, NDArray[np.intp] | None, TimeLeft],
    AssignmentSolution,
]
"""Assignment step of costs (m, k), as `PairwiseAssignment` describes it, within limits or not."""


class PenalisedStep:
    """Assignment step that minimises F_P, and the rule that F_P decreases, for one alternation.

    Parameters
    ----------
    penalty : the rule for P, of the distances (m, k) of a step

    Attributes
    ----------
    cost, violated : F_0 and V of the labels so far, at their means; cost inf without any
    penalty : P of the last step
    """

    def __init__(
        self,
        blocks: BlockDistances,
        assign: AssignmentStep,
        penalty: Callable[[NDArray[np.float64]], float],
    ) -> None:
        self._blocks, self._assign, self._rule = blocks, assign, penalty
        self._start: NDArray[np.intp] | None = None
        self._comes_back = ComesBack()
        self.cost, self.violated, self.penalty = math.inf, 0.0, 0.0

    def __call__(self, centres: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return labels (m,) for centres (k, r).

        Raises
        ------
        OutOfTime
            If no labels that keep the hard pairs are found.
        """
        blocks = self._blocks
        check_time(blocks.time_left)
        distances = blocks.distances(centres)
        penalty = self._rule(distances)
        found = self._assign(
            blocks.contraction.weights[:, None] * distances,
            blocks.candidates(distances),
            penalty,
            self._start,
            blocks.time_left,
        )
        if found.labels is None:
            raise OutOfTime
        self._start, self.penalty = found.labels, penalty
        return found.labels

    @property
    def objective(self) -> float:
        """F_P of the labels so far at their means, P that of the last step."""
        return self.cost + self.penalty * self.violated

    def rule(self, labels: NDArray[np.intp]) -> StepVerdict:
        """Return whether the labels of a step are better than those before, under its P."""
        before = self.objective
        cost, violated = self._blocks.cost(labels), self._blocks.contraction.soft.penalty(labels)
        after = cost + self.penalty * violated
        if after >= before - LEAST_DECREASE * abs(after):
            return StepVerdict.NO_BETTER
        self.cost, self.violated = cost, violated
        return self._comes_back(labels)

    def take(self, labels: NDArray[np.intp]) -> None:
        """Take labels of no step for the best, with P at their means; the clock is not asked."""
        blocks = BlockDistances(self._blocks.contraction, self._blocks.distance, 1)
        self.penalty = self._rule(blocks.distances(cluster_means(blocks.contraction, labels)))
        self.cost, self.violated = blocks.cost(labels), blocks.contraction.soft.penalty(labels)
