"""Dual values as they are kept in a certificate."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import DTypeLike

from sdpbb.bounds.sdp.members import Family, Members
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint, nonnegative_part
from sdpbb.checker.evidence import Cuts, Semidefinite

# Entries of N below this part of the largest are left out.
NEGLIGIBLE = 1e-12


def semidefinite_evidence(
    relaxation: Relaxation, dual: DualPoint, precision: DTypeLike = np.float32
) -> Semidefinite:
    """A dual point in the precision asked for: any N >= 0 and any multipliers >= 0 prove something,
    and where the bound has converged their rounding moves it to second order only.

    dual : its cuts have members, which those of pentagons have not; their multipliers must be 0
    """
    # A power of two, so that nothing is lost by the change of units.
    unit = math.ldexp(1.0, round(math.log2(relaxation.scale)))
    factor = relaxation.scale / unit
    N = nonnegative_part(relaxation, dual)[np.triu_indices(relaxation.m)] * factor
    # What the method's rounding has left where blocks share clusters: a sixth of all entries.
    N[np.abs(N) < NEGLIGIBLE * np.abs(N).max(initial=0.0)] = 0.0
    active = np.flatnonzero(dual.multipliers > 0.0)
    families = dual.cuts.members.family[active]
    assert not (families == Family.PENTAGON).any()
    # Sorted by family: stars, cliques, complements.
    active = active[np.argsort(families, kind="stable")]
    members = dual.cuts.members.select(active)
    with np.errstate(over="ignore"):  # what is infinite proves nothing, and is found out
        return Semidefinite(
            unit=unit,
            N=N.astype(precision),
            cuts=_cuts(members, relaxation.k),
            multipliers=(dual.multipliers[active] * factor).astype(precision),
        )


def _cuts(members: Members, k: int) -> Cuts:
    stars, cliques, complements = (
        members.select(np.flatnonzero(members.family == family))
        for family in (Family.STAR, Family.CLIQUE, Family.COMPLEMENT)
    )
    return Cuts(
        star_start=stars.start,
        star_blocks=stars.blocks,
        cliques=cliques.blocks.reshape(-1, k + 1),
        complements=complements.blocks.reshape(-1, 3),
    )
