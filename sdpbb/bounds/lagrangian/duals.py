"""Dual values: first ones in closed form, and what exact pricing at any proves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import ProvenBound
from sdpbb.checker.pricing import Lagrangian
from sdpbb.problem import Contraction
from sdpbb.runtime.archive import stored

_EPS = float(np.finfo(np.float64).eps)

# Whole prices, and sums of them below 2^53: floats hold these exactly.
_LARGEST_PRICE, _LARGEST_SUM = 2.0**40, 2.0**52


@stored
@dataclass(frozen=True, eq=False)
class DualValues:
    """Dual values of the master programme: prices (m,) of the blocks, sigma of a cluster."""

    prices: NDArray[np.float64]
    sigma: float

    def value(self, k: int) -> float:
        """Return the Lagrangian value sum_i prices_i - k sigma.

        It is a bound if no cluster has a negative reduced cost.
        """
        return float(self.prices.sum()) - k * self.sigma


def inherited_prices(
    prices: NDArray[np.float64], block_of: NDArray[np.intp], child: Contraction
) -> NDArray[np.float64]:
    """Return prices of the blocks of a child, which are unions of the parent's.

    Prices of merged blocks add up: what they prove for the parent they prove for the child.

    Parameters
    ----------
    prices, block_of : (m,) of the parent's blocks, and (n,) the parent's block of each point
    """
    first = np.unique(block_of, return_index=True)[1]
    total = np.zeros(child.n_blocks)
    np.add.at(total, child.block_of[first], prices)
    return total


def lagrangian_bound(
    contraction: Contraction, prices: NDArray[np.float64], least: float
) -> ProvenBound:
    """Return the Lagrangian bound sum_i prices_i + k least, less a margin, with its evidence.

    Of a clustering each block is in exactly one of its k clusters X, so that it costs

        sum_X c(X) = sum_i prices_i + sum_X (c(X) - prices(X)) >= sum_i prices_i + k least.

    Prices of any sign will do. The sum is rounded once, the product once and their sums once each.
    What all clusterings pay for soft pairs is added.

    Parameters
    ----------
    prices : (m,) finite
    least : a number that is proven to be <= c(X) - prices(X), in exact arithmetic, for every
        cluster X

    Raises
    ------
    ValueError
        If a price or `least` is not finite: nothing is proven then.
    """
    total, rest = math.fsum(prices), contraction.k * least
    bound = total + rest
    if not math.isfinite(bound):
        raise ValueError("prices, least: expected finite numbers")
    bound -= 2.0 * _EPS * (abs(total) + abs(rest))
    paid = contraction.soft.constant_below
    bound = bound + paid - 2.0 * _EPS * (abs(bound) + paid) if paid else bound
    return ProvenBound(bound, Lagrangian(prices, least))


def whole_prices(prices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return whole numbers (m,) in about the ratio of prices, rounded down.

    They lose at most 1 each where the largest is about 2^40, less for more than 4,096 blocks, as
    the sum of their absolute values is below 2^53: floats hold all sums of them exactly.
    """
    largest = float(np.abs(prices).max(initial=0.0))
    if not largest > 0.0:
        return np.zeros(len(prices))
    highest = min(_LARGEST_PRICE, _LARGEST_SUM / len(prices))
    return np.asarray(np.floor(prices / largest * highest))


def is_proof_of_infeasibility(prices: NDArray[np.float64], least: float, k: int) -> bool:
    """Return whether sum_i prices_i + k least > 0, in whole numbers.

    With least <= -prices(X) for every cluster X, no k clusters hold every block then (Farkas): each
    block would be in one of them, and their prices would add up to -k least at the most.
    """
    return sum(map(int, prices.tolist())) + k * int(least) > 0


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
