"""Proofs from exact pricing: Lagrangian bounds at any prices, infeasibility in whole numbers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.bound import ProvenBound
from sdpbb.problem import Contraction

_EPS = float(np.finfo(np.float64).eps)

# Whole prices, and sums of them below 2^53: floats hold these exactly.
_LARGEST_PRICE, _LARGEST_SUM = 2.0**40, 2.0**52


def lagrangian_bound(
    contraction: Contraction, prices: NDArray[np.float64], least: float
) -> ProvenBound:
    """Return the Lagrangian bound sum_i prices_i + k least, less a margin for rounding.

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
    return ProvenBound(bound + paid - 2.0 * _EPS * (abs(bound) + paid) if paid else bound)


def scatter_bound(contraction: Contraction) -> ProvenBound:
    """Return the scatter inside the blocks, and what all pay for soft pairs, rounded down."""
    own = math.fsum(contraction.scatter)
    rounding = _EPS * (contraction.n_points + contraction.means.shape[1] + 8)
    inside = max(0.0, own * (1.0 - rounding) - rounding * contraction.total * _EPS)
    return ProvenBound(inside + contraction.soft.constant_below * (1.0 - _EPS))


def integer_prices(prices: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return whole numbers (m,) in about the ratio of prices, rounded down.

    They lose at most 1 each where the largest is about 2^40, less for more than 4,096 blocks, as
    the sum of their absolute values is below 2^53.
    """
    largest = float(np.abs(prices).max(initial=0.0))
    if not largest > 0.0:
        return np.zeros(len(prices), np.int64)
    highest = min(_LARGEST_PRICE, _LARGEST_SUM / len(prices))
    return np.floor(prices / largest * highest).astype(np.int64)


def is_proof_of_infeasibility(prices: NDArray[np.int64], most: int, k: int) -> bool:
    """Return whether sum_i prices_i > k most, in whole numbers.

    With most >= prices(X) for every cluster X, no k clusters hold every block then (Farkas): each
    block would be in one of them, and their prices would add up to k most at the most.
    """
    total: int = sum(prices.tolist())
    return total > k * int(most)
