"""Dual values as they are kept in a certificate."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sdpbb.bounds.sdp.cuts.cut_set import Kind, Members
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint, cut_sums, nonnegative_part
from sdpbb.checker import cuts as checker_cuts
from sdpbb.checker.evidence import Cuts, Pentagons, Semidefinite

# Entries of N below this part of the largest are left out.
NEGLIGIBLE = 1e-12


def semidefinite_evidence(
    relaxation: Relaxation, dual: DualPoint, precision: DTypeLike = np.float32
) -> Semidefinite:
    """A dual point in the precision asked for: any N >= 0 and any multipliers >= 0 prove something,
    and where the bound has converged their rounding moves it to second order only.

    The checker writes pentagons for the cannot-links of the node. Where those are more than there
    were when a cut was found, its chords are estimated by less, and the difference goes to N.
    """
    # A power of two, so that nothing is lost by the change of units.
    unit = math.ldexp(1.0, round(math.log2(relaxation.scale)))
    factor = relaxation.scale / unit
    active = np.flatnonzero(dual.multipliers > 0.0)
    # Sorted by family: stars, cliques, complements, pentagons.
    active = active[np.argsort(dual.cuts.members.kind[active], kind="stable")]
    cuts = _cuts(dual.cuts.members.select(active), relaxation.k)
    entries = nonnegative_part(relaxation, dual) + _estimated_less(relaxation, dual, cuts)
    N = entries[np.triu_indices(relaxation.m)] * factor
    # What the method's rounding has left where blocks share clusters: a sixth of all entries.
    N[np.abs(N) < NEGLIGIBLE * np.abs(N).max(initial=0.0)] = 0.0
    with np.errstate(over="ignore"):  # what is infinite proves nothing, and is found out
        return Semidefinite(
            unit=unit,
            N=N.astype(precision),
            cuts=cuts,
            multipliers=(dual.multipliers[active] * factor).astype(precision),
        )


def _estimated_less(
    relaxation: Relaxation, dual: DualPoint, cuts: Cuts
) -> NDArray[np.float64] | float:
    """(m, m) by how much the pentagons of a dual point, with their multipliers, are more than those
    of a certificate: >= 0 off the cannot-links, as upper estimates are sums of entries of Z."""
    if not len(cuts.pentagons):
        return 0.0
    chosen = (dual.cuts.members.kind == Kind.PENTAGON) & (dual.multipliers > 0.0)
    t = dual.multipliers[chosen]
    total, absolute = cut_sums(dual.cuts.select(chosen), t, relaxation.m)
    sizes, forbidden = relaxation.sizes, relaxation.forbidden
    pentagons = Cuts.of_pentagons(cuts.pentagons, relaxation.k)
    less = total - checker_cuts.cut_sums(pentagons, t, sizes, forbidden)[0]
    less[np.abs(less) < NEGLIGIBLE * absolute] = 0.0
    return np.where(forbidden, less, np.maximum(less, 0.0))


def _cuts(members: Members, k: int) -> Cuts:
    stars, cliques, complements, pentagons = (
        members.select(np.flatnonzero(members.kind == kind)) for kind in Kind
    )
    return Cuts(
        star_start=stars.start,
        star_blocks=stars.blocks,
        cliques=cliques.blocks.reshape(-1, k + 1),
        complements=complements.blocks.reshape(-1, 3),
        pentagons=_pentagons(pentagons),
    )


def _pentagons(members: Members) -> Pentagons:
    """Estimates that are there several times are written once, for all of their points."""
    count = len(members.kind)
    owner = np.repeat(np.arange(count), np.diff(members.estimate_start))
    place, block, points = members.estimates.T
    rows, inverse = np.unique(np.column_stack([owner, place, block]), axis=0, return_inverse=True)
    total = np.bincount(inverse.reshape(-1), points, len(rows))
    lengths = np.bincount(rows[:, 0], minlength=count)
    return Pentagons(
        members.blocks.reshape(-1, 5),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.column_stack([rows[:, 1:], total]).astype(np.int32),
    )
