"""Loop of PCCC, BLPKM and BH-k-means: exact assignment steps and means in turn.

With blocks i of size s_i and mean x_i, centres o_l, a signed graph of pairs of blocks with weights
w (`heuristics.assignment.PairGraph`) and a penalty P, the objective of labels l at given centres is

    F_P(l, o) = W + sum_i s_i d(x_i, o_l(i)) + P V(l),

V the weight of the violated soft constraints. With d the squared Euclidean distance W is the sum of
squares inside the blocks, so that the first two terms are the sum of squares of the points around
the centres; with d the Euclidean distance, which is the one in the papers, W = 0.

Each iteration sets P by a rule from the distances, finds labels that minimise F_P at the centres
and keep the hard cannot-links (the mixed-binary programmes of the papers), and moves the centres to
the means of their clusters. It goes on while the objective "computed after the update step" (PCCC,
section 4.4; BH-k-means, section 3) decreases. Where P changes with the centres, values of different
iterations are sums of different terms; so the clusterings before and after an iteration, each with
its own means, are compared under the P of that iteration. For a fixed P this is the rule of the
papers word for word. Under a P that changes, clusterings might follow each other in a circle,
each better than the last under the P of its time: the loop also ends when one comes back.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from heuristics.assignment import (
    AssignmentSolution,
    PairGraph,
)
from heuristics.block_distances import BlockDistances, PenaltyRule
from heuristics.kmeans_steps import cluster_sums, digest
from heuristics.method import RunClock
from heuristics.result import Stop
from heuristics.starts import kmeans_plus_plus
from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, no_limit

# A decrease of less than this share of the objective is rounding, and none.
LEAST_DECREASE = 1e-12

Start = Literal["k-means++", "random"]
"""Choice of the initial centres."""


class AssignmentStep(Protocol):
    """Assignment step, as `PairwiseAssignment` describes it, with limits on clusters or without."""

    def __call__(
        self,
        costs: NDArray[np.float64],
        *,
        candidates: NDArray[np.intp] | None,
        penalty: float,
        start: NDArray[np.intp] | None,
        time_left: TimeLeft,
    ) -> AssignmentSolution: ...


@dataclass(frozen=True)
class Iteration:
    """One assignment and one update.

    Attributes
    ----------
    penalty : P
    before : F_P of the clustering before, at its means; inf in the first iteration
    after : F_P of the new one, at its means
    is_optimal : whether the labels are a proven minimum of the programme, but for empty clusters
    """

    penalty: float
    before: float
    after: float
    is_optimal: bool

    @property
    def decreases(self) -> bool:
        return self.after < self.before - LEAST_DECREASE * abs(self.after)


@dataclass(frozen=True, eq=False)
class Alternation:
    """Outcome of alternating assignments and means.

    Attributes
    ----------
    labels : (m,) the best clustering; None if the first assignment step found none
    cost, violated : W + sum_i s_i d(x_i, o_l(i)) and V of it at its means; cost inf without labels
    penalty : P of the last iteration
    is_infeasible : the first assignment step has proven that no labels keep the hard cannot-links
    """

    labels: NDArray[np.intp] | None
    cost: float
    violated: float
    penalty: float
    stop: Stop
    is_infeasible: bool = False
    iterations: list[Iteration] = field(default_factory=list)

    @property
    def objective(self) -> float:
        """F_P of the labels at their means, P that of the last iteration; inf without labels."""
        return self.cost + self.penalty * self.violated


def initial_centres(
    contraction: Contraction, start: Start, rng: np.random.Generator, time_left: TimeLeft = no_limit
) -> NDArray[np.float64]:
    """Return the means (k, r) of k different blocks, drawn by k-means++ or all equally likely."""
    if start == "k-means++":
        return kmeans_plus_plus(contraction, rng, time_left)
    return contraction.means[rng.choice(contraction.n_blocks, contraction.k, replace=False)]


def alternate(
    blocks: BlockDistances,
    graph: PairGraph,
    assign: AssignmentStep,
    penalty: PenaltyRule,
    centres: NDArray[np.float64],
    clock: RunClock,
    max_iterations: int,
    labels: NDArray[np.intp] | None = None,
) -> Alternation:
    """Alternate between assignments and means from given centres.

    Parameters
    ----------
    graph : of the pairs of blocks; assign is prepared for it
    centres : (k, r)
    labels : (m,) k clusters that keep the hard cannot-links, for the first assignment step to begin
        from, or None. They are the result where it has no time, or finds none

    Raises
    ------
    OutOfTime
        If the clock runs out before the first assignment step, and there are no labels.
    """
    best: NDArray[np.intp] | None = None
    cost, violated = math.inf, 0.0  # of the best: its two terms, at its means and without P
    price = 0.0
    met: set[bytes] = set()  # digests of labels
    iterations: list[Iteration] = []

    def reached(stop: Stop, is_infeasible: bool = False) -> Alternation:
        return Alternation(best, cost, violated, price, stop, is_infeasible, iterations)

    with suppress(OutOfTime):
        while not clock.is_over and len(iterations) < max_iterations:
            candidates = blocks.candidates(centres)
            distances = blocks.distances(centres, candidates)
            new_price = penalty(blocks, centres, distances)
            solution = assign(
                blocks.contraction.weights[:, None] * distances,
                candidates=candidates,
                penalty=new_price,
                start=labels,
                time_left=clock.time_left,
            )
            if solution.labels is None:
                # Its time was over before it had labels that keep the hard pairs.
                if best is None and labels is not None:
                    break
                is_infeasible = best is None and solution.is_infeasible
                return reached(Stop.TIME_LIMIT, is_infeasible)
            labels = solution.labels
            centres = cluster_centres(blocks.contraction, labels, centres)
            new_cost = blocks.cost(labels, centres)
            new_violated = violated_weight(graph, labels)
            price = new_price
            step = Iteration(
                price, cost + price * violated, new_cost + price * new_violated, solution.is_optimal
            )
            iterations.append(step)
            if not step.decreases:
                return reached(Stop.CONVERGED)
            best, cost, violated = labels, new_cost, new_violated
            clustering = digest(labels)
            if clustering in met:
                return reached(Stop.CONVERGED)
            met.add(clustering)
    if best is None:
        if labels is None:
            raise OutOfTime
        stop = clock.reason if clock.is_over else Stop.TIME_LIMIT
        untimed = replace(blocks, time_left=no_limit)  # a single look at what is there already
        means = cluster_centres(untimed.contraction, labels, centres)
        price = penalty(untimed, means, untimed.distances(means, untimed.candidates(means)))
        best, cost = labels, untimed.cost(labels, means)
        violated = violated_weight(graph, labels)
        return reached(stop)
    return reached(clock.reason if clock.is_over else Stop.ITERATION_LIMIT)


def cluster_centres(
    contraction: Contraction, labels: NDArray[np.intp], centres: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the means (k, r) of the clusters; an empty one keeps its centre."""
    weights = np.bincount(labels, weights=contraction.weights, minlength=contraction.k)
    sums = cluster_sums(labels, contraction.weights, contraction.means, contraction.k)
    means, filled = centres.copy(), weights > 0
    means[filled] = sums[filled] / weights[filled, None]
    return means


def violated_weight(graph: PairGraph, labels: NDArray[np.intp]) -> float:
    """Return V(l), the weight of the soft constraints that labels (m,) of the blocks violate.

    The weight of those which every labelling violates is part of it.
    """
    together = labels[graph.pairs[:, 0]] == labels[graph.pairs[:, 1]]
    soft = np.isfinite(graph.weights)
    apart = graph.weights[together & soft & (graph.weights > 0)].sum()
    linked = -graph.weights[~together & (graph.weights < 0)].sum()
    return float(graph.constant + apart + linked)
