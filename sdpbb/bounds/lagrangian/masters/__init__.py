"""Restricted master programmes: the one that a node begins with; an interface, and two solvers."""

from __future__ import annotations

import numpy as np

from sdpbb.bounds.lagrangian.columns import Columns, allowed
from sdpbb.bounds.lagrangian.duals import DualValues
from sdpbb.bounds.lagrangian.first_prices import KnownClustering
from sdpbb.bounds.lagrangian.masters.interior import InteriorMaster
from sdpbb.bounds.lagrangian.masters.programme import MasterProgramme
from sdpbb.bounds.lagrangian.masters.simplex import Master
from sdpbb.problem import Contraction

# Minimum blocks for solving master programmes by the interior point method, if a clustering is
# known. u1060 in the plane, k = 100: 16 programmes of a tenth of a second each.
INTERIOR_FROM = 256


def begun_master(
    contraction: Contraction, columns: Columns | None, centre: DualValues | None
) -> MasterProgramme:
    """Return a new master programme over the singletons that are allowed and some columns.

    centre : good dual values, None for those of the clustering that the columns begin with
    """
    pool, n_known = Columns.singletons(contraction), 0
    if not contraction.is_monotone:
        pool = pool.select(allowed(contraction, pool.members))
    if columns is not None:
        pool, n_known = pool + columns, covering_prefix(columns, contraction.k)
    if centre is None and columns is not None and n_known:
        centre = _first_duals(contraction, columns.select(np.arange(n_known)))
    if contraction.is_monotone and n_known and contraction.n_blocks >= INTERIOR_FROM:
        assert centre is not None
        n_fixed = contraction.n_blocks + n_known
        return InteriorMaster.begin(contraction, pool, n_fixed, centre.prices, centre.sigma)
    return Master.begin(contraction, pool, None if centre is None else centre.prices)


def _first_duals(contraction: Contraction, clusters: Columns) -> DualValues:
    """Return dual values at which no cluster of a partition of the blocks has a reduced cost."""
    labels = clusters.members.argmax(axis=0)
    known = KnownClustering.of(contraction.means, contraction.weights, labels)
    prices = contraction.scatter + contraction.weights * known.prices
    return DualValues(prices, known.surplus)


def covering_prefix(columns: Columns, k: int) -> int:
    """Return how many columns at the beginning are a partition into at most k; 0 for none."""
    covered = np.zeros(columns.n_blocks, bool)
    for position in range(min(k, len(columns))):
        if (covered & columns.members[position]).any():
            return 0
        covered |= columns.members[position]
        if covered.all():
            return position + 1
    return 0
