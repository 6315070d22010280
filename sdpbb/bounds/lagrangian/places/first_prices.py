"""First prices of points, and first places of means, from a known clustering."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.lagrangian.places.search import PlaceProblem
from sdpbb.runtime.time_left import TimeLeft, check_time


def cells_of(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    labels: NDArray[np.intp],
    most: int,
    time_left: TimeLeft,
) -> NDArray[np.intp]:
    """Return the cell (n,) of each point: clusters, cut across where they scatter most.

    The cell with the greatest scatter is cut at its mean, until there are `most`.
    """
    heap: list[tuple[float, int, NDArray[np.intp], NDArray[np.bool_]]] = []
    for label in np.unique(labels):
        heap.append(_cut(points, weights, np.flatnonzero(labels == label), len(heap)))
    heapq.heapify(heap)
    n_made = len(heap)
    while len(heap) < most and heap[0][0] < 0.0:
        check_time(time_left)
        _, _, rows, side = heapq.heappop(heap)
        for part in (rows[side], rows[~side]):
            heapq.heappush(heap, _cut(points, weights, part, n_made))
            n_made += 1
    cell = np.empty(len(points), np.intp)
    for number, (_, _, rows, _) in enumerate(heap):
        cell[rows] = number
    return cell


def _cut(
    points: NDArray[np.float64], weights: NDArray[np.float64], rows: NDArray[np.intp], number: int
) -> tuple[float, int, NDArray[np.intp], NDArray[np.bool_]]:
    """Return the scatter of points, negative, with their rows and the side that each would be on.

    It is 0 where they cannot be cut.
    """
    w = weights[rows]
    centred = points[rows] - w @ points[rows] / w.sum()
    scatter = (centred * w[:, None]).T @ centred
    side = centred @ np.linalg.eigh(scatter)[1][:, -1] > 0.0
    is_cut = side.any() and not side.all()
    return -float(np.trace(scatter)) if is_cut else 0.0, number, rows, side


def means_of(
    points: NDArray[np.float64], weights: NDArray[np.float64], group: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the means (g, 3) and weights (g,) of groups of points."""
    total = np.bincount(group, weights).astype(np.float64)
    sums = np.column_stack([np.bincount(group, weights * column) for column in points.T])
    return sums / total[:, None], total


@dataclass(frozen=True, eq=False)
class KnownClustering:
    """Known clustering of the m points of a problem, and the prices that it suggests.

    centres : (k, 3) means of the clusters
    prices : (m,) in closed form: between the squared distances from the own centre and from the
        nearest other one, such that all clusters are worth the same
    cost : without the scatter inside blocks
    radius : of the smallest cluster that has any; inf if none has
    """

    centres: NDArray[np.float64]
    prices: NDArray[np.float64]
    cost: float
    radius: float

    @classmethod
    def of(cls, problem: PlaceProblem, labels: NDArray[np.intp]) -> KnownClustering:
        """Return the clustering that labels (m,) are, without empty clusters."""
        weights = problem.weights
        centres, totals = means_of(problem.points, weights, labels)
        own, second = _nearest(problem.points, centres, labels)
        costs = np.bincount(labels, own * weights)
        radii = np.sqrt(costs / totals)
        prices = own + _equal_surpluses((second - own) / 2.0, weights, labels)
        radius = float(radii[radii > 0.0].min(initial=math.inf))
        return cls(centres, prices, float(costs.sum()), radius)


def _nearest(
    points: NDArray[np.float64], centres: NDArray[np.float64], labels: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return squared distances (n,) from the own centre, and from the nearest other one."""
    own, other = np.empty(len(points)), np.full(len(points), np.inf)
    for label, centre in enumerate(centres):
        squares, of = ((points - centre) ** 2).sum(axis=1), labels == label
        own[of] = squares[of]
        other[~of] = np.minimum(other[~of], squares[~of])
    return own, other


def _equal_surpluses(
    half: NDArray[np.float64], weights: NDArray[np.float64], labels: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return what prices are above the squared distance from the own centre.

    It is half the way to the next one at most, and the same in sum for all clusters.

    half : (m,) half the difference of the squared distances
    """
    half = np.maximum(half, 0.0)
    least = float(np.bincount(labels, weights * half).min())
    surplus = np.empty(len(half))
    for label in np.unique(labels):
        of = labels == label
        low, high = 0.0, float(half[of].max())
        for _ in range(50):
            middle = 0.5 * (low + high)
            if weights[of] @ np.minimum(half[of], middle) < least:
                low = middle
            else:
                high = middle
        surplus[of] = np.minimum(half[of], high)
    return surplus
