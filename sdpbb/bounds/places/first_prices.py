"""First prices of points, from a known clustering."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.places.cells import cells_of, means_of, spread
from sdpbb.bounds.places.dual import PlaceDual
from sdpbb.bounds.places.problem import PlaceProblem
from sdpbb.runtime.time_left import TimeLeft

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
