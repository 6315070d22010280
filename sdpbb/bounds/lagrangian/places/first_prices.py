"""First prices of points, from a known clustering: of cells, groups of near points, first."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from sdpbb.bounds.lagrangian.places.dual import PlaceDual
from sdpbb.bounds.lagrangian.places.search import PlaceProblem
from sdpbb.runtime.time_left import TimeLeft, check_time

# Points between two looks at the time.
_ROWS = 50_000
# Cells near a point whose prices its own is made of.
_NEAR = 8


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


def spread(
    surplus: NDArray[np.float64],
    means: NDArray[np.float64],
    cluster: NDArray[np.intp],
    points: NDArray[np.float64],
    labels: NDArray[np.intp],
    time_left: TimeLeft,
) -> NDArray[np.float64]:
    """Return a surplus (n,) of each point from those of near cells of its cluster.

    surplus, means, cluster : of the cells
    """
    found = np.empty(len(points))
    for label in np.unique(labels):
        among, rows = np.flatnonzero(cluster == label), np.flatnonzero(labels == label)
        near, tree = min(_NEAR, len(among)), cKDTree(means[among])
        for first in range(0, len(rows), _ROWS):
            check_time(time_left)
            of = rows[first : first + _ROWS]
            distance, index = tree.query(points[of], near)
            distance, index = distance.reshape(-1, near), index.reshape(-1, near)
            floor = 1e-3 * float(np.median(distance)) ** 2 + np.finfo(np.float64).tiny
            squares = distance**2 + floor
            share = squares.min(axis=1)[:, None] / squares
            found[of] = (share * surplus[among][index]).sum(axis=1) / share.sum(axis=1)
    return found


# Sharpness of the maximum, and steps, for prices of cells.
_ASCENTS = ((30.0, 300), (100.0, 300), (300.0, 300), (1000.0, 200), (3000.0, 100))


@dataclass(frozen=True, eq=False)
class KnownClustering:
    """Known clustering of the points of a problem.

    labels : (m,)
    centres : (k, 3) means of the clusters
    own, second : (m,) squared distances from the own centre, and from the nearest other one
    cost : without the scatter inside blocks
    radius : of the smallest cluster that has any; inf if none has
    """

    labels: NDArray[np.intp]
    centres: NDArray[np.float64]
    own: NDArray[np.float64]
    second: NDArray[np.float64]
    cost: float
    radius: float

    @classmethod
    def of(cls, problem: PlaceProblem, labels: NDArray[np.intp]) -> KnownClustering:
        """Return the clustering that labels (m,) are, without empty clusters."""
        centres, totals = means_of(problem.points, problem.weights, labels)
        own, second = _nearest(problem.points, centres, labels)
        costs = np.bincount(labels, own * problem.weights)
        radii = np.sqrt(costs / totals)
        radius = float(radii[radii > 0.0].min(initial=math.inf))
        return cls(labels, centres, own, second, float(costs.sum()), radius)

    def prices(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return prices (m,) in closed form.

        They are between the two distances, such that all clusters are worth the same.
        """
        half = (self.second - self.own) / 2.0
        return self.own + _equal_surpluses(half, weights, self.labels)


def prices_of_cells(
    of: PlaceProblem,
    known: KnownClustering,
    places: NDArray[np.float64],
    n_cells: int,
    time_left: TimeLeft,
) -> NDArray[np.float64]:
    """Return prices (m,) from those of cells, groups of near points.

    Raises
    ------
    OutOfTime
    """
    cell = cells_of(of.points, of.weights, known.labels, n_cells, time_left)
    means, totals = means_of(of.points, of.weights, cell)
    cluster = np.empty(len(means), np.intp)
    cluster[cell] = known.labels
    own, second = _nearest(means, known.centres, cluster)
    prices = own + _equal_surpluses((second - own) / 2.0, totals, cluster)
    dual = PlaceDual(of.grouped(cell, means, totals), places, known.cost)
    for sharpness, most in _ASCENTS:
        ascent = dual.ascend(prices, sharpness, most, time_left)
        prices = ascent.last
    surplus = spread(ascent.best - own, means, cluster, of.points, known.labels, time_left)
    return known.own + np.clip(surplus, 0.0, np.maximum(known.second - known.own, 0.0))


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
