"""Clustering problem in at most three dimensions, its bound, and the search over places for it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import EPS, ProvenBound, rounding_of
from sdpbb.bounds.lagrangian.duals import lagrangian_bound
from sdpbb.bounds.lagrangian.places.box_kernels import (
    DEPTH,
    FINISHED,
    FULL,
    BoxProblem,
    BoxStack,
    search_boxes,
)
from sdpbb.bounds.lagrangian.places.value_kernels import NO_LIMITS, AmountLimits
from sdpbb.bounds.lagrangian.reach import PLACE_DIMENSIONS
from sdpbb.problem import Contraction
from sdpbb.runtime.time_left import WORK, TimeLeft, check_time


@dataclass(frozen=True, eq=False)
class PlaceProblem:
    """Weighted points in three dimensions, for k clusters under cannot-links.

    There may be limits on an amount of the points in each cluster: sizes, or units of weight.

    points : (m, 3) means of blocks, padded with zeros
    weights : (m,) > 0
    pairs, ends : (p, 2) cannot-links, and the (q,) points in them
    axes : (r, r) principal axes of the blocks, as columns
    limits : on the amount
    amounts : (m,); zeros without limits
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

        It includes cannot-links, and limits on one quantity. Other constraints are left out, which
        only lowers a bound. The margin of `PlaceSearch` covers the rounding of the turn.
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

    @property
    def is_limited(self) -> bool:
        """True if clusters have limits."""
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
    greatest : proven to be at least the value of every cluster at the prices, in exact arithmetic
        except for the rounding of the means
    """
    of_blocks = contraction.weights * prices + contraction.scatter
    magnitude = math.fsum(np.abs(of_blocks)) + 2.0 * math.fsum(contraction.scatter)
    margin = 8.0 * EPS * magnitude + rounding_of(contraction)
    return lagrangian_bound(contraction, of_blocks, -greatest - margin)


def _padded(points: NDArray[np.float64]) -> NDArray[np.float64]:
    padded = np.zeros((len(points), PLACE_DIMENSIONS))
    padded[:, : points.shape[1]] = points
    return padded


# The tolerance becomes four times as large each time after this many boxes per point. Ties between
# cannot-linked points take as many boxes as there are places with ties.
PATIENCE = 40
# Maximum places that are stored, the last ones met.
_KEPT = 60_000


class PlaceSearch:
    """Search over places for the greatest value of a cluster at given prices.

    At a place c the value is at most sum_i w_i max(0, y_i - ||x_i - c||^2), less charges of
    cannot-linked pairs (`conflict_kernels.py`). With limits, one block of the cluster may be
    fractional (`value_kernels.py`).
    """

    def __init__(
        self,
        of: PlaceProblem,
        prices: NDArray[np.float64],
        known: float,
        tolerance: float,
        share: float,
    ) -> None:
        """
        Parameters
        ----------
        prices : (m,)
        known : approximate value of some place
        tolerance : maximum difference of the result and the greatest value
        share : in (0, 1): places are stored with values of at least this part of the greatest met
        """
        points, weights = of.points, of.weights
        n = len(points)
        self._problem = BoxProblem(
            data=of.data(prices),
            limits=of.limits,
            pairs=of.pairs,
            ends=of.ends,
            left=np.zeros(n),
            place=np.zeros(3),
            half=np.zeros(3),
            ratios=np.zeros(n),
            amounts=np.zeros(n),
            # Sums of n terms, and coordinates relative to the middles of boxes.
            rounding=EPS * (4.0 * n + 256.0),
        )
        self._tolerance, self._share = tolerance, share
        low, high = points.min(axis=0), points.max(axis=0)
        square = float(((high - low) ** 2).sum())
        self._margin = 256.0 * EPS * float(weights.sum()) * square
        if of.is_limited:  # for the rounding of rates
            largest = float(((np.abs(prices) + square) / of.rates).max())
            self._margin += 256.0 * EPS * float(of.amounts.sum()) * largest
        self._candidates = np.arange(4 * n + 64)
        self._stack = BoxStack(
            order=np.arange(DEPTH),
            end=np.zeros(DEPTH, np.int64),
            low=np.zeros((DEPTH, 3)),
            high=np.zeros((DEPTH, 3)),
            bound=np.full(DEPTH, np.inf),
            first=np.zeros(DEPTH, np.int64),
            n_open=np.zeros(DEPTH, np.int64),
            inside=np.zeros((DEPTH, 7)),
            rate=np.zeros((DEPTH, 3)),
            major=np.zeros((DEPTH, 2, 7)),
        )
        # Means lie among the points.
        self._stack.low[0], self._stack.high[0] = low, high
        self._stack.n_open[0] = self._stack.end[0] = n
        self._stack.major[0, :, 0] = np.inf
        self._stack.rate[0] = 0.0, -np.inf, np.inf
        self._values = np.zeros(8)
        self._values[0] = known
        self._counts = np.array([1, 0, 0])
        self._met = np.zeros((_KEPT, 4))

    def run(self, time_left: TimeLeft) -> float:
        """Return an upper bound on all values, in exact arithmetic.

        Raises
        ------
        OutOfTime
        """
        n = len(self._problem.data) + 100
        loosened, work = PATIENCE * n, min(WORK // 4, 50 * PATIENCE * n)
        while True:
            if self._counts[1] > loosened:
                self._tolerance, loosened = 4.0 * self._tolerance, loosened + PATIENCE * n
            status = search_boxes(
                self._problem,
                self._candidates,
                self._stack,
                self._values,
                self._counts,
                self._met,
                self._tolerance,
                self._share,
                work,
            )
            if status == FINISHED:
                return float(max(self._values[1], 0.0) + self._margin)
            if status == FULL:
                self._candidates = np.concatenate([self._candidates, self._candidates])
            check_time(time_left)

    @property
    def met(self) -> NDArray[np.float64]:
        """Places met with nearly the greatest value, and their values, (p, 4), the best first."""
        met = self._met[: min(int(self._counts[2]), _KEPT)]
        met = met[met[:, 3] >= self._share * self._values[0]]
        return np.asarray(met[np.argsort(-met[:, 3], kind="stable")])
