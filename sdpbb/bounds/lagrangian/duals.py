"""Dual values: first ones in closed form, and what exact pricing at any proves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import EPS, ProvenBound, unions_of
from sdpbb.bounds.lagrangian.reach import effective_dimension
from sdpbb.bounds.sdp.first_duals import clustering_prices
from sdpbb.checker.pricing import Lagrangian
from sdpbb.problem import Contraction, Partition
from sdpbb.runtime.archive import stored

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
    return np.bincount(unions_of(block_of, child), prices, child.n_blocks).astype(np.float64)


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
    bound -= 2.0 * EPS * (abs(total) + abs(rest))
    paid = contraction.soft.constant_below
    bound = bound + paid - 2.0 * EPS * (abs(bound) + paid) if paid else bound
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


# Of its price in its cluster, what a block is worth at least: one cluster of nearly all blocks
# beside many of one has a sigma that none but the first is worth.
_LEAST = 0.1


def first_duals(contraction: Contraction, labels: NDArray[np.intp]) -> DualValues:
    """Return dual values that suit a clustering of the blocks, labels (m,).

    The formula is in `sdpbb.bounds.sdp.first_duals`. Its mu is sigma, what one cluster more would
    save, as costs in d dimensions are in proportion to k^(-2 / d). Each cluster costs what its
    points are worth less sigma then, but for the cutoffs.
    """
    points, weights = contraction.means, contraction.weights
    partition = Partition(labels)
    labels, centres = partition.labels, partition.means(points, weights)
    cost = float(weights @ ((points - centres[labels]) ** 2).sum(axis=1))
    sigma = 2.0 * cost / (max(1.0, effective_dimension(points, weights)) * len(centres))
    inside, elsewhere = clustering_prices(points, weights, labels, centres, sigma)
    prices = np.maximum(np.minimum(inside, elsewhere), _LEAST * inside)
    return DualValues(contraction.scatter + weights * prices, sigma)


def level_prices(
    points: NDArray[np.float64],
    weights: NDArray[np.float64],
    labels: NDArray[np.intp],
    centres: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return prices (m,) of points at which all clusters of a clustering have the same surplus.

    The price of a point is its squared distance from its own centre and a surplus: level in each
    cluster, and at most half the way to the squared distance from the next centre. All clusters
    are worth the same more than they cost. Bounds by places rise faster from them than from
    `first_duals`: gr666, k = 50, with 66 pairs takes 1.3 s instead of 32.

    points, weights, labels, centres : (m, r), (m,) > 0, (m,), (k, r)
    """
    # Clusters without a price: the squared distances from the own and the next centre.
    own, next_one = clustering_prices(points, weights, labels, centres, 0.0)
    half = np.maximum((next_one - own) / 2.0, 0.0) if len(centres) > 1 else np.zeros(len(points))
    total = float(np.bincount(labels, weights * half).min())
    surplus = np.empty(len(half))
    for label in range(len(centres)):
        inside = labels == label
        low, high = 0.0, float(half[inside].max())
        for _ in range(50):
            middle = 0.5 * (low + high)
            if weights[inside] @ np.minimum(half[inside], middle) < total:
                low = middle
            else:
                high = middle
        surplus[inside] = np.minimum(half[inside], high)
    return own + surplus
