"""First prices of blocks, from a known clustering, in closed form."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class KnownClustering:
    """Known clustering of weighted points, and the prices that it suggests.

    centres : (k, p) means of the clusters
    prices : (m,) of a point: between the squared distances from the own centre and from the nearest
        other one, such that all clusters are worth `surplus` more than they cost
    surplus : as much as half the way to the next centre allows in each cluster
    cost : without the scatter inside blocks
    radius : of the smallest cluster that has any; inf if none has
    """

    centres: NDArray[np.float64]
    prices: NDArray[np.float64]
    surplus: float
    cost: float
    radius: float

    @classmethod
    def of(
        cls, points: NDArray[np.float64], weights: NDArray[np.float64], labels: NDArray[np.intp]
    ) -> KnownClustering:
        """Return the clustering that labels (m,) are, without empty clusters.

        points, weights : (m, p), (m,) > 0
        """
        centres, totals = means_of(points, weights, labels)
        own, half = np.empty(len(points)), np.full(len(points), np.inf)
        for label, centre in enumerate(centres):
            squares, inside = ((points - centre) ** 2).sum(axis=1), labels == label
            own[inside] = squares[inside]
            half[~inside] = np.minimum(half[~inside], squares[~inside])
        half = np.maximum((half - own) / 2.0, 0.0) if len(centres) > 1 else np.zeros(len(points))
        surplus = float(np.bincount(labels, weights * half).min())
        prices = own + _equal_surpluses(half, weights, labels, surplus)
        costs = np.bincount(labels, own * weights)
        radii = np.sqrt(costs / totals)
        radius = float(radii[radii > 0.0].min(initial=math.inf))
        return cls(centres, prices, surplus, float(costs.sum()), radius)


def means_of(
    points: NDArray[np.float64], weights: NDArray[np.float64], group: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the means (g, p) and weights (g,) of groups of points."""
    total = np.bincount(group, weights).astype(np.float64)
    sums = np.column_stack([np.bincount(group, weights * column) for column in points.T])
    return sums / total[:, None], total


def _equal_surpluses(
    half: NDArray[np.float64], weights: NDArray[np.float64], labels: NDArray[np.intp], total: float
) -> NDArray[np.float64]:
    """Return surpluses (m,) up to `half`, level in each cluster, that add up to a total there."""
    surplus = np.empty(len(half))
    for label in np.unique(labels):
        inside = labels == label
        low, high = 0.0, float(half[inside].max())
        for _ in range(50):
            middle = 0.5 * (low + high)
            if weights[inside] @ np.minimum(half[inside], middle) < total:
                low = middle
            else:
                high = middle
        surplus[inside] = np.minimum(half[inside], high)
    return surplus
