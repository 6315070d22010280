"""The lower bound of a node from prices of its blocks, and from what a cluster is worth at them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .arithmetic import sum_down
from .evidence import Lagrangian
from .geometry import Contracted
from .pricing import MAX_NODES, proven_least
from .rejection import Rejected
from .rules import BlockRules

# Prices beyond this prove nothing that is of use, and their sums may overflow.
_LARGEST = 1e250


def lagrangian_bound(
    contracted: Contracted,
    k: int,
    adjacency: NDArray[np.bool_],
    evidence: Lagrangian,
    max_nodes: int = MAX_NODES,
    rules: BlockRules = (),
) -> float:
    """A number proven to be at most the sum of squares of every clustering of the points into
    exactly k clusters that keeps the blocks together and adjacent ones apart, and whose clusters
    keep the rules.

    Each block is in exactly one of the k clusters X, which cost c(X) for the points x^ of
    `Contracted`, so that a clustering costs

        sum of c(X) = sum of prices + sum of (c(X) - prices(X)) >= sum of prices + k least.

    That no cluster is worth less than `least`, but for a margin for rounding, is found out by a
    search (`pricing`).

    Parameters
    ----------
    adjacency : (m, m) symmetric, the cannot-linked pairs of blocks
    max_nodes : of the search
    rules : on clusters of blocks, besides

    Raises
    ------
    Rejected
        If the evidence is of the wrong shape or holds no numbers, if a cluster is worth less, or if
        the search does not end in time.
    """
    prices, least = checked_prices(contracted, k, adjacency, evidence.prices, evidence.least)
    proven = proven_least(contracted, adjacency, prices, least, max_nodes, rules)
    return contracted.for_points(sum_down([*prices.tolist(), *[proven] * k]))


def checked_prices(
    contracted: Contracted,
    k: int,
    adjacency: NDArray[np.bool_],
    prices: NDArray[np.float64],
    value: float,
) -> tuple[NDArray[np.float64], float]:
    """Prices of the blocks, and a value; `Rejected` if they do not fit or are no numbers."""
    m = contracted.m
    prices, value = np.asarray(prices), float(value)
    if adjacency.shape != (m, m):
        raise Rejected(f"cannot-links of {adjacency.shape} for {m} blocks")
    if not 1 <= k <= m:
        raise Rejected(f"{k} clusters of {m} blocks")
    if prices.shape != (m,) or prices.dtype != np.float64:
        raise Rejected(f"prices should be {m} float64, not {prices.dtype} of shape {prices.shape}")
    if not (np.abs([*prices, value]) <= _LARGEST).all():  # false for nan
        raise Rejected(f"a price, or a value, is not a number of at most {_LARGEST:g}")
    return prices, value


def proves_infeasible(
    contracted: Contracted,
    k: int,
    adjacency: NDArray[np.bool_],
    evidence: Lagrangian,
    max_nodes: int = MAX_NODES,
    rules: BlockRules = (),
) -> bool:
    """Whether there is no clustering at all: where all points are in one place every clustering
    costs 0, so that there is none if the bound of some prices is above 0. No k clusters hold all
    blocks then, as each holds so much of the prices at most (Farkas).

    Parameters, and `Rejected`, as for `lagrangian_bound`.
    """
    m = contracted.m
    one_place = Contracted(contracted.n, contracted.sizes, np.zeros((m, 1)), np.zeros(m), 0.0)
    return lagrangian_bound(one_place, k, adjacency, evidence, max_nodes, rules) > 0.0
