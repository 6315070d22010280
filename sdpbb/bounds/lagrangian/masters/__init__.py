"""Restricted master programmes: the one that a node begins with; an interface, and two solvers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sdpbb.bounds.lagrangian.columns import Columns, allowed
from sdpbb.bounds.lagrangian.duals import DualValues
from sdpbb.bounds.lagrangian.masters.interior import InteriorMaster, covering_prefix
from sdpbb.bounds.lagrangian.masters.programme import MasterProgramme
from sdpbb.bounds.lagrangian.masters.simplex import Master
from sdpbb.bounds.lagrangian.reach import effective_dimension
from sdpbb.problem import Contraction

# Minimum blocks for solving master programmes by the interior point method, if a clustering is
# known. u1060 in the plane, k = 100: 16 programmes of a tenth of a second each.
INTERIOR_FROM = 256


def begun_master(
    contraction: Contraction, columns: Columns | None, centre: DualValues | None
) -> MasterProgramme:
    """Return a new master programme over the singletons that are allowed and some columns.

    centre : dual values to begin from, None for those of the clustering that the columns begin with
    """
    if not contraction.is_monotone:
        single = np.eye(contraction.n_blocks, dtype=bool)
        pool = Columns.of(contraction, single[allowed(contraction, single)])
        pool = pool if columns is None else pool + columns
        return Master.begin(pool, contraction.k, covers=False)
    pool = Columns.singletons(contraction)
    if columns is None or not len(columns):
        return Master.begin(pool, contraction.k)
    n_known = covering_prefix(columns, contraction.k)
    pool = pool + columns
    if not n_known or contraction.n_blocks < INTERIOR_FROM:
        return Master.begin(pool, contraction.k)
    if centre is None:
        known = columns.select(np.arange(n_known))
        prices, sigma = first_prices(contraction, known)
    else:
        prices, sigma = centre.prices, centre.sigma
    n_fixed = contraction.n_blocks + n_known
    return InteriorMaster.begin(contraction, pool, n_fixed, prices, sigma)


# Of its price in its cluster, what a block is worth at least: one cluster of nearly all blocks
# beside many of one has a sigma that none but the first is worth.
_LEAST = 0.1


def first_prices(contraction: Contraction, clusters: Columns) -> tuple[NDArray[np.float64], float]:
    """Return prices (m,) and the price sigma of a cluster.

    With w_c points in cluster c and its mean m_c, a point of block i is worth

        y_i = ||c_i - m_c||^2 + sigma / w_c,    at most ||c_i - m_d||^2 - sigma / w_d

    for other clusters d, what it is worth there (see `sdpbb.bounds.sdp.first_duals`). Each
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
