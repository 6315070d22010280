"""Clustering problem in three dimensions or fewer (`PlaceProblem`), and the bound of its prices."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import ProvenBound
from sdpbb.bounds.lagrangian.duals import lagrangian_bound
from sdpbb.bounds.lagrangian.places.limit_kernels import NO_LIMITS, AmountLimits
from sdpbb.bounds.lagrangian.reach import PLACE_DIMENSIONS
from sdpbb.bounds.rounding_errors import rounding_of
from sdpbb.problem import Contraction

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class PlaceProblem:
    """Weighted points in three dimensions, for k clusters that take one of a pair at most.

    Clusters may have to keep limits on a measure of the points: sizes, or units of weight.

    points : (m, 3), with zeros for what is missing
    weights : (m,) > 0
    pairs, ends : (p, 2) cannot-links, and the (q,) points in any of them
    axes : (r, r) principal axes of the blocks whose means the points are, as columns
    limits : on the measure
    amounts : (m,) of it; zeros without limits
    """

    k: int
    points: NDArray[np.float64]
    weights: NDArray[np.float64]
    pairs: NDArray[np.int64]
    ends: NDArray[np.int64]
    axes: NDArray[np.float64]
    limits: AmountLimits
    amounts: NDArray[np.float64]

    @classmethod
    def of(cls, contraction: Contraction) -> PlaceProblem:
        """Return the problem of the blocks of a contraction, turned along their principal axes.

        Of constraints on clusters that are more than cannot-links, the limits on one measure are
        kept. Others are left out, which only lowers a bound. What turning rounds is in the margin
        of `PlaceSearch`.
        """
        means, weights = contraction.means, contraction.weights
        axes = np.linalg.eigh((means * weights[:, None]).T @ means)[1]
        points = _padded(means @ axes)
        pairs = np.ascontiguousarray(contraction.cannot_link, dtype=np.int64)
        limits, amounts = NO_LIMITS, np.zeros(len(weights))
        for quantity in contraction.limited_amounts[:1]:
            limits = AmountLimits(float(quantity.limits.least), float(quantity.limits.most))
            amounts = quantity.linear.astype(np.float64)
        return cls(contraction.k, points, weights, pairs, np.unique(pairs), axes, limits, amounts)

    def grouped(
        self,
        group: NDArray[np.intp],
        means: NDArray[np.float64],
        weights: NDArray[np.float64],
    ) -> PlaceProblem:
        """Return the problem of groups of points (m,), by their means (g, 3), without the pairs."""
        none = np.zeros((0, 2), np.int64)
        amounts = np.bincount(group, self.amounts).astype(np.float64)
        return replace(
            self, points=means, weights=weights, pairs=none, ends=np.unique(none), amounts=amounts
        )

    @property
    def is_limited(self) -> bool:
        """True if clusters have to keep limits."""
        return self.limits.most >= 0.0

    @property
    def rates(self) -> NDArray[np.float64]:
        """Amounts of a point of unit weight, (m,)."""
        return self.amounts / self.weights

    def data(self, prices: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return points, prices, weights and rates (m, 6)."""
        return np.column_stack([self.points, prices, self.weights, self.rates])

    def turned(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return places (p, 3) of places (p, r) in the coordinates of the blocks."""
        return _padded(places @ self.axes)

    def turned_back(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return places (p, r) in the coordinates of the blocks."""
        return np.asarray(places[:, : len(self.axes)] @ self.axes.T)


def price_bound(
    contraction: Contraction, prices: NDArray[np.float64], greatest: float
) -> ProvenBound:
    """Return the Lagrangian bound of prices of points, with its evidence.

    Parameters
    ----------
    prices : (m,) of a point of each block
    greatest : proven to be no less than the value of any cluster at the prices, in exact arithmetic
        but for the rounding of the means
    """
    of_blocks = contraction.weights * prices + contraction.scatter
    magnitude = math.fsum(np.abs(of_blocks)) + 2.0 * math.fsum(contraction.scatter)
    margin = 8.0 * _EPS * magnitude + rounding_of(contraction)
    return lagrangian_bound(contraction, of_blocks, -greatest - margin)


def _padded(points: NDArray[np.float64]) -> NDArray[np.float64]:
    padded = np.zeros((len(points), PLACE_DIMENSIONS))
    padded[:, : points.shape[1]] = points
    return padded
