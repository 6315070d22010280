"""First prices: those that a clustering is optimal at, in closed form."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.colgen.columns import Columns
from sdpbb.bounds.colgen.pricing.dimension import effective_dimension
from sdpbb.problem import Contraction

# Of its price in its cluster, what a block is worth at least: one cluster of nearly all blocks
# beside many of one has a sigma that none but the first is worth.
_LEAST = 0.1


def first_prices(contraction: Contraction, clusters: Columns) -> tuple[NDArray[np.float64], float]:
    """Return prices (m,) and the price sigma of a cluster.

    With w_c points in cluster c and its mean m_c, a point of block i is worth

        y_i = ||c_i - m_c||^2 + sigma / w_c,    at most ||c_i - m_d||^2 - sigma / w_d

    for other clusters d, what it is worth there (see `sdpbb.bounds.sdp.clustering_dual`). Each
    cluster costs what its blocks are worth less sigma then, but for these cutoffs. sigma is what
    one cluster more would save, as costs in d dimensions are in proportion to k^(-2 / d).

    clusters : a partition of the blocks
    """
    e, c, m = contraction.weights, contraction.means, contraction.n_blocks
    weights = clusters.members @ e
    centres = (clusters.members @ (e[:, None] * c)) / weights[:, None]
    squares = np.zeros((m, len(clusters)))
    for coordinate, of_centres in zip(c.T, centres.T, strict=True):
        squares += (coordinate[:, None] - of_centres) ** 2
    own = clusters.members.T
    labels = own.argmax(axis=1)
    cost = float(e @ squares[own])
    sigma = 2.0 * cost / (max(1.0, effective_dimension(c, e)) * len(clusters))
    inside = squares[own] + sigma / weights[labels]
    squares -= sigma / weights
    squares[own] = np.inf
    worth = np.maximum(np.minimum(inside, squares.min(axis=1)), _LEAST * inside)
    return contraction.scatter + e * worth, sigma
