"""Steps of k-means, and their alternation: the loop of every k-means method.

Methods differ in the assignment step, in the means, and in the rule that ends the loop. `ComesBack`
ends it when a clustering repeats: equally cheap assignments could cycle for ever. `Decreases` ends
it when the cost of the clustering no longer decreases.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum, auto
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from heuristics.result import SearchResult, Stop
from sdpbb.problem import Contraction
from sdpbb.runtime.arrays import Integers, Reals
from sdpbb.runtime.jit import njit
from sdpbb.runtime.time_left import OutOfTime, TimeLeft, check_time, chunks, no_limit


def nearest_labels(
    rows: NDArray[np.float64], centres: NDArray[np.float64], time_left: TimeLeft = no_limit
) -> NDArray[np.int64]:
    """Return the nearest centre of each of the rows (m, r); of equally near ones, the first.

    Raises
    ------
    OutOfTime
        If the time is over before the end.
    """
    rows, columns = np.ascontiguousarray(rows), np.ascontiguousarray(centres.T)
    labels = np.empty(len(rows), np.int64)
    for first, last in chunks(len(rows), centres.size, time_left):
        _nearest(rows[first:last], columns, labels[first:last])
    return labels


def costs_of_labels(
    contraction: Contraction,
    centres: NDArray[np.float64],
    time_left: TimeLeft = no_limit,
    blocks: NDArray[np.intp] | None = None,
) -> NDArray[np.float64]:
    """Return e_i (|| o_c ||^2 - 2 c_i o_c): the cost of label c of block i minus e_i || c_i ||^2.

    blocks : (b,) numbers of blocks; None: all

    Returns
    -------
    (b, k) for centres (k, r)

    Raises
    ------
    OutOfTime
        If the time is over before the end.
    """
    n = contraction.n_blocks if blocks is None else len(blocks)
    norms, costs = (centres**2).sum(axis=1), np.empty((n, len(centres)))
    for first, last in chunks(n, centres.size, time_left):
        some = slice(first, last) if blocks is None else blocks[first:last]
        part = np.matmul(contraction.means[some], centres.T, out=costs[first:last])
        part *= -2.0
        part += norms
        part *= contraction.weights[some, None]
    return costs


@njit(cache=True, nogil=True)
def _nearest(rows: Reals, columns: Reals, labels: Integers) -> None:
    """Write the nearest of the centres, whose coordinates are columns (r, k), for each row.

    The distances of a row to all centres are summed side by side, in vectors.
    """
    m, r = rows.shape
    k = columns.shape[1]
    distances = np.empty(k)
    for i in range(m):
        distances[:] = 0.0
        for t in range(r):
            for c in range(k):
                distances[c] += (rows[i, t] - columns[t, c]) ** 2
        nearest = 0
        for c in range(1, k):
            if distances[c] < distances[nearest]:
                nearest = c
        labels[i] = nearest


def cluster_sums(
    labels: NDArray[np.integer], weights: NDArray[np.float64], rows: NDArray[np.float64], k: int
) -> NDArray[np.float64]:
    """Return the sum of weight times row (m, r) over each cluster of labels (m,), (k, r)."""
    sums = np.zeros((k, rows.shape[1]))
    _add(labels, weights, rows, sums)
    return sums


@njit(cache=True, nogil=True)
def _add(labels: NDArray[np.integer], weights: Reals, rows: Reals, sums: Reals) -> None:
    for i in range(len(labels)):
        for t in range(rows.shape[1]):
            sums[labels[i], t] += weights[i] * rows[i, t]


def cluster_means(contraction: Contraction, labels: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the mean of each cluster of labels (m,), (k, r); none of them is empty."""
    weights = np.bincount(labels, weights=contraction.weights, minlength=contraction.k)
    sums = cluster_sums(labels, contraction.weights, contraction.means, contraction.k)
    return np.asarray(sums / weights[:, None], np.float64)


def explained(contraction: Contraction, labels: NDArray[np.intp]) -> float:
    """Return sum_c N_c || m_c ||^2: the total minus the cost of labels (m,)."""
    weights = np.bincount(labels, weights=contraction.weights, minlength=contraction.k)
    return float(weights @ (cluster_means(contraction, labels) ** 2).sum(axis=1))


def fill_empty_clusters(
    contraction: Contraction, labels: NDArray[np.int64], time_left: TimeLeft = no_limit
) -> NDArray[np.int64]:
    """Move single blocks into empty clusters, the one that reduces the sum of squares most first.

    Block i out of cluster a of weight N_a saves e_i N_a / (N_a - e_i) || c_i - mean_a ||^2. The
    labels (m,) are changed in place. No cannot-link is broken: an empty cluster has no neighbour.

    Raises
    ------
    OutOfTime
        If the time is over before all are filled.
    """
    weights, means, k = contraction.weights, contraction.means, contraction.k
    count = np.bincount(labels, minlength=k)
    for empty in np.flatnonzero(count == 0).tolist():
        check_time(time_left)
        of = np.bincount(labels, weights, k)
        own, centres = of[labels], cluster_sums(labels, weights, means, k)
        away = ((means - centres[labels] / own[:, None]) ** 2).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = np.where(count[labels] > 1, weights * own / (own - weights) * away, -1.0)
        chosen = int(np.argmax(gain))
        count[labels[chosen]] -= 1
        count[empty], labels[chosen] = 1, empty
    return labels


class StepVerdict(Enum):
    """Verdict of a rule on the labels of a step: whether they count, and whether to continue."""

    CONTINUE = auto()
    LAST = auto()
    NO_BETTER = auto()
    """The labels of the step before are the result."""


def alternate(
    contraction: Contraction,
    assign: Callable[[NDArray[np.float64]], NDArray[np.intp]],
    centres: NDArray[np.float64],
    rule: Callable[[NDArray[np.intp]], StepVerdict],
    max_iterations: int,
    labels: NDArray[np.intp] | None = None,
    time_left: TimeLeft = no_limit,
    means: Callable[[NDArray[np.intp]], NDArray[np.float64]] | None = None,
) -> SearchResult:
    """Alternate assignments and means, from given centres, until a rule ends it.

    Parameters
    ----------
    assign : labels (m,) for centres, no cluster empty
    centres : (k, r)
    rule : verdict on the labels of each step
    max_iterations : assignment steps, >= 1
    labels : known labels, the result if the time ends before the first step; None: unknown
    means : centres for labels; None: `cluster_means`

    Raises
    ------
    OutOfTime
        If the time is over before the first labels.
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
        if verdict is not StepVerdict.CONTINUE:
            stop = Stop.CONVERGED
            break
        if time_left() <= 0.0:
            stop = Stop.TIME_LIMIT
            break
        centres = cluster_means(contraction, updated) if means is None else means(updated)
    return SearchResult(labels, stop, n_iterations)


class ComesBack:
    """Rule that ends an alternation when labels repeat."""

    def __init__(self) -> None:
        self._met: set[bytes] = set()

    def __call__(self, labels: NDArray[np.intp]) -> StepVerdict:
        digest = blake2b(labels.astype(np.int32).data, digest_size=16).digest()
        if digest in self._met:
            return StepVerdict.LAST
        self._met.add(digest)
        return StepVerdict.CONTINUE


# A descent is expected to miss its goal if this many steps as good as the last one do not reach it.
STEPS_TO_GOAL = 20
# A saving of less than this share of the total is rounding.
LEAST_SAVING = 1e-13


class Decreases:
    """Rule that ends an alternation when the cost of the clustering no longer decreases.

    The cost is taken at the means of the clustering.

    Parameters
    ----------
    labels : whose means are the first centres; None: unknown
    goal : a cost; end if STEPS_TO_GOAL steps as good as the last one would not reach it
    least_decrease : end if a step saves less than this share of the cost

    Attributes
    ----------
    is_hopeless : whether it ended because the goal was out of reach
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
        self.is_hopeless = cost - STEPS_TO_GOAL * saved > self._goal
        is_last = self.is_hopeless or saved <= self._least * cost
        return StepVerdict.LAST if is_last else StepVerdict.CONTINUE

    def _cost_of(self, labels: NDArray[np.intp]) -> float:
        contraction = self._contraction
        return contraction.total - explained(contraction, labels) + contraction.soft.penalty(labels)


def kmeans(
    contraction: Contraction,
    centres: NDArray[np.float64],
    most: int,
    time_left: TimeLeft = no_limit,
) -> SearchResult:
    """Run k-means over the blocks, weighted by their weights, from centres (k, r).

    Pairs are ignored. The cost never increases from one step to the next: the block that fills an
    empty cluster is the one whose move reduces it most. The run has converged once labels repeat:
    the labels of the last step, or earlier ones if points coincide and clusters are filled in turn.

    most : maximum assignment steps

    Raises
    ------
    OutOfTime
        If the time is over before the first assignment step has ended.
    """

    def assign(at: NDArray[np.float64]) -> NDArray[np.intp]:
        labels = nearest_labels(contraction.means, at, time_left)
        return fill_empty_clusters(contraction, labels, time_left)

    return alternate(contraction, assign, centres, ComesBack(), most, time_left=time_left)
