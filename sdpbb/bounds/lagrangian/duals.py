"""Dual values of the master programme: in closed form, and the bound that exact pricing proves."""

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

# Limits on whole prices and on their sums, so that floats hold all sums exactly.
_LARGEST_PRICE, _LARGEST_SUM = 2.0**40, 2.0**52


@stored
@dataclass(frozen=True, eq=False)
class DualValues:
    """Dual values of the master programme: prices (m,) of the blocks, sigma of a cluster.

    If exact pricing proves c(X) - prices(X) >= least for all clusters, sigma = -least is feasible.
    """

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

    Prices of merged blocks add up. They prove at least the same bound for the child.

    Parameters
    ----------
    prices, block_of : (m,) of the parent's blocks, and (n,) the parent's block of each point
    """
    return np.bincount(unions_of(block_of, child), prices, child.n_blocks).astype(np.float64)


def lagrangian_bound(
    contraction: Contraction, prices: NDArray[np.float64], least: float
) -> ProvenBound:
    """Return the Lagrangian bound sum_i prices_i + k least, less a margin, with its evidence.

    In a clustering each block is in exactly one of the k clusters X, so that it costs

        sum_X c(X) = sum_i prices_i + sum_X (c(X) - prices(X)) >= sum_i prices_i + k least.

    Prices may have any sign. The sum, the product, and each of their sums are rounded once. The
    cost of soft pairs in all clusterings is added.

    Parameters
    ----------
    prices : (m,) finite
    least : a number that is proven to be <= c(X) - prices(X), in exact arithmetic, for every
        cluster X

    Raises
    ------
    ValueError
        If a price or `least` is not finite.
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
    """Scale prices (m,) to integers, rounded down by at most 1.

    The largest becomes about 2^40, less above 4,096 blocks, so that floats hold all sums exactly.
    """
    largest = float(np.abs(prices).max(initial=0.0))
    if not largest > 0.0:
        return np.zeros(len(prices))
    highest = min(_LARGEST_PRICE, _LARGEST_SUM / len(prices))
    return np.asarray(np.floor(prices / largest * highest))


def is_proof_of_infeasibility(prices: NDArray[np.float64], least: float, k: int) -> bool:
    """Return whether sum_i prices_i + k least > 0, in whole numbers.

    If least <= -prices(X) for every cluster X, then no k clusters hold every block (Farkas): the
    prices of k clusters add up to at most -k least.
    """
    return sum(map(int, prices.tolist())) + k * int(least) > 0


# Least price of a block, as a part of its price in its own cluster. With one cluster of nearly all
# blocks and many single ones, sigma is above the values of the latter.
_LEAST = 0.1


def first_duals(contraction: Contraction, labels: NDArray[np.intp]) -> DualValues:
    """Return dual values that suit a clustering of the blocks, labels (m,).

    The formula is in `sdpbb.bounds.sdp.first_duals`. Its mu is sigma, the savings by one more
    cluster: costs in d dimensions are in proportion to k^(-2 / d). Without the cutoffs, each
    cluster would cost the prices of its points less sigma.
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

    The price of a point is its squared distance from its own centre plus a surplus. The surplus is
    the same for all points of a cluster, but at most half the way to the squared distance from the
    next centre. Bounds by places rise faster from these prices than from `first_duals`: gr666,
    k = 50, with 66 pairs takes 1.3 s instead of 32.

    points, weights, labels, centres : (m, r), (m,) > 0, (m,), (k, r)
    """
    # With a cluster price of 0 these are the squared distances from the own and the next centre.
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
