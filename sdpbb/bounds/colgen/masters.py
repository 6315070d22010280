"""Choice of the master programme of a node, and its resumption."""

from __future__ import annotations

import numpy as np

from sdpbb.bounds.colgen.columns import Columns, allowed, cluster_costs
from sdpbb.bounds.colgen.interior.first_prices import first_prices
from sdpbb.bounds.colgen.interior.master import InteriorMaster, InteriorState, covering_prefix
from sdpbb.bounds.colgen.master import Master, MasterState
from sdpbb.bounds.colgen.master_programme import MasterProgramme, MasterProgrammeState
from sdpbb.bounds.colgen.stabilisation import DualValues
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
        return Master(pool, contraction.k, covers=False)
    pool = Columns.singletons(contraction)
    if columns is None or not len(columns):
        return Master(pool, contraction.k)
    n_known = covering_prefix(columns, contraction.k)
    pool = pool + columns
    if not n_known or contraction.n_blocks < INTERIOR_FROM:
        return Master(pool, contraction.k)
    if centre is None:
        known = columns.select(np.arange(n_known))
        prices, sigma = first_prices(contraction, known)
    else:
        prices, sigma = centre.prices, centre.sigma
    n_fixed = contraction.n_blocks + n_known
    return InteriorMaster.start(contraction, pool, n_fixed, prices, sigma)


def resumed_master(contraction: Contraction, state: MasterProgrammeState) -> MasterProgramme:
    """Return a master programme that goes on from its state."""
    members = state.columns.members()  # different ones, as they were added
    pool = Columns(members, cluster_costs(contraction, members))
    if isinstance(state, InteriorState):
        return InteriorMaster(contraction, pool, state)
    assert isinstance(state, MasterState)
    return Master(pool, contraction.k, state, covers=contraction.is_monotone)
